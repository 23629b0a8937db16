"""What bytes hold, written and read as a whole."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, TypeAlias, cast

from streameval.errors import FormatError, StreamevalError
from streameval.evaluation.kinds import KINDS
from streameval.schema.config import Config, StateOptions
from streameval.schema.labels import Label
from streameval.states.content import Content
from streameval.states.options import PARTS, PairOptions, RankingOptions
from streameval.states.recording import Recording
from streameval.wire.cached import Remembered
from streameval.wire.decisions import nothing_counted, put_content, take_content
from streameval.wire.envelope import MAGIC, opened, refuse_holder, sealed
from streameval.wire.fields import (
    NEVER_WRITTEN,
    Source,
    put_integer,
    put_label,
    put_labels,
    put_text,
    require,
    varint,
    zigzag,
)
from streameval.wire.recordings import put_recording, take_recording

__all__ = ["RECORDED", "WINDOWS", "Saved", "SavedWindow", "decode", "encode"]

Head: TypeAlias = tuple[Config, tuple[str, ...]]

_POLICIES = ("error", "ignore", "add")

WINDOWS = ("Rolling", "TimeRolling", "Tumbling", "Fading")
"""The kinds of windows, from 1."""

RECORDED = {1: False, 2: True}
"""Those that hold their examples, and whether they hold their times."""


@dataclass(frozen=True, slots=True)
class SavedWindow:
    """What bytes hold of a window.

    Attributes
    ----------
    kind
        The kind of window, from 1.
    numbers
        Its parameters, integers of at most 64 bits.
    parts
        Contents by number, ascending: of the decisions, and of the other states by name.
    recording
        The examples in it.
    """

    kind: int
    numbers: tuple[int, ...]
    parts: tuple[tuple[int, Content, Mapping[str, Any]], ...] = ()
    recording: Recording | None = None


@dataclass(frozen=True, slots=True)
class Saved:
    """What bytes hold.

    Attributes
    ----------
    kind
        0 for an evaluator, 1 for a single metric; either may stand in a window.
    config, metrics
        How it reads examples, and the names of its metrics.
    decisions
        The content of the state of decisions.
    window
        What there is besides if it is a window.
    others
        The contents of the states that the configuration names, by name.
    """

    kind: int
    config: Config
    metrics: tuple[str, ...]
    decisions: Content
    window: SavedWindow | None = None
    others: Mapping[str, Any] = field(default_factory=dict)


def encode(saved: Saved) -> bytes:
    """The bytes of an object; equal objects have equal bytes."""
    window = saved.window
    parts: list[bytes] = []
    _put_config(parts, saved.config)
    parts.append(varint(len(saved.metrics)))
    for name in saved.metrics:
        put_text(parts, name)
    if window is None:
        _put_states(parts, saved.config, saved.decisions, saved.others)
    else:
        _put_window(parts, saved.config, window)
    return sealed(saved.kind + (0 if window is None else 2 * window.kind), parts)


def decode(data: bytes) -> Saved:
    """What `encode` was given, or `FormatError`: damaged or foreign bytes never give a wrong object."""
    body = opened(data)
    refuse_holder(body[len(MAGIC) + 1], "an Evaluator, a metric or a window")
    try:
        saved = _take(Source(body, len(MAGIC) + 1))
        # Configurations were compared; what else there is of decisions alone is made of pieces that have one form each.
        recorded = saved.window is not None and saved.window.recording is not None
        exact = not (saved.config.states or recorded) or encode(saved)[:-4] == body
    except (StreamevalError, ValueError, OverflowError, struct.error) as error:
        raise FormatError(f"the bytes are damaged: {error}") from None
    if not exact:
        raise FormatError(f"the bytes are damaged: {NEVER_WRITTEN}")
    return saved


# -- writing ----------------------------------------------------------------------------------------------------------


def _put_config(parts: list[bytes], config: Config) -> None:
    scalar = isinstance(config.threshold, float)
    kind = 0 if config.threshold is None else 1 if scalar else 2
    parts.append(bytes((_flags(config), _POLICIES.index(config.unknown), kind)))
    if config.labels is not None:
        put_labels(parts, config.labels)
    if isinstance(config.threshold, float):
        parts.append(struct.pack("<d", config.threshold))
    elif config.threshold is not None:
        _put_numbers(parts, config.threshold)
    rankings, pairs = _options(config)
    if _ranked(rankings):
        put_integer(parts, rankings.label_ranks)
        put_integer(parts, rankings.gain_ranks)
        parts.append(varint(len(rankings.hit_cutoffs)))
        for cutoff in rankings.hit_cutoffs:
            put_integer(parts, cutoff)
        _put_numbers(parts, rankings.propensities)
    if pairs != PairOptions():
        parts.append(bytes((sum((part in pairs.parts) << place for place, part in enumerate(PARTS)),)))


def _flags(config: Config) -> int:
    """What is not as it usually is, as bits."""
    rankings, pairs = _options(config)
    bits = [config.labels is not None, config.nan == "missing", rankings.ties == "last"]
    bits += [name in config.states for name in KINDS]
    bits += [_ranked(rankings), pairs != PairOptions()]
    return sum(bit << place for place, bit in enumerate(bits))


def _options(config: Config) -> tuple[RankingOptions, PairOptions]:
    rankings, pairs = config.options_of("rankings"), config.options_of("pairs")
    return cast("RankingOptions", rankings or RankingOptions()), cast("PairOptions", pairs or PairOptions())


def _ranked(rankings: RankingOptions) -> bool:
    return rankings not in (RankingOptions(), RankingOptions("last"))


def _put_numbers(parts: list[bytes], pairs: tuple[tuple[Label, float], ...]) -> None:
    parts.append(varint(len(pairs)))
    for label, value in pairs:
        put_label(parts, label)
        parts.append(struct.pack("<d", value))


def _put_window(parts: list[bytes], config: Config, window: SavedWindow) -> None:
    parts.append(varint(len(window.numbers)))
    parts += map(zigzag, window.numbers)
    if window.recording is not None:
        put_recording(parts, window.recording)
        return
    parts.append(varint(len(window.parts)))
    for number, content, others in window.parts:
        parts.append(zigzag(number))
        # Counts take a byte at least, for declared labels are not written again with each part.
        _put_states(parts, config, content, others, least=1)


def _put_states(
    parts: list[bytes], config: Config, decisions: Content, others: Mapping[str, Any], least: int = 0
) -> None:
    put_content(parts, decisions, least)
    if config.states:
        from streameval.evaluation.state_encoding import put_others  # whose code is large, and seldom needed

        put_others(parts, config, decisions, others)


# -- reading ----------------------------------------------------------------------------------------------------------


def _take(source: Source) -> Saved:
    window, kind = divmod(source.byte(2 * len(WINDOWS) + 1), 2)
    config, metrics = _HEADS.take(source)
    declared = config.labels or ()
    if window:
        saved = Saved(kind, config, metrics, nothing_counted(declared), _take_window(source, window, config))
    else:
        decisions, others = _take_states(source, config)
        saved = Saved(kind, config, metrics, decisions, None, others)
    if source.left():
        raise FormatError(f"{source.left()} bytes too many")
    return saved


def _take_head(source: Source) -> Head:
    """How examples are read, and the names of the metrics."""
    start = source.place()
    config = _take_config(source)
    parts: list[bytes] = []
    _put_config(parts, config)
    if b"".join(parts) != source.since(start):
        raise FormatError(NEVER_WRITTEN)
    return config, tuple(source.raw(source.varint()).decode() for _ in range(source.count()))


_HEADS = Remembered(_take_head)


def _take_states(source: Source, config: Config, least: int = 0) -> tuple[Content, Mapping[str, Any]]:
    decisions = take_content(source, config.labels or (), least)
    if not config.states:
        return decisions, {}
    from streameval.evaluation.state_encoding import take_others

    return decisions, take_others(source, config, decisions)


def _take_config(source: Source) -> Config:
    flags, policy, kind = source.byte(255), _POLICIES[source.byte(2)], source.byte(2)
    declared, missing, last, *kept, ranked, partial = (flags >> place & 1 for place in range(5 + len(KINDS)))
    labels = source.labels() if declared else None
    threshold = (None, source.number, lambda: dict(_take_numbers(source)))[kind]
    bound = None if threshold is None else threshold()
    rankings = _take_rankings(source, last) if ranked else RankingOptions("last" if last else "shared")
    pairs = PairOptions()
    if partial:
        bits = source.byte(2 ** len(PARTS) - 1)
        pairs = PairOptions(tuple(part for place, part in enumerate(PARTS) if bits >> place & 1))
    states = [name for name, bit in zip(KINDS, kept, strict=True) if bit]
    require("rankings" in states or not ranked)
    require("pairs" in states or not partial)
    options: dict[str, StateOptions] = {"rankings": rankings, "pairs": pairs}
    chosen = tuple(options.get(name) or KINDS[name].options() for name in states)
    return Config.checked(labels, policy, bound, "missing" if missing else "error", chosen)


def _take_rankings(source: Source, last: int) -> RankingOptions:
    label_ranks, gain_ranks = source.integer(), source.integer()
    cutoffs = tuple(source.integer() for _ in range(source.count()))
    propensities = tuple(_take_numbers(source))
    return RankingOptions("last" if last else "shared", label_ranks, cutoffs, propensities, gain_ranks)


def _take_numbers(source: Source) -> list[tuple[Label, float]]:
    return [(source.label(), source.number()) for _ in range(source.count())]


def _take_window(source: Source, kind: int, config: Config) -> SavedWindow:
    numbers = tuple(source.integer_of_64_bits() for _ in range(source.count()))
    if kind in RECORDED:
        how = {"timed": RECORDED[kind], "scored": config.scored, "decided": config.decides}
        return SavedWindow(kind, numbers, recording=take_recording(source, config.labels or (), **how))
    parts = [(source.integer_of_64_bits(), *_take_states(source, config, 1)) for _ in range(source.count())]
    if any(after <= before for (before, *_), (after, *_) in pairwise(parts)):
        raise FormatError("the parts of the window are not in order")
    return SavedWindow(kind, numbers, tuple(parts))
