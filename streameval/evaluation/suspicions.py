"""Input that is legal and almost surely wrong: what to warn of, found in what was counted and in a few examples."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterator, Sequence
from string import ascii_lowercase
from typing import Any, TypeAlias

import numpy as np

from streameval.errors import is_silent, option, wording
from streameval.evaluation.core import Core
from streameval.evaluation.kinds import KINDS
from streameval.inputs.columns import DECLARE, SIDES, Reader
from streameval.inputs.lists import ROWS
from streameval.inputs.samples import Sample
from streameval.inputs.values import THRESHOLD
from streameval.kernel.backend import commit
from streameval.metrics.views import Views
from streameval.schema.input_notes import FEW, FIRST, InputNotes, notes_of
from streameval.schema.labels import Label, key_of, keys_of
from streameval.schema.text import common_prefix, printable, quoted
from streameval.states.base import COUNT_MAX
from streameval.states.views import Tables

_LABELS = 10_000  # up to which their names are compared
_INVISIBLE = dict.fromkeys([0xAD, *range(0x200B, 0x2010), 0x2060, 0xFEFF])  # soft hyphens, marks of order or width
_DECIMAL = re.compile(r"(?:.*:\s*)?(?:0?\.\d+|1\.0+|\d(?:\.\d+)?e-\d+)", re.DOTALL)  # which a label may precede
_FLAGS = {"false", "true"}, {"0.0", "1.0"}, {"no", "yes"}, {"f", "t"}, {"n", "y"}
_UNORDERED = 0.01  # of pairs, from which on it is said that bins hide how good scores are
_ROUNDED = 0.01  # how far half precision can take a mean of probabilities out of [0, 1]
_Warnings: TypeAlias = Iterator[tuple[str, str]]  # each with what it is about


def look(guard: commit.Guard, examples: int, core: Callable[[], Core], *, is_read: bool = True) -> None:
    """Warn of what an object has counted, if so many examples are enough: of a reading (``is_read``) or of a change."""
    notes = notes_of(guard)
    if examples < (FEW if is_read and not notes.is_read else notes.due) or is_silent():
        return
    with guard.reading:
        counted = core()
        notes.is_read = notes.is_read or is_read
        while examples >= notes.due:
            notes.look_later()
        warnings = [*_suspicions(counted, notes, is_read)]
    for about, message in warnings:  # while no guard is held, as filters may be code of the user
        notes.warn(about, message)


def look_if_due(guard: commit.Guard, core: Core) -> None:
    """Before a change that the fast path did not make, look whether there is something to warn of, if it is time."""
    if core.table.examples >= core.table.most:
        look(guard, core.table.examples, lambda: core, is_read=False)


def set_next_look(guard: commit.Guard, core: Core, reader: Reader | None = None) -> None:
    """With such a change, of what was read but not yet counted, let the fast path count until it is time again."""
    if core.table.examples >= core.table.most:
        core.table.most = min(notes_of(guard).stop(reader.noted if reader else 0), COUNT_MAX)


def _suspicions(core: Core, notes: InputNotes, is_read: bool) -> _Warnings:
    true, pred = (notes.samples.get(name) or Sample() for name in ("y_true", "y_pred"))
    yield from _of_labels(core, true, pred, is_read)
    if core.config.scored and pred.numbers:
        yield from _of_scores(pred)
    few = FIRST <= core.states.examples < 10 * FIRST  # of more this takes as long as an area: only before one is read
    if "curves" in core.config.states and (few or (is_read and core.states.examples >= FIRST)):
        yield from _of_curves(core)


def _of_labels(core: Core, true: Sample, pred: Sample, is_read: bool) -> _Warnings:
    config, decisions = core.config, core.decisions
    columns, examples = decisions.columns(), decisions.examples
    names = decisions.labels_of(columns)
    cells = decisions.by_label(columns, None)
    tn, fn, fp, tp, masked = cells
    yield from _of_masks(cells, true, examples, core.labels.fixed)
    yield from _of_undeclared(names, cells, examples) if config.labels is None else ()
    explained = False
    negative = [label for label in names if isinstance(label, int) and label < 0] if len(names) <= _LABELS else []
    if config.labels is None and negative and {-1, -100}.issuperset(negative):
        place, (keys, times) = names.index(negative[0]), decisions.by_example(None)
        positive = (tp + fn, tp + fp)[: 1 + config.has_decisions]
        if any(counts[place] > times[keys[:, side] == 1].sum() for side, counts in enumerate(positive)):
            pad = f"examples have label {negative[0]} and another, as padded lists do"
            yield "padding", f"{pad}; leave out labels below 0"
            explained = True
    complete = bool(tn.any() and (cells.sum(axis=0) == examples).all())  # each example mentions each label
    if not config.has_decisions:  # labels with scores are those that are mentioned where they are false
        cells = np.array([tn, fn, tn, tp, masked])
    comparable = names if len(names) <= _LABELS and str in map(type, names) else []
    alike = [*_alike(comparable, cells, examples, is_declared=config.labels is not None)]
    yield from alike or _unshared(names, cells, true, pred, examples, complete)
    if config.labels is None and config.rows is None and len(names) == 2:
        keys = decisions.by_example(None)[0]
        flags = {str(name).lower(): name for name in names}
        if flags.keys() in _FLAGS and (keys[:, :2] == 2).any():
            both = f"the labels are {quoted(names[0])} and {quoted(names[1])}, and examples have both"
            array = f"give np.asarray(rows) == {quoted(flags[max(flags)])}"
            advice = wording(array, "write true and false without quotes")
            yield "flags", f"{both}; for indicators {advice}, for labels {option('rows', 'labels')}"
            explained = True
        is_binary = {*names} in ({0, 1}, {"0", "1"}) and true.lengths == pred.lengths == {1}
        if is_binary and (keys[:, :2] == 1).all():
            sides = wording("y_true and y_pred", "--actual and --predicted")
            single = f"every list in {sides} has one member, and all are 0 or 1"
            long = wording("", ", for a row for each label --example and --label")
            yield "single", f"{single}; {wording(*ROWS).format('np.asarray(rows, int) or ', 'sets or ')}{long}"
    samples = ("y_true", true, pred.width), ("y_pred", pred, true.width * config.has_decisions)
    for name, sample, width in samples if config.labels is None and config.rows is None else ():
        fixed = len(sample.lengths) == 1 < max(sample.lengths)
        if sample.width == 0 and width == 1 and {*names} == {0, 1}:
            labels = f"{wording(*SIDES[name])} has labels 0 and 1, and the other side one column, which is label 0"
            yield "column", f"{labels}; where 1 means true, give one column on both sides"
        if sample.mixed == sample.examples >= FEW:
            rows = f"every list in {wording(*SIDES[name])} has strings and integers, as rows with an id or a count do"
            yield "mixed", f"{rows}; write lists that have only labels, or give {option('rows', 'labels')}"
            explained = True
        elif fixed and 4 * sample.repeats > sample.examples >= FEW and not explained:
            rows = f"lists in {wording(*SIDES[name])} have one length and repeat labels"
            write = wording("give [f'{i}={c}' for i, c in enumerate(row)]", "write labels such as '0=3'")
            ways = f"{write}, for labels {wording('sets or ', '')}{option('rows', 'labels')}"
            yield "repeats", f"{rows}, as with padding, to be left out, or with a class for each column; {ways}"
            explained = True
        elif fixed and sample.lengths == {width} and sample.examples >= FEW:
            rows = f"lists in {wording(*SIDES[name])} are as long as rows have columns, and are read as labels"
            way = "for scores or indicators give np.asarray(rows), for labels sets or rows='labels'"
            yield "rows", f"{rows}; {wording(way, ROWS[1])}"
    is_asked = is_read and config.rows is None and not explained
    yield from _of_keys((true, tp + fn), (pred, tp + fp), examples) if is_asked else ()
    if config.unknown == "ignore":
        declared = {*keys_of(config.labels or ())}
        for name, sample, counts in (("y_true", true, tp + fn), ("y_pred", pred, tp + fp)):
            if sample.labels and not counts.any() and declared.isdisjoint(sample.labels):
                which = f"{wording(*SIDES[name])} is ignored, such as {quoted(next(iter(sample.labels.values())))}"
                yield f"ignored {name}", f"every label of {which}; none is among {wording('labels=[...]', '--labels')}"
    if isinstance(config.threshold, float) and pred.numbers:
        negatives = examples * core.labels.fixed - int(cells[1:, : core.labels.fixed].sum()) + int(tn.sum())
        yield from _compared(pred, config.threshold, examples, int((tp + fp).sum()), negatives + int(fn.sum()))


def _of_keys(true: tuple[Sample, Any], pred: tuple[Sample, Any], examples: int) -> _Warnings:
    """Only when a value is read, as a stream may begin with examples that have every label."""
    varies = examples >= FIRST and bool(((true[1] > 0) & (true[1] < examples)).any())
    for name, (sample, counts), enough in (("y_true", true, True), ("y_pred", pred, varies)):
        has_names = sample.examples >= FEW and not sample.width and -1 not in sample.lengths
        if enough and has_names and len(counts) > 1 and (counts == examples).all():
            every = f"every example has every label in {wording(*SIDES[name])}"
            way = ", as set(mapping) and rankings of all labels do; give the mapping, or lists without false labels"
            yield "keys", every + wording(way, "")


def _of_masks(cells: Any, true: Sample, examples: int, declared: int) -> _Warnings:
    tn, _, fp, _, masked = cells
    every = f"every truth in {wording(*SIDES['y_true'])} is unknown"
    if not cells[:4].any() and masked.any() and (masked >= examples)[:declared].all():
        yield "truth", f"{every}; {option('mask')} marks unknown truths: is it inverted?"
    elif true.low == true.high == 1 and not (tn | fp).any() and masked.any() and cells.sum() == tn.size * examples:
        yield "truth", f"{every} or true, so precision is 1; where NaN, None or an empty cell means false, write 0"


def _of_undeclared(names: Sequence[Label], cells: Any, examples: int) -> _Warnings:
    positives = int(cells[[1, 3]].sum())
    if missing := next((name for name in ("nan", "<NA>") if name in names), None):
        string = f"{quoted(missing)} is a label, as str(value) gives where a value is missing"
        yield "missing", f"{string}; give [] where there is no label"
    if "" in names:
        yield "empty", "the empty string is a label, as ''.split(',') gives; leave it out where there is no label"
    mark = next((mark for mark in "[,;| " if len(names) <= _LABELS and mark in names), "")
    if mark and {len(str(name)) for name in names} == {1} and sum(str(name).isalnum() for name in names) > 1:
        way = "ast.literal_eval(string)" if mark == "[" else f"string.split({mark!r})"
        yield "characters", f"each label is one character, such as {mark!r}, as set(string) gives; give {way}"
    few = names if len(names) <= len(ascii_lowercase) else ()
    letters = [name for name in few if isinstance(name, str) and len(name) == 1 and name in ascii_lowercase]
    if len(letters) == len(names) > 4 and "".join(sorted(letters)) not in ascii_lowercase and positives > 2 * examples:
        way = "as set(string) gives, and MultiLabelBinarizer of strings; for one label an example give [label]"
        yield "characters", f"each label is a letter, such as {quoted(letters[0])}, {way}"
    last = len(names) - 1
    if last < _LABELS and _mix_columns(names, cells, examples):
        mixed = "labels are strings in some examples, and the positions of columns without names in all others"
        yield "columns", f"{mixed}; {wording(*DECLARE)}"
    if 1 < last < _LABELS and {*names} == {*range(last + 1)}:
        tn, fn, fp, tp, _ = cells = cells[:, np.argsort(names)]
        true, pred, rows = tp + fn > 0, tp + fp > 0, cells.sum(axis=0) == examples
        if rows[:-1].all() and not tn[-1] and true[-1] != pred[-1] and not (true if true[-1] else pred)[0]:
            counted = f"columns without names are the labels 0 to {last - 1}, and lists have 1 to {last}"
            yield "positions", f"{counted}; subtract 1 from labels in lists"


def _of_scores(pred: Sample) -> _Warnings:
    if pred.permuted:
        advice = wording("for scores give these, for a ranking streameval.TopK(rows)", "give scores")
        permuted = f"each row of {wording(*SIDES['y_pred'])} is a permutation of 0, 1, 2 ..., as argsort gives"
        yield "permutations", f"{permuted}; {advice}"
    elif pred.binary and (pred.low, pred.high) == (0, 1) and pred.numbers >= FEW:
        binary = f"all scores in {wording(*SIDES['y_pred'])} are 0 or 1, as binary predictions are"
        yield "binary", f"{binary}; give probabilities or other scores"


def _of_curves(core: Core) -> _Warnings:
    views = Views(core.config, Tables(core.decisions), core.states.states, KINDS)
    # Of counts, without weights: streams are looked at while they are counted, and their steps take as long to make.
    rows = views.named("curves", "curves").counted_pairs
    pairs, mixed = sum(neg * pos for neg, pos, *_ in rows), sum(mixed for *_, mixed in rows)
    if mixed > _UNORDERED * pairs:
        close = f"scores in {wording(*SIDES['y_pred'])} are so close together that bins hide the order of"
        close = f"{close} {mixed / pairs:.0%} of pairs of a positive and a negative"
        yield "bins", f"{close}: give scores minus their mean, or logits{wording('; see bounds()', '')}"


def _compared(pred: Sample, threshold: float, examples: int, reached: int, missed: int) -> _Warnings:
    compared = f"scores from {pred.low:.4g} to {pred.high:.4g} are compared with threshold {threshold:g}"
    check = f"check {option('threshold')}"
    if threshold == 0.5 and (pred.low < -_ROUNDED or pred.high > 1 + _ROUNDED):
        advice = f"for logits give {option('threshold', 0)}, for percentages 50"
        yield "threshold", f"{compared}, which is for probabilities; {advice}"
    elif examples >= FIRST and pred.low < pred.high:
        if not reached and pred.high < threshold:
            yield "threshold", f"{compared}, and none of {examples} examples has one that reaches it; {check}"
        elif not missed and pred.low >= threshold:
            yield "threshold", f"{compared}, and all of {examples} examples reach it with each label; {check}"


def _mix_columns(names: Sequence[Label], cells: Any, examples: int) -> bool:
    """Whether labels are 0, 1, 2 ..., as of columns without names, and strings, as only bytes or merges mix them."""
    are_integers = np.array([isinstance(name, int) for name in names], bool)
    integers, mentions = {*range(int(are_integers.sum()))}, cells.sum(axis=0)
    width, rows = len(integers), int(mentions[are_integers].max(initial=0))
    if not 1 < width < len(names) or not integers.issubset(names) or not cells[0, are_integers].any():
        return False
    return bool((mentions[are_integers] == rows).all() and (mentions[~are_integers] <= examples - rows).all())


def _unshared(
    names: Sequence[Label], cells: Any, true: Sample, pred: Sample, examples: int, complete: bool
) -> _Warnings:
    _, fn, fp, tp, _ = cells
    if tp.any() or (not complete and ((fn > 0) & (fp > 0)).any()) or not (fn.any() and fp.any()):
        return
    if not true.labels.keys().isdisjoint(pred.labels) or (cells[0].any() and not (true.labels and pred.labels)):
        return  # a label that is shared may be false where it is
    fp = np.where([key_of(name) in true.labels for name in names], 0, fp)
    sides = [[names[place] for place in np.flatnonzero(counts)[:_LABELS]] for counts in (fn, fp)]
    true_decimals, decimals = ([isinstance(name, str) and _DECIMAL.fullmatch(name) for name in side] for side in sides)
    are_scores = all(decimals) and not any(true_decimals)
    if examples >= FIRST or are_scores or complete or _same(*sides):
        first, second = (quoted(names[int(counts.argmax())]) for counts in (fn, fp))
        unshared = "no label of y_true is in y_pred, and none of y_pred in y_true"
        unshared = wording(unshared, "no true label is a predicted one")
        numbers = f"for scores {wording(*THRESHOLD)}{wording(', and numbers, not strings', '')}"
        advice = numbers if are_scores else "use the same names"
        yield "labels", f"{unshared}: such as {first} and {second}; {advice}"


def _same(true: list[Label], pred: list[Label]) -> bool:
    """Whether labels differ in type, case, surrounding space or a common prefix or suffix alone."""
    (one, cut), (other, short) = ((plain := {*map(_folded, side)}, _cut(plain)) for side in (true, pred))
    return any(a <= b or b < a for a, b in ((one, other), (cut, other), (one, short), (cut, short)))


def _cut(names: set[str]) -> set[str]:
    """Names without the prefix and the suffix that all of them have, if there are several."""
    first, last = (len(common_prefix(side)) for side in (names, {name[::-1] for name in names}))
    return {name[first : len(name) - last] for name in names} if len(names) > 1 else names


def _alike(names: Sequence[Label], cells: Any, examples: int, *, is_declared: bool) -> _Warnings:
    """Labels that differ only in surrounding space or type; or in case, Unicode form or a final .0 between sides."""
    _, fn, fp, tp, masked = cells
    groups: dict[Hashable, list[int]] = {}
    for place, name in enumerate(names):
        groups.setdefault(_folded(name), []).append(place)
    known = {*names}
    for label in names:
        if isinstance(label, str) and label != (plain := label.strip()) and plain in known and plain:
            yield "space", f"labels {quoted(plain)} and {quoted(label)} differ in surrounding space; strip labels"
            return
    for group in (group for group in groups.values() if len(group) > 1):
        mine, theirs = (
            [place for place in group if side[place] and not other[place] and not tp[place]]
            for side, other in ((fn, fp), (fp, fn))
        )
        masks = [place for place in group if masked[place] and not cells[:4, place].any()]
        sides = ("y_true", mine), ("y_pred", theirs), ("mask", masks)
        only = ", ".join(f"one only in {wording(*SIDES[name])}" for name, labels in sides if labels)
        if only and examples >= FIRST:  # of many, at least one of them is
            both = [place for place in group if tp[place] or (fn[place] and fp[place])]
            mine, theirs = mine or both or (masks if theirs else []), theirs or masks or both
        if not ((mine and theirs) or is_declared) and len({type(names[place]) for place in group}) > 1:
            mine, theirs = group, group[::-1]  # as of CSV and JSON together
        if mine and theirs:
            true, pred = names[mine[0]], names[theirs[0]]
            way = "type" if type(true) is not type(pred) else "case or Unicode form"
            if re.findall("[-_ ]", printable(true)) != re.findall("[-_ ]", printable(pred)):
                way = "space, '_' or '-'"
            if f"{printable(true)}.0" == pred or f"{printable(pred)}.0" == true:
                way = "a final .0"
            differ = f"labels {quoted(true)} and {quoted(pred)} differ in {way}"
            yield "alike", f"{', '.join(filter(None, [differ, only]))}; use the same names"
            return


def _folded(label: Label) -> str:
    from unicodedata import normalize  # only where names are compared, as importing the package should be quick

    name = (label if isinstance(label, str) else printable(label)).translate(_INVISIBLE)
    folded = normalize("NFKC", name).strip().casefold().replace("_", " ").replace("-", " ")
    return folded[:-2] if folded.endswith(".0") and folded[:-2].isdigit() else folded  # integers beside gaps, of pandas
