"""The kernels in C++: which library is loaded, and how its functions are called.

The ``*.cpp`` files beside this one are compiled into one shared library per instruction set (`_build.py`). The best
that the processor has is loaded; the environment variable ``SPDATOMS_ISA`` (``v2``, ``v3``, ``v4`` of x86-64, or
``arm64``) forces one.

A C++ function takes one pointer, to a struct of numbers and addresses, and returns an integer. `kernel` makes it
callable:

>>> from spdatoms.native import kernel
>>> scaled_exp = kernel("scaled_exp", "Dqd")  # double *values; Int count; double scale;

Nothing else in the package knows ctypes.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from pathlib import Path
from struct import Struct
from typing import Any

import numpy as np
from numpy.typing import DTypeLike
from scipy.linalg import cython_lapack

_FOLDER = Path(__file__).resolve().parent
_ADDRESS_OF, _BYTES = ctypes.addressof, (ctypes.c_char * 0).from_buffer
_NO_MEMORY = -(2**63)
# What SciPy's Cython modules offer to others are capsules, each with an address and a signature. The attributes of
# `ctypes.pythonapi` are shared with all who use them, so these are functions of our own.
_signature = ctypes.PYFUNCTYPE(ctypes.c_char_p, ctypes.py_object)(
    ("PyCapsule_GetName", ctypes.pythonapi)
)
_content = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)
#: Letters of a layout: arrays of these types, else numbers as in the module `struct`.
_ARRAYS = {
    "D": np.dtype(np.float64),
    "F": np.dtype(np.float32),
    "I": np.dtype(np.int64),
    "B": np.dtype(np.bool_),
}


def _built() -> dict[str, Path]:
    """Return the libraries that were built, by instruction set, the best last."""
    return {
        path.stem.removeprefix("native-"): path for path in sorted(_FOLDER.glob("native-*.shared"))
    }


def _open(path: Path) -> ctypes.CDLL:
    try:
        return ctypes.CDLL(str(path))
    except OSError as error:
        raise ImportError(f"The native library of spdatoms cannot be loaded: {error}") from error


def usable() -> list[str]:
    """Return the instruction sets that are built and that this processor has, the best last."""
    built = _built()
    if not built:
        raise ImportError(
            f"There is no native library in {_FOLDER}.\n"
            "Install the package to compile it (pip install -e .), or run _build.py in that folder."
        )
    names = list(built)
    if "arm64" in names:
        return names
    ask = _open(built[names[0]]).level
    ask.restype, ask.argtypes = ctypes.c_int64, [ctypes.c_void_p]
    level = ask(None)
    return [name for name in names if int(name[-1]) <= level]


def _load() -> tuple[str, ctypes.CDLL]:
    names = usable()
    isa = os.environ.get("SPDATOMS_ISA") or (names[-1] if names else "none")
    if isa not in names:
        raise ImportError(
            f"There is no native library for the instruction set {isa!r}.\nThis processor can use "
            f"{', '.join(names) or 'none'} of {', '.join(_built())}: compile again, or set SPDATOMS_ISA to one of them."
        )
    return isa, _open(_built()[isa])


#: The instruction set of the library that is loaded.
ISA, _LIBRARY = _load()


class Kernel:
    """A function of the library. Arrays must be C-contiguous and of the type that the layout says; None is no array."""

    __slots__ = ("_function", "_name", "_pack", "_types")

    def __init__(self, name: str, layout: str) -> None:
        self._name = name
        try:
            self._function = _LIBRARY[name]
        except AttributeError:
            raise ImportError(
                f"The native library has no {name}: it is older than this version.\n"
                "Install the package again to compile it."
            ) from None
        self._function.restype, self._function.argtypes = ctypes.c_int64, [ctypes.c_char_p]
        self._types: tuple[Any, ...] = tuple(_ARRAYS.get(letter) for letter in layout)
        self._pack = Struct("".join("P" if letter in _ARRAYS else letter for letter in layout)).pack

    def __call__(self, *arguments: Any) -> int:
        """Call the function without the GIL, and return what it returns."""
        pairs = zip(arguments, self._types, strict=True)
        try:  # the quickest way to an address, for arrays without gaps that can be written to
            values = [
                given
                if kind is None
                else 0
                if given is None
                else _ADDRESS_OF(_BYTES(given))
                if given.dtype is kind
                else self._address(given, kind)
                for given, kind in pairs
            ]
        except (AttributeError, TypeError, ValueError, BufferError):
            pairs = zip(arguments, self._types, strict=True)
            values = [
                given if kind is None else self._address(given, kind) for given, kind in pairs
            ]
        result: int = self._function(self._pack(*values))
        if result == _NO_MEMORY:
            raise MemoryError(f"{self._name}: there is not enough memory.")
        return result

    def _address(self, array: np.ndarray[Any, Any] | None, kind: np.dtype[Any]) -> int:
        """Return the address of an array that may be read-only, or 0 for None."""
        if array is None:
            return 0
        if array.dtype != kind or not array.flags.c_contiguous:
            raise TypeError(
                f"{self._name}: an array must be C-contiguous and have type {kind}, not {array.dtype}."
            )
        address: int = array.__array_interface__["data"][0]
        return address


def address_of(array: np.ndarray[Any, Any]) -> int:
    """Return the address of an array that can be written to and has no gaps."""
    return _ADDRESS_OF(_BYTES(array))  # type: ignore[arg-type]


def kernel(name: str, layout: str) -> Kernel:
    """Return a function of the library: a letter per member of its struct.

    ``D``, ``F``, ``I`` and ``B`` are arrays of float64, float32, int64 and bool, ``d`` and ``q`` a float and an
    integer.
    """
    return Kernel(name, layout)


def kernels(name: str, layout: str) -> Callable[[DTypeLike], Kernel]:
    """Return a function from a precision to ``<name>_f64`` or ``<name>_f32``; ``T`` is an array in that precision."""
    made = {
        _ARRAYS["D"]: kernel(f"{name}_f64", layout.replace("T", "D")),
        _ARRAYS["F"]: kernel(f"{name}_f32", layout.replace("T", "F")),
    }
    return lambda dtype: made[np.dtype(dtype)]


class Lapack:
    """A function of SciPy's LAPACK. Unlike that in `scipy.linalg.lapack` it lets other threads run meanwhile.

    It takes what the Fortran function takes, without the last argument, and works in place. Arrays must be
    C-contiguous, so that LAPACK sees their transposes.
    """

    __slots__ = ("_function", "_integer")

    def __init__(self, name: str) -> None:
        capsule = cython_lapack.__pyx_capi__[name]
        signature = _signature(capsule)
        self._function = ctypes.CFUNCTYPE(None)(_content(capsule, signature))
        # From version 1.18 on SciPy can be built with 64-bit integers.
        self._integer = ctypes.c_int64 if b"int64_t" in signature else ctypes.c_int

    def __call__(self, *arguments: bytes | int | np.ndarray[Any, Any]) -> int:
        """Call the function without the GIL, and return its ``info``."""
        info = self._integer()
        given = (
            argument
            if isinstance(argument, bytes)
            else ctypes.byref(self._integer(argument))
            if isinstance(argument, int)
            else ctypes.c_void_p(address_of(argument))
            for argument in arguments
        )
        self._function(*given, ctypes.byref(info))
        return info.value


#: Bytes in a vector register, and the edge of a square tile of accumulators.
VECTOR_BYTES: int = kernel("register_bytes", "")()
TILE: int = kernel("tile_edge", "")()


def lane_count(dtype: DTypeLike) -> int:
    """Return how many numbers of this precision share a register."""
    return VECTOR_BYTES // np.dtype(dtype).itemsize
