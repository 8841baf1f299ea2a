"""Results in Markdown: a page per experiment, and a first page that says whether it reproduces and is of use."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from spdatoms._utils.writing import replace_file
from spdatoms.paper.experiments.experiment import Experiment, Published
from spdatoms.paper.experiments.results import Results
from spdatoms.paper.experiments.task import ACCURACY
from spdatoms.paper.reporting.figures import pictures
from spdatoms.paper.reporting.record import Record, read_record, record_of
from spdatoms.paper.reporting.sentences import (
    OURS,
    PEER,
    STURDY,
    TEXTS,
    differences_to_peer,
    pairs,
    three_sentences,
    to_peer,
)
from spdatoms.paper.reporting.table import MISSING, Table, grid, to_markdown, value

Entry = tuple[Experiment, Results]

_MISSING = "What is not reproduced, and what it would take"
#: A table with as many rows is small enough to stand open.
_SMALL = 12


def write_record(path: Path, entries: Sequence[Entry], known: Sequence[Experiment]) -> None:
    """Write or renew the pages of some experiments, their figures, and the first page.

    Parameters
    ----------
    path : Path
        The first page. The others, their figures and what they show (JSON) go to a folder of the same name, without
        the ending. Pages of other experiments are written again from what they show.
    entries : sequence of (Experiment, Results)
        The experiments and their results.
    known : sequence of Experiment
        All experiments, in their order.
    """
    folder = path.with_suffix("")
    folder.mkdir(parents=True, exist_ok=True)
    for experiment, results in entries:
        drawn = pictures(experiment, results)
        for picture in drawn:
            stem = folder / f"{experiment.name}-{picture.name}"
            replace_file(stem.with_suffix(".png"), picture.render("png"))
            if picture.narrow is not None:
                file = stem.with_name(f"{stem.name}_narrow.png")
                replace_file(file, picture.render("png", narrow=True))
        record_of(experiment, results, drawn).write(folder / f"{experiment.name}.json")
    files = [folder / f"{experiment.name}.json" for experiment in known]
    records = [read_record(file) for file in files if file.exists()]
    for record in records:
        replace_file(folder / f"{record.name}.md", page(record).encode())
    replace_file(path, first_page(records, known, folder.name).encode())


def page(record: Record) -> str:
    """Return the page of an experiment: figure, three sentences, tables, caveats and origin.

    Parameters
    ----------
    record : Record
        What it shows.

    Returns
    -------
    str
        Markdown.
    """
    figures = [f"![{caption}]({file})\n\n*{caption}*" for file, caption in record.figures.items()]
    names = "\n".join(f"- **{name}**: {note}" for name, note in record.methods.items() if note)
    shown = [
        _folded(
            table.title,
            to_markdown(table, f"{record.name}-{i}"),
            not i and len(table.lines) <= _SMALL,
        )
        for i, table in enumerate(record.tables)
    ]
    caveats = [record.protocol, record.note, "\n".join(f"- {text}" for text in record.remarks)]
    return _joined(
        f"# {record.title}",
        *figures[:1],
        " ".join(three_sentences(record)),
        *shown[:1],
        *(_folded("More figures", "\n\n".join(figures[1:])) for _ in figures[1:2]),
        *shown[1:],
        _folded("Read this before you quote a figure", _joined(*caveats, TEXTS["legend"]).strip()),
        _folded("What the names mean", names) if names else "",
        f"<small>{record.origin}</small>",
    )


def first_page(records: Sequence[Record], known: Sequence[Experiment], folder: str) -> str:
    """Return the first page: does it reproduce, should I use it.

    Parameters
    ----------
    records : sequence of Record
        What the pages show.
    known : sequence of Experiment
        All experiments, in their order.
    folder : str
        Where the pages are.

    Returns
    -------
    str
        Markdown.
    """
    there = {record.name for record in records if not record.embedded}
    absent = [experiment for experiment in known if experiment.name not in there]
    links = [f"- [{r.title}]({folder}/{r.name}.md): {three_sentences(r)[0]}" for r in records]
    contents = "\n".join(f"{folder}/{record.name}" for record in records)
    return _joined(
        TEXTS["head"].format(folder=folder),
        "## Does it reproduce?",
        to_markdown(_reproduced(records, known, folder)),
        _folded(_MISSING, to_markdown(_not_reproduced(known, absent))),
        "## Should I use it?",
        *(" ".join(three_sentences(r)[1:]) for r in reversed(records) if r.kind == "comparison"),
        to_markdown(_of_use(records, folder)),
        TEXTS["peers"].format(ours=OURS, peer=PEER, sturdy=STURDY),
        "## All experiments",
        "\n".join(links),
        _folded("What was settled on which data", TEXTS["settled"]),
        f"<small>{_made(records)}</small>",
        f"```{{toctree}}\n:hidden:\n\n{contents}\n```",
    )


def _joined(*parts: str) -> str:
    return "\n\n".join(part for part in parts if part) + "\n"


def _folded(title: str, text: str, is_open: bool = False) -> str:
    """Return a part that a reader unfolds, here and on GitHub."""
    return (
        f"<details{' open' if is_open else ''}>\n<summary>{title}</summary>\n\n{text}\n\n</details>"
    )


def _reproduced(records: Sequence[Record], known: Sequence[Experiment], folder: str) -> Table:
    """Return the published figures of the paper's own methods beside ours, or why there are none."""
    by_name, rows = {record.name: record for record in records}, []
    for experiment in known:
        record = by_name.get(experiment.name)
        title = f"[{record.title}]({folder}/{record.name}.md)" if record else experiment.title
        found = pairs(record) if record else []
        if record and record.kind == "seconds":
            table = record.tables[0]
            cells = [(line.cells[0], *(line.cells[i] for i in (5, 3))) for line in table.lines]
            found = [(m, table.header[3], said, t, "") for m, said, t in cells if said != MISSING]
        rows += [(title, *pair) for pair in found]
        if not found and experiment.published:
            shown = "drawn data in their place" if record else "not run"
            rows.append((title, "", "", "yes", MISSING, f"{shown}: the data are not at hand"))
        elif not found and record and record.kind == "scores":
            rows.append((title, "", "", "bars only", "yes", "order of methods on its page"))
    header = ("experiment", "method", "column", "published", "ours", "ours is")
    return grid("Does it reproduce?", header, _once(rows))


def _once(rows: Sequence[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Return rows whose first cells are empty where they are those of the row above."""
    heads = ["", *(row[0] for row in rows)]
    return [(row[0] if row[0] != heads[i] else "", *row[1:]) for i, row in enumerate(rows)]


def _of_use(records: Sequence[Record], folder: str) -> Table:
    """Return differences to a peer: by data set, and where data are imperfect; what was run last comes first."""
    rows = []
    for record in reversed(records):
        link = f"[{record.title}]({folder}/{record.name}.md)"
        if record.kind == "comparison":
            rows += [(link, column, *cells) for column, cells in to_peer(record).items()]
        if record.kind == "imperfect":
            rows += [
                (link, case, "", "", cell) for case, cell in differences_to_peer(record).items()
            ]
    header = ("experiment", "data", OURS, "peer", "difference")
    return grid("Should I use it?", header, _once(rows))


def _made(records: Sequence[Record]) -> str:
    """Return by which command the pages are written, and how long that takes."""
    hours = sum(record.seconds for record in records) / 3600
    elapsed = [record.elapsed for record in records if record.elapsed is not None]
    took = f", and took {sum(elapsed) / 3600:.1f} hours" if len(elapsed) == len(records) else ""
    return str(TEXTS["made"].format(hours=f"{hours:.1f}", took=took))


def _not_reproduced(known: Iterable[Experiment], absent: Sequence[Experiment]) -> Table:
    """Return what the paper reports and nobody ran here: whole experiments, quoted methods, parts."""
    lines = []
    for experiment in known:
        needs = f"The data: {experiment.wants}" if experiment in absent else ""
        for row in experiment.published:
            why = row.why if row.cited else needs
            if why:
                part = f", {row.part}" if row.part else ""
                scores = ", ".join(_named_score(row, name) for name in row.scores)
                lines.append((f"{experiment.title}{part}", row.method, scores, why))
        lines += [(experiment.title, what, MISSING, why) for what, why in experiment.missing]
    header = ("experiment", "row", "published (%)", "what it would take")
    return grid(_MISSING, header, lines)


def _named_score(row: Published, name: str) -> str:
    score = value(row.scores[name], row.deviations.get(name))
    return score if name == ACCURACY else f"{name} {score}"
