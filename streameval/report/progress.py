"""A bar on stderr that shows how far a loop is."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from streameval.errors import imported

T = TypeVar("T")


def with_bar(
    items: Iterable[T], total: int | None, unit: str, *, size: Callable[[T], int] | None = None
) -> Iterator[T]:
    """Items as they come, with a bar that counts them, or their sizes."""
    tqdm = imported("tqdm", "progress=True").tqdm

    def counted() -> Iterator[T]:
        with tqdm(total=total, unit=unit, unit_scale=size is not None, file=sys.stderr) as bar:
            for item in items:
                yield item
                bar.update(1 if size is None else size(item))

    return counted()
