"""Values as JSON, with their arrays beside it, and back.

None, truth values, integers, finite floats, strings and lists are themselves. Everything else is a JSON
object with one entry, whose key says what it is: ``{"tuple": [1, 2]}``, ``{"array": "atoms_"}``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from pathlib import Path, PurePath
from typing import Any

import numpy as np

from spdatoms._utils.parameters import shown
from spdatoms._utils.sealed_archive import DTYPES, METADATA, StorageError
from spdatoms._utils.typing import Array
from spdatoms.storage._classes import (
    Prepared,
    class_named,
    function_named,
    is_stored_function,
    stored_class,
)
from spdatoms.storage._earlier import DROPPED, of_today

_BIT_GENERATORS: dict[str, Any] = {
    name: getattr(np.random, name) for name in ("PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64")
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
            step = re.fullmatch(r"(?:.*\.)?steps\.(\d+)\.1", path)
            if step is not None:
                raise StorageError(
                    f"{path} is a {type(value).__name__} of {type(value).__module__.partition('.')[0]}, which cannot "
                    f"be saved: save the steps after it, save(pipeline[{int(step[1]) + 1}:], path), and make it anew "
                    "before them where the file is loaded."
                )
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
            "dict": self._dict,
            "array": self._array,
            "scalar": _scalar,
            "dtype": _dtype,
            "path": lambda text: Path(_text(text)),
            "objects": self._objects,
            "generator": lambda state: np.random.Generator(self._bit_generator(state)),
            "random_state": self._random_state,
            "function": lambda name: function_named(_text(name)),
            "prepared": self._prepared,
            "object": self._object,
        }

    def decode(self, value: Any) -> Any:
        """Return the value that this JSON stands for."""
        if isinstance(value, list):
            return self._items(value)
        if not isinstance(value, dict):
            return value
        if len(value) != 1 or next(iter(value)) not in self._decoders:
            raise ValueError(f"{shown(value)} stands for no value")
        ((kind, content),) = value.items()
        return self._decoders[kind](content)

    def _items(self, items: Any) -> list[Any]:
        return [self.decode(item) for item in _list(items)]

    def _named(self, values: Any) -> dict[str, Any]:
        if not isinstance(values, dict):
            raise ValueError(f"{shown(values)} is not a list of values with names")
        return {name: self.decode(value) for name, value in values.items()}

    def _dict(self, items: Any) -> dict[Any, Any]:
        pairs = self._items(items)
        if not all(isinstance(p, list) and len(p) == 2 and _is_key(p[0]) for p in pairs):
            raise ValueError(f"{shown(pairs)} is not a list of keys and values")
        return dict(pairs)

    def _array(self, name: Any) -> Array:
        if _text(name) not in self.arrays:
            raise ValueError(f"the array {shown(name)} is missing")
        return self.arrays[name]

    def _objects(self, content: Any) -> Array:
        shape, items = _record(content, "shape", "items")
        values = self._items(items)
        if math.prod(_shape(shape)) != len(values):
            raise ValueError(f"{len(values)} values are not as many as the shape {shape} needs")
        array = np.empty(len(values), dtype=object)
        array[:] = values
        return array.reshape(shape)

    def _bit_generator(self, content: Any) -> Any:
        state = self.decode(content)
        name = state.get("bit_generator") if isinstance(state, dict) else None
        if not isinstance(name, str) or name not in _BIT_GENERATORS:
            raise ValueError(f"{shown(name)} is not a generator of random numbers that is stored")
        generator = _BIT_GENERATORS[name](0)
        try:
            if name in _LAST_POSITION:
                where, key, last = _LAST_POSITION[name]
                if not 0 <= (state[where] if where else state)[key] <= last:
                    raise ValueError("it is beyond the end of its buffer")
            generator.state = state
        except (ArithmeticError, LookupError, TypeError, ValueError) as error:
            raise ValueError(f"{name} cannot have this state") from error
        return generator

    def _random_state(self, content: Any) -> np.random.RandomState:
        source = np.random.RandomState(self._bit_generator(content))
        try:
            source.set_state(self.decode(content))  # with what is left of the last normal pair
        except (ArithmeticError, LookupError, TypeError, ValueError) as error:
            raise ValueError("a RandomState cannot have this state") from error
        return source

    def _prepared(self, content: Any) -> Prepared:
        """Return what is to be prepared; the estimator that holds it has the divergence."""
        metric, matrices = map(self.decode, _record(content, "metric", "matrices"))
        return Prepared(metric, matrices)

    def _object(self, content: Any) -> Any:
        name, parameters, attributes = _record(content, "class", "parameters", "attributes")
        if name in DROPPED:
            return None
        name, *state = of_today(_text(name), self._named(parameters), self._named(attributes))
        return class_named(name).make(*state)


def _record(content: Any, *names: str) -> list[Any]:
    """Return the entries of a JSON object that has just these."""
    if not isinstance(content, dict) or set(content) != set(names):
        raise ValueError(f"{shown(content)} has not the entries {', '.join(names)}")
    return [content[name] for name in names]


def _text(content: Any) -> str:
    if not isinstance(content, str):
        raise ValueError(f"{shown(content)} is not a name")
    return content


def _list(content: Any) -> list[Any]:
    if not isinstance(content, list):
        raise ValueError(f"{shown(content)} is not a list of values")
    return content


def _shape(content: Any) -> tuple[int, ...]:
    if not all(type(length) is int and 0 <= length < 2**63 for length in _list(content)):
        raise ValueError(f"{shown(content)} is not a shape")
    return tuple(content)


def _is_key(value: Any) -> bool:
    if isinstance(value, tuple):
        return all(map(_is_key, value))
    return value is None or isinstance(value, str | bool | int | float | np.generic)


def _special_float(text: Any) -> float:
    special = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
    if _text(text) not in special:
        raise ValueError(f"{shown(text)} is not a special number")
    return special[text]


def _dtype(text: Any) -> np.dtype[Any]:
    if not DTYPES.fullmatch(_text(text)):
        raise ValueError(f"{shown(text)} is not a type of arrays")
    dtype: np.dtype[Any] = np.dtype(text)
    return dtype.newbyteorder("=")


def _scalar(content: Any) -> Any:
    if len(_list(content)) != 2:
        raise ValueError(f"{shown(content)} is not a type and a number")
    text, digits = content
    native = _dtype(text)
    try:
        (value,) = np.frombuffer(bytes.fromhex(_text(digits)), np.dtype(text)).astype(native)
    except ValueError as error:
        raise ValueError(f"{shown(digits)} is not a number of the type {text}") from error
    return value
