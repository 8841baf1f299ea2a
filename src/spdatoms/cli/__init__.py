"""The command line, ``spdatoms`` or ``python -m spdatoms``.

One file per command. Each imports the numerical parts of the package when it runs, so that ``--help``
is fast. Errors about files, data and options are printed as one line: see `show`.
"""

from __future__ import annotations

import gc
import io
import sys
from typing import TYPE_CHECKING

from spdatoms._utils.lazy_imports import lazy_names

if TYPE_CHECKING:
    from spdatoms.cli._app import app as app

__all__ = ["app", "main"]
__getattr__, __dir__ = lazy_names(__name__, {"app": "_app"})


def main() -> None:
    """Run the command line and exit: 0 for success, 1 for wrong data, 2 for a wrong command."""
    # Imports make many objects and no garbage: to look for it after every 700 takes a sixth of a short command.
    gc.set_threshold(100_000)
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
        # A terminal without β shows a question mark instead of an error.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    app(prog_name="spdatoms")
