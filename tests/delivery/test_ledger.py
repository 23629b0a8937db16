"""A ledger sums the newest state of each shard, however often and in whatever order states are delivered."""

from __future__ import annotations

import copy
import pickle
import random
import warnings
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

import streameval as se
from streameval.delivery import ledger as module
from tests.support.effort import cases

LABELS = ("a", "b", "c")
NAMES = (0, 1, "0", "p", "q")


def counted(examples: int, salt: object = 0) -> se.Evaluator:
    """The state of a shard that has counted this many examples."""
    ev = se.Evaluator(["f1_micro"])
    drawn = random.Random(repr(salt))
    for _ in range(examples):
        ev.update({x for x in LABELS if drawn.random() < 0.5}, {x for x in LABELS if drawn.random() < 0.5})
    return ev


def whole(*parts: Any) -> Any:
    total = se.Evaluator(["f1_micro"])
    for part in parts:
        total.merge(part)
    return total


# -- the model --------------------------------------------------------------------------------------------------------

STATES = {(n, e, s): counted(s, (n, e)) for n in NAMES for e in range(2) for s in range(6)}
"""The state of each shard at each version; a later sequence has more examples."""


class Model(RuleBasedStateMachine):
    """Three replicas of a ledger, compared with plain mappings shard -> version, one for each sum of a replica."""

    def __init__(self) -> None:
        super().__init__()
        self.ledgers = [se.Ledger(se.Evaluator(["f1_micro"])) for _ in range(3)]
        # Of each replica a list of its sums; a sum is a mapping shard -> version.
        self.known: list[list[dict]] = [[] for _ in range(3)]

    replicas = st.integers(0, 2)
    names = st.sampled_from(NAMES)
    versions = st.tuples(st.integers(0, 1), st.integers(0, 5))

    def offered(self, replica: int, sums: list[dict]) -> list[dict] | None:
        """The sums that a replica has after it merges these; None if they conflict with its own."""
        result = self.known[replica] + [part for part in sums if part not in self.known[replica]]

        def older(one: dict, other: dict) -> bool:
            return one != other and all(name in other and other[name] >= version for name, version in one.items())

        left = [one for one in result if not any(older(one, other) for other in result)]
        names = [name for part in left for name in part]
        return left if len(names) == len(set(names)) else None

    def learn(self, replica: int, sums: list[dict], act: Any) -> None:
        expected = self.offered(replica, sums)
        if expected is None:
            before = self.ledgers[replica].to_bytes()
            with pytest.raises(se.ConflictError):
                act()
            assert self.ledgers[replica].to_bytes() == before
        else:
            act()
            self.known[replica] = expected

    @rule(replica=replicas, name=names, version=versions, as_bytes=st.booleans())
    def put(self, replica: int, name: Any, version: tuple[int, int], as_bytes: bool) -> None:
        epoch, sequence = version
        state = STATES[name, epoch, sequence]
        sent = state.to_bytes() if as_bytes else state
        self.learn(replica, [{name: version}], lambda: self.ledgers[replica].put(name, sequence, sent, epoch=epoch))

    @rule(replica=replicas, name=names, version=versions)
    def put_something_else(self, replica: int, name: Any, version: tuple[int, int]) -> None:
        """A state that differs from the known state of the same version is refused; unknown versions are not tried."""
        epoch, sequence = version
        wrong = whole(STATES[name, epoch, sequence], counted(1, "wrong"))
        if any(part.get(name) == version for part in self.known[replica]):
            with pytest.raises(se.ConflictError, match=f"shard {name!r}"):
                self.ledgers[replica].put(name, sequence, wrong, epoch=epoch)

    @rule(replica=replicas, other=replicas, through=st.sampled_from(["itself", "bytes", "copy"]))
    def merge(self, replica: int, other: int, through: str) -> None:
        input_ledger = self.ledgers[other]
        if through == "bytes":
            input_ledger = se.Ledger.from_bytes(input_ledger.to_bytes())
        elif through == "copy":
            input_ledger = input_ledger.copy()
        before = input_ledger.copy()
        self.learn(replica, self.known[other], lambda: self.ledgers[replica].merge(input_ledger))
        assert replica == other or input_ledger == before

    @rule(replica=replicas, chosen=st.sets(names, max_size=3) | st.none())
    def compact(self, replica: int, chosen: set | None) -> None:
        known = self.known[replica]
        there = {name for part in known for name in part}
        if chosen is not None and not chosen <= there:
            with pytest.raises(se.InputError, match="no shard"):
                self.ledgers[replica].compact(chosen)
            return
        self.ledgers[replica].compact(chosen)
        picked = [part for part in known if chosen is None or chosen & set(part)]
        both = {name: version for part in picked for name, version in part.items()}
        self.known[replica] = [part for part in known if part not in picked] + ([both] if both else [])

    @rule(replica=replicas)
    def restart(self, replica: int) -> None:
        self.ledgers[replica] = se.Ledger.from_bytes(self.ledgers[replica].to_bytes())

    @rule(replica=replicas)
    def lose_everything(self, replica: int) -> None:
        self.ledgers[replica].reset()
        self.known[replica] = []

    @rule(replica=replicas)
    def read(self, replica: int) -> None:
        ledger, known = self.ledgers[replica], self.known[replica]
        versions = {name: version for part in known for name, version in part.items()}
        total = ledger.total()
        assert total == whole(*(STATES[name, *version] for name, version in versions.items()))
        assert ledger.get() == total.get()
        total.update({"a"}, {"z"})  # the total is a copy, so that this changes nothing in the ledger
        assert ledger.shards() == versions
        assert sorted(map(len, ledger.compacted())) == sorted(len(part) for part in known if len(part) > 1)
        for name, version in versions.items():
            if {name: version} in known:
                assert ledger.state(name) == STATES[name, *version]

    @invariant()
    def sizes_agree(self) -> None:
        for ledger, known in zip(self.ledgers, self.known, strict=True):
            assert len(ledger) == sum(map(len, known))


def test_no_schedule_of_deliveries_merges_and_restarts_gives_a_wrong_total():
    few = settings(
        max_examples=cases(500),
        stateful_step_count=50,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )
    run_state_machine_as_test(Model, settings=few)


# -- laws -------------------------------------------------------------------------------------------------------------

deliveries = st.lists(
    st.tuples(st.sampled_from(NAMES), st.integers(0, 1), st.integers(0, 5), st.integers(0, 3)), max_size=12
)


def book(put: list[tuple]) -> se.Ledger:
    ledger = se.Ledger()
    for name, epoch, sequence, _ in put:
        ledger.put(name, sequence, STATES[name, epoch, sequence], epoch=epoch)
    return ledger


@settings(max_examples=cases(200))
@given(deliveries, st.randoms(use_true_random=False))
def test_any_order_repetition_and_sharding_of_deliveries_gives_the_same_bytes(sent: list[tuple], rng: random.Random):
    expected = book(sent).to_bytes()
    repeated = rng.sample(sent * 2, 2 * len(sent))
    assert book(repeated).to_bytes() == expected
    parts = [book([one for one in repeated if one[3] == at]) for at in range(4)]
    rng.shuffle(parts)
    while len(parts) > 1:
        at = rng.randrange(len(parts) - 1)
        before = parts[at + 1].to_bytes()
        parts[at].merge(parts[at + 1])
        assert parts[at + 1].to_bytes() == before
        parts[at].merge(parts.pop(at + 1))
    assert parts[0].to_bytes() == expected


@settings(max_examples=cases(100))
@given(deliveries, deliveries, deliveries)
def test_merging_is_idempotent_commutative_and_associative(one: list[tuple], other: list[tuple], third: list[tuple]):
    a, b, c = book(one), book(other), book(third)
    assert a + a == a
    assert (a + b).to_bytes() == (b + a).to_bytes()
    assert ((a + b) + c).to_bytes() == (a + (b + c)).to_bytes()
    assert a + se.Ledger() == se.Ledger() + a == a
    assert sum([a, b, c]) == a + b + c


@settings(max_examples=cases(100))
@given(deliveries, st.sets(st.sampled_from(NAMES)))
def test_compacting_changes_neither_versions_nor_total(sent: list[tuple], chosen: set):
    ledger = book(sent)
    if len(ledger) == 0:
        return
    before, total = ledger.shards(), ledger.total()
    ledger.compact(chosen & set(before))
    assert ledger.shards() == before
    assert ledger.total() == total
    back = se.Ledger.from_bytes(ledger.to_bytes())
    assert back == ledger
    assert back.to_bytes() == ledger.to_bytes()
    for twin in (copy.deepcopy(ledger), copy.copy(ledger), pickle.loads(pickle.dumps(ledger))):
        assert twin == ledger
        twin.reset()
    assert ledger.total() == total
    ledger.merge(book(sent))  # all of these are duplicates
    assert ledger == back


# -- compaction -------------------------------------------------------------------------------------------------------


def test_compacted_shards_take_little_room_and_late_duplicates_change_nothing():
    ledger = se.Ledger()
    for shard in range(200):
        ledger.put(shard, 5, counted(5, shard))
    before, total = len(ledger.to_bytes()), ledger.total()
    ledger.compact()
    assert len(ledger.to_bytes()) < before / 3
    image = ledger.to_bytes()
    for shard in range(0, 200, 7):
        ledger.put(shard, 5, counted(5, shard))
        ledger.put(shard, 4, counted(4, shard))
    assert ledger.to_bytes() == image
    assert ledger.total() == total
    with pytest.raises(se.ConflictError, match="shard 3 has two different states"):
        ledger.put(3, 5, counted(5, "other"))
    with pytest.raises(se.ConflictError, match="shard 3 was compacted with 199 other shards"):
        ledger.put(3, 6, counted(6, 3))
    with pytest.raises(se.InputError, match="shard 3 was compacted"):
        ledger.state(3)
    assert ledger.to_bytes() == image
    ledger.put(200, 1, counted(1, 200))
    assert ledger.total() == whole(total, counted(1, 200))


def test_compacting_a_shard_includes_the_shards_it_was_compacted_with_before():
    ledger = book([(name, 0, 3, 0) for name in NAMES])
    ledger.compact([0, 1])
    assert ledger.compacted() == ((0, 1),)
    ledger.compact(["p", 1])
    assert ledger.compacted() == ((0, 1, "p"),)
    ledger.compact([0, "p"])
    ledger.compact([])
    assert ledger.compacted() == ((0, 1, "p"),)
    ledger.compact()
    assert ledger.compacted() == ((0, 1, "0", "p", "q"),)


def test_sums_merge_if_one_includes_the_other_and_conflict_if_they_overlap():
    sent = [(name, 0, 3, 0) for name in NAMES]
    some, more, other = book(sent), book(sent), book(sent)
    some.compact([0, 1])
    more.compact([0, 1, "p"])
    other.compact([1, "q"])
    assert some + more == more + some == more
    for one, two in ((some, other), (other, some), (more, other)):
        before = one.to_bytes()
        with pytest.raises(se.ConflictError, match="shard 1 is in two sums"):
            one.merge(two)
        assert one.to_bytes() == before
    apart = book(sent)
    apart.compact(["p", "q"])
    assert set((some + apart).compacted()) == {(0, 1), ("p", "q")}
    everything = book(sent)
    everything.compact()
    assert everything + other + some + apart == everything


@pytest.mark.parametrize("shards", [[0, 1], [0, 5], [1, 5], [5, 6], []])
@pytest.mark.parametrize("sequence", [2, 3])
def test_a_merged_ledger_has_each_shard_once_in_its_newest_version(shards, sequence):
    one, other = se.Ledger(), se.Ledger()
    for shard in (0, 1):
        one.put(shard, 2, counted(2, shard))
    for shard in shards:
        other.put(shard, sequence, counted(sequence, shard))
    one.total()
    other = other.copy()
    one.merge(other)
    assert one.total() == se.Ledger.from_bytes(one.to_bytes()).total()
    newest = {0: 2, 1: 2} | dict.fromkeys(shards, sequence)
    assert one.total() == whole(*(counted(number, shard) for shard, number in newest.items()))


@pytest.mark.parametrize("old", [[(0, 0, 2, 0), (1, 0, 3, 0)], [(0, 0, 3, 0), (1, 0, 2, 0)]])
def test_of_two_sums_of_the_same_shards_the_newer_one_stays(old):
    older, newer = book(old), book([(0, 0, 3, 0), (1, 0, 3, 0)])
    older.compact()
    newer.compact()
    assert older + newer == newer + older == newer != older


def test_two_sums_of_the_same_versions_with_different_states_are_refused():
    one, other = book([(0, 0, 3, 0), (1, 0, 3, 0)]), book([(0, 0, 3, 0), (1, 0, 3, 0)])
    one.compact()
    other.compact()
    part = other._sums[0]
    forged = part._replace(state=counted(2, "forged").to_bytes())
    other._sums = dict.fromkeys(part.shards, forged)
    with pytest.raises(se.ConflictError, match="restore one of the ledgers"):
        one.merge(other)


# -- conflicts and other errors ---------------------------------------------------------------------------------------


def test_a_shard_may_be_an_integer_that_is_too_long_for_str():
    ledger, shard = se.Ledger(counted(0)), 10**5000
    for name in (shard, "p"):
        ledger.put(name, 1, counted(1))
    with pytest.raises(se.ConflictError, match="two different states"):
        ledger.put(shard, 1, counted(2))
    ledger.compact()
    with pytest.raises(se.ConflictError, match=r"with 1 other shard[ ;]"):
        ledger.put(shard, 2, counted(2))
    with pytest.raises(se.InputError, match=r"with 1 other shard[ ;]"):
        ledger.state(shard)
    assert se.Ledger.from_bytes(ledger.to_bytes()) == ledger


def test_the_same_sequence_with_different_bytes_names_the_shard_and_what_to_do():
    ledger = se.Ledger()
    ledger.put("p", 7, counted(2))
    before = ledger.to_bytes()
    with pytest.raises(
        se.ConflictError, match=r"shard 'p' has two different states with epoch 0, sequence 7.*new epoch"
    ):
        ledger.put("p", 7, counted(3))
    other = se.Ledger()
    other.put("p", 7, counted(3))
    with pytest.raises(se.ConflictError, match="shard 'p'"):
        ledger.merge(other)
    assert ledger.to_bytes() == before
    ledger.put("p", 0, counted(3), epoch=1)
    assert ledger.shards() == {"p": (1, 0)}
    assert issubclass(se.ConflictError, se.MergeError)


@pytest.mark.parametrize(
    ("template", "other", "message"),
    [
        (se.Evaluator(["f1_micro"]), se.Evaluator(["f1_macro"]), "metrics differ"),
        (se.Evaluator(), se.Evaluator(threshold=0.5), "thresholds differ"),
        (se.Evaluator(), se.Evaluator(labels=["a"]), "labels differ"),
        (se.Evaluator(), se.Evaluator(keep=["pairs"]), "states differ"),
        (se.F1(), se.Recall(), "F1 and Recall differ"),
        (se.F1(), se.F1(average="micro"), "metrics differ"),
        (se.F1(), se.Evaluator(["f1_macro"]), "F1 and Evaluator differ"),
        (
            se.Fading(se.F1(), half_life=timedelta(hours=1)),
            se.Fading(se.F1(), half_life=timedelta(hours=2)),
            "half_life differs",
        ),
        (
            se.TimeRolling(se.F1(), period=timedelta(hours=1)),
            se.TimeRolling(se.Recall(), period=timedelta(hours=1)),
            "F1 and Recall differ",
        ),
        (se.TimeRolling(se.F1(), period=timedelta(hours=1)), se.F1(), "TimeRolling and F1 differ"),
    ],
)
def test_shards_that_are_built_differently_are_refused_by_name(template: Any, other: Any, message: str):
    for ledger in (se.Ledger(template), se.Ledger()):
        ledger.put("first", 1, template)
        before = ledger.to_bytes()
        for state in (other, other.to_bytes()):
            with pytest.raises(se.MergeError, match=f"shard 'second' does not match the ledger.*{message}"):
                ledger.put("second", 1, state)
        second = se.Ledger(other)
        with pytest.raises(se.MergeError, match=message):
            ledger.merge(second)
        assert ledger.to_bytes() == before


def test_windows_that_cannot_be_merged_are_refused_at_once():
    for window in (se.Rolling(se.F1(), size=3), se.Tumbling(se.F1(), size=3)):
        with pytest.raises(se.MergeError):
            se.Ledger(window)
        ledger = se.Ledger()
        with pytest.raises(se.MergeError):
            ledger.put(0, 0, window)
        assert ledger == se.Ledger()


def test_windows_over_time_are_summed_if_all_or_none_have_a_time_zone():
    ledger, total = se.Ledger(), se.TimeRolling(se.F1(average="micro"), period=10.0)
    for shard in range(3):
        window = se.TimeRolling(se.F1(average="micro"), period=10.0)
        for target in (window, total):
            target.update({"a", shard}, {"a"}, t=float(shard))
        ledger.put(shard, 1, window)
    assert ledger.total() == total
    assert ledger.get() == total.get()
    assert se.Ledger.from_bytes(ledger.to_bytes()) == ledger
    differing = se.Ledger()
    for zone in (None, UTC):
        window = se.TimeRolling(se.F1(average="micro"), period=timedelta(days=1))
        window.update({"a"}, {"a"}, t=datetime(2024, 5, 1, tzinfo=zone))
        differing.put(str(zone), 1, window)
    with pytest.raises(se.MergeError, match=r"shard 'UTC' does not match the rest: .* a time zone; give"):
        differing.total()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((None, 1, counted(1)), "shard must be a string or an integer"),
        ((1.5, 1, counted(1)), "shard must be"),
        (("a", 1), None),
        (("a", -1, counted(1)), "sequence must be an integer from 0"),
        (("a", 2**63, counted(1)), "sequence must be"),
        (("a", True, counted(1)), "sequence must be"),
        (("a", "3", counted(1)), "sequence must be"),
        (("a", 1.0, counted(1)), "sequence must be"),
        (("a", 1, "text"), "takes an Evaluator"),
        (("a", 1, se.F1), r"write F1\(\)"),
        (("a", 1, se.Ledger()), "takes an Evaluator"),
        (("a", 1, b"bytes"), "are not a streameval state"),
        (("a", 1, b""), "^this is empty, and not a streameval state"),
        (("a", 1, counted(1).to_bytes()[:-1]), "damaged or incomplete"),
        (("a", 1, se.Ledger().to_bytes()), "hold a Ledger, not an Evaluator"),
    ],
)
def test_bad_arguments_are_refused_and_change_nothing(arguments: tuple, message: str | None):
    ledger = book([("p", 0, 2, 0)])
    before = ledger.to_bytes()
    with pytest.raises((se.InputError, se.FormatError, TypeError), match=message):
        ledger.put(*arguments)
    with pytest.raises((se.InputError, se.FormatError, TypeError)):
        ledger.put("p", 2, counted(1), epoch=-1)
    assert ledger.to_bytes() == before


def test_other_bad_calls_say_what_to_do():
    ledger = book([("partition", 0, 2, 0)]) if ("partition", 0, 2) in STATES else se.Ledger()
    for shard in ("partition", 5):
        ledger.put(shard, 2, counted(1))
    with pytest.raises(se.InputError, match="among 2; did you mean 'partition'"):
        ledger.state("partitoin")
    with pytest.raises(se.InputError, match=r"write \['partition'\]"):
        ledger.compact("partition")
    with pytest.raises(se.InputError, match="no shard 7"):
        ledger.compact([7])
    with pytest.raises(se.MergeError, match=r"put\(shard"):
        ledger.merge(counted(1))
    with pytest.raises(se.InputError, match=r"write Ledger\(evaluator\)"):
        se.Ledger().get()
    with pytest.raises(se.InputError, match="put this one as a shard"):
        se.Ledger(counted(1))
    with pytest.raises(se.InputError, match=r"write F1\(\)"):
        se.Ledger(se.F1)
    single = se.Ledger(se.F1())
    with pytest.raises(se.InputError, match="single metric"):
        single.get("recall_micro")
    assert (ledger == 1) is False
    with pytest.raises(TypeError):
        hash(ledger)
    with pytest.raises(TypeError):
        ledger + 1


def test_sums_past_63_bits_are_refused_when_they_are_read_and_lose_nothing():
    ev = counted(1)
    for _ in range(62):
        ev.merge(ev)
    ledger = se.Ledger()
    ledger.put(0, 0, ev)
    assert ledger.get()
    ledger.put(1, 0, ev)
    with pytest.raises(se.CounterOverflowError):
        ledger.get()
    ledger.put(1, 1, counted(2))
    assert ledger.examples == 2**62 + 2


# -- reading ----------------------------------------------------------------------------------------------------------


def test_a_ledger_without_shards_answers_if_it_has_an_evaluator():
    ledger = se.Ledger(se.Evaluator(["f1_micro"]))
    assert ledger.get() == {"f1_micro": 0.0}
    assert ledger.get("recall_macro") == 0.0
    assert len(ledger) == ledger.examples == se.Ledger().examples == 0
    assert ledger.total() == se.Evaluator(["f1_micro"])
    assert "no shards" in repr(ledger)
    assert "no shards" in repr(se.Ledger())
    assert se.Ledger.from_bytes(ledger.to_bytes()) == ledger
    assert se.Ledger.from_bytes(se.Ledger().to_bytes()) == se.Ledger()
    assert ledger != se.Ledger()
    other = se.Ledger()
    other.put(0, 0, se.Evaluator(["f1_micro"]))
    ledger.put(0, 0, se.Evaluator(["f1_micro"]))
    assert ledger == other
    assert ledger.to_bytes() == other.to_bytes()


def test_a_ledger_copies_what_is_put_and_what_is_read():
    ev = counted(3)
    ledger = se.Ledger(template := se.Evaluator(["f1_micro"]))
    ledger.put("p", 1, ev)
    assert list(ledger) == ["p"]
    assert "p" in ledger
    assert "q" not in ledger
    assert None not in ledger
    expected = ledger.to_bytes()
    for target in (ev, template, ledger.total(), ledger.state("p"), ledger.copy().total()):
        target.update({"a"}, {"b"})
    ledger.shards().clear()
    assert ledger.to_bytes() == expected
    assert ledger.total() == counted(3)


def test_states_that_keep_rankings_curves_and_pairs_are_summed(tmp_path: Path):
    def shard(number: int) -> se.Evaluator:
        ev = se.Evaluator(["ndcg(k=2)", "roc_auc_macro"], keep=["pairs"], threshold=0.5)
        ev.update({"a"}, {"a": 0.25 * number, "b": 0.3}, weight=1 + number)
        ev.update({"b"}, {"a": 0.1, "b": 0.9}, mask={"a"})
        return ev

    ledger = se.Ledger()
    for number in range(4):
        ledger.put(number, 1, shard(number))
    assert ledger.total() == sum(map(shard, range(4)))
    ledger.save(tmp_path / "ledger")
    assert se.load(tmp_path / "ledger") == ledger
    ledger.compact()
    assert ledger.total() == sum(map(shard, range(4)))


def test_bytes_of_another_kind_are_refused_by_name():
    with pytest.raises(se.FormatError, match="hold a Ledger"):
        se.Evaluator.from_bytes(se.Ledger().to_bytes())
    with pytest.raises(se.FormatError, match="hold a Ledger"):
        se.Checkpoint.from_bytes(se.Ledger().to_bytes())
    with pytest.raises(se.FormatError, match="a metric, not a Ledger"):
        se.Ledger.from_bytes(se.F1().to_bytes())
    with pytest.raises(se.FormatError, match="a Checkpoint"):
        se.Ledger.from_bytes(se.Checkpoint(se.F1()).to_bytes())


def test_bytes_with_shards_that_differ_or_without_their_configuration_are_refused():
    mixed, bare = (se.Ledger() for _ in range(2))
    for threshold, shard in ((0.5, "a"), (0.7, "b")):
        one = se.Ledger()
        one.put(shard, 1, se.Evaluator(threshold=threshold))
        mixed._sums |= one._sums
        mixed._template = one._template
    with pytest.raises(se.FormatError, match="damaged: the shards differ: thresholds differ"):
        se.Ledger.from_bytes(mixed.to_bytes())
    bare._sums = one._sums
    with pytest.raises(se.FormatError, match="damaged: the shards differ: "):
        se.Ledger.from_bytes(bare.to_bytes())


def test_a_copy_does_not_repeat_warnings_of_its_ledger():
    ledger, shard = se.Ledger(se.Evaluator()), se.Evaluator()
    shard.update_many([{"Cat"}] * 50, [{"cat"}] * 50)
    ledger.put("a", 1, shard)
    with pytest.warns(se.DataWarning, match="differ in case"):
        ledger.get()
    twin = ledger.copy()
    assert twin.warnings == ledger.warnings != ()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        twin.put("b", 1, shard)
        twin.put("a", 2, shard)  # so that the total is summed anew
        twin.get()
    assert twin != ledger


def limited(*labels: str, limit: int | None = 2) -> se.Evaluator:
    ev = se.Evaluator(["f1_micro"], label_limit=limit)
    ev.update({*labels}, {*labels})
    return ev


def test_the_label_limit_of_a_ledger_holds_for_the_sum_of_its_shards_in_any_order():
    ledger, larger = (se.Ledger(se.Evaluator(["f1_micro"], label_limit=limit)) for limit in (2, 3))
    for shard, label in enumerate("abc"):
        ledger.put(shard, 1, limited(label, limit=None))
    for one in (ledger, ledger.copy(), se.Ledger.from_bytes(ledger.to_bytes())):
        with pytest.raises(se.LabelError, match="label_limit is 2, and there would be 3 labels"):
            one.total()
        with pytest.raises(se.LabelError, match="label_limit is 2"):
            one.get()
        assert repr(one) == "Ledger(3 shards)"
        assert "Ledger(3 shards)" in one._repr_html_()
    larger.merge(ledger)
    assert larger.total().labels == ("a", "b", "c")
    ledger.put(1, 2, se.Evaluator(["f1_micro"]))
    total = ledger.total()
    assert total.labels == ("a", "c")
    with pytest.raises(se.LabelError, match="label_limit is 2"):
        total.update({"b"}, {"b"})


def test_a_ledger_without_evaluator_does_not_take_the_label_limit_of_its_first_shard():
    ledgers = [se.Ledger() for _ in range(2)]
    for shards, ledger in zip(((0, 1), (1, 0)), ledgers, strict=True):
        for shard in shards:
            ledger.put(shard, 1, limited(*"ab"[shard], limit=shard + 1))
    assert ledgers[0].to_bytes() == ledgers[1].to_bytes()
    assert ledgers[0].total().labels == ("a", "b")


def test_a_compacted_sum_with_more_labels_than_the_limit_is_refused_only_by_reading():
    ledger = se.Ledger(se.Evaluator(["f1_micro"], label_limit=2))
    for shard, label in enumerate("abc"):
        ledger.put(shard, 1, limited(label))
    ledger.compact()
    with pytest.raises(se.LabelError, match="label_limit is 2"):
        ledger.get()
    assert se.Ledger.from_bytes(ledger.to_bytes()) == ledger


def test_put_and_merge_exchange_changed_shards_in_the_total_which_reading_does_not_sum(monkeypatch: pytest.MonkeyPatch):
    read, real = list[bytes](), module.read_state
    monkeypatch.setattr(module, "read_state", lambda data: read.append(data) or real(data))

    def check(ledger: se.Ledger, states: int) -> None:
        """Assert that so many states were decoded, that reading decodes no further one, and that the total is right."""
        assert (repr(ledger), ledger.examples > 0, len(read)) == (repr(ledger), True, states)
        assert ledger.total() == se.Ledger.from_bytes(ledger.to_bytes()).total()
        read.clear()

    one, other = se.Ledger(se.Evaluator(["f1_micro"])), se.Ledger()
    for ledger, first in ((one, 0), (other, 100)):
        for shard in range(first, first + 100):
            ledger.put(shard, 1, limited("a", "b", limit=None))
        check(ledger, 0)
    for shard in range(10):
        one.put(shard, 2, limited("a", "c", "d", limit=None))
    check(one, 10)
    one.merge(other)
    check(one, 0)
    other.put(100, 2, limited("c", limit=None))
    other.put("new", 1, limited("b", limit=None))
    read.clear()
    one.merge(other)
    check(one, 3)
    one.compact(range(50))
    read.clear()
    check(one, 0)
    one.reset()
    one.merge(other)
    check(one, 0)
