"""The record of several experiments as one Markdown document, which can be renewed section by section."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from spdatoms._utils.files import replace_file
from spdatoms.experiments.experiment import Experiment
from spdatoms.experiments.reporting.figures import Picture, pictures
from spdatoms.experiments.reporting.origin import SECONDS, origin
from spdatoms.experiments.reporting.table import MEASURED, Line, Table, to_markdown
from spdatoms.experiments.reporting.tables import remarks, tables
from spdatoms.experiments.results import Results

Entry = tuple[Experiment, Results]

_HEAD = """# Results

Written by `spdatoms reproduce all --data FOLDER --out DIR --markdown FILE`; the same command with the name of an
experiment in place of `all` renews its section.{time} Rows in italics are the values published by Harandi et al.
(2016). Accuracies are means ± standard deviations over the repeats, unless a table says otherwise. An asterisk stands
for a remark below the table. Seconds are not compared here, except where methods took turns.{older}

**What was settled on which data.** RSR-S and RSR-J are the paper's: all training matrices are atoms, β is one over
their median divergence, and the class with the least residual wins. The paper does not say how β and λ were chosen.
Our α (0.01, and 0.05 where the Gram matrix is indefinite) and the correction of an indefinite Gram matrix ('clip')
were settled after looking at test poses of FERET, so its row RSR-J is optimistic. They were then used for all data
sets as they are. Also settled after looking at test accuracies: the grid and the rule of the rows CV (FERET, Brodatz
and HDM05), the heading of skeletons (HDM05), cosines for RLPP (FERET), and the grids for texture dictionaries (another
division of the same plates). Everything else is the default of its estimator, the same for all data sets, or chosen
on training data alone."""

#: What a section ends with, see `origin`; one without it was written before there were such lines.
_ORIGIN = "\nMade by `"
#: In the title of a table with fewer repeats than the protocol has.
_PARTLY = re.compile(r"^### .*\d of \d+ repeats$", re.MULTILINE)
_MISSING = "What is not reproduced, and what it would take"


def write_record(path: Path, entries: Sequence[Entry], known: Sequence[Experiment]) -> None:
    """Write or renew the sections of some experiments in a Markdown file, and their figures beside it.

    Parameters
    ----------
    path : Path
        The file. Sections of other experiments stay as they are. Figures go to a folder of the same name, without
        the ending.
    entries : sequence of (Experiment, Results)
        The experiments and their results.
    known : sequence of Experiment
        All experiments, in the order of their sections.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    images = path.with_suffix("")
    linked = {}
    for experiment, results in entries:
        drawn = pictures(experiment, results)
        if drawn:
            images.mkdir(exist_ok=True)
        for picture in drawn:
            file = images / f"{experiment.name}-{picture.name}.png"
            replace_file(file, memoryview(picture.render("png")))
        links = [_link(experiment, picture, images.name) for picture in drawn]
        linked[experiment.title] = section(experiment, results, links)
    there = sections_of(path.read_text(encoding="utf-8")) if path.exists() else {}
    path.write_text(record(there | linked, known), encoding="utf-8")


def record(sections: dict[str, str], known: Sequence[Experiment]) -> str:
    """Return a document of sections.

    Parameters
    ----------
    sections : dict of str to str
        The sections of experiments by title.
    known : sequence of Experiment
        All experiments, in the order of their sections.

    Returns
    -------
    str
        Markdown.
    """
    there = [experiment.title for experiment in known if experiment.title in sections]
    ordered = [sections[title] for title in there]
    seconds = sum(int(s) for s in re.findall(rf"(\d+) {SECONDS}", "\n".join(ordered)))
    old = [title for title in there if _ORIGIN not in sections[title]]
    older = f" Made by earlier code, and not renewed yet: {', '.join(old)}." if old else ""
    time = _time(seconds, old, any(_PARTLY.search(text) for text in ordered)) if seconds else ""
    absent = [e for e in known if not _has_the_data(e, sections.get(e.title, ""))]
    missing = f"## {_MISSING}\n\n{to_markdown(_not_reproduced(known, absent))}"
    return "\n\n".join([_HEAD.format(time=time, older=older), *ordered, missing]) + "\n"


def _time(seconds: int, old: Sequence[str], partly: bool) -> str:
    """Return how long the runs took, and what that leaves out."""
    words = [f" Fits and predictions took {seconds / 3600:.1f} hours in all"]
    words += [f"without {', '.join(old)}"] if old else []
    words.append("on a machine with other work, whose load is below each table")
    tail = (
        " Where a title says that some of the repeats were made, all of them take as much longer."
    )
    return f"{', '.join(words)}.{tail if partly else ''}"


def _has_the_data(experiment: Experiment, text: str) -> bool:
    """Return whether a section is of the data of the paper, and not of others in their place."""
    made = f"{_ORIGIN}spdatoms reproduce {experiment.name}"
    return bool(text) and (made not in text or f"{made} --data" in text)


def sections_of(document: str) -> dict[str, str]:
    """Return the sections of a document by title."""
    parts = re.split(r"^## ", document, flags=re.MULTILINE)[1:]
    return {part.partition("\n")[0].strip(): f"## {part.strip()}" for part in parts}


def section(experiment: Experiment, results: Results, figures: Iterable[str] = ()) -> str:
    """Return the section of an experiment: protocol, tables, figures, remarks and origin.

    Parameters
    ----------
    experiment : Experiment
        The experiment.
    results : Results
        Its results.
    figures : iterable of str, default=()
        Markdown of its figures.

    Returns
    -------
    str
    """
    embedded = results.settings["data"] == "embedded"
    note = experiment.embedded if embedded else experiment.caveat
    parts = [f"## {experiment.title}", experiment.protocol, note, _methods(experiment, results)]
    for table in tables(experiment, results) if results.rows else ():
        parts += [f"### {table.title}", to_markdown(table)]
    parts.append("\n".join(f"- {remark}" for remark in remarks(experiment, results)))
    parts += [*figures, origin(results)]
    return "\n\n".join(part for part in parts if part)


def _link(experiment: Experiment, picture: Picture, folder: str) -> str:
    return (
        f"![{picture.caption}]({folder}/{experiment.name}-{picture.name}.png)\n\n{picture.caption}"
    )


def _methods(experiment: Experiment, results: Results) -> str:
    ran = {row.method for row in results.rows}
    known = [method for method in experiment.methods().values() if method.name in ran]
    return "\n".join(f"- {method.name}: {method.note}" for method in known)


def _not_reproduced(known: Sequence[Experiment], absent: Sequence[Experiment]) -> Table:
    """Return what the paper reports and nobody ran here: whole experiments, quoted methods, parts."""
    lines = []
    for experiment in known:
        needs = f"The data: {experiment.wants}" if experiment in absent else ""
        for row in experiment.published:
            why = row.why if row.cited else needs
            if why:
                part = f", {row.part}" if row.part else ""
                scores = ", ".join(_named_score(*score) for score in row.scores.items())
                lines.append((f"{experiment.title}{part}", row.method, scores, why))
        lines += [(experiment.title, what, "–", why) for what, why in experiment.missing]
    header = ("experiment", "row", "published (%)", "what it would take")
    return Table(_MISSING, header, tuple(Line(line, MEASURED) for line in lines))


def _named_score(name: str, value: float) -> str:
    return f"{value:.1f}" if name == "accuracy" else f"{name} {value:.1f}"
