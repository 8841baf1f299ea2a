"""The application with all commands."""

from __future__ import annotations

from importlib import import_module
from inspect import cleandoc
from typing import Annotated

import typer

from spdatoms._utils.version import __version__
from spdatoms.cli.show import Commands, show_lines

#: A command is the function of this name in the module of this name in one of these packages.
COMMANDS = {
    "spdatoms.cli": ("inspect", "learn", "code", "classify", "compare"),
    "spdatoms.paper": ("reproduce",),
}

app = typer.Typer(
    name="spdatoms",
    cls=Commands,
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(wanted: bool) -> None:
    if wanted:
        show_lines(f"spdatoms {__version__}")
        raise typer.Exit


def _in_whole_lines(text: str) -> str:
    """Return help whose paragraphs are one line each, but for those that begin with \\b."""
    parts = cleandoc(text).split("\n\n")
    return "\n\n".join(p if p.startswith("\b") else " ".join(p.split()) for p in parts)


@app.callback()
def spdatoms(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Sparse coding, dictionary learning and classification of symmetric positive definite matrices."""


for _package, _names in COMMANDS.items():
    for _name in _names:
        _function = getattr(import_module(f"{_package}.{_name}"), _name)
        app.command(_name, help=_in_whole_lines(_function.__doc__))(_function)
