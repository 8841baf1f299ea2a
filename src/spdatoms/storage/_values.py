"""Values as JSON, with their arrays beside it, and back.

None, truth values, integers, finite floats, strings and lists are themselves. Everything else is a JSON
object with one entry, whose key says what it is: ``{"tuple": [1, 2]}``, ``{"array": "atoms_"}``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path, PurePath
from typing import Any

import numpy as np
import scipy.sparse

from spdatoms._utils.container import DTYPES, METADATA, StorageError
from spdatoms._utils.typing import Array
from spdatoms.divergences import get_divergence
from spdatoms.divergences.hermitian import over
from spdatoms.storage._checks import check_stack
from spdatoms.storage._classes import (
    Prepared,
    class_named,
    function_named,
    is_stored_function,
    stored_class,
)

_SPARSE = {
    cls.__name__: cls
    for cls in (
        scipy.sparse.csr_array,
        scipy.sparse.csc_array,
        scipy.sparse.csr_matrix,
        scipy.sparse.csc_matrix,
    )
}
_BIT_GENERATORS: dict[str, Any] = {
    cls.__name__: cls
    for cls in (
        np.random.PCG64,
        np.random.PCG64DXSM,
        np.random.MT19937,
        np.random.Philox,
        np.random.SFC64,
    )
}
#: How far the position in the buffer of a bit generator can be: beyond it lies foreign memory.
_LAST_POSITION = {"MT19937": ("state", "pos", 624), "Philox": (None, "buffer_pos", 4)}


class Encoder:
    """Takes values apart. An array that occurs more than once is kept once.

    Attributes
    ----------
    arrays : dict
        The arrays by name, which is where they were met first.
    of_another_library : bool
        Whether an estimator of scikit-learn is among the values.
    """

    def __init__(self) -> None:
        self.arrays: dict[str, Array] = {}
        self.of_another_library = False
        # The arrays are held, so that no other can have the same id.
        self._names: dict[int, tuple[Array, str]] = {}

    def encode(self, value: Any, path: str) -> Any:
        """Return JSON for a value; StorageError with its ``path`` if there is none for it."""
        kind = type(value)
        if value is None or kind in (bool, int, str):
            return value
        if kind is float:
            return value if math.isfinite(value) else {"float": repr(value)}
        if kind is list:
            return self._items(value, path)
        if kind is tuple:
            return {"tuple": self._items(value, path)}
        if kind is dict:
            return {"dict": self._items(map(list, value.items()), path)}
        if kind in (np.ndarray, np.memmap):
            return self._array(value, path)
        if isinstance(value, np.generic):
            dtype = _portable(value.dtype, path)
            return {"scalar": [dtype.str, np.asarray(value, dtype).tobytes().hex()]}
        if isinstance(value, np.dtype):
            return {"dtype": _portable(value, path).str}
        if isinstance(value, PurePath):
            return {"path": str(value)}
        if kind.__name__ in _SPARSE and _SPARSE[kind.__name__] is kind:
            return self._sparse(value, path)
        if kind in (np.random.Generator, np.random.RandomState):
            return self._random(value, path)
        if is_stored_function(value):
            return {"function": value.__name__}
        if kind is Prepared:
            return {"prepared": self._named(vars(value), path)}
        return self._object(value, path)

    def _items(self, values: Any, path: str) -> list[Any]:
        return [self.encode(value, f"{path}.{i}") for i, value in enumerate(values)]

    def _array(self, array: Array, path: str) -> Any:
        if array.dtype == object:
            items = self._items(array.ravel().tolist(), path)
            return {"objects": {"shape": list(array.shape), "items": items}}
        if id(array) not in self._names:
            stored = array.astype(_portable(array.dtype, path), copy=False)
            name = path if path != METADATA else f"{path}.0"
            self._names[id(array)] = array, name
            self.arrays[name] = stored
        return {"array": self._names[id(array)][1]}

    def _sparse(self, matrix: Any, path: str) -> Any:
        parts = {
            name: self._array(np.asarray(getattr(matrix, name)), f"{path}.{name}")
            for name in ("data", "indices", "indptr")
        }
        return {"sparse": {"class": type(matrix).__name__, "shape": list(matrix.shape), **parts}}

    def _random(self, source: Any, path: str) -> Any:
        generator = isinstance(source, np.random.Generator)
        state = source.bit_generator.state if generator else source.get_state(legacy=False)
        if state["bit_generator"] not in _BIT_GENERATORS:
            raise StorageError(
                f"{path} draws from {state['bit_generator']}, which is not known here."
            )
        return {"generator" if generator else "random_state": self.encode(state, path)}

    def _object(self, value: Any, path: str) -> Any:
        stored = stored_class(type(value))
        if stored is None:
            raise StorageError(
                f"{path} is of the type {type(value).__name__}, which cannot be saved: use numbers, "
                "strings, arrays or objects of spdatoms in its place."
            )
        self.of_another_library |= stored.of_another_library
        parameters, attributes = stored.state(value)
        return {
            "object": {
                "class": stored.name,
                "parameters": self._named(parameters, path),
                "attributes": self._named(attributes, path),
            }
        }

    def _named(self, values: dict[str, Any], path: str) -> dict[str, Any]:
        prefix = f"{path}." if path else ""
        return {name: self.encode(value, f"{prefix}{name}") for name, value in values.items()}


def _portable(dtype: np.dtype[Any], path: str) -> np.dtype[Any]:
    little = dtype.newbyteorder("<")
    if little.itemsize == 0:  # strings that are all empty
        little = np.dtype(f"{little.str[:2]}1")
    if not DTYPES.fullmatch(little.str):
        raise StorageError(
            f"{path} has the type {dtype}, which not every machine knows: convert it to numbers of at "
            "most 8 bytes (complex: 16) or to strings."
        )
    return little


class Decoder:
    """Puts values together, of arrays and of classes that are known; nothing is imported by name."""

    def __init__(self, arrays: dict[str, Array]) -> None:
        self.arrays = arrays
        self._decoders: dict[str, Callable[[Any], Any]] = {
            "float": _special_float,
            "tuple": lambda items: tuple(self._items(items)),
            "dict": lambda items: dict(self._items(items)),
            "array": lambda name: self.arrays[name],
            "scalar": lambda content: _scalar(*content),
            "dtype": _dtype,
            "path": Path,
            "objects": self._objects,
            "sparse": self._sparse,
            "generator": lambda state: np.random.Generator(self._bit_generator(state)),
            "random_state": self._random_state,
            "function": function_named,
            "prepared": self._prepared,
            "object": self._object,
        }

    def decode(self, value: Any) -> Any:
        """Return the value that this JSON stands for."""
        if isinstance(value, list):
            return self._items(value)
        if not isinstance(value, dict):
            return value
        ((kind, content),) = value.items()
        return self._decoders[kind](content)

    def _items(self, items: list[Any]) -> list[Any]:
        return [self.decode(item) for item in items]

    def _objects(self, content: dict[str, Any]) -> Array:
        array = np.empty(len(content["items"]), dtype=object)
        array[:] = self._items(content["items"])
        return array.reshape(content["shape"])

    def _sparse(self, content: dict[str, Any]) -> Any:
        parts = tuple(self.decode(content[name]) for name in ("data", "indices", "indptr"))
        matrix = _SPARSE[content["class"]](parts, shape=tuple(content["shape"]))
        matrix.check_format(full_check=True)
        return matrix

    def _bit_generator(self, content: Any) -> Any:
        state = self.decode(content)
        name = state["bit_generator"]
        generator = _BIT_GENERATORS[name](0)
        if name in _LAST_POSITION:
            where, key, last = _LAST_POSITION[name]
            if not 0 <= (state[where] if where else state)[key] <= last:
                raise ValueError(f"the state of the {name} is none")
        generator.state = state
        return generator

    def _random_state(self, content: Any) -> np.random.RandomState:
        source = np.random.RandomState(self._bit_generator(content))
        source.set_state(self.decode(content))  # with what is left of the last normal pair
        return source

    def _prepared(self, content: dict[str, Any]) -> Any:
        divergence = get_divergence(self.decode(content["metric"]))
        matrices = check_stack(self.decode(content["matrices"]))
        return over(divergence, matrices).prepare(matrices)

    def _object(self, content: dict[str, Any]) -> Any:
        stored = class_named(content["class"])
        parameters, attributes = (
            {name: self.decode(value) for name, value in content[part].items()}
            for part in ("parameters", "attributes")
        )
        return stored.make(parameters, attributes)


def _special_float(text: str) -> float:
    return {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}[text]


def _dtype(text: str) -> np.dtype[Any]:
    if not DTYPES.fullmatch(text):
        raise ValueError(f"{text!r} is not a type of arrays")
    return np.dtype(text).newbyteorder("=")


def _scalar(dtype: str, content: str) -> Any:
    native = _dtype(dtype)
    (value,) = np.frombuffer(bytes.fromhex(content), np.dtype(dtype)).astype(native)
    return value
