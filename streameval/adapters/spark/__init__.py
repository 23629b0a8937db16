"""Spark: rows are counted where they are, states travel as bytes. Classic and Connect sessions, tables and streams."""

from streameval.adapters.engine import require

with require("spark"):
    from streameval.adapters.spark.frames import evaluate, evaluate_by_key, merged, states
    from streameval.adapters.spark.streams import StreamEvaluation

__all__ = ["StreamEvaluation", "evaluate", "evaluate_by_key", "merged", "states"]
