"""One self-contained page of results, and a folder with all files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from spdatoms._utils.version import __version__
from spdatoms._utils.writing import replace_file
from spdatoms.cli.report.page import inline_svg, items_to_browse, render_page
from spdatoms.paper.experiments.experiment import Experiment
from spdatoms.paper.experiments.results import Results, Row
from spdatoms.paper.reporting.figures import pictures
from spdatoms.paper.reporting.mosaic import texture_pictures
from spdatoms.paper.reporting.picture import Picture
from spdatoms.paper.reporting.tables import remarks, tables

REPORT = "report.html"
#: The greatest number of bars of a kind that are shown of a method.
_MOST = 40


def report_page(
    experiment: Experiment, results: Results, drawn: list[Picture] | None = None
) -> str:
    """Return a page with tables, published scores, figures, methods, settings and versions.

    Parameters
    ----------
    experiment, results : Experiment, Results
        The experiment, and its results.
    drawn : list of Picture, default=None
        The figures, if they are drawn already.

    Returns
    -------
    str
        HTML that needs no other file.
    """
    drawn = _all_pictures(experiment, results) if drawn is None else drawn
    shown = {picture.name: _figure(picture) for picture in drawn}
    about = [shown.pop(name) for name in ("textures", "mosaic") if name in shown]
    return render_page(
        "report.html.jinja",
        "spdatoms.paper.reporting",
        experiment=experiment,
        tables=[table.starred() for table in tables(experiment, results)],
        about=about,
        figures=[*shown.values()],
        methods=[experiment.methods()[name] for name in results.ran(experiment.methods())],
        browser=_methods_to_browse(experiment, results) if results.rows else None,
        remarks=remarks(experiment, results),
        settings=_readable(results.settings),
        embedded=results.embedded,
        parameters={row.method: row.parameters for row in results.rows},
        version=__version__,
    )


def write_folder(experiment: Experiment, results: Results, folder: Path) -> list[Path]:
    """Write results.json, results.csv, the figures and report.html.

    Parameters
    ----------
    experiment, results : Experiment, Results
        The experiment, and its results.
    folder : Path
        Where to write; it is made if it does not exist.

    Returns
    -------
    list of Path
        The files.
    """
    folder.mkdir(parents=True, exist_ok=True)
    drawn = _all_pictures(experiment, results)
    results.write_json(folder / "results.json")
    results.write_csv(folder / "results.csv")
    written = [folder / "results.json", folder / "results.csv"]
    for picture in drawn:
        for ending in ("png", "svg"):
            path = folder / f"{picture.name}.{ending}"
            replace_file(path, picture.render(ending))
            written.append(path)
    page = report_page(experiment, results, drawn)
    replace_file(folder / REPORT, page.encode())
    return [*written, folder / REPORT]


def _methods_to_browse(experiment: Experiment, results: Results) -> dict[str, Any]:
    """Return the methods that ran, each with its scores by part, what was published of it, and its repeats."""
    items = []
    for method in experiment.methods().values():
        own = [summary for summary in results.summaries() if summary.method == method.name]
        if not own:
            continue
        published = [row for row in experiment.published if row.method == method.name]
        rows = [row for row in results.rows if row.method == method.name]
        seconds = sum(row.seconds for row in rows) / len(rows)
        groups = [
            _bars("Means (%)", own),
            _bars("Published (%)", published),
            _bars("Repeats (%)", rows if len(rows) > len(own) else []),
        ]
        lines = [method.note, f"{seconds:.2g} s per repeat."]
        items.append(
            {"name": method.name, "kinds": [], "lines": lines, "picture": -1, "groups": groups}
        )
    hint = "Scores of every part and repeat, beside those that were published."
    return items_to_browse("One method at a time", hint, items)


def _bars(title: str, scored: Sequence[Any]) -> dict[str, Any]:
    """Return the scores of summaries, published rows or rows as bars, as many as can be read."""
    rows = [
        (" ".join(filter(None, (one.part, score, _repeat(one)))), float(value), -1)
        for one in scored
        for score, value in one.scores.items()
    ]
    return {"title": title, "rows": rows[:_MOST]}


def _repeat(one: Any) -> str:
    return f"#{one.repeat}" if isinstance(one, Row) else ""


def _all_pictures(experiment: Experiment, results: Results) -> list[Picture]:
    return [*texture_pictures(experiment, results), *pictures(experiment, results)]


def _figure(picture: Picture) -> dict[str, str]:
    """Return what the page needs of a picture: its caption, and it itself for wide and narrow screens."""
    wide = inline_svg(picture.figure, picture.name, picture.caption)
    shown = {"caption": picture.caption, "wide": wide}
    if picture.narrow is not None:
        shown["narrow"] = inline_svg(picture.narrow, f"{picture.name}-narrow", picture.caption)
    return shown


def _readable(settings: dict[str, Any]) -> dict[str, str]:
    """Return settings as words."""
    shown = {}
    for name, value in settings.items():
        if value is None:
            continue
        if isinstance(value, float):
            value = f"{value:.1f}"
        if isinstance(value, dict):
            value = [f"{key}: {chosen}" for key, chosen in value.items() if chosen is not None]
        if isinstance(value, list):
            value = ", ".join(map(str, value))
        if value != "":
            shown[name.replace("_", " ")] = str(value)
    return shown
