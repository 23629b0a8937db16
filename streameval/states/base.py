"""The contract of every state.

A state remembers a multiset of examples as integers. It is a commutative monoid under `merge`, and `revert` is the
inverse of `update`. In symbols, for states ``s, a, b, c`` and any examples::

    zero          merge(s, empty) == s
    commutative   merge(a, b) == merge(b, a)
    associative   merge(merge(a, b), c) == merge(a, merge(b, c))
    split         updating with all at once == one by one == merging any sharding
    inverse       revert(update(s, e), e) == s
    round trip    decode(encode(s)) == s
    canonical     equal states have equal bytes
    atomic        what raises leaves the state as it was
    no aliasing   arguments are never changed and never kept

Every change is computed first (this may raise and changes nothing), and then happens at once: in one call into compiled
code, or as a plan stored behind one reference. A plan holds new values, not differences, so applying it twice is
harmless: whatever interrupts an application, the next access completes it.
"""

from __future__ import annotations

from typing import Any, ClassVar, Protocol, Self

from streameval.schema.labels import LabelIndex

__all__ = ["COUNT_MAX", "State"]

COUNT_MAX = 2**63 - 1


class State(Protocol):
    """What an `Accumulator` needs of a state; see the module docstring for the laws."""

    reads_decisions: ClassVar[bool]
    """Whether it is given decisions; otherwise it is given scores."""

    @property
    def examples(self) -> int:
        """How many examples were counted."""

    def empty(self, labels: LabelIndex) -> Self:
        """A state of the same kind that has counted nothing."""

    def count_one(self, example: Any, sign: int, *, known: bool = False) -> None:
        """Count one example (sign 1) or take it back (sign -1); ``known``: it was surely counted, so no need to ask."""

    def count(self, batch: Any, threads: int = 1) -> None:
        """Count a batch of examples. Only for states that are thrown away if this raises."""

    def merge(self, other: Self) -> None:
        """Add all that ``other`` has counted."""

    def unweigh(self) -> None:
        """Drop the weight sums, where it is known that every counted example weighs 1."""

    def scaled(self, labels: LabelIndex, numerator: int, scale: int) -> Self:
        """A copy over a copy of the labels, in which every example weighs ``numerator / 2**scale`` as much, exactly."""

    def copy(self, labels: LabelIndex) -> Self:
        """An independent copy over a copy of the labels."""

    def compact(self) -> None:
        """Drop what no example is left of."""

    def forget(self, size: int) -> None:
        """Drop the labels registered after the first ``size``, unless a counted example mentions one of them."""
