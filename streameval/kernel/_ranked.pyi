from streameval.kernel._ranked_numpy import RankCounts as RankCounts
from streameval.kernel._ranked_numpy import rank_lists as rank_lists
from streameval.kernel._ranked_numpy import rank_rows as rank_rows

def vector_level(level: int = -1) -> int: ...
