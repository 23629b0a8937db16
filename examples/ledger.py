"""Shards send their states over a channel that loses, repeats and reorders messages; the result is still exact.

Usage: python examples/ledger.py
"""

from __future__ import annotations

import random
from collections.abc import Iterator

import streameval as se

SHARDS, EXAMPLES, REPORT = 20, 1_000, 100
LABELS = ("cat", "dog", "bird", "owl")

Message = tuple[str, int, bytes]


def fresh() -> se.Evaluator:
    return se.Evaluator(["f1_micro", "f1_macro", "hamming_loss"])


def examples(shard: int) -> Iterator[tuple[set[str], set[str]]]:
    drawn = random.Random(shard)  # noqa: S311
    for _ in range(EXAMPLES):
        truth = {label for label in LABELS if drawn.random() < 0.4}
        yield truth, {label for label in LABELS if (label in truth) != (drawn.random() < 0.1)}


def sent() -> Iterator[Message]:
    """The messages of all shards: each has the whole state of its shard so far, numbered by its count of examples."""
    for shard in range(SHARDS):
        evaluator = fresh()
        for count, (y_true, y_pred) in enumerate(examples(shard), 1):
            evaluator.update(y_true, y_pred)
            if count % REPORT == 0:
                yield f"shard {shard}", count, evaluator.to_bytes()


def delivered(messages: list[Message], drawn: random.Random) -> list[Message]:
    """The messages in random order, each at least once: a third arrive twice, and lost ones are sent again."""
    sent_again = [message for message in messages if drawn.random() < 1 / 3]
    return drawn.sample(messages + sent_again, len(messages) + len(sent_again))


def main() -> None:
    drawn = random.Random(7)  # noqa: S311
    single = fresh()
    for shard in range(SHARDS):
        single.update_many(*zip(*examples(shard), strict=True))

    messages = delivered(list(sent()), drawn)
    merged = fresh()
    replicas = [se.Ledger(fresh()) for _ in range(3)]
    for shard, sequence, state in messages:
        merged.merge(se.Evaluator.from_bytes(state))  # wrong: this counts repeated states again
        drawn.choice(replicas).put(shard, sequence, state)

    for _ in range(10):  # replicas may exchange their content any number of times
        one, other = drawn.sample(replicas, 2)
        one.merge(other)
    ledger = sum(replicas, se.Ledger(fresh()))

    print(f"{len(messages)} messages of {SHARDS} shards")
    print(f"merging what arrives: {merged.examples:>7,} examples, f1_micro {merged.get('f1_micro'):.6f}")
    print(f"the ledger:           {ledger.examples:>7,} examples, f1_micro {ledger.get('f1_micro'):.6f}")
    print(f"a single process:     {single.examples:>7,} examples, f1_micro {single.get('f1_micro'):.6f}")
    same = ledger.total().to_bytes() == single.to_bytes()
    print(f"ledger and single process are {'the same to the last bit' if same else 'DIFFERENT'}")

    before = len(ledger.to_bytes())
    ledger.compact()
    ledger.put(*messages[0])  # a late message: a duplicate or an older state
    print(f"compacted from {before:,} to {len(ledger.to_bytes()):,} bytes; late duplicates change nothing")


if __name__ == "__main__":
    main()
