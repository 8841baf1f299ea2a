"""Progress bars, all of one style."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from spdatoms._utils.extras import import_extra


@contextmanager
def progress_bar(total: int, description: str, shown: bool) -> Iterator[Callable[[int], Any]]:
    if not shown:
        yield lambda done: None
        return
    tqdm = import_extra("tqdm.auto", extra="progress").tqdm
    with tqdm(total=total, desc=description or None, unit_scale=True) as bar:
        yield bar.update
