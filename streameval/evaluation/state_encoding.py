"""The states that are kept besides decisions, as bytes.

They count the same examples, so how many these are is not written again. The labels of each are some of those of the
decisions: declared ones, and others of which it is written which are missing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from streameval.evaluation.kinds import KINDS
from streameval.schema.config import Config
from streameval.schema.labels import Label
from streameval.states.content import Content
from streameval.wire.fields import Source, put_column, require, varint

__all__ = ["put_others", "take_others"]


def put_others(parts: list[bytes], config: Config, decisions: Content, others: Mapping[str, Any]) -> None:
    """Write the contents of the states that the configuration names."""
    for name in config.states:
        content = others[name]
        _put_missing(parts, decisions.labels, content.labels, content.fixed)
        KINDS[name].code().put(parts, content)


def take_others(source: Source, config: Config, decisions: Content) -> dict[str, Any]:
    """What `put_others` wrote."""
    found: dict[str, Any] = {}
    for options in config.options:
        labels = _take_labels(source, decisions)
        found[options.kind] = KINDS[options.kind].code().take(source, options, labels, decisions)
    return found


def _put_missing(parts: list[bytes], known: tuple[Label, ...], labels: tuple[Label, ...], fixed: int) -> None:
    own = set(labels)
    missing = [place for place, label in enumerate(known[fixed:]) if label not in own]
    parts.append(varint(len(missing)))
    put_column(parts, np.array(missing, np.int64))


def _take_labels(source: Source, decisions: Content) -> tuple[Label, ...]:
    grown = decisions.labels[decisions.fixed :]
    missing = source.column(source.count())
    require(bool((missing < len(grown)).all() and (np.diff(missing) > 0).all()))
    left = np.ones(len(grown), np.bool_)
    left[missing] = False
    return *decisions.labels[: decisions.fixed], *(
        label for label, kept in zip(grown, left.tolist(), strict=True) if kept
    )
