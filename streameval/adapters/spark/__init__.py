"""Spark: rows are counted where they are, states travel as bytes. Classic and Connect sessions, tables and streams."""

from streameval.errors import DependencyError

try:
    import pyspark.sql  # noqa: F401
except ImportError as error:
    raise DependencyError(
        "streameval.adapters.spark needs pyspark, which is not installed; pip install 'streameval[spark]'"
    ) from error

from streameval.adapters.spark.keys import evaluate_by_key
from streameval.adapters.spark.streams import StreamEvaluation
from streameval.adapters.spark.tables import evaluate, merged, states

__all__ = ["StreamEvaluation", "evaluate", "evaluate_by_key", "merged", "states"]
