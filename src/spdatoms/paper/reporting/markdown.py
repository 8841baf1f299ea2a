"""The record of several experiments as one Markdown document, which can be renewed section by section."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from spdatoms._utils.writing import replace_file
from spdatoms.paper.experiments.experiment import Experiment, Published
from spdatoms.paper.experiments.results import Results
from spdatoms.paper.experiments.task import ACCURACY
from spdatoms.paper.reporting.figures import pictures
from spdatoms.paper.reporting.origin import ELAPSED, PASSED, PROCESSOR, origin
from spdatoms.paper.reporting.picture import Picture
from spdatoms.paper.reporting.table import Table, grid, to_markdown, value
from spdatoms.paper.reporting.tables import remarks, tables

Entry = tuple[Experiment, Results]

_HEAD = """# Results

Written by `spdatoms reproduce all --data FOLDER --out DIR --markdown FILE --processes 2`; the same command with the
name of an experiment in place of `all` renews its section.{time}{older}

Rows in italics are the values published by Harandi et al. (2016). The best measured value of each column is bold.
Accuracies are means ± standard deviations over the repeats, unless a table says otherwise. What the names in the first
column mean is said once, under [Methods](#methods). Seconds are not compared here, except where methods took turns.

**What was settled on which data.** RSR-S and RSR-J are the paper's: all training matrices are atoms, β is one over
their median divergence, and the class with the least residual wins. The paper does not say how β and λ were chosen.
Our α (0.01, and 0.05 where the Gram matrix is indefinite) and the correction of an indefinite Gram matrix ('clip')
were settled after looking at test poses of FERET, so its rows RSR-S and RSR-J are optimistic; its rows 'chosen α' have
the α of its training images. They were then used for all data sets as they are. The α of TSC, Riemannian SC, linear
logEuc-SC, SRC and GSRC is chosen by cross-validation on training samples. Also settled after looking at test
accuracies: the grid and the rule of the rows CV (FERET, Brodatz and HDM05), the heading of skeletons (HDM05), cosines
for RLPP (FERET), kernels and iterations for texture dictionaries (another division of the same plates), how noisy
drawn figures and films are, and for the classifiers side by side what SPDEnsembleClassifier averages over and
SPDSparseClassifierCV chooses from, the forms of LDA and the grids of kernel machines (the section says on which
columns). Everything else is the default of its estimator, the same for all data sets, or chosen on training data
alone."""

#: What a section ends with, see `origin`; one without it was written before there were such lines.
_ORIGIN = "\nMade by `"
#: In the title of a table with fewer repeats than the protocol has.
_PARTLY = re.compile(r"^### .*\d of \d+ repeats$", re.MULTILINE)
_GLOSSARY, _MISSING = "Methods", "What is not reproduced, and what it would take"


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
            replace_file(file, picture.render("png"))
        links = [_link(experiment, picture, images.name) for picture in drawn]
        linked[experiment.title] = section(experiment, results, links, known)
    there = sections_of(path.read_text(encoding="utf-8")) if path.exists() else {}
    replace_file(path, record(there | linked, known).encode())


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
    found = re.findall(rf"(\d+) (?:{PROCESSOR}|{ELAPSED})", "\n".join(ordered))
    seconds, elapsed = sum(map(int, found)), any(ELAPSED in text for text in ordered)
    old = [title for title in there if _ORIGIN not in sections[title]]
    older = f" Made by earlier code, and not renewed yet: {', '.join(old)}." if old else ""
    partly = any(_PARTLY.search(text) for text in ordered)
    time = _time(seconds, _passed(ordered), elapsed, old, partly) if seconds else ""
    absent = [e for e in known if not _has_the_data(e, sections.get(e.title, ""))]
    missing = f"## {_MISSING}\n\n{to_markdown(_not_reproduced(known, absent))}"
    head = _HEAD.format(time=time, older=older)
    return "\n\n".join([head, *ordered, *_glossary(sections, known), missing]) + "\n"


def _time(seconds: int, passed: int | None, elapsed: bool, old: Sequence[str], partly: bool) -> str:
    """Return how long everything takes, and what that leaves out."""
    without = f", without {', '.join(old)}" if old else ""
    words = [f" All of it takes {seconds / 3600:.1f} hours of one processor{without}"]
    words.append(
        "and about half as long with two processes"
        if passed is None
        else f"and took {passed / 3600:.1f} hours with the processes named below each table"
    )
    tails = []
    if elapsed:
        tails.append(
            "Where a section does not say 'processor time', this counts the time that passed on a machine with "
            "other work, whose load is below each table."
        )
    if partly:
        tails.append("Where a title says that some of the repeats were made, all take longer.")
    return " ".join([f"{', '.join(words)}.", *tails])


def _passed(sections: Sequence[str]) -> int | None:
    """Return the seconds from beginning to end of all sections, or None if one does not say it."""
    found = [re.search(rf"(\d+) {PASSED}", text) for text in sections]
    known = [int(match[1]) for match in found if match]
    return sum(known) if len(known) == len(sections) else None


def _glossary(sections: dict[str, str], known: Sequence[Experiment]) -> list[str]:
    """Return the section with what every method is, each once."""
    usual = _usual_notes(known)
    shown = {
        method.name
        for experiment in known
        for method in experiment.methods().values()
        if method.note == usual[method.name] and _has_row(sections, experiment.title, method.name)
    }
    lines = [f"- **{name}**: {note}" for name, note in usual.items() if name in shown]
    return [f"## {_GLOSSARY}\n\n" + "\n".join(lines)] if lines else []


def _usual_notes(known: Sequence[Experiment]) -> dict[str, str]:
    """Return what a method is in the first experiment that has it, by name."""
    notes: dict[str, str] = {}
    for experiment in known:
        for method in experiment.methods().values():
            notes.setdefault(method.name, method.note)
    return notes


def _has_row(sections: dict[str, str], title: str, method: str) -> bool:
    return (
        re.search(rf"^\| {re.escape(method)}(?:\[\^| \|)", sections.get(title, ""), re.M)
        is not None
    )


def _has_the_data(experiment: Experiment, text: str) -> bool:
    """Return whether a section is of the data of the paper, and not of others in their place."""
    made = f"{_ORIGIN}spdatoms reproduce {experiment.name}"
    return bool(text) and (made not in text or f"{made} --data" in text)


def sections_of(document: str) -> dict[str, str]:
    """Return the sections of a document by title."""
    parts = re.split(r"^## ", document, flags=re.MULTILINE)[1:]
    return {part.partition("\n")[0].strip(): f"## {part.strip()}" for part in parts}


def section(
    experiment: Experiment,
    results: Results,
    figures: Iterable[str] = (),
    known: Sequence[Experiment] = (),
) -> str:
    """Return the section of an experiment: protocol, figures, tables, footnotes, remarks and origin.

    Parameters
    ----------
    experiment : Experiment
        The experiment.
    results : Results
        Its results.
    figures : iterable of str, default=()
        Markdown of its figures.
    known : sequence of Experiment, default=()
        All experiments: a method that means the same in the first of them that has it is not explained here.

    Returns
    -------
    str
    """
    note = experiment.embedded if results.embedded else experiment.caveat
    explained = _methods(experiment, results, known)
    parts = [f"## {experiment.title}", experiment.protocol, note, explained, *figures]
    in_footnotes: set[str] = set()
    for i, table in enumerate(tables(experiment, results) if results.rows else (), start=1):
        parts += [f"### {table.title}", to_markdown(table, f"{experiment.name}-{i}")]
        in_footnotes.update(note for notes in table.notes.values() for note in notes)
    beside = [text for text in remarks(experiment, results) if text not in in_footnotes]
    parts += ["\n".join(f"- {remark}" for remark in beside), origin(results)]
    return "\n\n".join(part for part in parts if part)


def _link(experiment: Experiment, picture: Picture, folder: str) -> str:
    return (
        f"![{picture.caption}]({folder}/{experiment.name}-{picture.name}.png)\n\n{picture.caption}"
    )


def _methods(experiment: Experiment, results: Results, known: Sequence[Experiment]) -> str:
    """Return what the methods are that mean something else elsewhere, or that nobody else explains."""
    usual, ran = _usual_notes(known), {row.method for row in results.rows}
    special = [
        method
        for method in experiment.methods().values()
        if method.name in ran and usual.get(method.name) != method.note
    ]
    return "\n".join(f"- {method.name}: {method.note}" for method in special)


def _not_reproduced(known: Sequence[Experiment], absent: Sequence[Experiment]) -> Table:
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
        lines += [(experiment.title, what, "–", why) for what, why in experiment.missing]
    header = ("experiment", "row", "published (%)", "what it would take")
    return grid(_MISSING, header, lines)


def _named_score(row: Published, name: str) -> str:
    score = value(row.scores[name], row.deviations.get(name))
    return score if name == ACCURACY else f"{name} {score}"
