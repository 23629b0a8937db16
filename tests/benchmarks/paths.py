"""The code paths whose speed is tracked, as programs that use only public names, so that any version can run them."""

from __future__ import annotations

from dataclasses import dataclass

SETUP = """
import random
import numpy as np
import streameval as se
rng = random.Random(0)
"""


@dataclass(frozen=True)
class Path:
    """A call that a benchmark repeats.

    Attributes
    ----------
    prepare
        Code that builds ``ev`` and its input; ``n`` is the number of labels, ``labels`` are their names.
    call
        Code of call number ``at``.
    calls
        The number of calls in a run.
    units
        The number of units of work in a call.
    """

    prepare: str
    call: str
    calls: int
    unit: str = "example"
    units: int = 1
    labels: int = 14
    counted: tuple[int, int] | None = None  # numbers of calls in the two runs that count instructions

    def program(self) -> str:
        """Code that defines ``run(calls)``."""
        head = f"n = {self.labels}\nlabels = [f'label{{number}}' for number in range(n)]\n"
        return f"{SETUP}{head}{self.prepare}\ndef run(calls):\n    for at in range(calls):\n        {self.call}\n"


DICTS = "examples = [tuple({label: rng.random() < 0.3 for label in labels} for _ in '01') for _ in range(100)]\n"
SETS = "examples = [tuple(set(rng.sample(labels, 3)) for _ in '01') for _ in range(100)]\n"
SCORES = """
examples = [(set(rng.sample(labels, 3)), {label: rng.random() for label in labels}) for _ in range(100)]
"""
PLAIN = DICTS + "ev = se.Evaluator()"
UPDATE = "ev.update(*examples[at % 100])"
WEIGHTED = "ev.update(*examples[at % 100], weight=1 + at % 100 / 8)"
TIMED = "ev.update(*examples[at % 100], t=next(clock) / 8)"
CLOCK = "import itertools; clock = itertools.count()\n"
MANY = "ev.update_many(true, pred)"


def dense(rows: int, share: float = 0.1, dtype: str = "np.uint8") -> str:
    return f"""
true, pred = ((np.random.default_rng(seed).random(({rows}, n)) < {share}).astype({dtype}) for seed in range(2))
ev = se.Evaluator(labels=labels)
"""


def scored(rows: int, keep: str) -> str:
    return f"""
true = (np.random.default_rng(0).random(({rows}, n)) < 0.1).astype(np.uint8)
pred = np.random.default_rng(1).random(({rows}, n), np.float32)
ev = se.Evaluator(labels=labels, threshold=0.5, keep={keep})
"""


PATHS = {
    "`update`, `{label: bool}` dicts of 14 labels": Path(PLAIN, UPDATE, 20_000, counted=(20_000, 40_000)),
    "`update_many`, dense uint8, 10,000 x 100": Path(
        dense(10_000), MANY, 50, "cell", 1_000_000, labels=100, counted=(10, 30)
    ),
    "`update`, int64 rows of 14 declared labels": Path(
        """
examples = [tuple(np.array([rng.random() < 0.3 for label in labels], np.int64) for _ in '01') for _ in range(100)]
ev = se.Evaluator(labels=labels)
""",
        UPDATE,
        2_000,
        counted=(1_000, 3_000),
    ),
    "`update` with a weight, `{label: bool}` dicts of 14 labels": Path(PLAIN, WEIGHTED, 4_000, counted=(1_000, 3_000)),
    "`update_many`, dense uint8, 32 x 14": Path(dense(32, 0.3), MANY, 2_000, "call", counted=(500, 1_500)),
    "`get` of macro F1, 1,000 labels": Path(
        dense(2_000) + MANY, "ev.get('f1_macro')", 200, "call", labels=1000, counted=(100, 300)
    ),
    "`get` of nine metrics, 14 labels": Path(dense(2_000) + MANY, "ev.get()", 1_000, "call", counted=(200, 600)),
    "`update`, dicts of 100 labels": Path(PLAIN, UPDATE, 4_000, labels=100),
    "`update`, dicts of 1,000 labels": Path(PLAIN, UPDATE, 400, labels=1000),
    "`update`, sets of 3 of 14 labels": Path(SETS + "ev = se.Evaluator()", UPDATE, 20_000, counted=(20_000, 40_000)),
    "`update` and `revert`, dicts of 14 labels": Path(
        PLAIN, "ev.update(*examples[at % 100]); ev.revert(*examples[at % 100])", 10_000
    ),
    "`update`, scores over a threshold": Path(SCORES + "ev = se.Evaluator(threshold=0.5)", UPDATE, 4_000),
    **{
        f"`update`, scores, {retained}": Path(
            SCORES + f"ev = se.Evaluator(threshold=0.5, keep={retained.split(' and ')})",
            UPDATE,
            4_000,
            counted=(1_000, 3_000),
        )
        for retained in ("rankings", "curves", "pairs", "rankings and curves", "rankings and curves and pairs")
    },
    "`Rolling` of 1,000, `update`": Path(DICTS + "ev = se.Rolling(se.Evaluator(), size=1000)", UPDATE, 20_000),
    "`Rolling` of 1,000, weighted": Path(DICTS + "ev = se.Rolling(se.Evaluator(), size=1000)", WEIGHTED, 4_000),
    "`TimeRolling`, `update`": Path(DICTS + CLOCK + "ev = se.TimeRolling(se.Evaluator(), period=100)", TIMED, 10_000),
    "`Tumbling` of 1,000, `update`": Path(DICTS + "ev = se.Tumbling(se.Evaluator(), size=1000)", UPDATE, 20_000),
    "`Fading`, `update`": Path(DICTS + "ev = se.Fading(se.Evaluator(), half_life=100)", UPDATE, 4_000),
    "`Fading` in time, `update`": Path(DICTS + CLOCK + "ev = se.Fading(se.Evaluator(), half_life=100.0)", TIMED, 4_000),
    "`Sliced` by one column, `update`": Path(
        DICTS + "ev = se.Sliced(se.Evaluator(), by=['where'])",
        "ev.update(*examples[at % 100], where={'where': at % 7})",
        10_000,
    ),
    **{
        f"`update_many`, dense {dtype}, 10,000 x 100": Path(
            dense(10_000, dtype=f"np.{dtype}"), MANY, 20, "cell", 1_000_000, labels=100
        )
        for dtype in ("bool", "int64", "float32")
    },
    "`update_many`, dense uint8, 10,000 x 1,000": Path(dense(10_000), MANY, 5, "cell", 10_000_000, labels=1000),
    "`update_many`, dense uint8, 10,000 x 100, weights": Path(
        dense(10_000) + "weights = np.random.default_rng(2).random(10_000)",
        "ev.update_many(true, pred, weights=weights)",
        5,
        "cell",
        1_000_000,
        labels=100,
    ),
    "`update_many`, dense uint8, 10,000 x 100, mask": Path(
        dense(10_000) + "mask = np.random.default_rng(2).random((10_000, n)) < 0.1",
        "ev.update_many(true, pred, mask=mask)",
        10,
        "cell",
        1_000_000,
        labels=100,
    ),
    **{
        f"`update_many`, float32 scores, 1,000 x 100, {retained or 'threshold'}": Path(
            scored(1_000, repr(retained.split(" and ") if retained else [])), MANY, 10, "cell", 100_000, labels=100
        )
        for retained in ("", "rankings", "curves", "pairs", "rankings and curves")
    },
    "`update_many`, CSR, 10,000 x 1,000": Path(
        dense(10_000, 0.02) + "import scipy.sparse as sp; true, pred = map(sp.csr_array, (true, pred))",
        MANY,
        20,
        "example",
        10_000,
        labels=1000,
    ),
    "`update_many`, lists of strings, 10,000 of 14 labels": Path(
        "true, pred = ([rng.sample(labels, 3) for _ in range(10_000)] for _ in '01'); ev = se.Evaluator()",
        MANY,
        20,
        "example",
        10_000,
    ),
    "`update_many`, Arrow lists, 10,000 of 14 labels": Path(
        "import pyarrow as pa; ev = se.Evaluator()\n"
        "true, pred = (pa.array([rng.sample(labels, 3) for _ in range(10_000)]) for _ in '01')",
        MANY,
        20,
        "example",
        10_000,
    ),
    "`merge`, 1,000 labels": Path(
        dense(1_000, 0.02) + f"{MANY}; other = ev.copy()", "ev.merge(other)", 200, "call", labels=1000
    ),
    "`to_bytes`, 1,000 labels": Path(dense(1_000, 0.02) + MANY, "ev.to_bytes()", 100, "call", labels=1000),
    "`from_bytes`, 1,000 labels": Path(
        dense(1_000, 0.02) + f"{MANY}; data = ev.to_bytes()", "se.Evaluator.from_bytes(data)", 100, "call", labels=1000
    ),
}  # fmt: skip
