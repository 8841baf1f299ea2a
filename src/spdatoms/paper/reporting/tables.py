"""Results as tables: for every method the measured scores, and below them the published ones."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from spdatoms.paper.experiments.experiment import Experiment, Published
from spdatoms.paper.experiments.results import Results, Summary
from spdatoms.paper.experiments.task import ACCURACY
from spdatoms.paper.reporting.comparison import comparison_tables, difference_tables
from spdatoms.paper.reporting.curves import curve_tables
from spdatoms.paper.reporting.descent import descent_tables
from spdatoms.paper.reporting.imperfect import imperfect_tables
from spdatoms.paper.reporting.origin import from_to, repeats_made
from spdatoms.paper.reporting.seconds import second_tables
from spdatoms.paper.reporting.sparsity import nonzero_tables, sparsity_tables
from spdatoms.paper.reporting.table import CITED, HIGH, MISSING, PUBLISHED, Line, Table, grid, value


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
    """Return the accuracies, in one table or one per part, paired differences, and non-zeros of codes.

    An experiment that compares methods over data sets gets the tables of `comparison_tables` instead, and the
    seconds that methods took; others those of `curve_tables`, `imperfect_tables`, `second_tables` or `descent_tables`.

    Parameters
    ----------
    experiment, results : Experiment, Results
        The experiment, and its results.

    Returns
    -------
    list of Table
        Empty without results.
    """
    if not results.rows:
        return []
    if experiment.table == "comparison":
        return [*comparison_tables(experiment, results), _seconds(experiment, results)]
    special = {
        "curves": curve_tables,
        "imperfect": imperfect_tables,
        "seconds": second_tables,
        "descent": descent_tables,
    }
    if experiment.table in special:
        return special[experiment.table](experiment, results)
    scores = [Column(s.part, score) for s in results.summaries() for score in s.scores]
    columns = list(dict.fromkeys(scores))
    parts = dict.fromkeys(column.part for column in columns)
    single = len(parts) == len(columns)
    groups = [columns] if single else [[c for c in columns if c.part == part] for part in parts]
    return [
        *(_accuracies(experiment, results, group, single) for group in groups),
        *(sparsity_tables(experiment, results) if experiment.table == "sparsity" else ()),
        *difference_tables(experiment, results),
        *nonzero_tables(experiment, results),
    ]


def _accuracies(
    experiment: Experiment, results: Results, columns: Sequence[Column], single: bool
) -> Table:
    summaries = {(s.method, s.part): s for s in results.summaries()}
    methods = [m for m in experiment.methods() if any((m, c.part) in summaries for c in columns)]
    published = () if results.embedded else experiment.published
    left = {id(row): row for row in published if any(_matches(row, c) for c in columns)}
    noted = _notes(results)
    lines: list[Line] = []
    notes: dict[tuple[int, int], tuple[str, ...]] = {}
    for name in methods:
        spread = not experiment.single_queries
        cells = [_measured(summaries.get((name, c.part)), c.score, spread) for c in columns]
        # What concerns all columns stands at the name.
        places = enumerate(columns, start=1) if single else [(0, columns[0])]
        own = {(len(lines), j): noted.get((c.part, name), ()) for j, c in places}
        notes |= {place: found for place, found in own.items() if found}
        lines.append(Line((name, *cells)))
        beside = [key for key, row in left.items() if row.method == name]
        lines += [_published(left.pop(key), columns, PUBLISHED) for key in beside]
    lines += [_published(row, columns, CITED if row.cited else PUBLISHED) for row in left.values()]
    return Table(
        _title(experiment, results, columns, single),
        ("method", *(column.title for column in columns)),
        tuple(lines),
        ("", *(HIGH for _ in columns)),
        notes,
    )


def _title(
    experiment: Experiment, results: Results, columns: Sequence[Column], single: bool
) -> str:
    shown = {column.part for column in columns}
    part = "" if single else columns[0].part
    title = f"{experiment.title}{f', {part}' if part else ''}: accuracy (%)"
    whole = experiment.usual_repeats(results.embedded)
    here = [summary for summary in results.summaries() if summary.part in shown]
    usual = [s for s in here if s.repeats != experiment.few(s.part, s.method)]
    made = repeats_made([summary.repeats for summary in usual or here], whole)
    return title if whole == 1 else f"{title}, {made}"


def _matches(row: Published, column: Column) -> bool:
    return row.part in ("", column.part) and column.score in row.scores


def _measured(summary: Summary | None, score: str, spread: bool) -> str:
    if summary is None or score not in summary.scores:
        return MISSING
    known = spread and summary.repeats > 1
    return value(summary.scores[score], summary.deviations[score] if known else None)


def _published(row: Published, columns: Sequence[Column], kind: str) -> Line:
    cells = [
        value(row.scores[c.score], row.deviations.get(c.score)) if _matches(row, c) else MISSING
        for c in columns
    ]
    remark = "published" if kind == PUBLISHED else "published, not run here"
    return Line((f"{row.method} ({remark})", *cells), kind)


def _seconds(experiment: Experiment, results: Results) -> Table:
    """Return the medians over the repeats of the seconds to fit and to predict."""
    summaries = {(s.method, s.part): s for s in results.summaries()}
    parts, rows = results.parts(), []
    for name in results.ran(experiment.methods()):
        cells = [_time(summaries.get((name, part))) for part in parts]
        repeats = [summaries[name, p].repeats for p in parts if (name, p) in summaries]
        rows.append((name, *cells, from_to(repeats)))
    header = ("method", *(part or "fit + predict" for part in parts), "repeats")
    title = "Seconds to fit + to predict, processor time (median of the repeats)"
    return grid(title, header, rows)


def _time(summary: Summary | None) -> str:
    if summary is None:
        return MISSING
    return f"{_two_digits(summary.fit_seconds)} + {_two_digits(summary.predict_seconds)}"


def _two_digits(seconds: float) -> str:
    return f"{seconds:.0f}" if seconds >= 10 else f"{seconds:.2g}"


def remarks(experiment: Experiment, results: Results) -> list[str]:
    """Return the notes of rows (marked * in the tables), the problems, and other published scores.

    Parameters
    ----------
    experiment, results : Experiment, Results
        The experiment, and its results.

    Returns
    -------
    list of str
        One sentence each.
    """
    noted = [note for notes in _notes(results).values() for note in notes]
    others = [problem for problem in results.problems if problem not in noted]
    shown = {"", *results.parts()}
    beside = [
        f"Published: {row.method}, {row.part}: {', '.join(f'{v:.1f}' for v in row.scores.values())}"
        for row in experiment.published
        if row.part not in shown and not results.embedded
    ]
    others += _not_run(experiment, results)
    return [*noted, *_grouped(others), *_shorter_parts(experiment, results), *beside]


def _not_run(experiment: Experiment, results: Results) -> list[str]:
    """Name the methods that ran in some parts and not in others, where no problem says why."""
    ran = {(row.part, row.method) for row in results.rows}
    somewhere = {method for _, method in ran}
    found = [
        f"{method} ({part}): not run"
        for part in results.parts()
        for method in experiment.methods()
        if part and method in somewhere and (part, method) not in ran
    ]
    known = {problem.partition(": ")[0] for problem in results.problems}
    return [text for text in found if text.partition(": ")[0] not in known]


def _grouped(problems: Sequence[str]) -> list[str]:
    """Return problems in one sentence if they differ in the name of the method only."""
    names: dict[str, list[str]] = {}
    for problem in problems:
        name, mark, rest = problem.partition(" (")
        names.setdefault(mark + rest, []).append(name)
    return [f"{', '.join(methods)}{rest}" for rest, methods in names.items()]


def _notes(results: Results) -> dict[tuple[str, str], tuple[str, ...]]:
    """Return by part and method what is to be known about its scores: notes of rows, problems, fewer repeats."""
    found, summaries = {}, results.summaries()
    most = _most_repeats(summaries)
    for summary in summaries:
        part, whole = summary.part, most[summary.part]
        name = f"{summary.method}{f' ({part})' if part else ''}: "
        notes = [f"{name}{note}" for note in summary.notes]
        problems = [text for text in results.problems if text.startswith(name)]
        if summary.repeats < whole and not problems:
            notes.append(f"{name}{summary.repeats} of {whole} repeats")
        if notes or problems:
            found[part, summary.method] = (*notes, *problems)
    return found


def _most_repeats(summaries: Iterable[Summary]) -> dict[str, int]:
    """Return for every part the repeats of the method that has the most of them."""
    found = list(summaries)
    return {own.part: max(s.repeats for s in found if s.part == own.part) for own in found}


def _shorter_parts(experiment: Experiment, results: Results) -> list[str]:
    """Name the parts with fewer repeats than the protocol has, unless all parts have as many."""
    whole = experiment.usual_repeats(results.embedded)
    most = _most_repeats(results.summaries())
    if experiment.table not in ("scores", "sparsity") or len(set(most.values())) == 1:
        return []
    return [
        f"{part}: {count} of {whole} repeats"
        for part, count in most.items()
        if part and count < whole
    ]
