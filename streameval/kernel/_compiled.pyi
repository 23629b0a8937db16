from streameval.kernel._numpy import Counts as Counts
from streameval.kernel._numpy import count_groups as count_groups
from streameval.kernel._numpy import list_order as list_order
from streameval.kernel._numpy import score_lists as score_lists
from streameval.kernel._numpy import weigh_dense as weigh_dense
from streameval.kernel._numpy import weigh_lists as weigh_lists
from streameval.kernel._tape import Tape as Tape

def vectors() -> tuple[int, ...]: ...
def use_vectors(columns: int) -> None: ...
