"""Errors as one line instead of a traceback."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import typer
from typer.core import TyperGroup

from spdatoms._utils.text import visible
from spdatoms.cli.show import print_json, print_nowhere, record_json, say

WRONG_DATA = 1
INTERRUPTED = 130


@contextmanager
def one_line_errors() -> Iterator[None]:
    """Print expected errors and all warnings as one line each on stderr.

    The package raises `ValueError`, `TypeError`, `OSError` and `ImportError` for wrong input: they end
    the program with the code 1, as a lack of memory does. Any other error is a bug and keeps its
    traceback.
    """
    with warnings.catch_warnings():
        warnings.showwarning = lambda message, *_, **__: say(f"warning: {message}")
        try:
            yield
            sys.stdout.flush()
        except typer.BadParameter as error:
            error.message = visible(error.message)
            raise
        except BrokenPipeError:  # nobody reads the output any more, as after "| head"
            print_nowhere(sys.stdout)
            raise typer.Exit(0) from None
        except (ValueError, TypeError, OSError, ImportError) as error:
            say(f"error: {_message(error)}")
            raise typer.Exit(WRONG_DATA) from error
        except MemoryError as error:
            say(f"error: there is not enough memory: {error or 'use fewer or smaller matrices'}")
            raise typer.Exit(WRONG_DATA) from error
        except KeyboardInterrupt:
            say("interrupted")
            raise typer.Exit(INTERRUPTED) from None


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
