"""Arrays of other libraries and in other places of memory: one kind on the way in, theirs on the way out.

Those of torch, CuPy and JAX, and of every library with the ``__array_namespace__`` of the array API standard.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from spdatoms._utils.typing import Array

#: Types that need no further look: they are not arrays of another library.
_OURS = (np.ndarray, np.generic, str, float, int, type(None))

Function = TypeVar("Function", bound=Callable[..., Any])


def same_kind(function: Function) -> Function:
    """Decorate a function of NumPy arrays: it takes those of other libraries, and then returns such arrays.

    The kind and the device are those of its first argument that is not NumPy's. Numbers, labels that are
    strings, and whatever else it returns stay as they are.
    """

    @wraps(function)
    def of_any(*args: Any, **kwargs: Any) -> Any:
        model = next((a for a in (*args, *kwargs.values()) if _is_foreign(a)), None)
        if model is None:
            return function(*args, **kwargs)
        result = function(*map(as_numpy, args), **{k: as_numpy(a) for k, a in kwargs.items()})
        if isinstance(result, tuple):
            return tuple(_like(model, array) for array in result)
        return _like(model, result)

    return cast(Function, of_any)


def as_numpy(array: Any) -> Any:
    """Return the NumPy array of an array of another library, and anything else as it is."""
    if not _is_foreign(array):
        return array
    if _is_of("torch", "Tensor", array):
        return _of_tensor(array)
    if _is_of("cupy", "ndarray", array):
        return array.get()
    try:
        return np.asarray(array)
    except TypeError:  # some libraries insist on the exchange that the standard defines
        return np.from_dlpack(array)


def in_order(array: ArrayLike, dtype: DTypeLike | None = None) -> Array:
    """Return an array in C order, native bytes and aligned, of a type if one is given; itself if it is so already.

    What enters the package passes here. The order decides how BLAS rounds, and NumPy's own loops are not right for
    every stride: 2.4 negates some strided arrays wrongly.
    """
    array = np.asarray(array, dtype)
    if array.dtype.isnative and array.flags.c_contiguous and array.flags.aligned:
        return array  # np.require takes longer to find this out than a small matrix takes
    return np.require(array, array.dtype.newbyteorder("="), ["C", "A"])


def _is_foreign(array: Any) -> bool:
    if isinstance(array, _OURS):
        return False
    return hasattr(type(array), "__array_namespace__") or _is_of("torch", "Tensor", array)


def _is_of(library: str, name: str, array: Any) -> bool:
    """Return whether an array is of a library, without importing it."""
    module = sys.modules.get(library)
    return module is not None and isinstance(array, getattr(module, name, ()))


def _of_tensor(tensor: Any) -> Any:
    if tensor.requires_grad:
        raise TypeError(
            "A tensor that requires a gradient was passed, but gradients are not traced here: pass X.detach()."
        )
    try:
        return tensor.cpu().resolve_conj().resolve_neg().numpy()
    except TypeError as error:
        raise TypeError(f"NumPy has no {tensor.dtype}: pass X.float().") from error


def _like(model: Any, result: Any) -> Any:
    """Return an array of numbers as an array of the model's library, on its device."""
    if not isinstance(result, np.ndarray) or result.dtype.kind not in "biufc":
        return result
    if not result.flags.writeable:
        result = result.copy()  # torch would warn that it cannot protect it
    if _is_of("cupy", "ndarray", model):
        with model.device:
            return sys.modules["cupy"].asarray(result)
    library = (
        sys.modules["torch"] if _is_of("torch", "Tensor", model) else model.__array_namespace__()
    )
    return library.asarray(result, device=model.device)
