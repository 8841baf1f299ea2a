"""What a divergence was made with, so that two of one name can be told apart."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Mapping
from typing import Any

import numpy as np

from spdatoms.divergences.base import Divergence
from spdatoms.divergences.hermitian import Hermitian


def divergence_parameters(divergence: Divergence) -> dict[str, Any]:
    """Return the parameters of a divergence as JSON can hold them, arrays as digests; none for most.

    They are the arguments of its class, kept under their names, as `spdatoms.save` asks for. If one is not kept so,
    they are all attributes. A `Hermitian` divergence has those of the divergence between real matrices.
    """
    if isinstance(divergence, Hermitian):
        return divergence_parameters(divergence.divergence)
    names = tuple(inspect.signature(type(divergence)).parameters)
    kept = all(hasattr(divergence, name) for name in names)
    values = {name: getattr(divergence, name) for name in names} if kept else vars(divergence)
    return {name: _plain(value) for name, value in values.items()}


def same_divergence(one: Divergence, other: Divergence) -> bool:
    """Return whether two divergences have the same name and the same parameters."""
    return one.name == other.name and divergence_parameters(one) == divergence_parameters(other)


def _plain(value: Any) -> Any:
    """Return JSON that is the same for equal values, and in every process."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.ndarray) and value.dtype != object:  # its repr leaves out the middle
        content = hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()
        return [value.dtype.str, list(value.shape), content]
    if isinstance(value, Divergence):
        return [value.name, divergence_parameters(value)]
    if isinstance(value, Mapping):
        return {str(key): _plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [_plain(part) for part in value]
    if isinstance(value, type) or inspect.isroutine(value):
        return [value.__module__, value.__qualname__]
    state = getattr(value, "__dict__", None)
    # The repr of an object with attributes may be its address.
    return [type(value).__qualname__, _plain(state) if state else repr(value)]
