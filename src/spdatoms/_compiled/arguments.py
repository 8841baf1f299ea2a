"""What the arguments of translated functions consist of."""

from __future__ import annotations

from dataclasses import dataclass

from llvmlite import ir
from numba import types
from numba.core import cgutils


@dataclass(frozen=True)
class Array:
    """Where an array begins, and its shape."""

    pointer: ir.Value
    shape: tuple


def argument(context, builder, kind, value):
    """Return an argument that numba passes."""
    if isinstance(kind, types.Array):
        assert kind.layout == "C", "arrays must be C-contiguous"
        array = context.make_array(kind)(context, builder, value)
        return Array(array.data, tuple(cgutils.unpack_tuple(builder, array.shape, kind.ndim)))
    if isinstance(kind, types.BaseTuple):
        return tuple(cgutils.unpack_tuple(builder, value, len(kind)))
    return value


def flattened(thing, operands):
    """Append the operands that an argument consists of; return the form of it, which `restored` fills again.

    Arguments of one form have the same types, and the same values where these are known.
    """
    if isinstance(thing, ir.Value):
        operands.append(thing)
        return ir.Value, str(thing.type)
    if isinstance(thing, Array):
        return Array, (flattened(thing.pointer, operands), flattened(thing.shape, operands))
    if isinstance(thing, (tuple, list)):
        return type(thing), tuple(flattened(one, operands) for one in thing)
    return None, (type(thing), thing)


def restored(form, operands):
    """Return the argument of this form with the next of the operands."""
    kind, rest = form
    if kind is ir.Value:
        return next(operands)
    if kind is None:
        return rest[1]
    parts = [restored(one, operands) for one in rest]
    return kind(*parts) if kind is Array or hasattr(kind, "_fields") else kind(parts)
