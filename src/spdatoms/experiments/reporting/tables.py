"""Results as tables: for every method the measured scores, and below them the published ones."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from spdatoms._utils.extras import import_extra
from spdatoms.experiments.experiment import ACCURACY, Experiment, Published
from spdatoms.experiments.results import Results, Summary

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


@dataclass(frozen=True)
class Column:
    """A score in a part of an experiment."""

    part: str
    score: str

    @property
    def title(self) -> str:
        """The part or the score, whichever distinguishes the columns."""
        if self.score == ACCURACY:
            return self.part or "accuracy (%)"
        return self.score


def tables(experiment: Experiment, results: Results) -> list[Table]:
    """Return the accuracies, in one table or one per part, and the seconds that methods took.

    Parameters
    ----------
    experiment : Experiment
        The experiment.
    results : Results
        Its results.

    Returns
    -------
    list of Table
    """
    columns = list(dict.fromkeys(_columns(results)))
    single = len({column.part for column in columns}) == len(columns)
    groups = [columns] if single else _by_part(columns)
    found = [_accuracies(experiment, results, group, single) for group in groups]
    return [*found, _seconds(experiment, results)]


def _columns(results: Results) -> Iterable[Column]:
    for summary in results.summaries():
        for score in summary.scores:
            yield Column(summary.part, score)


def _by_part(columns: Sequence[Column]) -> list[list[Column]]:
    parts = dict.fromkeys(column.part for column in columns)
    return [[c for c in columns if c.part == part] for part in parts]


def _accuracies(
    experiment: Experiment, results: Results, columns: Sequence[Column], single: bool
) -> Table:
    summaries = {(s.method, s.part): s for s in results.summaries()}
    methods = [m for m in experiment.methods() if any((m, c.part) in summaries for c in columns)]
    published = () if _embedded(results) else experiment.published
    left = {id(row): row for row in published if _concerns(row, columns)}
    lines: list[Line] = []
    for name in methods:
        cells = [_measured(summaries.get((name, c.part)), c.score) for c in columns]
        lines.append(Line((name, *cells)))
        own = [key for key, row in left.items() if row.method == name]
        lines += [_published(left.pop(key), columns, PUBLISHED) for key in own]
    lines += [_published(row, columns, CITED if row.cited else PUBLISHED) for row in left.values()]
    part = "" if single else columns[0].part
    shown = {column.part for column in columns}
    counts = [summary.repeats for summary in summaries.values() if summary.part in shown]
    title = f"{experiment.title}{f', {part}' if part else ''}: accuracy (%)"
    if experiment.repeats > 1:
        asked = f" of {experiment.repeats}" if min(counts) < experiment.repeats else ""
        title += f", {_from_to(counts)}{asked} repeats"
    return Table(title, ("method", *(column.title for column in columns)), tuple(lines))


def _concerns(row: Published, columns: Sequence[Column]) -> bool:
    return any(_matches(row, column) for column in columns)


def _matches(row: Published, column: Column) -> bool:
    return row.part in ("", column.part) and column.score in row.scores


def _measured(summary: Summary | None, score: str) -> str:
    if summary is None or score not in summary.scores:
        return "–"
    text = f"{summary.scores[score]:.1f}"
    if summary.repeats > 1:
        text += f" ± {summary.deviations[score]:.1f}"
    return text + ("*" if summary.notes else "")


def _published(row: Published, columns: Sequence[Column], kind: str) -> Line:
    cells = []
    for column in columns:
        if not _matches(row, column):
            cells.append("–")
            continue
        text = f"{row.scores[column.score]:.1f}"
        deviation = row.deviations.get(column.score)
        cells.append(text if deviation is None else f"{text} ± {deviation:.1f}")
    remark = "published" if kind == PUBLISHED else "published, not run here"
    return Line((f"{row.method} ({remark})", *cells), kind)


def _seconds(experiment: Experiment, results: Results) -> Table:
    """Return the medians over the repeats of the seconds to fit and to predict."""
    summaries = {(s.method, s.part): s for s in results.summaries()}
    parts = results.parts()
    lines = []
    ran = {s.method for s in results.summaries()}
    for name in (name for name in experiment.methods() if name in ran):
        cells = [_time(summaries.get((name, part))) for part in parts]
        repeats = [summaries[name, p].repeats for p in parts if (name, p) in summaries]
        lines.append(Line((name, *cells, _from_to(repeats))))
    header = ("method", *(part or "fit + predict" for part in parts), "repeats")
    return Table("Seconds to fit + to predict (median of the repeats)", header, tuple(lines))


def _from_to(counts: Sequence[int]) -> str:
    """Return "least–greatest" of some numbers, or the number if all are equal."""
    return "–".join(str(count) for count in dict.fromkeys((min(counts), max(counts))))


def _time(summary: Summary | None) -> str:
    if summary is None:
        return "–"
    return f"{_two_digits(summary.fit_seconds)} + {_two_digits(summary.predict_seconds)}"


def _two_digits(seconds: float) -> str:
    return f"{seconds:.0f}" if seconds >= 10 else f"{seconds:.2g}"


def remarks(experiment: Experiment, results: Results) -> list[str]:
    """Return the notes of rows (marked * in the tables), the problems, and other published scores.

    Parameters
    ----------
    experiment : Experiment
        The experiment.
    results : Results
        Its results.

    Returns
    -------
    list of str
        One sentence each.
    """
    noted = [
        f"* {summary.method}{f' ({summary.part})' if summary.part else ''}: {note}"
        for summary in results.summaries()
        for note in summary.notes
    ]
    shown = {"", *results.parts()}
    beside = [
        f"Published: {row.method}, {row.part}: {', '.join(f'{v:.1f}' for v in row.scores.values())}"
        for row in experiment.published
        if row.part not in shown and not _embedded(results)
    ]
    return [*noted, *results.problems, *beside]


def _embedded(results: Results) -> bool:
    """Return whether the data were the embedded ones, for which no scores were published."""
    return results.settings.get("data") == "embedded"


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
    shown = rich_table(title=table.title, title_justify="left", highlight=False)
    for i, name in enumerate(table.header):
        shown.add_column(name, justify="left" if i == 0 else "right", no_wrap=i > 0)
    for line in table.lines:
        shown.add_row(*line.cells, style=None if line.kind == MEASURED else "dim italic")
    return shown
