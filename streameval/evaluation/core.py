"""The core of an evaluator or a metric: its states, and the reader that registers labels."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import compress
from typing import Any, TypeAlias

import numpy as np

from streameval.errors import LabelError
from streameval.evaluation.kinds import KINDS, states_of
from streameval.inputs.batching import read_many, read_one
from streameval.inputs.columns import Reader
from streameval.inputs.forms import form_of
from streameval.inputs.pieces import bit_rows
from streameval.inputs.readers import PackedRows, lists_in
from streameval.inputs.samples import check_row_keys, note_examples, undescribed
from streameval.inputs.values import array_within, checked_weight
from streameval.kernel.backend import commit
from streameval.kernel.types import DONE, OTHER
from streameval.metrics.spec import MetricSpec
from streameval.metrics.views import Views
from streameval.schema.batch import Batch, Dense, Example, Ragged
from streameval.schema.config import Config, Null, Weight
from streameval.schema.input_notes import InputNotes, notes_of
from streameval.schema.labels import FEW, LabelIndex
from streameval.states.base import Part
from streameval.states.state_set import StateSet
from streameval.states.views import Tables

NUMBERS = (float, int)
SEQUENCES = {list, tuple}
_AT_ONCE = 500  # examples that are counted at once; if one has a new label, the labels of all of them are registered

Reading: TypeAlias = tuple[LabelIndex, Example, Reader]
"""The labels in whose columns an example was read, the example, and its reader."""


class Core:
    """The mutable part of an object: labels, states, and the reader that registers labels. Replaced as a whole."""

    __slots__ = (
        "_placed", "config", "decisions", "fast_path", "labels", "reader", "scored", "specs", "states", "table",
        "threshold", "until_compaction",
    )  # fmt: skip

    def __init__(
        self,
        specs: tuple[MetricSpec, ...],
        config: Config,
        states: StateSet,
        known: LabelIndex | None = None,
        notes: InputNotes | None = None,
    ) -> None:
        self.specs, self.config, self.until_compaction = specs, config, 64
        self.states, self.labels, self.decisions = states, states.labels, states.decisions
        self.table = self.decisions.table
        each = states.states.values()
        followers = tuple(state.follower() for state in each if state is not self.decisions)
        self.reader = Reader(config, states.labels, known, notes)
        # Whether the kernel may place cells; whether it may also count them in all states at once; and the threshold
        # of scores, one number or an array for the first columns.
        self._placed = config.rows != "indicator"
        self.fast_path = self._placed and None not in followers
        self.scored = config.scored
        self.table.weights, self.table.most = tuple(state.weights.cell for state in each), 0
        self.table.followers = followers if self.fast_path else ()
        self.table.extra = tuple(state.extra and state.extra.cell for state in each)
        self.threshold: Any = np.empty(0) if isinstance(config.threshold, tuple) else config.threshold

    def _set_thresholds(self) -> None:
        """Look up the thresholds of new labels; the kernel leaves a label without threshold to the reader."""
        if isinstance(known := self.threshold, np.ndarray) and len(known) < len(self.labels):
            with suppress(LabelError):
                columns = np.arange(len(known), len(self.labels))
                self.threshold = np.append(known, self.reader.threshold_row(columns))

    @classmethod
    def fresh(cls, specs: tuple[MetricSpec, ...], config: Config) -> Core:
        """An empty core for these metrics."""
        labels = LabelIndex(config.labels or (), limit=config.label_limit)
        return cls(specs, config, states_of(config, labels))

    def emptied(self) -> Core:
        """An empty core for the same object."""
        result = Core.fresh(self.specs, self.config)
        result.labels.check_beyond = self.labels.check_beyond
        return result

    def scratch(self, guard: commit.Guard | None = None) -> Core:
        """An empty core to gather examples in, at a cost that does not depend on how many labels are known."""
        known, grows = self.labels, self.reader.grows
        labels = known.copy() if grows and len(known) <= FEW else known
        if len(known) > FEW and (grows or not self.config.options):
            # All states but the decisions need the order of the declared labels.
            labels = LabelIndex(known.labels[: known.fixed] if self.config.options else ())
        notes = notes_of(known.guard if guard is None else guard)
        core = Core(self.specs, self.config, self.states.empty_like(labels), known, notes)
        self._set_thresholds()
        core.threshold = self.threshold[: len(labels)] if isinstance(self.threshold, np.ndarray) else self.threshold
        if labels is not known:  # the limit is checked when the states are merged
            labels.bound(None)
        return core

    def prepare(self, reading: Reading, sign: int = 1) -> list[Part]:
        """Prepare to count an example (sign 1) or to revert it (sign -1); the guard is held until the commit."""
        if sign < 0:
            reading[2].samples = {}  # the example was noted when it was counted
        example, forms = self.placed(reading)
        return self.states.prepare([(example, sign)]) + forms

    def placed(self, reading: Reading) -> tuple[Example, list[Part]]:
        """The example in the columns of these states, and the parts that record its forms; the guard is held."""
        labels, example, reader = reading
        if labels is not self.labels:  # the core was replaced, which may have cleared the note that labels are strings
            reader.has_strings |= str in {type(labels.labels[slot // 5]) for slot in example.slots.tolist()}
        forms = reader.confirm()
        return example if labels is self.labels else self.states.taken(example, labels), forms

    def prepare_plain(
        self, y_true: object, y_pred: object, weight: Weight, mask: object = None, sign: int = 1
    ) -> list[Part] | None:
        """Prepare an example directly from the user's arguments; None if they are of no common form."""
        labels, prepare = self.labels, self.table.prepare_plain
        if not self.fast_path:
            return None
        prepared = prepare(labels.known, labels.fixed, y_true, y_pred, self.threshold, sign, weight, mask)
        if type(prepared) is int and prepared > OTHER:
            raise self.decisions.declined(prepared)
        return None if type(prepared) is int else prepared

    def fast_count(
        self, y_true: object, y_pred: object, weight: Weight, mask: object, sign: int, *, guarded: bool = False
    ) -> int:
        """Count one example directly from the user's arguments; ``DONE`` if they are of a common form."""
        if not self.fast_path:
            return OTHER
        labels, count = self.labels, self.table.count_example
        code: int = count(labels.known, labels.fixed, y_true, y_pred, self.threshold, sign, weight, mask)
        # Tensors of torch only if no guard is held, because reading them may run code of the user.
        return code if guarded or code != OTHER else self.fast_count_tensors(y_true, y_pred, weight, mask, sign)

    def fast_count_tensors(self, y_true: object, y_pred: object, weight: Weight, mask: object, sign: int) -> int:
        """As `fast_count`, for rows that are tensors of torch."""
        labels, true, pred = self.labels, array_within(y_true), array_within(y_pred)
        if true is y_true and pred is y_pred:
            return OTHER
        count, masked = self.table.count_example, array_within(mask)
        return count(labels.known, labels.fixed, true, pred, self.threshold, sign, weight, masked)  # type: ignore[no-any-return]

    def fast_count_many(self, y_true: object, y_pred: object, mask: object = None) -> bool:
        """Count unweighted examples directly; False unless they are in arrays or lists, all of a common form."""
        if not self.fast_path:
            return False
        labels = self.labels
        if mask is None and type(y_true) is PackedRows and type(y_pred) is PackedRows:
            rows = bit_rows(y_true, "y_true"), bit_rows(y_pred, "y_pred")
            code = self.table.count_packed(labels.known, labels.fixed, *rows)
        elif type(y_true) not in SEQUENCES:
            arrays, masked = (array_within(y_true), array_within(y_pred)), None if mask is None else array_within(mask)
            code = self.table.count_arrays(labels.known, labels.fixed, *arrays, self.threshold, masked)
        elif mask is None and type(y_pred) in SEQUENCES and not self.scored:
            code = self.table.count_examples(labels.known, labels.fixed, y_true, y_pred, self.threshold)
        else:
            return False
        if code > OTHER:
            raise self.decisions.declined(code)
        return bool(code == DONE)

    def read(self, y_true: object, y_pred: object, weight: object, mask: object) -> Reading:
        """Read one example for the states; may run code of the user, and register labels."""
        self._set_thresholds()
        factor, labels, placed, row = checked_weight(weight), self.labels, None, y_pred
        reader = Reader(self.config, labels)
        if self.scored and type(y_pred) is list and len(y_pred) > 1 and {*map(type, y_pred)} == {float}:
            row = np.array(y_pred)
        first = self.scored and self.config.labels is None and not labels.labels
        if first and type(row) is np.ndarray and row.ndim == 1 and row.dtype.kind == "f":
            labels.register(list(range(len(row))))  # so that the kernel can count rows, whatever y_true names
        is_due = self.table.examples >= self.table.most
        if mask is None and self._placed and not (is_due and self.scored and undescribed(self.reader.notes)):
            place = self.table.place_scores if self.scored else self.table.place_example
            placed = place(labels.columns, labels.fixed, y_true, row, self.threshold)
            if placed is None and self.reader.grows:  # registering labels and trying again is faster than the reader
                reader.register([y_true, row])
                placed = place(labels.columns, labels.fixed, y_true, row, self.threshold)
        if placed is None:  # the kernel does not read this form
            return labels, read_one(y_true, y_pred, mask, factor, reader), reader
        if is_due:
            note_examples(reader, (y_true, y_pred), [placed[0]], many=False, read=(y_true, row))
        for name, side in (("y_true", y_true), ("y_pred", row)):
            if type(side) is np.ndarray and len(side) and not labels.fixed:  # a row without label names
                reader.positions(len(side), name)
        if not self.scored:
            return labels, Example(placed[0], placed[1], factor), reader
        slots, key, true, ranked, scores = placed
        weights = None if factor == 1.0 else np.array([factor])
        scored: Batch
        if isinstance(ranked, np.ndarray):  # the predictions are a row
            scored = Dense(np.arange(scores.shape[1]), true, ranked, scores, weights=weights)
        else:
            scored = Ragged(1, true, weights=weights, ranked=ranked, scores=scores)
        return labels, Example(slots, key, factor, scored), reader

    def read_many(
        self, y_true: object, y_pred: object, weights: object, mask: object, threads: int = 1, null: Null = "error"
    ) -> Iterator[Batch]:
        """Read many examples for the states; may register labels, but changes nothing else."""
        return read_many(y_true, y_pred, mask, weights, self.reader, threads, null=null)

    def has_strings(self) -> bool:
        """Whether an example mentions a label that is a string."""
        names = self.labels.labels
        return str in map(type, compress(names, self.table.mentioned(len(names)).tolist()))

    def views(self) -> Views:
        """What metrics read."""
        return Views(self.config, Tables(self.decisions), self.states.states, KINDS)

    def prepare_merge(self, states: StateSet, reader: Reader | None = None) -> list[Part]:
        """Prepare to add all that other states have counted, which must not change meanwhile; the guard is held."""
        known = len(self.labels)
        try:
            forms = [] if reader is None else reader.confirm()
            parts = self.states.prepare_merge(states) + forms
        except BaseException:
            if unused := len(self.labels) - known:
                self.until_compaction -= unused
                notes_of(self.labels.guard).change(unsure=True)
            raise
        self._set_thresholds()
        return parts

    def merge(self, states: StateSet, reader: Reader | None = None) -> None:
        """Add all that other states have counted; the guard is held."""
        self.states.root.commit(self.prepare_merge(states, reader))

    def counted(self, batches: Iterable[Batch], start: int, stop: int) -> StateSet:
        """States with the examples from ``start`` to before ``stop`` of batches that this core read."""
        states = self.states.empty_like()
        for batch in batches:
            if start < batch.examples and stop > 0:
                states.count(batch.take(slice(max(start, 0), min(stop, batch.examples))))
            start, stop = start - batch.examples, stop - batch.examples
        return states

    def fast_update_many(self, y_true: object, y_pred: object) -> bool:
        """Count lists of examples of a common form; False if some are of another form, after counting a part."""
        true, pred = _object_rows(y_true), _object_rows(y_pred)
        if self.scored or self.table.followers or true is None or pred is None:
            return False
        if true is not y_true and pred is not y_pred:  # both are Series, which have row keys
            check_row_keys({"y_true": y_true, "y_pred": y_pred}, self.reader.notes)
        for start in range(0, max(len(true), len(pred)), _AT_ONCE):
            sides = [_listed(side[start : start + _AT_ONCE]) for side in (true, pred)]
            if not self.fast_count_many(*sides):  # registering first would take longer than counting
                self.reader.register([*sides[0], *sides[1]])
                if not self.fast_count_many(*sides):
                    return False
        self.reader.has_strings = self.reader.has_strings or self.has_strings()  # strings that had columns before
        self.reader.note(0)
        if (notes := self.reader.notes).room:
            lists, labels = [_listed(side[: notes.room]) for side in (true, pred)], self.labels
            first = zip(*(examples[: undescribed(notes)] for examples in lists), strict=False)
            place = self.table.place_example
            placed = [place(labels.columns, labels.fixed, *example, self.threshold) for example in first]
            slots = [] if None in placed else [each[0] for each in placed]  # None: the lists were changed meanwhile
            note_examples(self.reader, (y_true, y_pred), slots, many=True, read=lists)
        return True


def core_of(counts: Any) -> Core:
    """The core of an evaluator or a metric, for windows, slices and the like; `reset` and `_renew` replace it."""
    return counts._core  # type: ignore[no-any-return]  # of one of these


def config_of(state: Any) -> Config:
    """The configuration of an evaluator or a metric, or of the template of a window or of slices."""
    return core_of(getattr(state, "_template", state)).config


def _object_rows(side: Any) -> Sequence[Any] | None:
    """A list, or the array behind a Series of pandas that holds objects; None for anything else."""
    if type(side) in SEQUENCES:
        return side  # type: ignore[no-any-return]
    is_series = hasattr(side, "iloc") and form_of(side) == "series"  # hasattr first, because it is faster
    return side.to_numpy() if is_series and str(side.dtype) == "object" else None


def _listed(rows: Any) -> Any:
    """A slice of `_object_rows` as a list; a Series is converted slice by slice, as the reader may take the rest."""
    return rows if type(rows) in SEQUENCES else lists_in(rows)
