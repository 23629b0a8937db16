"""Examples as batches: the arguments are read side by side and joined; a threshold on scores comes last."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from streameval.errors import InputError
from streameval.inputs.columns import IGNORED, MASK, NAMES, PRED, TRUE, Argument, Reader
from streameval.inputs.examples import cells_in
from streameval.inputs.forms import FRAMES, columns_of, form_of, resolved
from streameval.inputs.lists import check_pairs, without_rows
from streameval.inputs.pieces import CELLS, Columns, Piece, Rows, Scores, filtered
from streameval.inputs.readers import source_of
from streameval.inputs.samples import check_named_alike, check_row_keys, note_examples, note_first, start_samples
from streameval.inputs.values import bound_of, checked_weights
from streameval.kernel.types import FloatArray, IntArray, Lists, UInt8Array
from streameval.schema.batch import MOST_BITS, Batch, Dense, Example, Packed, Ragged, joined
from streameval.schema.config import NULLS, Null
from streameval.schema.text import check_choice, quoted

_SCORES = 2**22
_EXAMPLES, _SCORED_EXAMPLES = 2**17, 2**16  # weight sums are exact in float64 products below 2**20


def read_one(y_true: object, y_pred: object, mask: object, weight: float, reader: Reader) -> Example:
    """Check one example and place its cells; may register labels, changes nothing else."""
    if reader.keeps_scores:
        weights = None if weight == 1.0 else np.array([weight])
        (batch,) = read_many([y_true], [y_pred], None if mask is None else [mask], weights, reader, many=False)
        return Example.of(batch, reader.labels.fixed)
    values = (y_true, y_pred) if mask is None else (y_true, y_pred, mask)
    reader.reset()
    arguments = [Argument(role, reader, many=False) for role, _ in zip(NAMES, values, strict=False)]
    examples = [without_rows([value], argument, 0)[0] for argument, value in zip(arguments, values, strict=True)]
    check_pairs(arguments, 1)
    cells: dict[int, int] = {}
    for argument, example in zip(arguments, examples, strict=True):
        for column, bits in cells_in(example, argument):
            cells[column] = cells.get(column, 0) | bits
    cells.pop(IGNORED, None)
    labels = reader.labels
    placed = [5 * column + min(MASK, bits) for column, bits in cells.items() if bits or column >= labels.fixed]
    slots = np.array(placed, np.int64)
    reader.check_label_types()
    note_examples(reader, (y_true, y_pred), [slots], many=False, read=examples)
    return Example.at(slots, weight)


def read_many(
    y_true: object,
    y_pred: object,
    mask: object,
    weights: object,
    reader: Reader,
    threads: int = 1,
    null: Null = "error",
    many: bool = True,  # False for `read_one`, whose example has no position in messages
) -> Iterator[Batch]:
    """Check many examples and place their cells, piece by piece; may register labels, changes nothing else."""
    factors = None if weights is None else checked_weights(weights)
    weighted = factors is not None and bool((factors != 1.0).any())
    reader.reset()
    sides = (y_true, y_pred) if mask is None else (y_true, y_pred, mask)
    dims: set[Any] = {getattr(value, "dims", None) for value in sides if form_of(value) == "named"}
    if len({*map(frozenset, dims)}) < len(dims):
        orders = f"arrays of xarray have their dimensions in different orders, {quoted(sorted(dims))}"
        raise InputError(f"{orders}; transpose them alike")
    values = [resolved(value, name) for value, name in zip(sides, NAMES.values(), strict=False)]
    frames = [columns_of(value, form) for value, form in values if form in FRAMES]
    check_named_alike(frames)
    check_choice("null", null, NULLS)
    arguments = [Argument(role, reader, frames, many, null) for role, _ in zip(NAMES, values, strict=False)]
    for argument, (value, _) in zip(arguments, values, strict=True):
        argument.lists = (
            "{}.to_pylist()" if hasattr(value, "to_pylist") else "[*{}]" if hasattr(value, "dtype") else "{}"
        )
    start_samples(arguments, (y_true, y_pred))
    check_row_keys(dict(zip(NAMES.values(), sides, strict=False)) | {"weights": weights}, reader.notes)
    sources = [source_of(value, form, argument) for (value, form), argument in zip(values, arguments, strict=True)]
    names, lengths = [*NAMES.values()][: len(sources)], [source.length for source in sources]
    if factors is not None:
        names, lengths = [*names, "weights"], [*lengths, len(factors)]
    _check_lengths(names, lengths, (y_true, y_pred))
    cells, most = (_SCORES, _SCORED_EXAMPLES) if reader.keeps_scores else (CELLS, _EXAMPLES)
    # A piece for each thread, since dividing a piece among threads takes as long as counting a few million cells.
    size = threads * max(255, min(most, cells // max(1, *(source.width for source in sources))))
    start, examples = 0, size
    while examples == size:  # a smaller piece is the last of every source
        pieces = [source.take(size) for source in sources]
        part = None if factors is None else factors[start : start + size]
        examples = pieces[0].examples
        if None in lengths:
            ends = [*(start + piece.examples for piece in pieces), *([] if part is None else [start + len(part)])]
            _check_lengths(names, ends, full=start + size)
        start += examples
        check_pairs(arguments, start)
        if examples:
            reader.check_label_types()
            part = part if weighted else None
            batch = _dense(pieces, part, reader) or _ragged(pieces, part, reader)
            if reader.samples:
                note_first(arguments, batch)
            yield batch
    for argument in arguments[:2] if reader.samples else ():
        argument.sample.close(reader.config, argument.width, is_named=bool(argument.frames))
    reader.note(start)


def _check_lengths(
    names: Sequence[str], lengths: Sequence[int | None], values: tuple[object, ...] = (), full: int | None = None
) -> None:
    """Refuse arguments of different lengths (None: not known); an argument of length ``full`` may be longer."""
    if len({*lengths} - {None}) > 1:
        known = [(name, length) for name, length in zip(names, lengths, strict=True) if length is not None]
        numbers = " and ".join(f"{name} has {'at least ' * (length == full)}{length}" for name, length in known)
        advice = "give one of each per example"
        for name, value in zip(names, values, strict=False):
            if isinstance(value, list | tuple) and getattr([*value, 0][0], "shape", None) in [(n,) for _, n in known]:
                advice += f", or np.stack({name}, axis=1) if it holds an array for each label"
        raise InputError(f"numbers of examples differ: {numbers}; {advice}")


def _dense(pieces: list[Piece], weights: FloatArray | None, reader: Reader) -> Dense | None:
    predictions, rows = pieces[1], [piece for piece in (pieces[0], *pieces[2:]) if isinstance(piece, Rows)]
    if isinstance(predictions, Columns) or len(rows) < len(pieces) - 1:
        return None
    columns = _union([piece.columns for piece in (rows[0], predictions, *rows[1:])])
    again = reader.again or weights is not None

    def refusal() -> Exception:
        for piece in (rows[0], predictions, *rows[1:]):
            try:
                piece.read()
            except InputError as error:
                return error
        return InputError("the arrays of y_true and y_pred changed while they were counted; give copies")

    sides = rows[0].bits, predictions.bits if isinstance(predictions, Rows) else None
    if sides[0] and sides[1] and len(pieces) == 2 and not again and 0 < len(columns) < MOST_BITS:
        alike = _same(rows[0].columns, columns) and _same(predictions.columns, columns)
        if alike and sides[0].falls == sides[1].falls:
            return Packed(columns, (sides[0], sides[1]), refusal)

    def bits_of(piece: Rows) -> tuple[UInt8Array, UInt8Array | None]:
        try:
            bits, masked = piece.read(unchecked=not reader.again)
        except InputError:  # an earlier argument, not checked yet, may be wrong too: report that first
            raise refusal() from None
        if again and np.may_share_memory(bits, piece.block):
            bits = bits.copy()
        return _aligned(bits, piece, columns), None if masked is None else _aligned(masked, piece, columns)

    true, mask = bits_of(rows[0])
    if len(rows) == 2:
        masked, _ = bits_of(rows[1])
        mask = masked if mask is None else mask | masked
    if isinstance(predictions, Scores):
        scores, threshold, ranked = _aligned(predictions.scores, predictions, columns), None, None
        missing = predictions.missing
        if missing is not None or len(predictions.columns) != len(columns):
            present = np.ones(predictions.scores.shape, np.uint8) if missing is None else 1 - missing
            ranked = _aligned(present, predictions, columns)
            # Rows of `Dense` mention every column, but an undeclared label without a score is not mentioned.
            if not (columns < reader.labels.fixed).all():
                return None
        if reader.reads_scores:
            threshold = np.full(columns.shape, bound_of(scores.dtype, reader.threshold_row(columns)), scores.dtype)
        return Dense(columns, true, None, scores, threshold, ranked, mask, weights, refusal)
    return Dense(columns, true, bits_of(predictions)[0], mask=mask, weights=weights, refusal=refusal)


def _same(columns: IntArray, other: IntArray) -> bool:
    return columns is other or np.array_equal(columns, other)


def _union(columns: list[IntArray]) -> IntArray:
    """The distinct columns; the first array itself where all are equal."""
    if all(_same(columns[0], other) for other in columns[1:]):
        return columns[0]
    return np.unique(np.concatenate(columns))


def _aligned(cells: Any, piece: Rows | Scores, columns: IntArray) -> Any:
    """The cells of a piece in the order of ``columns``; 0 where the piece has no such column."""
    if _same(piece.columns, columns):
        return np.ascontiguousarray(cells)
    aligned = np.zeros((len(cells), len(columns)), cells.dtype)
    aligned[:, np.searchsorted(columns, piece.columns)] = cells
    return aligned


def _ragged(pieces: list[Piece], weights: FloatArray | None, reader: Reader) -> Ragged:
    lists = [piece if isinstance(piece, Columns) else piece.lists() for piece in pieces]
    examples, predictions = lists[0].examples, lists[1]
    parts: dict[int, list[Lists]] = {TRUE: [], PRED: [], MASK: [], 0: []}
    for piece, role in zip(lists, (TRUE, PRED, MASK), strict=False):
        if piece.positive is not None:
            parts[role].append(piece.positive)
        for kind, side in ((MASK, piece.masked), (0, piece.mentioned)):
            if side is not None and len(side.places):
                parts[kind].append(side)
    ranked, scores = predictions.ranked, predictions.scores
    if ranked is not None and scores is not None:
        ranked = ranked._replace(places=ranked.flat(), columns=None)  # once, as more than one state reads them
        parts[0].append(ranked)
        parts[PRED] += _predicted(predictions, ranked, scores, reader)
    true, pred, mask, mentioned = (
        joined(parts[kind], examples) if parts[kind] else None for kind in (TRUE, PRED, MASK, 0)
    )
    by_all = _union([piece.mentioned_by_all for piece in lists])
    return Ragged(examples, true, pred, mask, mentioned, by_all, weights, ranked, scores)


def _predicted(piece: Columns, ranked: Lists, scores: FloatArray, reader: Reader) -> list[Lists]:
    state = next((options.kind for options in reader.config.options if options.needs_numbers), None)
    if piece.numeric is not None and state is not None and not piece.numeric.all():
        needed = f"but {state} need scores; give {{label: score}}, or TopK with scores"
        raise InputError(f"y_pred holds ranked lists, {needed}")
    if not reader.reads_scores:
        return []
    above = scores >= reader.threshold_row(np.asarray(ranked.flat(), np.int64))
    if piece.numeric is not None:  # a list of labels is a prediction, whatever the threshold
        above |= piece.numeric == 0
    return [filtered(ranked, above)]
