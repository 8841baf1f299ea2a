"""What parameters may be: declared once, checked in one place, refused with one clear error.

An estimator declares its parameters in its class, a function in a decorator; one line for each:

>>> from spdatoms._utils.parameters import AUTO, N_JOBS, choice, declare, integer, real
>>> declare(n_clusters=integer(1), beta=AUTO | real(above=0), init=choice("random"), n_jobs=N_JOBS)[
...     "beta"
... ].check("beta", -1)
Traceback (most recent call last):
ValueError: beta must be 'auto' or a number > 0, got -1.

The body of an estimator declares what its constructor takes in the same place, as the fields of a dataclass:

>>> from dataclasses import KW_ONLY
>>> from spdatoms._utils.parameters import parameter, with_parameters
>>> @with_parameters
... class Smoother:
...     width: float = parameter(real(above=0), default=1.0)
...     _: KW_ONLY
...     n_jobs: int | None = parameter(N_JOBS, default=None)
>>> Smoother(2.0, n_jobs=-1).width
2.0
"""

from __future__ import annotations

import inspect
import math
import os
import reprlib
from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass
from functools import wraps
from itertools import chain
from numbers import Integral, Real
from types import MappingProxyType
from typing import Any, ParamSpec, TypeAlias, TypeVar, dataclass_transform

import numpy as np

from spdatoms._utils.glossary import describe_parameters

Inputs = ParamSpec("Inputs")
Output = TypeVar("Output")
Class = TypeVar("Class")


@dataclass(frozen=True)
class Allowed:
    """What a parameter may be.

    Attributes
    ----------
    words : tuple of str
        The alternatives, as an error lists them.
    test : callable
        Returns whether a value is one of them. It must take anything.
    """

    words: tuple[str, ...]
    test: Callable[[Any], bool]

    def __or__(self, other: Allowed) -> Allowed:
        return Allowed(
            (*self.words, *other.words), lambda value: self.test(value) or other.test(value)
        )

    def check(self, name: str, value: Any) -> None:
        """Refuse a value with an error that says what is allowed, and what was given."""
        if not self.test(value):
            *others, last = self.words
            words = f"{', '.join(others)} or {last}" if others else last
            raise ValueError(f"{name} must be {words}, got {shown(value)}.")


#: What each parameter may be.
Parameters: TypeAlias = Mapping[str, Allowed]


def declare(**parameters: Allowed) -> Parameters:
    """Return what each of the parameters may be, as a class attribute holds it."""
    return MappingProxyType(parameters)


@dataclass(frozen=True)
class _Parameter:
    allowed: Allowed
    default: Any


def parameter(allowed: Allowed, *, default: Any) -> Any:
    """Return what declares a parameter in the body of a class: what it may be, and its default."""
    return _Parameter(allowed, default)


@dataclass_transform(eq_default=False, field_specifiers=(parameter,))
def with_parameters(cls: type[Class]) -> type[Class]:
    """Decorate an estimator: its constructor keeps the parameters that its body declares; ``_: KW_ONLY`` is a ``*``.

    They are checked in ``fit``, as scikit-learn asks for. Those that the docstring leaves out are described as in
    `spdatoms._utils.glossary`. The class is no dataclass: Dask would take two estimators with the same parameters for
    the same, however they were fitted.
    """
    kind: Any = inspect.Parameter.POSITIONAL_OR_KEYWORD
    taken, allowed = [inspect.Parameter("self", kind)], {}
    for owner in cls.__mro__:  # its own, then what bases share
        for name, annotation in inspect.get_annotations(owner).items():
            declared = vars(owner).get(name)
            if name == "_":  # its type is KW_ONLY
                kind = inspect.Parameter.KEYWORD_ONLY
            elif isinstance(declared, _Parameter) and name not in allowed:
                default = declared.default
                taken.append(inspect.Parameter(name, kind, default=default, annotation=annotation))
                allowed[name] = declared.allowed
                setattr(cls, name, default)  # also for subclasses without the parameter
        kind = inspect.Parameter.KEYWORD_ONLY
    signature = inspect.Signature(taken)

    def construct(self: Any, *args: Any, **kwargs: Any) -> None:
        try:
            given = signature.bind(self, *args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{cls.__name__}: {error}") from None
        given.apply_defaults()
        vars(self).update({name: given.arguments[name] for name in allowed})

    construct.__name__, construct.__qualname__ = "__init__", f"{cls.__qualname__}.__init__"
    vars(construct).update(__signature__=signature)
    for name, value in {"__init__": construct, "_parameters": declare(**allowed)}.items():
        setattr(cls, name, value)
    describe_parameters(cls, signature)
    return cls


@dataclass_transform(eq_default=False, kw_only_default=True, field_specifiers=(parameter,))
def shared_parameters(cls: type[Class]) -> type[Class]:
    """Decorate a base class: constructors of its subclasses take what its body declares, too, last and by keyword.

    This tells type checkers. `with_parameters` finds what bases declare by itself.
    """
    return cls


def checks(**parameters: Allowed) -> Callable[[Callable[Inputs, Output]], Callable[Inputs, Output]]:
    """Decorate a function: these of its parameters are checked before it begins."""

    def decorate(function: Callable[Inputs, Output]) -> Callable[Inputs, Output]:
        names = tuple(inspect.signature(function).parameters)
        unknown = set(parameters) - set(names)
        assert not unknown, f"{function.__name__} has no parameters {unknown}"

        @wraps(function)
        def checked(*args: Inputs.args, **kwargs: Inputs.kwargs) -> Output:
            # Not `signature.bind`, which takes longer than some whole calls.
            for name, value in chain(zip(names, args, strict=False), kwargs.items()):
                if name in parameters:
                    parameters[name].check(name, value)
            return function(*args, **kwargs)

        return checked

    return decorate


def shown(value: Any) -> str:
    """Return a value as an error shows it: briefly."""
    shape = getattr(value, "shape", None)
    if shape is not None and not isinstance(value, np.generic):
        return f"an array of shape {shape}"
    brief = reprlib.Repr()
    brief.maxstring = brief.maxother = 60
    return brief.repr(value)


def integer(least: int, most: int | None = None) -> Allowed:
    """Return: an integer ≥ ``least``, and ≤ ``most`` if that is given. True and False are refused."""

    def test(value: Any) -> bool:
        if isinstance(value, bool) or not isinstance(value, Integral):
            return False
        number = int(value)
        return least <= number and (most is None or number <= most)

    limit = f"an integer ≥ {least}" if most is None else f"an integer from {least} to {most}"
    return Allowed((limit,), test)


def real(
    least: float | None = None,
    most: float | None = None,
    *,
    above: float | None = None,
    below: float | None = None,
) -> Allowed:
    """Return: a finite number within limits, of which ``above`` and ``below`` are themselves excluded."""
    limits = [
        f"{sign} {limit:g}"
        for sign, limit in (("≥", least), (">", above), ("≤", most), ("<", below))
        if limit is not None
    ]

    def test(value: Any) -> bool:
        if isinstance(value, bool) or not isinstance(value, Real):
            return False
        try:
            number = float(value)
        except (OverflowError, ValueError):
            return False
        return (
            math.isfinite(number)
            and (least is None or number >= least)
            and (above is None or number > above)
            and (most is None or number <= most)
            and (below is None or number < below)
        )

    return Allowed((" ".join(["a number", " and ".join(limits)]) if limits else "a number",), test)


def several(one: Allowed, name: str) -> Allowed:
    """Return: a list or tuple of things that are allowed one by one, at least one of them."""

    def test(value: Any) -> bool:
        return isinstance(value, list | tuple) and len(value) > 0 and all(map(one.test, value))

    return Allowed((f"a list of such {name}",), test)


def reals(least: float | None = None, *, above: float | None = None) -> Allowed:
    """Return: a list or array of numbers within limits, at least one of them."""
    one = real(least, above=above)

    def test(value: Any) -> bool:
        return _is_array(value) and len(value) > 0 and all(map(one.test, value))

    return Allowed((f"a list of numbers{one.words[0].removeprefix('a number')}",), test)


def choice(*names: str) -> Allowed:
    """Return: one of these names."""
    return Allowed(tuple(map(repr, names)), lambda value: isinstance(value, str) and value in names)


def _is_array(value: Any) -> bool:
    if isinstance(value, str | bytes | Mapping | Set):
        return False
    shape = getattr(value, "shape", None)
    return hasattr(value, "__len__") if shape is None else len(shape) > 0


def _is_path(value: Any) -> bool:
    if not isinstance(value, str | os.PathLike) or isinstance(value, type):
        return False
    path = os.fspath(value)
    return isinstance(path, str) and bool(path) and "\0" not in path


def _is_seed(value: Any) -> bool:
    return isinstance(value, np.random.Generator | np.random.RandomState)


def _are_finite(value: Any) -> bool:
    try:
        array = np.asarray(value)
    except (TypeError, ValueError):
        return False
    return array.dtype.kind in "fiu" and bool(np.isfinite(array).all())


def _is_iterable(value: Any) -> bool:
    named = isinstance(value, str | bytes | Mapping | type)
    return not named and hasattr(value, "__iter__") and getattr(value, "shape", None) != ()


def estimator(*methods: str) -> Allowed:
    """Return: an object with these methods."""

    def test(value: Any) -> bool:
        return not isinstance(value, type) and all(
            callable(getattr(value, method, None)) for method in ("get_params", *methods)
        )

    words = f" with the method {' and '.join(methods)}" if methods else ""
    return Allowed((f"an estimator{words}",), test)


def by_name(one: Allowed, name: str) -> Allowed:
    """Return: a dict with things that are allowed one by one, and names for them."""

    def test(value: Any) -> bool:
        return isinstance(value, Mapping) and all(map(one.test, value.values()))

    return Allowed((f"a dict of {name} by name",), test)


AUTO = choice("auto")
NONE = Allowed(("None",), lambda value: value is None)
BOOLEAN = Allowed(("True", "False"), lambda value: isinstance(value, bool | np.bool_))
#: An array, or what can be made one; what is in it is checked where it is used.
ARRAY = Allowed(("an array",), _is_array)
MATRICES = Allowed(("an array of matrices",), _is_array)
#: Finite numbers in an array of any shape, or a single one.
NUMBERS = Allowed(("a number", "an array of finite numbers"), _are_finite)
#: What can be gone through, perhaps once only; what comes is checked then.
ITERABLE = Allowed(("a list",), _is_iterable)
#: The height and width of an image.
IMAGE_SIZE = Allowed(
    ("two integers ≥ 1, height and width",),
    lambda value: several(integer(1, 2**31 - 1), "").test(value) and len(value) == 2,
)
FUNCTION = Allowed(("a function",), callable)
METHOD = Allowed(("a method",), lambda value: callable(value) and not isinstance(value, type))
TEXT = Allowed(("a text",), lambda value: isinstance(value, str))
NAMES = Allowed(
    ("a list of names",),
    lambda value: isinstance(value, list | tuple) and all(map(TEXT.test, value)),
)
PATH = Allowed(("a path",), _is_path)
SEED = Allowed(("a NumPy Generator", "a NumPy RandomState"), _is_seed)

#: α, the penalty of codes; β, the bandwidth of a kernel; a tolerance.
ALPHA = AUTO | real(0)
BETA = AUTO | real(above=0)
TOLERANCE = real(0)
RANDOM_STATE = NONE | integer(0, 2**32 - 1) | SEED
VERBOSE = BOOLEAN | integer(0)
N_JOBS = NONE | Allowed(
    ("an integer other than 0 (-1 stands for all processors)",),
    lambda value: integer(1).test(value) or integer(-(2**31), -1).test(value),
)
