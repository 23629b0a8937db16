from streameval.kernel._numpy import Counts as Counts
from streameval.kernel._numpy import list_order as list_order

def vector_columns() -> int: ...
