"""Two processes evaluate one model on halves of the data, and each of them gets the result of all data."""

from __future__ import annotations

import tempfile
from pathlib import Path

import torch
import torch.distributed as dist
import torch.multiprocessing as mp

import streameval as se
from streameval.adapters.torch import sync

LABELS = ["bird", "cat", "dog", "fish"]
RANKS = 2


def evaluate(rank: int, meeting: str) -> None:
    """The code of each process. With torchrun, which starts the processes, init_process_group() needs no arguments."""
    dist.init_process_group("gloo", init_method=f"file://{meeting}", rank=rank, world_size=RANKS)
    generator = torch.Generator().manual_seed(0)
    features = torch.randn(1001, 8, generator=generator)
    truths = torch.randn(1001, 4, generator=generator) > 0.5
    model = torch.nn.Linear(8, 4, dtype=torch.bfloat16)
    torch.nn.init.constant_(model.weight, 0.1)

    ev = se.Evaluator(["f1_micro", "f1_macro", "ranking_loss"], labels=LABELS, threshold=0.5)
    for rows in torch.arange(rank, 1001, RANKS).split(100):  # uneven halves of 501 and 500 rows
        ev.update_many(truths[rows], model(features[rows].bfloat16()).sigmoid())
        if rows[0] < 400:
            sync(ev)  # may be called any number of times: ev stays the state of this process
    total = sync(ev)
    if rank == 0:
        print(f"{ev.examples} of {total.examples} examples were counted on this rank")
        print({name: round(value, 4) for name, value in total.get().items()})
    dist.destroy_process_group()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        mp.spawn(evaluate, (str(Path(folder) / "meeting"),), nprocs=RANKS)
