"""Words, lines, tables and progress bars on the terminal, where text of users is never a command."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence

from spdatoms._utils.text import visible


def counted(count: int, one: str, many: str = "") -> str:
    """Return "1 class" or "2 classes"; the plural is ``many``, or else ``one`` and an s."""
    return f"{count} {one if count == 1 else many or one + 's'}"


def say(text: str) -> None:
    """Print one line on stderr, which keeps stdout for results."""
    print(visible(" ".join(text.split())), file=sys.stderr)


def show_lines(*lines: object) -> None:
    """Print lines on stdout."""
    print(*map(visible, lines), sep="\n")


def show_table(
    rows: Iterable[Sequence[object]],
    *,
    header: Sequence[str] = (),
    title: str = "",
    stderr: bool = False,
) -> None:
    """Print rows of cells, the first of which is the name of the row."""
    from rich import box
    from rich.console import Console
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
    Console(stderr=stderr).print(table)


def wants_progress(verbose: bool) -> bool:
    """Return whether to show progress bars: if asked for, and to whoever sits at a terminal."""
    return verbose or sys.stderr.isatty()
