"""Progress bars, all of one style: of loops that are asked for one, and of everything a verbose estimator does."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

from spdatoms._utils.extras import import_extra

#: From this many steps on, the bar counts in thousands.
_SCALED_FROM = 10_000
#: What is running, such as the method of a verbose estimator, or `_OPEN` while a bar is open: loops within that
#: loop have none. None where nobody has asked for bars. (Threads of a pool do not see it.)
_RUNNING: ContextVar[str | None] = ContextVar("running", default=None)
_OPEN = ""

Item = TypeVar("Item")


@contextmanager
def showing_progress(name: str, wanted: object = True) -> Iterator[None]:
    """Show a bar for each loop until the end of the block, if that is wanted here or further out.

    A loop without a name of its own gets this one, or the outermost such name.
    """
    if _RUNNING.get() is not None or not wanted:
        yield
        return
    token = _RUNNING.set(name)
    try:
        yield
    finally:
        _RUNNING.reset(token)


def progress_is_due() -> bool:
    """Return whether a loop that begins now should show a bar."""
    return bool(_RUNNING.get())


@contextmanager
def progress_bar(
    total: int,
    description: str = "",
    shown: bool | None = None,
    *,
    initial: int = 0,
    delay: float = 0.0,
) -> Iterator[Callable[..., None]]:
    """Yield a function ``advance(count=1, **values)`` that moves a bar and shows values after it.

    Parameters
    ----------
    total : int
        How many steps there are.
    description : str, default=""
        The text before the bar; that of `showing_progress` if there is none.
    shown : bool, default=None
        Whether to show a bar; tqdm is needed only then. None shows one within `showing_progress`, if
        there is no bar yet and more than one step.
    initial : int, default=0
        How many steps are done already.
    delay : float, default=0.0
        The seconds before the bar appears: a loop that ends before has none.
    """
    if shown is None:
        shown = progress_is_due() and total > 1
    if not shown:
        yield lambda count=1, **values: None
        return
    tqdm: Any = import_extra("tqdm.auto", extra="progress").tqdm
    bar = tqdm(
        total=total,
        desc=description or _RUNNING.get() or None,
        initial=initial,
        delay=delay,
        unit_scale=total >= _SCALED_FROM,
    )

    def advance(count: int = 1, **values: Any) -> None:
        if values:
            bar.set_postfix(values, refresh=False)
        bar.update(count)

    token = _RUNNING.set(_OPEN)
    try:
        with bar:
            yield advance
    finally:
        _RUNNING.reset(token)


def watched(items: Sequence[Item], description: str) -> Iterator[Item]:
    """Yield the items, with a bar within `showing_progress`."""
    with progress_bar(len(items), description) as advance:
        for item in items:
            yield item
            advance()
