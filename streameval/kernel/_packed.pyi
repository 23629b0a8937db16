from streameval.kernel._packed_numpy import can_be as can_be
from streameval.kernel._packed_numpy import pack_columns as pack_columns
from streameval.kernel._packed_numpy import unpack_columns as unpack_columns
