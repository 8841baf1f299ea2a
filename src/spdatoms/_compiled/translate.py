"""Loops over numbers and arrays, translated to LLVM in one walk over their syntax trees.

numba infers types by general means, and optimises every function once more with each of its callers. For a
program of many small functions that takes seconds. Here a call is replaced by the body of the function (unless it
stands `apart`), and the type of a variable is that of its first value, so that one walk is enough and LLVM sees the
program once. The machine code is the same.

The functions are plain ones, and run as such if numba's ``DISABLE_JIT`` is set. They may use

- integers, floats and truth values, C-contiguous arrays and their rows, tuples and named tuples (single
  precision becomes double when it is read);
- ``for … in range``, ``if``, ``break``, ``continue`` and ``return``;
- arithmetic, where ``//`` and ``%`` are for numbers that are not negative, comparisons, ``and``, ``or``, ``not`` and
  ``x if c else y``;
- ``abs``, ``min``, ``max``, ``int`` and a few functions of `math`;
- each other, but not themselves.
"""

from __future__ import annotations

import inspect
from functools import update_wrapper
from inspect import Parameter, Signature, signature

from numba import config, types
from numba.extending import intrinsic

from spdatoms._compiled.arguments import argument
from spdatoms._compiled.jit import REORDERED, kept
from spdatoms._compiled.syntax import INT, Translator


def reordered(function):
    """Allow the sums of a function to be taken in any order, and products to be fused with them."""
    function.fastmath = tuple(sorted(REORDERED))
    return function


def apart(function):
    """Translate a function once, to be called, and not at each place where it is called.

    Loops share the registers of the function they are in, so those that take the time are better off alone.
    """
    function.apart = True
    return function


def emitted_by(emit):
    """Return a decorator: a call of the function is what ``emit(translator, *arguments)`` writes."""

    def decorate(function):
        function.emit = emit
        return function

    return decorate


@emitted_by(lambda t, array: t.b.ptrtoint(array.pointer, INT))
def address(array):
    """Return where an array begins."""
    return array.ctypes.data


def translated(returns):
    """Return a decorator: compile a function that Python calls, with this type of its result.

    Arguments are numbers, C-contiguous arrays and tuples. (A named tuple would take numba a millisecond per call.)
    """

    def decorate(function):
        if config.DISABLE_JIT:
            return function
        names = ", ".join(signature(function).parameters)
        # The file is where numba keeps compiled code beside, and the name tells functions apart.
        text = f"def {function.__name__}({names}): return emitted({names})"
        namespace = {"__name__": function.__module__, "emitted": _intrinsic(function, returns)}
        exec(compile(text, inspect.getfile(function), "exec"), namespace)
        return kept(update_wrapper(namespace[function.__name__], function, updated=()))

    return decorate


def _intrinsic(function, returns):
    """Make a function callable from numba code."""

    def typed(typingctx, *arguments):
        def codegen(context, builder, signature, values):
            given = [
                argument(context, builder, kind, value)
                for kind, value in zip(arguments, values, strict=True)
            ]
            result = Translator(builder).call(function, given)
            if isinstance(returns, types.BaseTuple):
                return context.make_tuple(builder, returns, result)
            return context.get_dummy_value() if returns is types.void else result

        return returns(*arguments), codegen

    # numba folds the arguments of a call by the signature it sees, so their names are spelt out.
    names = ["typingctx", *signature(function).parameters]
    typed.__signature__ = Signature([Parameter(p, Parameter.POSITIONAL_ONLY) for p in names])
    typed.__name__ = function.__name__
    return intrinsic(typed)
