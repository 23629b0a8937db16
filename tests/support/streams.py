"""Adversarial streams: examples with a known meaning, and the many forms of input for the same example."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from types import MappingProxyType

import numpy as np
from hypothesis import strategies as st

import streameval as se

TRUE_NEGATIVE, FALSE_NEGATIVE, FALSE_POSITIVE, TRUE_POSITIVE, MASKED = range(5)

POOL = (
    "", "a", "b", "cat", "Cat", "é", "e\u0301", "🙂", "👩\u200d🚀", "\x00", "a\x00", "\n", "\uffff", "\U0010ffff",
    "0", "-1", 0, 1, -1, 7, 255, 2**31, 2**63 - 1, 2**63, -(2**63) - 1, 2**200,
)  # fmt: skip
"""Few labels, so that examples share them; each is easily confused with another one, or hard to store."""

KINDS: dict[str, Callable[..., se.Evaluator | se.Metric]] = {
    "Evaluator": lambda **setup: se.Evaluator(["f1_macro", "hamming_loss", "recall_samples", "mcc_per_label"], **setup),
    "F1 micro": lambda **setup: se.F1(average="micro", **setup),
    "HammingLoss": lambda **setup: se.HammingLoss(**setup),
    "Jaccard per label": lambda **setup: se.Jaccard(average=None, **setup),
    "FBeta samples": lambda **setup: se.FBeta(beta=2, average="samples", zero_division=math.nan, **setup),
}

READ = (
    "f1_micro", "f1_macro(zero_division=nan)", "f1_weighted", "f1_samples", "precision_per_label", "mcc_macro",
    "accuracy_samples", "hamming_loss", "subset_accuracy", "label_cardinality",
)  # fmt: skip


@dataclass(frozen=True)
class Setup:
    """The configuration with which an object reads its examples."""

    labels: tuple[str | int, ...] | None = None
    unknown: str = "error"
    threshold: float | dict[str | int, float] | None = None

    def keywords(self) -> dict[str, object]:
        return {"labels": self.labels, "unknown": self.unknown, "threshold": self.threshold}

    def threshold_of(self, label: str | int) -> float:
        assert self.threshold is not None
        return self.threshold[label] if isinstance(self.threshold, dict) else self.threshold


@dataclass(frozen=True, eq=False)
class Example:
    """The meaning of an example (the outcome of each cell that it mentions), and two forms of it as input."""

    cells: dict[str | int, int]
    weight: float
    said: tuple[object, object, object]
    again: tuple[object, object, object]

    def update(self, target: se.Evaluator | se.Metric, *, again: bool = False) -> None:
        true, pred, mask = self.again if again else self.said
        target.update(true, pred, weight=self.weight, mask=mask)

    def revert(self, target: se.Evaluator | se.Metric, *, again: bool = False) -> None:
        true, pred, mask = self.again if again else self.said
        target.revert(true, pred, weight=self.weight, mask=mask)


@dataclass(frozen=True)
class Stream:
    """Examples that one setup can read."""

    setup: Setup
    kind: str
    examples: list[Example] = field(default_factory=list)

    def fresh(self) -> se.Evaluator | se.Metric:
        return KINDS[self.kind](**self.setup.keywords())

    def fed(self, examples: Iterable[Example] | None = None) -> se.Evaluator | se.Metric:
        target = self.fresh()
        for example in self.examples if examples is None else examples:
            example.update(target)
        return target


def feed_many(
    target: se.Evaluator | se.Metric, examples: list[Example], *, iterators: bool = False, again: bool = False
) -> None:
    """Count the same examples with `update_many`."""
    said = [example.again if again else example.said for example in examples]
    masks = [set() if mask is None else mask for _, _, mask in said]
    columns = [[true for true, _, _ in said], [pred for _, pred, _ in said], masks]
    if iterators:
        columns = [iter(column) for column in columns]
    inputs = [example.weight for example in examples]
    target.update_many(
        columns[0],
        columns[1],
        mask=columns[2] if iterators or any(mask is not None for _, _, mask in said) else None,
        weights=None if all(weight == 1.0 for weight in inputs) and not iterators else inputs,
    )


def weights() -> st.SearchStrategy[float]:
    """Weights over more than 300 orders of magnitude, zero and subnormal ones among them."""
    special = st.sampled_from([0.0, 1.0, 5e-324, 1e-310, 2.2250738585072014e-308, 1e-16, 0.1, 1 / 3, 3.0, 1e16, 1e308])
    return special | st.floats(0.0, allow_nan=False, allow_infinity=False)


@st.composite
def setups(draw: st.DrawFn) -> Setup:
    """Setups with or without declared labels, with every policy for unknown labels, and for decisions or scores."""
    declared = draw(st.none() | st.lists(st.sampled_from(POOL), max_size=6, unique=True).map(tuple))
    unknown = "error" if declared is None else draw(st.sampled_from(["error", "ignore", "add"]))
    number = st.sampled_from([0.5, 0.7, 0.0, -1.0, 1.5, 1e-300])
    named = POOL if declared is None or unknown == "add" else declared
    threshold = draw(st.none() | number | st.fixed_dictionaries(dict.fromkeys(named, number)))
    return Setup(declared, unknown, threshold)


@st.composite
def examples(draw: st.DrawFn, setup: Setup, weight: st.SearchStrategy[float]) -> Example:
    """One example that a setup can read, in two forms."""
    open_set = setup.labels is None or setup.unknown == "add"
    pool = POOL if open_set else setup.labels
    outcome = st.integers(TRUE_NEGATIVE, MASKED)
    cells = draw(st.dictionaries(st.sampled_from(pool), outcome, max_size=5)) if pool else {}
    declared = frozenset(setup.labels or ())
    meant = {label: result for label, result in cells.items() if result or label not in declared}
    return Example(meant, draw(weight), _said(draw, setup, cells), _said(draw, setup, cells))


@st.composite
def streams(draw: st.DrawFn, *, max_size: int = 12, weighted: bool | None = None) -> Stream:
    """A setup, a kind of object, and examples for it, weighted or not."""
    setup = draw(setups())
    heavy = draw(st.booleans()) if weighted is None else weighted
    example = examples(setup, weights() if heavy else st.just(1.0))
    return Stream(setup, draw(st.sampled_from(list(KINDS))), draw(st.lists(example, max_size=max_size)))


# -- forms of an example ----------------------------------------------------------------------------------------------


def _said(draw: st.DrawFn, setup: Setup, cells: dict[str | int, int]) -> tuple[object, object, object]:
    """The two sides and the mask, each in some accepted form."""
    true = {label for label, result in cells.items() if result in (FALSE_NEGATIVE, TRUE_POSITIVE)}
    pred = {label for label, result in cells.items() if result in (FALSE_POSITIVE, TRUE_POSITIVE)}
    true_zeros, pred_zeros, unknowns, hidden = set(), set(), set(), set()
    for label, result in cells.items():
        if result == TRUE_NEGATIVE:
            sides = draw(st.sampled_from([(true_zeros,), (pred_zeros,), (true_zeros, pred_zeros)]))
            for side in sides:
                side.add(label)
        elif result == MASKED:
            if draw(st.booleans()):
                hidden.add(label)
                true |= {label} if draw(st.booleans()) else set()
            else:
                unknowns.add(label)
            pred |= {label} if draw(st.booleans()) else set()
    if draw(st.booleans()) and not hidden:  # mappings over the same labels
        labels = draw(st.permutations(list(cells)))
        y_true = _mapping(draw, setup, labels, true, unknowns, scores=False)
        y_pred = _mapping(draw, setup, draw(st.permutations(labels)), pred, set(), scores=setup.threshold is not None)
        return y_true, y_pred, None
    return (
        _side(draw, setup, true, true_zeros, unknowns, scores=False),
        _side(draw, setup, pred, pred_zeros, set(), scores=setup.threshold is not None),
        _side(draw, setup, hidden, set(), set(), scores=False) if hidden or draw(st.booleans()) else None,
    )


def _side(
    draw: st.DrawFn, setup: Setup, positive: set, zeros: set, unknowns: set, *, scores: bool
) -> object:  # positive labels are 1, zeros are 0, unknowns have unknown truth
    noise = []
    if setup.unknown == "ignore" and draw(st.booleans()):
        noise = [label for label in ("noise", 10**30, "") if label not in setup.labels]
    forms = ["mapping"]
    if not zeros and not unknowns:
        forms += ["set", "frozenset", "list", "tuple", "keys", "words"]
    if setup.labels is not None and not noise and (positive | zeros | unknowns).issubset(setup.labels):
        forms += ["row", "row"]
    form = draw(st.sampled_from(forms))
    if form == "mapping":
        labels = draw(st.permutations([*(positive | zeros | unknowns), *noise]))
        made = _mapping(draw, setup, labels, positive | set(noise), unknowns, scores=scores)
        return draw(st.sampled_from([made, OrderedDict(made), MappingProxyType(made)]))
    if form == "row":
        return _row(draw, setup, positive, unknowns, scores=scores)
    listed = draw(st.permutations([*positive, *noise]))
    if form == "words" and listed and all(isinstance(label, str) for label in listed):
        return np.array(listed, object)
    if form == "keys":
        return dict.fromkeys(listed).keys()
    if {*map(str, listed)} <= {"0", "1", "-1", "-100"}:  # a list of these may be refused because it looks like a row
        return set(listed)
    repeated = listed + draw(st.lists(st.sampled_from(listed), max_size=3)) if listed else []
    return {"set": set, "frozenset": frozenset, "tuple": tuple}.get(form, list)(repeated)


def _mapping(draw: st.DrawFn, setup: Setup, labels: list, positive: set, unknowns: set, *, scores: bool) -> dict:
    return {
        label: draw(st.sampled_from([None, math.nan, np.float32("nan")]))
        if label in unknowns
        else _value(draw, setup, label, label in positive, scores=scores)
        for label in labels
    }


def _value(draw: st.DrawFn, setup: Setup, label: str | int, positive: bool, *, scores: bool) -> object:
    if scores and draw(st.booleans()):
        known = isinstance(setup.threshold, float) or label in setup.threshold
        return _score(draw, setup.threshold_of(label) if known else 0.5, positive)
    if scores:  # True and False are decisions even where numbers are scores
        return draw(st.sampled_from([bool, np.bool_]))(positive)
    return draw(st.sampled_from([bool, int, float, np.bool_, np.int8, np.uint64, np.float16, np.float32]))(positive)


def _score(draw: st.DrawFn, threshold: float, positive: bool) -> float:
    above = [threshold, math.nextafter(threshold, math.inf), threshold + 1.0, 1e300]
    below = [math.nextafter(threshold, -math.inf), threshold - 1.0, -1e300]
    score = draw(st.sampled_from(above if positive else below))
    return draw(st.sampled_from([float, np.float64]))(score)


def _row(draw: st.DrawFn, setup: Setup, positive: set, unknowns: set, *, scores: bool) -> np.ndarray:
    bits = [label in positive for label in setup.labels]
    if scores and draw(st.booleans()):
        rows = [_score(draw, setup.threshold_of(label), bit) for label, bit in zip(setup.labels, bits, strict=True)]
        return np.array(rows, np.float64)
    if scores:
        return np.array(bits, np.bool_)
    if unknowns:
        dtype = draw(st.sampled_from([object, "f2", "f4", "f8", ">f8"]))
        nothing = None if dtype is object else math.nan
        values = [nothing if label in unknowns else bit for label, bit in zip(setup.labels, bits, strict=True)]
        return np.array(values, dtype)
    dtype = draw(st.sampled_from(["?", "i1", "u1", "i8", "u8", ">i4", "f2", "f4", "f8", "O"]))
    return np.array(bits).astype(dtype)


# -- expected counts --------------------------------------------------------------------------------------------------


def in_order(labels: Iterable[str | int]) -> list[str | int]:
    """Integers by value, then strings by code point."""
    labels = list(labels)
    numbers = sorted(label for label in labels if not isinstance(label, str))
    return numbers + sorted((label for label in labels if isinstance(label, str)), key=lambda text: [*map(ord, text)])


def counted(setup: Setup, examples: list[Example]) -> dict[str | int, tuple[Fraction, Fraction, Fraction, Fraction]]:
    """The weights of true and false positives and false and true negatives of each label, by plain loops."""
    declared = list(setup.labels or ())
    met = {label for example in examples for label in example.cells} - set(declared)
    table = {}
    for label in [*declared, *in_order(met)]:
        sums = [Fraction(0)] * 5
        for example in examples:
            sums[example.cells.get(label, TRUE_NEGATIVE)] += Fraction(example.weight)
        negative, missed, wrong, hit, _ = sums
        table[label] = (hit, wrong, missed, negative)
    return table


def readings(target: se.Evaluator | se.Metric) -> list[str]:
    """Every value that can be read from an object, with all bits."""
    values: dict[str, object] = {"own": target.get()}
    if isinstance(target, se.Evaluator):
        values.update((name, target.get(name)) for name in READ)
        values.update(values.pop("own"))
    table = target.per_label()
    columns = [(table.tp, table.fp, table.fn, table.tn, table.support, table.predicted)]
    result = [repr(target.labels), repr(target.examples), target.weight.hex(), repr(target)]
    result += [column.dtype.str + column.tobytes().hex() for group in columns for column in group]
    for name, value in values.items():
        parts = value.items() if isinstance(value, Mapping) else [("", value)]
        result += [f"{name} {label!r} {part.hex()}" for label, part in parts]
    return result


def snapshot(value: object) -> object:
    """The content of a value with its types, to compare it later and detect any change."""
    if isinstance(value, np.ndarray):
        return (str(value.dtype), value.shape, value.strides, value.flags.writeable, repr(value.tolist()))
    if isinstance(value, Mapping):
        return (type(value).__name__, [(repr(key), snapshot(part)) for key, part in value.items()])
    if isinstance(value, list | tuple):
        return (type(value).__name__, [snapshot(part) for part in value])
    if isinstance(value, set | frozenset):
        return (type(value).__name__, sorted(map(repr, value)))
    return (type(value).__name__, repr(value))
