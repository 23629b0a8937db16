"""Which columns of a table hold what, and all that a worker must be told to count them."""

from streameval.columns.job import Job, State
from streameval.columns.named import Columns, Null

__all__ = ["Columns", "Job", "Null", "State"]
