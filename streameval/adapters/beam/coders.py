"""How Beam writes states down: as their bytes. Importing this registers it."""

from __future__ import annotations

from typing import Any

from apache_beam.coders import Coder, registry

from streameval.delivery.states import restored
from streameval.evaluation.evaluator import Evaluator
from streameval.evaluation.metric import Metric, class_of
from streameval.metrics.catalogue import catalogue
from streameval.slices import Sliced
from streameval.tabular.job import State


class StateCoder(Coder):  # type: ignore[misc]  # Beam has no types
    """Writes an `Evaluator`, a metric or a `Sliced` as its bytes. Equal states have equal bytes.

    Examples
    --------
    >>> from streameval import F1
    >>> StateCoder().decode(StateCoder().encode(F1())) == F1()
    True
    """

    def encode(self, value: State) -> bytes:
        """The bytes of a state."""
        return value.to_bytes()

    def decode(self, encoded: bytes) -> State:
        """The state that some bytes are of. No pickle is ever read."""
        return restored(encoded)  # type: ignore[return-value]  # windows are not coded

    def is_deterministic(self) -> bool:
        """Whether equal states have equal bytes."""
        return True

    def to_type_hint(self) -> Any:
        """What is coded."""
        return Evaluator

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other)

    def __hash__(self) -> int:
        return hash(type(self))


for _kind in (Evaluator, Metric, Sliced, *map(class_of, catalogue())):
    registry.register_coder(_kind, StateCoder)
