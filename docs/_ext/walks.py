"""The files that a call passes through, from a trace: `python docs/_ext/walks.py` renews the lists of CONTRIBUTING.md.

A walk lists rooms and their files in the order in which the call enters them first. What serves all rooms (`_utils`)
is left out. A file in C++ comes where its first kernel is called. `tests/test_walks.py` compares lists and trace.
"""

from __future__ import annotations

import re
import sys
import threading
import warnings
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

import spdatoms
from spdatoms.native import Kernel

PACKAGE = Path(spdatoms.__file__).parent
PAGE = Path(__file__).parents[2] / "CONTRIBUTING.md"
BEGIN, END = "<!-- walks: written by docs/_ext/walks.py -->\n", "<!-- end of walks -->\n"
#: Rooms and files that are entered from everywhere.
LEFT_OUT = ("_utils/", "exceptions.py")


def walks() -> dict[str, Callable[[], Any]]:
    """Return the calls by what they are written like."""
    import dask
    import dask.array

    samples = np.random.default_rng(0).standard_normal((40, 3, 20))
    samples[20:, 2] *= 3.0
    X, y = samples @ samples.swapaxes(1, 2) / 20, np.repeat([0, 1], 20)
    chunked = dask.array.from_array(X, chunks=(20, 3, 3))

    def learn() -> None:
        with dask.config.set(scheduler="synchronous"):
            spdatoms.SPDDictionaryLearning(4, max_iter=2, random_state=0).fit(chunked)

    return {
        "SPDSparseClassifier().fit(X, y).predict(Z)": lambda: (
            spdatoms.SPDSparseClassifier().fit(X, y).predict(X)
        ),
        "SPDEnsembleClassifier().fit(X, y).predict(Z)": lambda: (
            spdatoms.SPDEnsembleClassifier().fit(X, y).predict(X)
        ),
        "SPDDictionaryLearning().fit(dask_array)": learn,
    }


def entered(call: Callable[[], Any]) -> list[str]:
    """Return the files of the package that a call enters, in the order of their first entry."""
    found: dict[str, None] = {}

    def trace(frame: FrameType, event: str, argument: Any) -> None:
        if event != "call":
            return
        path = Path(frame.f_code.co_filename)
        if frame.f_code is Kernel.__call__.__code__:
            found.setdefault(_source(frame.f_locals["self"]._name))
        elif path.is_relative_to(PACKAGE) and frame.f_code.co_name != "<module>":
            found.setdefault(path.relative_to(PACKAGE).as_posix())

    threading.setprofile(trace)
    sys.setprofile(trace)
    try:
        with warnings.catch_warnings(action="ignore"):
            call()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return [
        name for name in found if not name.startswith(LEFT_OUT) and not name.endswith("__init__.py")
    ]


def _source(kernel: str) -> str:
    """Return the file that defines a kernel."""
    name = re.compile(rf"^EXPORT .*\b{kernel}\(", re.M)
    for path in sorted((PACKAGE / "native").glob("*.cpp")):
        if name.search(path.read_text("utf-8")):
            return f"native/{path.name}"
    raise LookupError(f"no file defines the kernel {kernel}")


def listed() -> str:
    """Return the lists in Markdown."""
    lines = []
    for title, call in walks().items():
        call()  # what is imported and set up once does not count
        rooms: dict[str, list[str]] = {}
        for name in entered(call):
            room, _, file = name.rpartition("/")
            rooms.setdefault(f"{room}/" if room else "the root", []).append(f"`{file}`")
        lines += [f"**`{title}`**\n"]
        lines += [
            f"{i}. {room}: {', '.join(files)}" for i, (room, files) in enumerate(rooms.items(), 1)
        ]
        lines += [""]
    return "\n".join(lines)


def renewed(page: str) -> str:
    """Return the page with the lists between its two markers."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}{listed()}{END}{after}"


if __name__ == "__main__":
    PAGE.write_text(renewed(PAGE.read_text("utf-8")), "utf-8")
