"""Public names of a package that are imported when they are first used."""

from __future__ import annotations

import gc
import signal
import sys
import threading
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from typing import Any


def lazy_names(
    package: str, home: Mapping[str, str], modules: Collection[str] = ()
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return ``__getattr__`` and ``__dir__`` of a package.

    Parameters
    ----------
    package : str
        The name of the package.
    home : mapping of str to str
        The module that defines each public name, relative to the package.
    modules : collection of str, default=()
        Public modules of the package.
    """
    namespace = vars(sys.modules[package])

    def get(name: str) -> Any:
        if name in modules:
            with whole_import():
                return import_module(f"{package}.{name}")  # which also sets the attribute
        if name not in home:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        with whole_import():
            namespace[name] = getattr(import_module(f"{package}.{home[name]}"), name)
        return namespace[name]

    def names() -> list[str]:
        return sorted({*namespace, *home, *modules})

    return get, names


@contextmanager
def whole_import() -> Iterator[None]:
    """Let an import be quick, and come to its end before Ctrl-C is heard.

    Compiled modules of other libraries cannot be imported again once an import was cut short. Only the main thread
    hears Ctrl-C, and a handler that is not one of Python is left alone. Python's search for cycles is held, too:
    imports make many objects and no garbage, and it takes a tenth of their time.
    """
    heard: list[int] = []

    def note(number: int, frame: object) -> None:
        heard.append(number)

    before, searches = signal.getsignal(signal.SIGINT), gc.isenabled()
    held = callable(before) and threading.current_thread() is threading.main_thread()
    if held:
        signal.signal(signal.SIGINT, note)
    gc.disable()
    try:
        yield
    finally:
        if searches:
            gc.enable()
        if held and signal.getsignal(signal.SIGINT) is note:  # else what was imported wants its own
            signal.signal(signal.SIGINT, before)
        if heard:
            signal.raise_signal(signal.SIGINT)
