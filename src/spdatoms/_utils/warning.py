"""Warnings that name the estimator, come once per fit, and point to the line of the user's program."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

#: Packages whose frames are passed over: the user has called them, and does not look into them.
_INSIDE = ("spdatoms", "sklearn", "contextlib")


@dataclass
class _Call:
    """A call of an estimator, with the kinds of warning that it has given."""

    name: str
    given: set[object] = field(default_factory=set)
    #: What some of the queries have in common: how many of how many they are, block by block.
    shares: dict[tuple[str, type[Warning]], list[int]] = field(default_factory=dict)


_CALL: ContextVar[_Call | None] = ContextVar("call", default=None)
#: Messages and categories of warnings that are to be given later, or None where they are given at once.
_HELD: ContextVar[list[tuple[str, type[Warning]]] | None] = ContextVar("held", default=None)


@contextmanager
def warnings_of(estimator: object) -> Iterator[None]:
    """Let warnings name this estimator, and give each kind once, until the end of the block.

    Estimators that it uses inside are not named: the user does not know them.
    """
    if _CALL.get() is not None:
        yield
        return
    call = _Call(type(estimator).__name__)
    token = _CALL.set(call)
    try:
        yield
        for (message, category), (count, total) in call.shares.items():
            if count:
                warn_user(f"{count} of {total} {message}", category)
    finally:
        _CALL.reset(token)


@contextmanager
def holding_warnings() -> Iterator[list[tuple[str, type[Warning]]]]:
    """Yield a list to which `warn_user` adds until the end of the block, in a thread that has no line of the user's."""
    held: list[tuple[str, type[Warning]]] = []
    token = _HELD.set(held)
    try:
        yield held
    finally:
        _HELD.reset(token)


def warn_of_share(count: int, total: int, message: str, category: type[Warning]) -> None:
    """Warn that this holds for ``count`` of ``total`` queries, in an estimator once for all its blocks."""
    call = _CALL.get()
    if call is None:
        if count:
            warn_user(f"{count} of {total} {message}", category)
        return
    share = call.shares.setdefault((message, category), [0, 0])
    share[0] += count
    share[1] += total


def warn_user(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the innermost line outside of this package and of scikit-learn."""
    held = _HELD.get()
    if held is not None:
        held.append((message, category))
        return
    call = _CALL.get()
    if call is not None:
        kind = message if category is UserWarning else category
        if kind in call.given:
            return
        call.given.add(kind)
        message = f"{call.name}: {message}"
    level, frame = 1, sys._getframe()
    while frame.f_back and frame.f_globals.get("__name__", "").split(".")[0] in _INSIDE:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)
