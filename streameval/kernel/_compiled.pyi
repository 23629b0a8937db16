from streameval.kernel._numpy import Counts as Counts
from streameval.kernel._tape import Tape as Tape

def vector_columns() -> int: ...
