"""A table of strings, and how it is shown: in Markdown, or on a terminal."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from spdatoms._utils.extras import import_extra
from spdatoms._utils.text import visible

MEASURED, PUBLISHED, CITED = "measured", "published", "cited"
#: Which value of a column is the best.
HIGH, LOW = "high", "low"
MISSING = "–"

_NUMBER = re.compile(r"[+-]?\d+(?:\.\d+)?")
#: A mean, and perhaps what comes after ± or a probability.
_MEASURED = re.compile(
    r"(?:[<>] )?([+-]?\d+(?:\.\d+)?)(?: ± (\d+(?:\.\d+)?))?(?: \(p [=<] ([\d.e-]+)\))?"
)
#: Numbers that belong together stand on one line.
_NUMBERS = re.compile(r"[\d.+±<> -]+")
#: Code, which stays as it is, or a character that Markdown would take for a mark.
_MARKUP = re.compile(r"(`[^`]*`)|([|<*])")
_NO_BREAK = "\N{NO-BREAK SPACE}"


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
    best : tuple of {"high", "low", ""}, default=()
        For every column which of its measured values is the best, if any.
    notes : dict of (int, int) to tuple of str, default={}
        Footnotes of cells, by row and column.
    """

    title: str
    header: tuple[str, ...]
    lines: tuple[Line, ...]
    best: tuple[str, ...] = ()
    notes: Mapping[tuple[int, int], tuple[str, ...]] = field(default_factory=dict)

    def row(self, name: str) -> dict[str, str]:
        """Return the cells of the first row of this name, by column.

        Parameters
        ----------
        name : str
            The first cell.

        Returns
        -------
        dict of str to str
            Empty if there is no such row.
        """
        cells = next((line.cells for line in self.lines if line.cells[0] == name), ())
        return dict(zip(self.header[1:], cells[1:], strict=False))

    def best_cells(self) -> set[tuple[int, int]]:
        """Return the rows and columns of the best values, none where all are equal.

        Returns
        -------
        set of (int, int)
        """
        return {(i, j) for j, better in enumerate(self.best) if better for i in self._best(j)}

    def _best(self, column: int) -> list[int]:
        found = {
            i: float(number[0])
            for i, line in enumerate(self.lines)
            if line.kind == MEASURED and (number := _NUMBER.match(line.cells[column]))
        }
        if len(set(found.values())) < 2:
            return []
        best = (max if self.best[column] == HIGH else min)(found.values())
        return [i for i, value in found.items() if value == best]

    def starred(self) -> Table:
        """Return the table with asterisks in place of footnotes.

        Returns
        -------
        Table
        """
        lines = tuple(
            replace(
                line,
                cells=tuple(
                    f"{cell}*" if (i, j) in self.notes else cell
                    for j, cell in enumerate(line.cells)
                ),
            )
            for i, line in enumerate(self.lines)
        )
        return replace(self, lines=lines, notes={})


def number(cell: str) -> float | None:
    """Return the number that a cell begins with, if it is one."""
    found = _MEASURED.match(cell)
    return float(found[1]) if found else None


def sign(cell: str, errors: float = 2.0) -> int:
    """Return 1 or -1 for a difference beyond some standard errors, or with p < 0.05, and 0 for others."""
    found = _MEASURED.match(cell)
    if not found:
        return 0
    difference = float(found[1])
    if found[3] is not None:
        sure = float(found[3]) < 0.05
    else:
        sure = found[2] is not None and abs(difference) > errors * float(found[2])
    return int(np.sign(difference)) if sure else 0


def value(mean: float, error: float | None = None, sign: str = "") -> str:
    """Return a number and what comes after ±, if that is known, with one digit after the point."""
    text = f"{mean:{sign}.1f}"
    return text if error is None else f"{text} ± {error:.1f}"


def grid(
    title: str,
    header: Iterable[str],
    rows: Iterable[Iterable[str]],
    best: str = "",
    columns: slice = slice(1, None),
) -> Table:
    """Return a table of measured rows, in some of whose columns the best value is the `HIGH` or the `LOW` one."""
    header = tuple(header)
    compared = range(len(header))[columns]
    marks = tuple(best if i in compared else "" for i in range(len(header)))
    return Table(title, header, tuple(Line(tuple(row)) for row in rows), marks)


def by_method(
    title: str,
    methods: Iterable[str],
    columns: Sequence[str],
    cell: Callable[[str, str], str],
    best: str = "",
    unnamed: str = "",
) -> list[Table]:
    """Return a table with a cell per method and column, without methods that have none; no table without methods.

    The column without a name is called ``unnamed``.
    """
    rows = [(method, *(cell(method, column) for column in columns)) for method in methods]
    known = [row for row in rows if {*row[1:]} - {MISSING}]
    header = ("method", *(column or unnamed for column in columns))
    return [grid(title, header, known, best)] if known else []


def to_markdown(table: Table, label: str = "") -> str:
    """Return a table in Markdown: published rows in italics, the best of each column bold.

    Parameters
    ----------
    table : Table
        The table.
    label : str, default=""
        What the names of its footnotes begin with.

    Returns
    -------
    str
        The table, and below it the footnotes.
    """
    names: dict[str, str] = {}
    for note in (note for notes in table.notes.values() for note in notes):
        names.setdefault(note, f"[^{label}-{len(names) + 1}]")
    best = table.best_cells()
    lines = [f"| {' | '.join(table.header)} |", f"|{'---|' * len(table.header)}"]
    for i, line in enumerate(table.lines):
        cells = [
            _markdown_cell(cell, line.kind, (i, j) in best)
            + "".join(names[note] for note in table.notes.get((i, j), ()))
            for j, cell in enumerate(line.cells)
        ]
        lines.append(f"| {' | '.join(cells)} |")
    footnotes = [f"{name}: {note}." for note, name in names.items()]
    return "\n\n".join(["\n".join(lines), *footnotes])


def _markdown_cell(cell: str, kind: str, best: bool) -> str:
    if _NUMBERS.fullmatch(cell):
        cell = cell.replace(" ", _NO_BREAK)
    else:
        cell = _MARKUP.sub(lambda found: found[1] or f"\\{found[2]}", cell)
    marks = "**" if best else "" if kind == MEASURED else "*"
    return f"{marks}{cell}{marks}"


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
    table = table.starred()
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
    rich_text = import_extra("rich.text", extra="cli").Text

    def text(cell: str, style: str = "") -> Any:
        return rich_text(visible(cell), style=style)

    title = text(table.title, "table.title") if table.title else None
    shown = rich_table(title=title, title_justify="left", highlight=False)
    for i, name in enumerate(table.header):
        shown.add_column(text(name), justify="left" if i == 0 else "right", no_wrap=i > 0)
    for line in table.lines:
        style = None if line.kind == MEASURED else "dim italic"
        shown.add_row(*(text(cell) for cell in line.cells), style=style)
    return shown
