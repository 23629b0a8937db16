"""One state for each value of something that examples have: a region, a device, a version of the model."""

from streameval.slices.sliced import Slice, Sliced
from streameval.slices.values import OTHER, Other, Value

__all__ = ["OTHER", "Other", "Slice", "Sliced", "Value"]
