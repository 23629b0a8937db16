"""torch itself: three processes on gloo and tensors of every kind give the bytes of one process with arrays."""

from __future__ import annotations

import os
import random
import re
import runpy
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
import torch_ranks
from hypothesis import HealthCheck, given, settings, strategies as st

import streameval as se
from streameval.adapters.torch import sync
from streameval.inputs.values import array_of
from tests.support.effort import cases

ROOT = Path(__file__).parents[3]
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
os.environ["GLOO_SOCKET_IFNAME"] = "lo"

RANKS = 3
LABELS = [f"tag{number}" for number in range(50)]
EVERYTHING = ["f1_micro", "ranking_loss", "roc_auc_macro"]
FLOATS = [torch.float16, torch.bfloat16, torch.float32, torch.float64]


@pytest.fixture(scope="module")
def ranks(tmp_path_factory):
    made = torch_ranks.Ranks(RANKS, tmp_path_factory.mktemp("ranks"))
    yield made
    made.close()


def agreed(answers):
    """The answer of all ranks, after asserting that it is the same on each and that sync changes no argument."""
    assert len({answer[:2] for answer in answers}) == 1, "all ranks get the same bytes"
    assert all(answer[2:] == (True, True) for answer in answers), "again the same, and the argument as it was"
    return answers[0][:2]


def rows_of(count, seed=0):
    source = random.Random(seed)
    pick = [[source.sample(LABELS, source.randrange(5)) for _ in range(count)] for _ in "tp"]
    return pick[0], pick[1], [source.choice(["eu", "us", None]) for _ in range(count)]


def counters():
    return {
        "Evaluator": se.Evaluator(["f1_micro", "f1_macro"], keep=["pairs"]),
        "F1": se.F1(average="macro"),
        "Sliced": se.Sliced(se.Evaluator(["f1_micro"]), by="region", max_slices=2),
        "TimeRolling": se.TimeRolling(se.Evaluator(["f1_micro"]), period=50),
    }


def count(made, rows, picked):
    true, predicted, region = ([column[row] for row in picked] for column in rows)
    more = {}
    if isinstance(made, se.Sliced):
        more["where"] = {"region": region}
    if isinstance(made, se.TimeRolling):
        more["times"] = [float(row) for row in picked]
    made.update_many(true, predicted, **more)
    return made


@pytest.mark.parametrize("kind", list(counters()))
@pytest.mark.parametrize("ends", [(0, 7, 100, 100), (0, 0, 0, 100), (0, 50, 99, 100), (0, 0, 0, 0)])
def test_uneven_and_empty_ranks_give_the_bytes_of_one_process(ranks, kind, ends):
    rows = rows_of(100)
    parts = [count(counters()[kind], rows, range(ends[rank], ends[rank + 1])) for rank in range(RANKS)]
    whole = count(counters()[kind], rows, range(ends[-1]))
    assert agreed(ranks.sync([part.to_bytes() for part in parts])) == (kind, whole.to_bytes())


@settings(max_examples=cases(40), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(owners=st.lists(st.integers(0, RANKS - 1), max_size=60), seed=st.integers(0, 2**32))
def test_any_sharding_gives_the_bytes_of_one_process(ranks, owners, seed):
    rows = rows_of(len(owners), seed)
    shards = [[row for row, owner in enumerate(owners) if owner == rank] for rank in range(RANKS)]
    parts = [count(counters()["Evaluator"], rows, shard).to_bytes() for shard in shards]
    whole = count(counters()["Evaluator"], rows, range(len(owners)))
    assert agreed(ranks.sync(parts)) == ("Evaluator", whole.to_bytes())


def test_many_rows_give_the_bytes_of_one_process(ranks):
    many = cases(20_000)
    rows = rows_of(many)
    parts = [count(counters()["Evaluator"], rows, range(rank, many, RANKS)).to_bytes() for rank in range(RANKS)]
    assert agreed(ranks.sync(parts))[1] == count(counters()["Evaluator"], rows, range(many)).to_bytes()


@pytest.mark.parametrize(
    ("inputs", "kind", "message"),
    [
        ([{"threshold": 0.5}, {"threshold": 0.5}, {"threshold": 0.7}], "MergeError", "rank 0 and rank 2 .*threshold"),
        ([{}, {"labels": ["a"]}, {}], "MergeError", "rank 0 and rank 1 .*label"),
        ([{"metrics": ["f1_micro"]}, {}, {}], "MergeError", "rank 0 and rank 1 .*metrics differ"),
    ],
)
def test_ranks_with_different_configurations_all_raise_the_same_error(ranks, inputs, kind, message):
    answers = ranks.sync([se.Evaluator(**arguments).to_bytes() for arguments in inputs])
    assert len(set(answers)) == 1
    assert answers[0][:2] == ("error", kind)
    assert re.search(message, answers[0][2])


def test_after_an_error_the_group_still_works(ranks):
    wrong = ranks.sync([se.F1().to_bytes(), se.Evaluator().to_bytes(), se.Evaluator().to_bytes()])
    assert {answer[1] for answer in wrong} == {"MergeError"}
    assert agreed(ranks.sync([se.F1().to_bytes()] * RANKS)) == ("F1", se.F1().to_bytes())


def test_a_rank_without_an_evaluator_is_named_on_all_ranks(ranks):
    answers = ranks.sync([se.F1().to_bytes(), {"f1": 0.5}, se.F1().to_bytes()])
    assert len(set(answers)) == 1
    assert answers[0][:2] == ("error", "InputError")
    assert "rank 1: InputError: sync takes an Evaluator, a metric such as F1(), " in answers[0][2]


def test_windows_without_a_common_order_are_refused_on_all_ranks(ranks):
    answers = ranks.sync([se.Rolling(se.F1(), 5).to_bytes()] * RANKS)
    assert len(set(answers)) == 1
    assert "no common order" in answers[0][2]


def test_a_group_syncs_its_members_only(ranks):
    rows = rows_of(60)
    parts = [count(counters()["F1"], rows, range(rank, 60, RANKS)) for rank in range(RANKS)]
    answers = ranks.sync([part.to_bytes() for part in parts], "pair")
    assert agreed(answers[:2]) == ("F1", (parts[0] + parts[1]).to_bytes())
    assert answers[2][:2] == ("error", "InputError")
    assert "not in the group" in answers[2][2]


def test_sync_without_a_process_group_is_refused():
    with pytest.raises(se.InputError, match="init_process_group"):
        sync(se.Evaluator())


def test_bytes_are_placed_on_a_device_that_the_backend_supports(monkeypatch):
    from streameval.adapters.torch import _device

    monkeypatch.setattr(torch.cuda, "current_device", lambda: 3)
    assert _device("cuda:nccl") == torch.device("cuda", 3)
    assert _device("cpu:gloo,cuda:gloo") == _device("cpu:gloo,cuda:nccl") == torch.device("cpu")


# -- tensors ----------------------------------------------------------------------------------------------------------


def arrays(rows=40, labels=6, seed=0):
    source = np.random.default_rng(seed)
    # Multiples of 1/128, which every type of `FLOATS` represents exactly.
    return source.random((rows, labels)) < 0.3, source.integers(0, 129, (rows, labels)) / 128


def evaluator(metrics):
    return se.Evaluator(metrics, labels=LABELS[:6], threshold=0.5)


@pytest.mark.parametrize("metrics", [["f1_micro"], EVERYTHING], ids=["decisions", "scores"])
@pytest.mark.parametrize("floating", FLOATS, ids=str)
@pytest.mark.parametrize("truth", [torch.bool, torch.uint8, torch.int32, torch.int64, torch.bfloat16], ids=str)
def test_tensors_count_as_the_arrays_of_their_values(metrics, floating, truth):
    true, scores = arrays()
    expected, one_by_one, listed, shaped = (evaluator(metrics) for _ in range(4))
    expected.update_many(true, scores)
    y_true, y_pred = torch.tensor(true).to(truth), torch.tensor(scores).to(floating)
    shaped.update_many(y_true.T.contiguous().T, torch.stack([y_pred, y_pred], 2)[:, :, 0].requires_grad_())
    listed.update_many(list(y_true), list(y_pred))
    for row in range(len(y_true)):
        one_by_one.update(y_true[row], y_pred[row])
    assert shaped.to_bytes() == listed.to_bytes() == one_by_one.to_bytes() == expected.to_bytes()


@pytest.mark.parametrize("floating", FLOATS, ids=str)
def test_thresholds_are_compared_with_the_value_of_the_tensor(floating):
    exact = torch.tensor([[0.1, 0.3, 0.7]]).to(floating)
    ev = se.Evaluator(["f1_micro"], labels=["a", "b", "c"], threshold=exact[0].double().tolist())
    ev.update_many(torch.ones(1, 3, dtype=torch.bool), exact)
    assert ev.get("recall_per_label") == {"a": 1.0, "b": 1.0, "c": 1.0}
    above = [float(np.nextafter(value, 1)) for value in exact[0].double().tolist()]
    ev = se.Evaluator(["f1_micro"], labels=["a", "b", "c"], threshold=above)
    ev.update_many(torch.ones(1, 3, dtype=torch.bool), exact)
    assert ev.get("recall_per_label") == {"a": 0.0, "b": 0.0, "c": 0.0}


@given(bits=st.lists(st.integers(0, 2**16 - 1), min_size=1, max_size=50))
def test_bfloat16_is_converted_exactly(bits):
    tensor = torch.tensor(bits, dtype=torch.int32).to(torch.int16).view(torch.bfloat16)
    result = array_of(tensor, "y_pred")
    assert result.dtype == np.float32
    with np.errstate(invalid="ignore"):  # numpy warns when it widens a signaling NaN
        wide = result.astype(np.float64)
    np.testing.assert_array_equal(wide, np.array(tensor.tolist(), np.float64))


@pytest.mark.parametrize("kind", [torch.bool, torch.uint8, torch.int64, torch.float16, torch.float32], ids=str)
def test_tensors_on_the_cpu_are_read_without_a_copy(kind):
    tensor = torch.zeros(5, 7).to(kind)
    for view in (tensor, tensor[1:4], tensor.T, tensor[:, ::2]):
        assert np.shares_memory(array_of(view, "y_true"), tensor.numpy())


def test_a_tensor_that_requires_a_gradient_shares_its_memory_and_keeps_its_graph():
    weights = torch.ones(3, requires_grad=True)
    scores = torch.tensor([[0.9, 0.1, 0.6]]) * weights
    assert np.shares_memory(array_of(scores, "y_pred"), scores.detach().numpy())
    se.Evaluator(labels=["a", "b", "c"], threshold=0.5).update_many(torch.ones(1, 3), scores)
    scores.sum().backward()
    assert torch.equal(weights.grad, torch.tensor([0.9, 0.1, 0.6]))


def test_weights_masks_and_best_k_may_be_tensors():
    true, scores = arrays()
    stored = torch.tensor(scores).bfloat16().requires_grad_()
    best = torch.topk(stored, 3)
    weights = torch.arange(40).bfloat16().requires_grad_()
    hidden = torch.tensor(true[::-1].copy())
    one, two = evaluator(EVERYTHING), evaluator(EVERYTHING)
    for ev, form in ((one, lambda tensor: tensor), (two, lambda tensor: tensor.detach().double().numpy())):
        ev.update_many(true, form(stored), weights=form(weights), mask=hidden)
        ev.update_many(true, se.TopK(best.indices, form(best.values)))
    assert one.to_bytes() == two.to_bytes()


def test_a_prediction_that_waits_is_a_copy_of_its_tensor():
    pending = se.Pending(evaluator(["f1_micro"]))
    scores = torch.tensor([0.9, 0.0, 0.0, 0.0, 0.0, 0.0]).bfloat16().requires_grad_()
    pending.predict("first", scores)
    with torch.no_grad():
        scores.zero_()
    pending.observe("first", {LABELS[0]})
    assert pending.evaluator.get("f1_micro") == 1.0


@pytest.mark.parametrize("verb", ["update", "update_many"])
@pytest.mark.parametrize(
    ("spoilt", "message"),
    [
        (lambda tensor: tensor.to("meta"), "y_pred is a tensor on meta, which has no values"),
        (
            lambda tensor: tensor.to_sparse(),
            r"y_pred is a tensor of layout torch\.sparse_coo; write y_pred\.to_dense\(\)",
        ),
        (lambda tensor: tensor.to(torch.complex64), "y_pred has type complex64; give booleans or numbers"),
    ],
)
@pytest.mark.parametrize("metrics", [["f1_micro"], EVERYTHING], ids=["decisions", "scores"])
def test_tensors_that_cannot_be_read_are_refused_and_change_nothing(metrics, spoilt, message, verb):
    true, scores = (torch.tensor(array) for array in arrays())
    ev = evaluator(metrics)
    ev.update_many(true, scores)
    before = ev.to_bytes()
    if verb == "update":
        true, scores = true[0], scores[0]
    with pytest.raises(se.InputError, match=message):
        getattr(ev, verb)(true, spoilt(scores))
    assert ev.to_bytes() == before


# -- the example and the page -----------------------------------------------------------------------------------------


def test_the_example_runs(capfd):
    runpy.run_path(str(ROOT / "examples" / "torch_distributed.py"), run_name="__main__")
    assert "501 of 1001 examples were counted on this rank" in capfd.readouterr().out


def test_the_page_runs(tmp_path):
    inputs, script = re.findall(r"```python\n(.*?)```", (ROOT / "docs/engines/torch.md").read_text(), re.DOTALL)
    exec(inputs, {})  # noqa: S102
    (tmp_path / "evaluate.py").write_text(script)
    command = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node=2", "--master-addr=127.0.0.1"]
    made = subprocess.run(
        [*command, f"--master-port={free_port()}", "evaluate.py"], cwd=tmp_path, capture_output=True, text=True
    )
    assert made.returncode == 0, made.stderr
    assert "1001 examples" in made.stdout


def free_port():
    import socket

    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]
