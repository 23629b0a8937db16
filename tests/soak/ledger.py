"""Random schedules of 100 deliveries, merges, compactions and restarts against a model: python -m tests.soak.ledger."""

from __future__ import annotations

import random

from tests.delivery.test_ledger import NAMES, Model
from tests.soak.progress import soak


def version(rng: random.Random) -> tuple[int, int]:
    return rng.randrange(2), rng.randrange(6)


def schedule(rng: random.Random) -> str:
    model = Model()
    for _ in range(100):
        replica, kind = rng.randrange(3), rng.random()
        if kind < 0.45:
            model.put(replica=replica, name=rng.choice(NAMES), version=version(rng), as_bytes=rng.random() < 0.2)
        elif kind < 0.5:
            model.put_something_else(replica=replica, name=rng.choice(NAMES), version=version(rng))
        elif kind < 0.7:
            through = rng.choice(["itself", "itself", "copy", "bytes"])
            model.merge(replica=replica, other=rng.randrange(3), through=through)
        elif kind < 0.75:
            chosen = None if rng.random() < 0.3 else set(rng.sample(NAMES, rng.randrange(4)))
            model.compact(replica=replica, chosen=chosen)
        elif kind < 0.8:
            model.restart(replica=replica)
        elif kind < 0.82:
            model.lose_everything(replica=replica)
        else:
            model.read(replica=replica)
        model.sizes_agree()
    return "schedules"


if __name__ == "__main__":
    soak(__doc__, 20_000, schedule)
