"""The states that are kept besides decisions, as bytes.

They count the same examples, so how many these are is not written again. The labels of each are some of those of the
decisions: declared ones, and others of which it is written which are missing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from streameval.errors import FormatError
from streameval.schema.config import Config
from streameval.schema.labels import Label
from streameval.states.content import Content
from streameval.states.kinds import ranking_options
from streameval.wire.curves import put_curves, take_curves
from streameval.wire.fields import Source, put_column, require, varint
from streameval.wire.pairs import put_pairs, take_pairs
from streameval.wire.rankings import put_rankings, take_rankings

__all__ = ["put_others", "take_others"]


def put_others(parts: list[bytes], config: Config, decisions: Content, others: Mapping[str, Any]) -> None:
    """Write the contents of the states that the configuration names."""
    for name in config.states:
        content = others[name]
        _put_missing(parts, decisions.labels, content.labels, content.fixed)
        if name == "rankings":
            put_rankings(parts, content)
        elif name == "curves":
            put_curves(parts, content)
        else:
            put_pairs(parts, content)


def take_others(source: Source, config: Config, decisions: Content) -> dict[str, Any]:
    """What `put_others` wrote."""
    found: dict[str, Any] = {}
    for name in config.states:
        labels = _take_labels(source, decisions)
        if name == "rankings":
            found[name] = take_rankings(source, ranking_options(config), labels, decisions)
        elif name == "curves":
            found[name] = take_curves(source, labels, decisions)
        elif len(labels) == len(decisions.labels):
            found[name] = take_pairs(source, decisions)
            require(found[name].parts == config.parts)
        else:
            raise FormatError("label pairs without labels that the decisions have")
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
