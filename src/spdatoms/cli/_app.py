"""The application with all commands."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from importlib import import_module
from typing import Annotated, Any

import typer

from spdatoms._utils.version import __version__
from spdatoms.cli.errors import Commands
from spdatoms.cli.options import JsonOption
from spdatoms.cli.show import record_json, show_lines

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


@app.callback()
def spdatoms(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Sparse coding, dictionary learning and classification of symmetric positive definite matrices."""


def with_json(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command that also has the option --json, see `spdatoms.cli.show`."""

    @wraps(command)
    def recording(*, as_json: bool, **options: Any) -> None:
        record_json(as_json)
        command(**options)

    own, kind = inspect.signature(command, eval_str=True), inspect.Parameter.KEYWORD_ONLY
    added = inspect.Parameter("as_json", kind, default=False, annotation=JsonOption)
    vars(recording)["__signature__"] = own.replace(parameters=[*own.parameters.values(), added])
    recording.__annotations__ = {name: one.annotation for name, one in own.parameters.items()} | {
        "as_json": JsonOption
    }
    return recording


for _package, _names in COMMANDS.items():
    for _name in _names:
        app.command(_name)(with_json(getattr(import_module(f"{_package}.{_name}"), _name)))
