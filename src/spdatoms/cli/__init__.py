"""The command line, ``spdatoms`` or ``python -m spdatoms``.

One file a command; each imports the numerical parts of the package when it runs, so that ``--help``
is quick. The errors that the package raises in words are printed as one line: see `_errors`.
"""

from __future__ import annotations

import io
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from spdatoms.cli._app import app as app

__all__ = ["app", "main"]


def main() -> None:
    """Run the command line and exit: 0 all is well, 1 the data are wrong, 2 the command is."""
    try:
        import rich  # noqa: F401
        import typer  # noqa: F401
    except ModuleNotFoundError as error:
        sys.exit(
            f"error: the command line needs '{error.name}', which comes with an optional extra: "
            "pip install 'spdatoms[cli]'"
        )
    from spdatoms.cli._app import app

    for stream in (sys.stdout, sys.stderr):
        # A terminal that has no β gets a question mark, not an error.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    app(prog_name="spdatoms")


def __getattr__(name: str) -> Any:
    if name != "app":
        raise AttributeError(f"module 'spdatoms.cli' has no attribute {name!r}")
    from spdatoms.cli._app import app

    return app
