"""Progress bars, all of one style."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from spdatoms._utils.extras import import_extra

#: From this number of steps on they are counted in thousands.
_SCALED_FROM = 10_000


@contextmanager
def progress_bar(
    total: int, description: str, shown: bool, *, initial: int = 0
) -> Iterator[Callable[..., None]]:
    """Give a function ``advance(count=1, **values)`` that moves a bar and shows values behind it.

    Parameters
    ----------
    total : int
        How many steps there are.
    description : str
        What stands before the bar.
    shown : bool
        Whether there is a bar at all; without one nothing needs tqdm.
    initial : int, default=0
        How many steps are done already.
    """
    if not shown:
        yield lambda count=1, **values: None
        return
    tqdm = import_extra("tqdm.auto", extra="progress").tqdm
    scaled = total >= _SCALED_FROM
    with tqdm(total=total, desc=description or None, initial=initial, unit_scale=scaled) as bar:

        def advance(count: int = 1, **values: Any) -> None:
            if values:
                bar.set_postfix(values, refresh=False)
            bar.update(count)

        yield advance
