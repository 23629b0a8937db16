"""Evaluators and metrics as bytes: how examples are read, the names of the metrics, and what each state holds."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np

from streameval.errors import FormatError, MetricError
from streameval.evaluation.core import Core
from streameval.evaluation.kinds import KINDS, check_threshold, options_for, states_of
from streameval.metrics.catalogue import parse_spec
from streameval.metrics.spec import MetricSpec
from streameval.schema.config import CheckedThreshold, Config, StateOptions
from streameval.schema.labels import LabelIndex, keys_of
from streameval.schema.text import quoted
from streameval.states.decisions import DecisionContent
from streameval.states.state_set import StateSet
from streameval.wire.blocks import DamageError
from streameval.wire.decisions import put_content, take_content
from streameval.wire.envelope import EVALUATOR, METRIC, decoding, opened, sealed
from streameval.wire.fields import Cached, Option, Sink, Source, choice, newer, require


@dataclass(frozen=True, slots=True)
class Saved:
    """What bytes hold of an evaluator or a metric; ``contents`` is empty if nothing was counted."""

    holder: int  # `EVALUATOR` or `METRIC`
    config: Config
    metrics: tuple[str, ...]
    contents: Mapping[str, Any] = field(default_factory=dict)  # of each state by name, the decisions first

    @classmethod
    def of(cls, core: Core, contents: Mapping[str, Any], *, single: bool, compared: bool = False) -> Saved:
        """What bytes hold of a core whose states have these contents; ``compared``: without what equality ignores."""
        config = core.config.compared() if compared else core.config
        return cls(METRIC if single else EVALUATOR, config, tuple(spec.key for spec in core.specs), contents)

    @property
    def single(self) -> bool:
        return self.holder == METRIC

    @property
    def specs(self) -> tuple[MetricSpec, ...]:
        return _specs_named(self.metrics)

    def core(self) -> Core:
        """The core that was saved: a metric has exactly the states that it requires, an evaluator may have more."""
        with decoding():
            check_threshold(self.specs, self.config)
            if _required(self.specs, self.config.options, not self.single) != self.config.options:
                raise DamageError(f"their states are not those that {', '.join(self.metrics)} require")
            return Core(self.specs, self.config, _states_of(self.config, self.contents))


def encode(saved: Saved) -> Iterator[bytes]:
    """The bytes of an object in pieces; equal objects have equal bytes."""
    sink = Sink()
    put_head(sink, saved.config, saved.metrics)
    put_states(sink, saved.config, saved.contents)
    return sealed(saved.holder, sink.pieces())


def decode(data: bytes, name: str) -> Saved:
    """The value that `encode` wrote, or `FormatError`: damaged or foreign bytes never give a wrong object."""
    holder, source = opened(data, (EVALUATOR, METRIC), name)
    with decoding():
        config, metrics = _HEADS.take(source)
        saved = Saved(holder, config, metrics, take_states(source, config))
        source.end()
    return saved


def take_empty(source: Source) -> Saved:
    """The empty object that was written as the byte of its holder followed by `put_head`."""
    holder = source.byte(METRIC)
    require(holder >= EVALUATOR)
    return Saved(holder, *_HEADS.take(source))


def put_part(sink: Sink, core: Core) -> None:
    """Write what one of many objects with the same configuration has counted."""
    # At least a byte per count: zeros of declared labels, which are not written again, could claim any memory.
    put_states(sink, core.config, core.states.content(), least=1)


def take_part(source: Source, config: Config) -> StateSet:
    """The states that `put_part` wrote, for this configuration."""
    return _states_of(config, take_states(source, config, least=1))


def _states_of(config: Config, contents: Mapping[str, Any]) -> StateSet:
    if not contents:
        return Core.fresh((), config).states
    decisions = contents["decisions"]
    return states_of(config, LabelIndex(decisions.labels, decisions.fixed, config.label_limit), contents)


@lru_cache(maxsize=64)
def _specs_named(names: tuple[str, ...]) -> tuple[MetricSpec, ...]:
    try:
        specs = tuple(parse_spec(name) for name in names)
    except MetricError as error:
        raise FormatError(f"the bytes name a metric that does not exist: {error}") from None
    if tuple(spec.key for spec in specs) != names or len(set(specs)) != len(specs):
        raise FormatError(f"the bytes are damaged: metric names {quoted(names)}")
    return specs


@lru_cache(maxsize=64)  # thousands of small states may share a few configurations
def _required(specs: tuple[MetricSpec, ...], options: tuple[StateOptions, ...], more: bool) -> tuple[StateOptions, ...]:
    """The options that metrics require, with the arguments of ``options``; ``more``: also what these keep."""
    keep = [name for part in options for name in part.keep()] if more else []
    return options_for(specs, keep, {name: value for part in options for name, value in part.arguments().items()})


def _put_threshold(sink: Sink, threshold: CheckedThreshold) -> None:
    if isinstance(threshold, float):
        sink.append(struct.pack("<Bd", 0, threshold))
    else:
        sink.byte(1)
        sink.numbers(threshold)


_OPTIONS = (
    Option(1, "labels", Sink.labels, lambda source: tuple(source.labels())),
    choice(2, "unknown", ("error", "ignore", "add")),
    Option(3, "threshold", _put_threshold, lambda s: dict(s.numbers()) if s.byte(1) else s.number()),
    choice(4, "nan", ("error", "missing")),
    Option(5, "label_limit", Sink.varint, Source.varint),
    choice(6, "rows", ("labels", "indicator")),
)
"""The options of the configuration itself. Those of the kind of state at bit b are numbered from 48 + 16 b."""

_DECISIONS = 1


def put_head(sink: Sink, config: Config, metrics: tuple[str, ...]) -> None:
    written = list[tuple[Option, Any]]()
    for part, options in ((config, _OPTIONS), *((part, KINDS[part.kind].code().written) for part in config.options)):
        default = type(part)()
        values = ((option, getattr(part, option.name)) for option in options)
        written += [(option, value) for option, value in values if value != getattr(default, option.name)]
    sink.varint(_DECISIONS | sum(1 << KINDS[options.kind].bit for options in config.options))
    sink.varint(len(written))
    for option, value in written:
        sink.varint(option.number)
        option.put(sink, value)
    sink.varint(len(metrics))
    for name in metrics:
        sink.string(name)


def _take_head(source: Source) -> tuple[Config, tuple[str, ...]]:
    start, bits = source.place(), source.varint()
    kinds = [kind for kind in KINDS.values() if bits >> kind.bit & 1]
    if bits != _DECISIONS | sum(1 << kind.bit for kind in kinds):
        raise newer("a state")
    holders = [("", _OPTIONS), *((kind.name, kind.code().written) for kind in kinds)]
    known = {option.number: (name, option) for name, options in holders for option in options}
    values: dict[str, dict[str, Any]] = {name: {} for name, _ in holders}
    for _ in range(source.count()):
        number = source.varint()
        if number not in known:
            raise newer(f"option {number}")
        holder, option = known[number]
        values[holder][option.name] = option.take(source)
    metrics = tuple(source.string() for _ in range(source.count()))
    config = Config.checked(**values[""], options=tuple(kind.options(**values[kind.name]) for kind in kinds))
    sink = Sink()
    put_head(sink, config, metrics)
    require(b"".join(sink.pieces()) == source.since(start))
    return config, metrics


_HEADS = Cached(_take_head)


def put_states(sink: Sink, config: Config, contents: Mapping[str, Any], least: int = 0) -> None:
    """Write what each state holds, and which labels of the decisions it lacks; counts take ``least`` bytes at least."""
    decisions: DecisionContent = contents["decisions"]
    put_content(sink, decisions, least)
    for options in config.options:
        content = contents[options.kind]
        missing = list[int]()
        if len(content.labels) < len(decisions.labels):
            own = set(keys_of(content.labels[:]))
            missing = [place for place, key in enumerate(keys_of(decisions.labels[content.fixed :])) if key not in own]
        sink.varint(len(missing))
        sink.column(np.array(missing, np.int64))
        KINDS[options.kind].code().put(sink, content)


def take_states(source: Source, config: Config, least: int = 0) -> dict[str, Any]:
    decisions = take_content(source, config.labels or (), least)
    declared, grown = decisions.labels[: decisions.fixed], decisions.labels[decisions.fixed :]
    contents: dict[str, Any] = {"decisions": decisions}
    for options in config.options:
        missing = source.column(source.count())
        require(missing < len(grown), np.diff(missing) > 0)
        absent = set(missing.tolist())
        labels = (*declared, *(label for place, label in enumerate(grown) if place not in absent))
        contents[options.kind] = KINDS[options.kind].code().take(source, options, labels, decisions)
    return contents
