"""Every accepted form of examples, checked once and turned into batches. Nothing below this package sees user data."""

from streameval.inputs.batching import read_many, read_one
from streameval.inputs.columns import Reader
from streameval.inputs.samples import InputSummary, note_examples, undescribed
from streameval.inputs.values import array_within, checked_weight

__all__ = [
    "InputSummary",
    "Reader",
    "array_within",
    "checked_weight",
    "note_examples",
    "read_many",
    "read_one",
    "undescribed",
]
