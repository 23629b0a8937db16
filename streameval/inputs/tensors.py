"""Arrays and tensors as arrays of numpy, which share their memory. Tensors are known by their methods."""

from __future__ import annotations

from typing import Any

import numpy as np

from streameval.errors import InputError

__all__ = ["array_of", "is_tensor", "without_tensors"]


def is_tensor(kind: type) -> bool:
    """Whether objects of a class are tensors, such as those of torch."""
    return hasattr(kind, "detach") and hasattr(kind, "numpy")


def array_of(given: object, name: str) -> np.ndarray[Any, Any]:
    """The values of what has ``__array__``, in the memory where they are.

    Only where numpy has no such type (bfloat16, and floating-point numbers of 8 bits) they are copied, to float32,
    which holds each of these numbers. A tensor that requires a gradient is read without it.

    Raises
    ------
    InputError
        If a tensor is not on the CPU, or is not dense.
    """
    if not is_tensor(type(given)):
        return np.asanyarray(given)
    tensor: Any = given
    device = getattr(tensor, "device", "cpu")
    if getattr(device, "type", str(device)) != "cpu":
        raise InputError(f"{name} is a tensor on {device}; write {name}.cpu(), which copies it into main memory")
    layout = str(getattr(tensor, "layout", "strided"))
    if not layout.endswith("strided"):
        raise InputError(f"{name} is a tensor of layout {layout}; write {name}.to_dense()")
    tensor = tensor.detach()
    for lazy in ("resolve_conj", "resolve_neg"):
        tensor = getattr(tensor, lazy)() if hasattr(tensor, lazy) else tensor
    try:
        return np.asarray(tensor.numpy() if _has_numpy_type(tensor) else tensor.float().numpy())
    except (RuntimeError, TypeError) as error:  # such as one of quantized numbers, or nested
        raise InputError(f"{name} is a tensor that cannot be read: {error}; give one of booleans or numbers") from None


def _has_numpy_type(tensor: Any) -> bool:
    name = str(tensor.dtype).rpartition(".")[2]
    return not name.startswith(("bfloat", "float8", "float4"))


def without_tensors(examples: list[object], name: str) -> list[object]:
    """Examples with an array in place of each tensor."""
    tensors = {kind for kind in set(map(type, examples)) if is_tensor(kind)}
    if not tensors:
        return examples
    return [array_of(example, name) if type(example) in tensors else example for example in examples]
