"""What the terminal shows: lines, tables and errors, in which text of users is never a command; or JSON.

With ``--json`` nothing is printed on stdout but one object at the end: what commands have recorded. Errors are one
line on stderr instead of a traceback.
"""

from __future__ import annotations

import json
import os
import re
import sys
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

import typer
from typer.core import TyperGroup

from spdatoms._utils.text import suggestion, visible

WRONG_DATA = 1
INTERRUPTED = 130
#: The options that give parameters of other names, which errors and warnings use.
_OPTIONS = {
    "n_atoms": "--atoms",
    "n_atoms_per_class": "--atoms-per-class",
    "max_iter": "--iterations",
    "n_jobs": "--jobs",
    "random_state": "--seed",
}

#: What is recorded for --json, by name; None if it is not asked for.
_recorded: dict[str, Any] | None = None


def record_json(wanted: bool) -> None:
    """Begin to record for --json, or not to."""
    global _recorded
    _recorded = {} if wanted else None


def record(name: str, value: Any, *, several: bool = False) -> None:
    """Keep a result for --json under a name; of ``several`` of that name all are kept, in a list."""
    if _recorded is None:
        return
    if several:
        _recorded.setdefault(name, []).append(value)
    else:
        _recorded[name] = value


def print_json() -> None:
    """Print what was recorded, if --json was given."""
    if _recorded is not None:
        _print(json.dumps(_recorded, default=_plain, indent=2, ensure_ascii=False), sys.stdout)
        record_json(False)


def _plain(value: Any) -> Any:
    """Return arrays and numbers of NumPy as those of Python, and everything else as text."""
    with suppress(AttributeError):
        return value.tolist()
    return str(value)


def console(*, stderr: bool = False) -> Any:
    """Return a console of rich for which it is no error that nobody reads any more."""
    from rich.console import Console

    class Plain(Console):
        def on_broken_pipe(self) -> None:
            print_nowhere(sys.stderr if stderr else sys.stdout)

    return Plain(stderr=stderr, quiet=_recorded is not None and not stderr)


def say(text: str) -> None:
    """Print one line on stderr, which keeps stdout for results."""
    _print(visible(" ".join(text.split())), sys.stderr)


def show_lines(*lines: object) -> None:
    """Print lines on stdout."""
    if _recorded is None:
        _print("\n".join(map(visible, lines)), sys.stdout)


def _print(text: str, stream: IO[str]) -> None:
    try:
        print(text, file=stream)
    except BrokenPipeError:
        print_nowhere(stream)


def print_nowhere(stream: IO[str]) -> None:
    """Go on without a reader, as after "| head": files are still to be written."""
    with Path(os.devnull).open("w") as nowhere:
        os.dup2(nowhere.fileno(), stream.fileno())  # or Python complains when it ends


def show_table(
    rows: Iterable[Sequence[object]],
    *,
    header: Sequence[str] = (),
    title: str = "",
    stderr: bool = False,
) -> None:
    """Print rows of cells, the first of which is the name of the row."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    # As `Text`, because in plain strings rich takes what stands in brackets for markup.
    cells = [tuple(Text(visible(cell)) for cell in row) for row in rows]
    table = Table(
        title=Text(visible(title), style="table.title") if title else None,
        title_justify="left",
        box=box.SIMPLE_HEAD,
        show_header=bool(header),
    )
    for column in header or [""] * max(map(len, cells), default=1):
        table.add_column(Text(visible(column)), overflow="fold")
    for row in cells:
        table.add_row(*row)
    console(stderr=stderr).print(table)


def wants_progress(verbose: bool) -> bool:
    """Return whether to show progress bars: if asked for, and to whoever sits at a terminal."""
    return verbose or sys.stderr.isatty()


@contextmanager
def one_line_errors() -> Iterator[None]:
    """Print expected errors and all warnings as one line each on stderr.

    The package raises `ValueError`, `TypeError`, `OSError` and `ImportError` for wrong input: they end
    the program with the code 1, as a lack of memory does. Any other error is a bug and keeps its
    traceback.
    """
    with warnings.catch_warnings():
        warnings.showwarning = lambda message, *_, **__: say(f"warning: {_by_options(message)}")
        try:
            yield
            sys.stdout.flush()
        except typer.BadParameter as error:
            error.message = visible(_plainly(error.message))
            raise
        except BrokenPipeError:  # nobody reads the output any more, as after "| head"
            print_nowhere(sys.stdout)
            raise typer.Exit(0) from None
        except (ValueError, TypeError, OSError, ImportError) as error:
            say(f"error: {_by_options(_message(error))}")
            raise typer.Exit(WRONG_DATA) from error
        except MemoryError as error:
            say(f"error: there is not enough memory: {error or 'use fewer or smaller matrices'}")
            raise typer.Exit(WRONG_DATA) from error
        except KeyboardInterrupt:
            say("interrupted")
            raise typer.Exit(INTERRUPTED) from None


def _plainly(message: str) -> str:
    """Return what is wrong with an option without the words of Typer's libraries, and which value may be meant."""
    message = message.removeprefix("Value error, ")
    found = re.fullmatch(r"'(.*)' is not one of ('.*')\.", message)
    return message + (suggestion(found[1], re.findall("'(.*?)'", found[2])) if found else "")


def _by_options(message: object) -> str:
    """Return text about values of parameters as text about those of options."""
    given = rf"(?<![\w/\\.-])({'|'.join(_OPTIONS)})(=| (?=must be ))"  # and not a part of the name of a file
    return re.sub(given, lambda found: f"{_OPTIONS[found[1]]} ", str(message))


def _message(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return str(error) or type(error).__name__


def _without_types(params: list[Any]) -> list[Any]:
    for param in params:
        if getattr(param, "is_flag", False):
            param.metavar = ""
    return params


class Commands(TyperGroup):
    """A group of commands whose errors are one line each, and whose flags show no type of a value in the help."""

    def get_params(self, ctx: Any) -> Any:
        """Return the options of the group."""
        return _without_types(super().get_params(ctx))

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command by its name."""
        command = super().get_command(ctx, cmd_name)
        if command is not None:
            _without_types(command.get_params(ctx))
        return command

    def invoke(self, ctx: Any) -> Any:
        """Run the command that was asked for."""
        with one_line_errors():
            record_json(False)
            try:
                result = super().invoke(ctx)
            except typer.Exit:  # a command that ends with a code of its own has results, too
                print_json()
                raise
            print_json()
            return result
