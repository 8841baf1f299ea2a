"""The record of several experiments as one Markdown document."""

from __future__ import annotations

from collections.abc import Sequence

from spdatoms.experiments.experiment import Experiment
from spdatoms.experiments.reporting.table import to_markdown
from spdatoms.experiments.reporting.tables import remarks, tables
from spdatoms.experiments.results import Results

_HEAD = """# Results

Written by `spdatoms reproduce {experiment} --data FOLDER --out DIR --markdown FILE`. Every method runs with
its defaults, the same for all data sets, unless it says that it chooses its parameters, which it does on
training data alone. Rows in italics are the values published by Harandi et al. (2016). Accuracies are
means ± standard deviations over the repeats. Seconds are medians over the repeats, one thread on a shared
machine: take them as orders of magnitude."""


def record(entries: Sequence[tuple[Experiment, Results]], experiment: str) -> str:
    """Return a document with the protocol, tables and remarks of every experiment.

    Parameters
    ----------
    entries : sequence of (Experiment, Results)
        The experiments and their results.
    experiment : str
        The name on the command line, for the head of the document.

    Returns
    -------
    str
        Markdown.
    """
    head = _HEAD.format(experiment=experiment)
    return "\n\n".join([head, *(_section(*entry) for entry in entries)]) + "\n"


def _section(experiment: Experiment, results: Results) -> str:
    embedded = results.settings["data"] == "embedded"
    note = experiment.embedded if embedded else experiment.caveat
    parts = [f"## {experiment.title}", experiment.protocol, note, _methods(experiment, results)]
    for table in tables(experiment, results) if results.rows else ():
        parts += [f"### {table.title}", to_markdown(table)]
    parts.append("\n".join(f"- {remark}" for remark in remarks(experiment, results)))
    parts.append(_footer(results))
    return "\n\n".join(part for part in parts if part)


def _methods(experiment: Experiment, results: Results) -> str:
    ran = {row.method for row in results.rows}
    known = [method for method in experiment.methods().values() if method.name in ran]
    return "\n".join(f"- {method.name}: {method.note}" for method in known)


def _footer(results: Results) -> str:
    settings = results.settings
    names = ("python", "numpy", "scipy", "scikit-learn", "numba")
    software = [f"{name} {settings[name]}" for name in names if name in settings]
    versions = ", ".join([f"spdatoms {settings['version']}", *software])
    return f"Seed {settings['seed']}; {versions}."
