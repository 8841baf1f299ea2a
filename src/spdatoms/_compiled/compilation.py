"""When numba compiles, which takes seconds, instead of loading what it has kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from numba.core import event


class _Compilation(event.Listener):  # type: ignore[misc]
    """Calls ``begins`` and ``ends`` for the outermost of nested compilations."""

    def __init__(self, begins: Callable[[], None], ends: Callable[[], None]) -> None:
        self.begins, self.ends, self.depth = begins, ends, 0

    def on_start(self, event: Any) -> None:
        """Count one more."""
        self.depth += 1
        if self.depth == 1:
            self.begins()

    def on_end(self, event: Any) -> None:
        """Count one less."""
        self.depth -= 1
        if self.depth == 0:
            self.ends()


@contextmanager
def when_compiling(begins: Callable[[], None], ends: Callable[[], None]) -> Iterator[None]:
    """Call ``begins`` before and ``ends`` after code is compiled, in any thread, until the end of the block."""
    with event.install_listener("numba:compile", _Compilation(begins, ends)):
        yield
