"""River metrics: a class for each metric and average, collections that count once, a carrier for other objects."""

from streameval.adapters.engine import require

with require("river"):
    from streameval.adapters.river import classes as _classes
    from streameval.adapters.river.carrier import RiverMetric
    from streameval.adapters.river.classes import *  # noqa: F403  # made from the catalogue
    from streameval.adapters.river.metric import MetricCollection

__all__ = ["MetricCollection", "RiverMetric"]
__all__ += vars(_classes)["__all__"]  # the stub has none
