"""A table of strings, and how it is shown: in Markdown, or on a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from spdatoms._utils.extras import import_extra

MEASURED, PUBLISHED, CITED = "measured", "published", "cited"


@dataclass(frozen=True)
class Line:
    """A row of a table.

    Parameters
    ----------
    cells : tuple of str
        The name of the method, and numbers.
    kind : {"measured", "published", "cited"}, default="measured"
        "published" is of a method that can be run here, "cited" of another system.
    """

    cells: tuple[str, ...]
    kind: str = MEASURED


@dataclass(frozen=True)
class Table:
    """A table of strings.

    Parameters
    ----------
    title : str
        What it shows.
    header : tuple of str
        The names of the columns.
    lines : tuple of Line
        The rows.
    """

    title: str
    header: tuple[str, ...]
    lines: tuple[Line, ...]


def to_markdown(table: Table) -> str:
    """Return a table in Markdown, published rows in italics.

    Parameters
    ----------
    table : Table
        The table.

    Returns
    -------
    str
    """
    head = [f"| {' | '.join(table.header)} |", f"|{'---|' * len(table.header)}"]
    return "\n".join([*head, *(_markdown_line(line) for line in table.lines)])


def _markdown_line(line: Line) -> str:
    cells = [cell.replace("|", "\\|") for cell in line.cells]
    if line.kind != MEASURED:
        cells = [f"*{cell}*" for cell in cells]
    return f"| {' | '.join(cells)} |"


def narrow(table: Table, width: int) -> list[Table]:
    """Return the table, or several with some of its columns each if it is too wide.

    Parameters
    ----------
    table : Table
        The table.
    width : int
        The greatest width in characters.

    Returns
    -------
    list of Table
    """
    rows = [table.header, *(line.cells for line in table.lines)]
    # Rich draws three characters around a cell.
    widths = [3 + max(len(row[i]) for row in rows) for i in range(len(table.header))]
    groups: list[list[int]] = [[]]
    for i in range(1, len(widths)):
        if groups[-1] and 1 + widths[0] + sum(widths[j] for j in groups[-1]) + widths[i] > width:
            groups.append([])
        groups[-1].append(i)
    return [_with_columns(table, [0, *group]) for group in groups]


def _with_columns(table: Table, chosen: Sequence[int]) -> Table:
    lines = tuple(Line(tuple(line.cells[i] for i in chosen), line.kind) for line in table.lines)
    return Table(table.title, tuple(table.header[i] for i in chosen), lines)


def to_rich(table: Table) -> Any:
    """Return a table that rich can print.

    Parameters
    ----------
    table : Table
        The table.

    Returns
    -------
    rich.table.Table
    """
    rich_table = import_extra("rich.table", extra="cli").Table
    # In plain strings rich takes what stands in brackets for markup, and names come from files.
    text = import_extra("rich.text", extra="cli").Text
    title = text(table.title, style="table.title") if table.title else None
    shown = rich_table(title=title, title_justify="left", highlight=False)
    for i, name in enumerate(table.header):
        shown.add_column(text(name), justify="left" if i == 0 else "right", no_wrap=i > 0)
    for line in table.lines:
        style = None if line.kind == MEASURED else "dim italic"
        shown.add_row(*map(text, line.cells), style=style)
    return shown
