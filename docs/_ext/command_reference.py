"""The reference of the command line, written by the commands themselves.

A page with the line ``<!-- commands -->`` gets a section per command there: what it does, its arguments and
options, and its examples, as ``--help`` shows them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import Enum
from typing import Any

import typer
from sphinx.application import Sphinx

_MARK = "<!-- commands -->"


def reference() -> str:
    """Return the sections of all commands as Markdown."""
    from spdatoms.cli import app

    group = typer.main.get_command(app)
    context = typer.Context(group, info_name="spdatoms")
    sections = [
        "\n".join(_section(name, group.get_command(context, name)))  # type: ignore[attr-defined]
        for name in group.list_commands(context)  # type: ignore[attr-defined]
    ]
    return "\n\n".join(sections)


def _section(name: str, command: Any) -> Iterator[str]:
    text, _, examples = command.help.replace("\b", "").partition("Examples:")
    context = typer.Context(command, info_name=f"spdatoms {name}")
    yield from (f"### spdatoms {name}", "", _plain(text.strip()), "")
    if examples.strip():
        # A line that goes on is indented in the help, and needs a backslash in a shell.
        commands = re.sub(r"\n\s*(?!\s*spdatoms)", r" \\\n    ", examples.strip())
        yield from ("```sh", *(re.sub(r"^ +(?=spdatoms)", "", commands, flags=re.M)).splitlines())
        yield from ("```", "")
    yield from ("| option | meaning |", "|---|---|")
    for parameter in command.get_params(context):
        if not getattr(parameter, "hidden", False) and "--help" not in parameter.opts:
            yield f"| {_names(parameter)} | {_meaning(parameter)} |"


def _names(parameter: Any) -> str:
    if not parameter.opts[0].startswith("-"):
        return f"`{parameter.metavar or parameter.name.upper()}`"
    return ", ".join(f"`{name}`" for name in [*parameter.opts, *parameter.secondary_opts])


def _meaning(parameter: Any) -> str:
    default = parameter.default
    words = [_plain(parameter.help or "")]
    if isinstance(default, Enum):
        words.append("One of " + ", ".join(f"`{choice.value}`" for choice in type(default)) + ".")
        default = default.value
    if parameter.required:
        words.append("Required.")
    elif default is not None and not isinstance(default, bool) and not callable(default):
        words.append(f"Default: `{default}`.")
    return " ".join(word for word in words if word).replace("|", "\\|")


def _plain(text: str) -> str:
    """Return help text without the marks of rich, as one line per paragraph."""
    text = re.sub(r"\[/?(bold|dim|cyan|green|yellow|i)\]", "", text)
    return "\n\n".join(" ".join(part.split()) for part in re.split(r"\n\s*\n", text))


def write(app: Sphinx, name: str, source: list[str]) -> None:
    """Put the reference into a page."""
    if _MARK in source[0]:
        source[0] = source[0].replace(_MARK, reference())


def setup(app: Sphinx) -> dict[str, Any]:
    """Read the pages before they are parsed."""
    app.connect("source-read", write)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
