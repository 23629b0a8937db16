"""Values that notebooks show as tables."""

from __future__ import annotations

from importlib import import_module
from typing import ClassVar


class Displayed:
    """A value that a function of `streameval.report.notebook`, which stands above it, writes as HTML."""

    __slots__ = ()
    _writer: ClassVar[str]

    def _repr_html_(self) -> str:
        html: str = getattr(import_module("streameval.report.notebook"), self._writer)(self)
        return html
