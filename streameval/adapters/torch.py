"""torch.distributed: states of all ranks, gathered as bytes and merged on each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from streameval.adapters.engine import require
from streameval.errors import InputError, MergeError, StreamevalError
from streameval.progressive.holder import AnyState, StateT, check_class, read_state

with require("torch"):
    import torch
    import torch.distributed as dist

if TYPE_CHECKING:
    from torch.distributed import ProcessGroup

__all__ = ["sync"]

_STATE, _ERROR = b"s", b"e"


def sync(evaluator: StateT, group: ProcessGroup | None = None) -> StateT:
    """Merge what all ranks have counted; every rank of the group calls it, as any collective.

    Each rank counts its own examples, and calls this whenever it wants to know about all of them. The argument stays as
    it is, and counting goes on. The bytes of the result are the same on every rank: those that one process would have
    written.

    Parameters
    ----------
    evaluator
        An `Evaluator`, a metric, a `Sliced` or a window, of the same configuration on all ranks.
    group
        A process group; the default one if None.

    Raises
    ------
    MergeError
        If configurations of ranks differ. Every rank raises it, with the same message, and none waits for another.
    InputError
        If there is no process group, or this process is not in it; on every rank, if one of them passed an object that
        is no evaluator.

    Examples
    --------
    >>> import tempfile
    >>> import streameval as se
    >>> store = torch.distributed.FileStore(tempfile.mktemp(), 1)
    >>> torch.distributed.init_process_group("gloo", store=store, rank=0, world_size=1)
    >>> ev = se.Evaluator(["f1_micro"], labels=["cat", "dog"], threshold=0.5)
    >>> ev.update_many(torch.tensor([[1, 0], [1, 1]]), torch.tensor([[0.9, 0.7], [0.8, 0.2]]))
    >>> sync(ev).get()
    {'f1_micro': 0.6666666666666666}
    >>> torch.distributed.destroy_process_group()
    """
    if not (dist.is_available() and dist.is_initialized()):
        raise InputError("sync needs a process group; call torch.distributed.init_process_group() first")
    outside: object = dist.GroupMember.NON_GROUP_MEMBER  # what new_group returns on other ranks
    if group is outside or dist.get_rank(group) < 0:
        raise InputError("this process is not in the group, so it has nothing to sync; call sync only on its members")
    parts: list[Any] = []
    for rank, answer in enumerate(_gathered(_answer(evaluator), group)):
        if answer[:1] == _ERROR:
            raise InputError(f"cannot sync: rank {rank}: {answer[1:].decode()}")
        try:
            parts.append(read_state(answer[1:]))
            if rank:
                parts[0].merge(parts.pop())
        except StreamevalError as error:
            raise MergeError(f"cannot sync: rank 0 and rank {rank} differ: {error}") from None
    merged: StateT = parts[0]
    return merged


def _answer(evaluator: AnyState) -> bytes:
    """The bytes that all ranks receive: the state, or the error of this rank, so that no rank waits in vain."""
    try:
        check_class(evaluator, "sync")
        return _STATE + evaluator.to_bytes()
    except Exception as error:  # of any kind, because the other ranks wait
        return _ERROR + f"{type(error).__name__}: {error}".encode(errors="replace")


def _gathered(answer: bytes, group: ProcessGroup | None) -> list[bytes]:
    """Gather the answer of each rank: first all lengths, then the bytes, padded to the longest."""
    device = _device(dist.distributed_c10d.get_backend_config(group))
    ranks = range(dist.get_world_size(group))
    length = torch.tensor([len(answer)], dtype=torch.int64, device=device)
    lengths = [torch.zeros_like(length) for _ in ranks]
    dist.all_gather(lengths, length, group=group)
    sizes = [int(one) for one in lengths]
    filled = torch.frombuffer(bytearray(answer.ljust(max(sizes), b"\0")), dtype=torch.uint8).to(device)
    answers = [torch.empty_like(filled) for _ in ranks]
    dist.all_gather(answers, filled, group=group)
    return [one.cpu().numpy()[:size].tobytes() for one, size in zip(answers, sizes, strict=True)]


def _device(backends: str) -> torch.device:
    """The device that tensors for a group must be on; ``backends`` is a string such as "cpu:gloo,cuda:nccl"."""
    kinds = [pair.partition(":")[0] for pair in backends.split(",")]
    if "cpu" in kinds:
        return torch.device("cpu")
    return torch.device(kinds[0], torch.get_device_module(kinds[0]).current_device())
