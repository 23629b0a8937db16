"""Warnings about input that is legal but almost surely wrong, judged by the counts and by a few examples."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterator
from string import ascii_lowercase
from typing import Any, TypeAlias

import numpy as np

from streameval.errors import is_silent, option, wording
from streameval.evaluation.core import Core
from streameval.evaluation.kinds import KINDS
from streameval.inputs.columns import DECLARE, LABELS, SIDES, Reader
from streameval.inputs.lists import ROWS
from streameval.inputs.samples import Sample
from streameval.inputs.values import THRESHOLD
from streameval.kernel.backend import commit
from streameval.metrics.views import Views
from streameval.schema.input_notes import FEW, FIRST, InputNotes, notes_of
from streameval.schema.labels import Label, key_of, keys_of
from streameval.schema.text import common_prefix, composed, printable, quoted
from streameval.states.base import COUNT_MAX
from streameval.states.views import Tables

_LABELS = 10_000  # up to this number of labels, their names are compared
_INVISIBLE = dict.fromkeys([0xAD, *range(0x200B, 0x2010), 0x2060, 0xFEFF])  # soft hyphen, zero width, direction
_DECIMAL = re.compile(r"(?:.*:\s*)?(?:0?\.\d+|1\.0+|\d(?:\.\d+)?e-\d+)", re.DOTALL)  # "label: " may precede it
_NUMBER = re.compile(r"(?:.*:\s*)?(?:\d*\.\d+|\d(?:\.\d+)?e-\d+)", re.DOTALL)
_JOINTS = *",;|#\n\u3001\uff0c\uff1b", " and "  # with the commas of Chinese and Japanese
_JOINT = re.compile(rf"\s*(?:{'|'.join(map(re.escape, _JOINTS))})\s*")
_MARKS = '."`'  # around labels that a language model wrote
_FLAGS = {"false", "true"}, {"0.0", "1.0"}, {"no", "yes"}, {"f", "t"}, {"n", "y"}
_UNORDERED = 0.01  # the fraction of pairs whose order bins may hide before there is a warning
_ROUNDED = 0.01  # how far half precision can take a mean of probabilities out of [0, 1]
_MANY = 5  # from this number of labels on, no sensible model predicts all of them for each of its first examples
_Warnings: TypeAlias = Iterator[tuple[str, str]]  # pairs of a subject and a message


def look(guard: commit.Guard, examples: int, core: Callable[[], Core], *, is_read: bool = True) -> None:
    """Issue warnings about the input of an object if they are due at a reading (``is_read``) or at a change."""
    notes = notes_of(guard)
    if examples < (FEW if is_read and not notes.is_read else notes.due) or is_silent():
        return
    with guard.reading:
        counted = core()
        notes.is_read = notes.is_read or is_read
        while examples >= notes.due:
            notes.look_later()
        warnings = [*_suspicions(_Counted(counted, notes, is_read))]
    for about, message in warnings:  # without a guard, because filters may run code of the user
        notes.warn(about, message)


def look_if_due(guard: commit.Guard, core: Core) -> None:
    """Before a change that the fast path did not make, issue warnings if they are due."""
    if core.table.examples >= core.table.most:
        look(guard, core.table.examples, lambda: core, is_read=False)


def set_next_look(guard: commit.Guard, core: Core, reader: Reader | None = None) -> None:
    """With such a change, between reading and counting, let the fast path count until warnings are due again."""
    if core.table.examples >= core.table.most:
        core.table.most = min(notes_of(guard).stop(reader.noted if reader else 0), COUNT_MAX)


class _Counted:
    """What an object has counted, and what was noted of its input."""

    def __init__(self, core: Core, notes: InputNotes, is_read: bool) -> None:
        self.core, self.config, self.is_read = core, core.config, is_read
        self.examples, self.declared = core.decisions.examples, core.labels.fixed
        self.true, self.pred = (notes.samples.get(name) or Sample() for name in ("y_true", "y_pred"))
        columns = core.decisions.columns()
        self.names = core.labels.at(columns)
        self.comparable = self.names if len(self.names) <= _LABELS else []
        self.cells = tn, fn, fp, tp, _ = core.decisions.by_label(columns, None)
        self.positives = tp + fn, tp + fp  # of each label, in y_true and in y_pred
        self.complete = bool(tn.any() and (self.cells.sum(axis=0) == self.examples).all())  # all labels in each example
        self.abouts: set[str] = set()  # the subjects of the warnings so far

    @property
    def mentions(self) -> Any:
        """The cells of labels; without decisions, those mentioned as false, which have scores, count as predicted."""
        return self.cells if self.config.has_decisions else self.cells[[0, 1, 0, 3, 4]]

    @property
    def sizes(self) -> tuple[Any, Any]:
        """Rows of two numbers, of true and of predicted labels, and how many examples have each row."""
        keys, times = self.core.decisions.by_example(None)
        return keys[:, :2], times

    @property
    def is_explained(self) -> bool:
        """Whether a warning has already explained why examples have so many labels."""
        return not self.abouts.isdisjoint(("padding", "flags", "mixed", "repeats"))


def _suspicions(counted: _Counted) -> _Warnings:
    rows, undeclared = counted.config.rows, counted.config.labels is None
    groups = (
        (True, (_of_masks,)),
        (undeclared, (_of_strings, _of_characters, _of_mixed_columns, _of_positions, _of_padding)),
        (True, (_of_names,)),
        (undeclared and rows is None, (_of_two_labels, _of_lists)),
        (counted.is_read and rows is None, (_of_every_label,)),
        (True, (_of_ignored, _of_threshold, _of_scores, _of_curves)),
    )
    for rule in (rule for applies, rules in groups if applies for rule in rules):
        for about, message in rule(counted):
            counted.abouts.add(about)
            yield about, message


def _of_masks(counted: _Counted) -> _Warnings:
    tn, _, fp, _, masked = cells = counted.cells
    every = f"every truth in {wording(*SIDES['y_true'])} is unknown"
    true = counted.true
    values = true.booleans | ({true.low, true.high} if true.numbers else set())
    are_ones = values == {1} and not (tn | fp).any() and masked.any()
    if not cells[:4].any() and masked.any() and (masked >= counted.examples)[: counted.declared].all():
        yield "truth", f"{every}; {option('mask')} marks unknown truths: is it inverted?"
    elif are_ones and cells.sum() == tn.size * counted.examples:
        yield "truth", f"{every} or true, so precision is 1; where NaN, None or an empty cell means false, write 0"


def _of_strings(counted: _Counted) -> _Warnings:
    if missing := next((name for name in ("nan", "<NA>") if name in counted.names), None):
        string = f"{quoted(missing)} is a label, as str(value) gives where a value is missing"
        yield "missing", f"{string}; give [] where there is no label"
    if "" in counted.names:
        yield "empty", "the empty string is a label, as ''.split(',') gives; leave it out where there is no label"


def _of_characters(counted: _Counted) -> _Warnings:
    names = counted.comparable
    if any(len(printable(name)) != 1 for name in names):
        return
    mark = next((mark for mark in "[,;| " if mark in names), "")
    if mark and sum(str(name).isalnum() for name in names) > 1:
        way = f"as set(string) gives; give {'ast.literal_eval(string)' if mark == '[' else f'string.split({mark!r})'}"
        yield "characters", f"each label is one character, such as {mark!r}{wording(f', {way}', '; give whole labels')}"
    are_letters = all(isinstance(name, str) and name in ascii_lowercase for name in names)
    many = counted.cells[[1, 3]].sum() > 2 * counted.examples
    if are_letters and len(names) > 4 and many and "".join(sorted(map(str, names))) not in ascii_lowercase:
        way = "as set(string) gives, and MultiLabelBinarizer of strings; for one label an example give [label]"
        yield "characters", f"each label is a letter, such as {quoted(names[0])}, {way}"


def _of_mixed_columns(counted: _Counted) -> _Warnings:
    """Labels 0, 1, 2 ... of columns without names together with strings, which only bytes or merges can mix."""
    are_integers = np.array([isinstance(name, int) for name in counted.comparable], bool)
    integers, mentions = {*range(int(are_integers.sum()))}, counted.cells.sum(axis=0)
    if not 1 < len(integers) < len(are_integers) or not integers.issubset(counted.names):
        return
    rows, named = mentions[are_integers].max(), mentions[~are_integers]
    are_columns = bool((mentions[are_integers] == rows).all() and counted.cells[0, are_integers].any())
    if are_columns and (named <= counted.examples - rows).all():
        mixed = "labels are strings in some examples, and the positions of columns without names in all others"
        yield "columns", f"{mixed}; {wording(*DECLARE)}"


def _of_positions(counted: _Counted) -> _Warnings:
    last = len(counted.comparable) - 1
    if last > 1 and {*counted.comparable} == {*range(last + 1)}:
        tn, fn, fp, tp, _ = cells = counted.cells[:, np.argsort(counted.comparable)]
        true, pred, rows = tp + fn > 0, tp + fp > 0, cells.sum(axis=0) == counted.examples
        if rows[:-1].all() and not tn[-1] and true[-1] != pred[-1] and not (true if true[-1] else pred)[0]:
            differ = f"columns without names are the labels 0 to {last - 1}, and lists have 1 to {last}"
            yield "positions", f"{differ}; subtract 1 from labels in lists"


def _of_padding(counted: _Counted) -> _Warnings:
    negative = [label for label in counted.comparable if isinstance(label, int) and label < 0]
    if negative and {-1, -100}.issuperset(negative):
        place, (sizes, times) = counted.names.index(negative[0]), counted.sizes
        sides = enumerate(counted.positives[: 1 + counted.config.has_decisions])
        if any(positives[place] > times[sizes[:, side] == 1].sum() for side, positives in sides):
            pad = f"examples have label {negative[0]} and another, as padded lists do"
            yield "padding", f"{pad}; leave out labels below 0"


def _of_names(counted: _Counted) -> _Warnings:
    """The warnings of the first of these rules that has any."""
    alike = [_of_alike] if str in map(type, counted.comparable) else []
    joined = [_of_joined, _of_decimals] if alike and counted.config.labels is None else []
    yield from next(filter(None, ([*rule(counted)] for rule in (*alike, *joined, _of_unshared))), ())


def _of_alike(counted: _Counted) -> _Warnings:
    """Labels that differ only in surrounding space or type; or in case, Unicode form or a final .0 between sides."""
    names, (_, fn, fp, tp, masked) = counted.comparable, counted.mentions
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
        masks = [place for place in group if masked[place] and not counted.mentions[:4, place].any()]
        sides = ("y_true", mine), ("y_pred", theirs), ("mask", masks)
        only = ", ".join(f"one only in {wording(*SIDES[name])}" for name, labels in sides if labels)
        if only and counted.examples >= FIRST:  # with many examples, one label that is only on one side suffices
            both = [place for place in group if tp[place] or (fn[place] and fp[place])]
            mine, theirs = mine or both or (masks if theirs else []), theirs or masks or both
        kinds = {type(names[place]) for place in group}
        looks: dict[str, list[int]] = {}
        for place in group:
            looks.setdefault(composed(printable(names[place])), []).append(place)
        twins = next((same for same in looks.values() if len(same) > 1), group)
        if counted.config.labels is None and not (mine and theirs) and (len(kinds) > 1 or len(looks) < len(group)):
            mine, theirs = twins, twins[::-1]  # for example from CSV and JSON, or from file names and typed names
        if mine and theirs:
            true, pred = names[mine[0]], names[theirs[0]]
            way = "type" if type(true) is not type(pred) else "case or Unicode form"
            if re.findall("[-_ ]", printable(true)) != re.findall("[-_ ]", printable(pred)):
                way = "space, '_' or '-'"
            if f"{printable(true)}.0" == pred or f"{printable(pred)}.0" == true:
                way = "a final .0"
            elif way != "type" and printable(true).strip(_MARKS) == printable(pred).strip(_MARKS):
                way = "a full stop or quotation marks"
            differ = f"labels {quoted(true)} and {quoted(pred)} differ in {way}"
            yield "alike", f"{', '.join(filter(None, [differ, only]))}; use the same names"
            return


def _of_joined(counted: _Counted) -> _Warnings:
    """Labels that are joined from other labels: in lists of at most one, or in a tenth of the examples of one side."""
    places = {name: place for place, name in enumerate(counted.comparable) if isinstance(name, str)}
    names = places if any(map("\0".join(places).__contains__, _JOINTS)) else ()  # rare, and splitting takes long
    joined = [name for name in names if len(parts := _JOINT.split(name)) > 1 and places.keys() >= {*parts}]
    _, fn, fp, tp, _ = counted.mentions
    sides = ("y_true", counted.true, fn + tp, fp + tp), ("y_pred", counted.pred, fp + tp, fn + tp)
    for name, sample, own, other in sides:
        labels = [label for label in joined if own[places[label]]]
        times = [own[places[label]] for label in labels if not other[places[label]]]
        mark = _JOINT.findall(labels[0])[0] if len(labels) > 1 else ""
        are_cells = sample.form.startswith("column")  # warned of when they are read
        are_single = mark not in ("", " and ") and {1} <= sample.lengths <= {0, 1} and not are_cells
        if are_single or (len(times) > 1 and 10 * sum(times) >= counted.examples):
            message = f"labels in {wording(*SIDES[name])}, such as {quoted(labels[0])}, are other labels joined"
            yield "joined", f"{message}; give string.split({mark!r}), or if each is a class {wording(*DECLARE)}"


def _of_decimals(counted: _Counted) -> _Warnings:
    """Predicted labels in a tenth of the examples that are written as scores, while no true label is."""
    _, fn, fp, tp, _ = counted.mentions
    names = [name if isinstance(name, str) and ("." in name or "e-" in name) else "" for name in counted.comparable]
    decimals = {name: fp[place] for place, name in enumerate(names) if name and fp[place] and _DECIMAL.fullmatch(name)}
    true = (name for place, name in enumerate(names) if fn[place] or tp[place])
    if len(decimals) > 1 and 10 * sum(decimals.values()) >= counted.examples and not any(map(_NUMBER.fullmatch, true)):
        which = f"labels in {wording(*SIDES['y_pred'])}, such as {quoted(next(iter(decimals)))}, are decimals"
        yield "decimals", f"{which}; for scores {wording(*THRESHOLD)}{wording(', and numbers, not strings', '')}"


def _of_unshared(counted: _Counted) -> _Warnings:
    names, (tn, fn, fp, tp, _), true, pred = counted.names, counted.mentions, counted.true.labels, counted.pred.labels
    if tp.any() or (not counted.complete and ((fn > 0) & (fp > 0)).any()) or not (fn.any() and fp.any()):
        return
    if not true.keys().isdisjoint(pred) or (tn.any() and not (true and pred)):
        return  # a label on both sides may be false on one of them
    fp = np.where([key_of(name) in true for name in names], 0, fp)
    sides = [[names[place] for place in np.flatnonzero(counts)[:_LABELS]] for counts in (fn, fp)]
    if counted.examples >= FIRST or counted.complete or _same(*sides):
        first, second = (quoted(names[int(counts.argmax())]) for counts in (fn, fp))
        unshared = "no label of y_true is in y_pred, and none of y_pred in y_true"
        unshared = wording(unshared, "no true label is a predicted one")
        yield "labels", f"{unshared}: such as {first} and {second}; use the same names"


def _same(true: list[Label], pred: list[Label]) -> bool:
    """Whether labels differ in type, case, surrounding space or a common prefix or suffix only."""
    (one, cut), (other, short) = ((plain := {*map(_folded, side)}, _cut(plain)) for side in (true, pred))
    return any(a <= b or b < a for a, b in ((one, other), (cut, other), (one, short), (cut, short)))


def _cut(names: set[str]) -> set[str]:
    """Names without the prefix and the suffix that all of them share, if there is more than one name."""
    first, last = (len(common_prefix(side)) for side in (names, {name[::-1] for name in names}))
    return {name[first : len(name) - last] for name in names} if len(names) > 1 else names


def _of_two_labels(counted: _Counted) -> _Warnings:
    if len(counted.names) != 2:
        return
    (first, second), sizes = counted.names, counted.sizes[0]
    flags = {str(name).lower(): name for name in counted.names}
    if flags.keys() in _FLAGS and (sizes == 2).any():
        both = f"the labels are {quoted(first)} and {quoted(second)}, and examples have both"
        array = f"give np.asarray(rows) == {quoted(flags[max(flags)])}"
        advice = wording(array, "write true and false without quotes")
        yield "flags", f"{both}; for indicators {advice}, for labels {option('rows', 'labels')}"
    lengths = counted.true.lengths | counted.pred.lengths
    if flags.keys() == {"0", "1"} and type(first) is type(second) and lengths == {1} and (sizes == 1).all():
        sides = wording("y_true and y_pred", "--actual and --predicted")
        single = f"every list in {sides} has one member, and all are 0 or 1"
        long = wording("", ", for a row for each label --example and --label")
        yield "single", f"{single}; {wording(*ROWS).format('np.asarray(rows, int) or ', 'sets or ')}{long}"


def _of_lists(counted: _Counted) -> _Warnings:
    true, pred = counted.true, counted.pred
    sides = ("y_true", true, pred.width), ("y_pred", pred, true.width * counted.config.has_decisions)
    for name, sample, width in sides:
        side, fixed = wording(*SIDES[name]), len(sample.lengths) == 1 < max(sample.lengths)
        if sample.width == 0 and width == 1 and {*counted.names} == {0, 1}:
            labels = f"{side} has labels 0 and 1, and the other side one column, which is label 0"
            yield "column", f"{labels}; where 1 means true, give one column on both sides"
        if sample.mixed == sample.examples >= FEW:
            rows = f"every list in {side} has strings and integers, as rows with an id or a count do"
            yield "mixed", f"{rows}; write lists that have only labels, or give {option('rows', 'labels')}"
        elif fixed and 4 * sample.repeats > sample.examples >= FEW and not counted.is_explained:
            rows = f"lists in {side} have one length and repeat labels"
            write = wording("give [f'{i}={c}' for i, c in enumerate(row)]", "write labels such as '0=3'")
            ways = f"{write}, for labels {wording('sets or ', '')}{option('rows', 'labels')}"
            yield "repeats", f"{rows}, as with padding, to be left out, or with a class for each column; {ways}"
        elif fixed and sample.lengths == {width} and sample.examples >= FEW:
            rows = f"lists in {side} are as long as rows have columns, and are read as labels"
            way = "for scores or indicators give np.asarray(rows), for labels sets or rows='labels'"
            yield "rows", f"{rows}; {wording(way, ROWS[1])}"


def _of_every_label(counted: _Counted) -> _Warnings:
    """Only when a value is read, because a stream may begin with examples that have every label."""
    if counted.is_explained:
        return
    true, pred = counted.positives
    many = counted.examples >= FIRST or len(true) >= _MANY
    varies = many and bool(((true > 0) & (true < counted.examples)).any())
    sides = ("y_true", counted.true, true, True), ("y_pred", counted.pred, pred, varies)
    for name, sample, positives, enough in sides:
        has_names = sample.examples >= FEW and not sample.width and -1 not in sample.lengths
        if enough and has_names and len(positives) > 1 and (positives == counted.examples).all():
            every = f"every example has every label in {wording(*SIDES[name])}"
            way = ", as set(mapping) and rankings of all labels do; give the mapping, or lists without false labels"
            yield "keys", every + wording(way, "")


def _of_ignored(counted: _Counted) -> _Warnings:
    declared = {*keys_of(counted.config.labels or ())}
    for name, sample, positives in zip(SIDES, (counted.true, counted.pred), counted.positives, strict=False):
        is_ignored = sample.labels and not positives.any() and declared.isdisjoint(sample.labels)
        if counted.config.unknown == "ignore" and is_ignored:
            which = f"{wording(*SIDES[name])} is ignored, such as {quoted(next(iter(sample.labels.values())))}"
            yield f"ignored {name}", f"every label of {which}; none is among {wording(*LABELS)}"


def _of_threshold(counted: _Counted) -> _Warnings:
    pred, threshold, examples, declared = counted.pred, counted.config.threshold, counted.examples, counted.declared
    if not (isinstance(threshold, float) and pred.numbers):
        return
    compared = f"scores from {pred.low:.4g} to {pred.high:.4g} are compared with threshold {threshold:g}"
    check = f"check {option('threshold')}"
    if threshold == 0.5 and (pred.low < -_ROUNDED or pred.high > 1 + _ROUNDED):
        advice = f"for logits give {option('threshold', 0)}, for percentages 50"
        yield "threshold", f"{compared}, which is for probabilities; {advice}"
    elif examples >= FIRST and pred.low < pred.high:
        tn, fn = counted.cells[:2].sum(axis=1).tolist()
        missed = fn + tn + examples * declared - int(counted.cells[1:, :declared].sum())
        if pred.high < threshold and not counted.positives[1].any():
            yield "threshold", f"{compared}, and none of {examples} examples has one that reaches it; {check}"
        elif pred.low >= threshold and not missed:
            yield "threshold", f"{compared}, and all of {examples} examples reach it with each label; {check}"


def _of_scores(counted: _Counted) -> _Warnings:
    pred = counted.pred
    if not (counted.config.scored and pred.numbers):
        return
    ids = [label for label in counted.true.labels.values() if isinstance(label, int)]
    are_ids = counted.config.labels is None and pred.distinct and 0 < pred.width <= min(pred.high, max(ids, default=0))
    if pred.permuted or are_ids:
        rows = "has different integers, as ids of labels" if are_ids else "is a permutation of 0, 1, 2 ..."
        advice = wording("for scores give these, for a ranking streameval.TopK(rows)", "give scores")
        yield "permutations", f"each row of {wording(*SIDES['y_pred'])} {rows}, as argsort gives; {advice}"
    elif pred.binary and (pred.low, pred.high) == (0, 1) and pred.numbers >= FEW:
        binary = f"all scores in {wording(*SIDES['y_pred'])} are 0 or 1, as binary predictions are"
        yield "binary", f"{binary}; give probabilities or other scores"


def _of_curves(counted: _Counted) -> _Warnings:
    core, examples = counted.core, counted.core.states.examples
    # With more examples this takes as long as computing an area, so it is done only when a value is read.
    is_asked = examples >= FIRST and (counted.is_read or examples < 10 * FIRST)
    if not (is_asked and "curves" in core.config.states):
        return
    views = Views(core.config, Tables(core.decisions), core.states.states, KINDS)
    # Counts without weights suffice; weighted steps would take too long while a stream is being counted.
    rows = views.named("curves", "curves").counted_pairs
    pairs, mixed = sum(neg * pos for neg, pos, *_ in rows), sum(mixed for *_, mixed in rows)
    if mixed > _UNORDERED * pairs:
        close = f"scores in {wording(*SIDES['y_pred'])} are so close together that bins hide the order of"
        close = f"{close} {mixed / pairs:.0%} of pairs of a positive and a negative"
        yield "bins", f"{close}: give scores minus their mean, or logits{wording('; see bounds()', '')}"


def _folded(label: Label) -> str:
    name = label if isinstance(label, str) else printable(label)
    name = composed(name.translate(_INVISIBLE), "NFKC")
    folded = name.strip().casefold().replace("_", " ").replace("-", " ")
    folded = folded.lstrip(_MARKS[1:]).rstrip(_MARKS) or folded  # keeps the full stop of ".NET"
    return folded[:-2] if folded.endswith(".0") and folded[:-2].isdigit() else folded  # pandas: 1 near gaps is 1.0
