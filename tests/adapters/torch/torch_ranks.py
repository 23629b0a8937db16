"""Processes that form a group of torch.distributed and sync what a test sends them."""

from __future__ import annotations

import os
from pathlib import Path

import torch.distributed as dist
import torch.multiprocessing as mp

from streameval.adapters.torch import sync
from streameval.progressive.holder import read_state

PATIENCE = 120


def _answers_of(made, group):
    """The result of sync, whether two further ones agree, and whether the argument is unchanged; or the error."""
    try:
        before = made.to_bytes() if hasattr(made, "to_bytes") else None
        first = sync(made, group)
        unchanged = made.to_bytes() == before and first is not made
        again = sync(made, group)
        first.merge(first.copy() if hasattr(first, "copy") else first)  # the result is a copy, which may be changed
        return type(first).__name__, again.to_bytes(), sync(made, group).to_bytes() == again.to_bytes(), unchanged
    except Exception as error:  # every error is sent to the test
        return "error", type(error).__name__, str(error)


def _rank(rank, ranks, meeting, orders, answers):
    os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    dist.init_process_group("gloo", init_method=f"file://{meeting}", rank=rank, world_size=ranks)
    pair = dist.new_group([0, 1])
    while (order := orders.get()) is not None:
        source, group = order
        made = read_state(source) if isinstance(source, bytes) else source
        answers.put(_answers_of(made, pair if group == "pair" else None))
    dist.destroy_process_group()


class Ranks:
    """A group of processes, each of which syncs on request."""

    def __init__(self, ranks: int, folder: Path) -> None:
        context = mp.get_context("spawn")
        self._orders = [context.Queue() for _ in range(ranks)]
        self._answers = [context.Queue() for _ in range(ranks)]
        self._processes = [
            context.Process(target=_rank, args=(rank, ranks, folder / "meeting", orders, answers), daemon=True)
            for rank, (orders, answers) in enumerate(zip(self._orders, self._answers, strict=True))
        ]
        for process in self._processes:
            process.start()

    def sync(self, source, group=None):
        """The answers of all ranks, each of which syncs its own element of ``source``."""
        for orders, one in zip(self._orders, source, strict=True):
            orders.put((one, group))
        return [answers.get(timeout=PATIENCE) for answers in self._answers]

    def close(self) -> None:
        """End the processes."""
        for orders in self._orders:
            orders.put(None)
        for process in self._processes:
            process.join(PATIENCE)
