"""Tensors are recognised by their methods, and read without an import of their library."""

from __future__ import annotations

import re

import numpy as np
import pytest

import streameval as se
from streameval.inputs.values import array_of
from tests.support.each import with_each

VALUES = np.array([[0.25, 0.75], [0.5, 0.0]], np.float32)
TRUTHS = np.array([[0, 1], [1, 1]])


class Tensor:
    """Has the interface of a tensor of torch, over an array."""

    def __init__(self, array, dtype="torch.float32", device="cpu", layout="torch.strided", grad=False):
        self.array, self.dtype, self.device, self.layout, self.grad = array, dtype, device, layout, grad
        self.shape = array.shape

    def __array__(self, dtype=None, copy=None):
        raise TypeError("a tensor that requires grad, or is of a type that numpy does not have")

    def __iter__(self):
        return (Tensor(row, self.dtype, self.device, self.layout, self.grad) for row in self.array)

    def __len__(self):
        return len(self.array)

    def detach(self):
        return Tensor(self.array, self.dtype, self.device, self.layout)

    def cpu(self):
        return Tensor(self.array.copy(), self.dtype)

    def float(self):
        return Tensor(self.array.copy(), device=self.device)

    def numpy(self):
        if self.device != "cpu":
            raise TypeError("cannot convert a device tensor to numpy; use Tensor.cpu()")
        if self.grad or self.dtype != "torch.float32":
            raise RuntimeError("no numpy type")
        return self.array


class Nested(Tensor):
    """A tensor whose rows have different lengths, so that it has no shape."""

    @property
    def shape(self):
        raise RuntimeError("no sizes")

    @shape.setter
    def shape(self, shape):
        pass


def counted(y_true, y_pred, metrics=("f1_micro",), **more):
    ev = se.Evaluator(metrics, labels=["a", "b"], threshold=0.5)
    ev.update_many(y_true, y_pred, **more)
    return ev.to_bytes()


@with_each("dtype", ["torch.float32", "torch.bfloat16", "torch.float8_e5m2"])
@with_each("metrics", [["f1_micro"], ["ranking_loss", "roc_auc_macro"]])
@with_each("device", ["cpu", "cuda:0"])
def test_a_tensor_is_read_like_its_values_on_every_side_and_device(dtype, metrics, device):
    expected = counted(TRUTHS, VALUES, metrics, weights=[0.25, 0.5])
    tensor = Tensor(VALUES, dtype, device, grad=True)
    weights = Tensor(np.array([0.25, 0.5], np.float32), dtype, device, grad=True)
    for truths in (TRUTHS, Tensor(TRUTHS.astype(np.float32), dtype, device)):
        for scores in (tensor, list(tensor), iter(tensor)):
            assert counted(truths, scores, metrics, weights=weights) == expected
    one = se.Evaluator(metrics, labels=["a", "b"], threshold=0.5)
    for truth, scores, weight in zip(TRUTHS, tensor, [0.25, 0.5], strict=True):
        one.update(truth, scores, weight=weight)
    assert one.to_bytes() == expected


def test_a_tensor_is_read_without_a_copy():
    assert np.shares_memory(array_of(Tensor(VALUES, grad=True), "y_pred"), VALUES)
    assert array_of(VALUES, "y_pred") is VALUES


@pytest.mark.parametrize(
    ("tensor", "message"),
    [
        (Tensor(VALUES, device="meta"), "{0} is a tensor on meta, which has no values"),
        (Tensor(VALUES, layout="torch.sparse_csr"), "layout torch.sparse_csr; write {0}.to_dense()"),
        (Tensor(VALUES, "torch.quint8"), "{0} is a tensor that cannot be read: no numpy type"),
        (Nested(VALUES, "torch.quint8"), "{0} is a tensor that cannot be read: no numpy type"),
    ],
)
def test_a_tensor_without_readable_values_is_refused(tensor, message):
    for inputs, place in ((tensor, "y_pred"), (list(tensor), "y_pred[0]")):
        with pytest.raises(se.InputError, match=re.escape(message.format(place))):
            counted(TRUTHS, inputs)


class Ragged(Tensor):
    """Has the interface of a nested tensor of torch, which has no shape."""

    is_nested, ndim = True, 2

    @property
    def shape(self):
        raise RuntimeError("no sizes")

    @shape.setter
    def shape(self, value): ...


def test_a_nested_tensor_is_refused_with_advice_to_unbind_it():
    nested = Ragged(VALUES)
    for call in (
        lambda: counted(TRUTHS, nested), lambda: counted(TRUTHS, [nested]), lambda: se.F1().update({"a"}, nested),
        lambda: se.Pending(se.F1()).predict(1, nested),
    ):  # fmt: skip
        with pytest.raises(se.InputError, match=r"y_pred.* is a nested tensor; write y_pred.*\.unbind\(\)"):
            call()


class Awkward(list):
    """Has the interface of an Awkward array: a row of a column of lists is an array, and a record is a mapping."""

    typestr = "2 * int64"
    __array__ = property(lambda self: self.no_array)

    def to_list(self):
        return [*self]


def test_a_row_of_an_awkward_array_is_read_as_a_list():
    ids = se.Evaluator()
    ids.update(Awkward([1, 5]), Awkward([5, 7]))
    assert ids.labels == (1, 5, 7)
    for call in (ids.update, lambda true, pred: ids.update_many([true], [pred])):
        with pytest.raises(se.InputError, match="may be indicators or the labels 0 and 1"):
            call(Awkward([1, 0, 1]), {1})
