"""The experiments of the paper, each a table or a figure, and what it takes to run them again.

An `Experiment` loads data, divides them in every repeat and lists the methods to compare. `run`
computes the rows that a file of results does not hold yet. `spdatoms.paper.reporting` makes
tables, figures and a page of them.

>>> from spdatoms.paper.experiments import get_experiment, run
>>> experiment = get_experiment("textures")
>>> results = run(experiment, methods=["RSR-S"], parts=["photographs"], repeats=1)
>>> [summary.method for summary in results.summaries()]
['RSR-S']

On the command line this is ``spdatoms reproduce textures``.
"""

from __future__ import annotations

from importlib import import_module

from spdatoms._utils import parameters as allow
from spdatoms._utils.text import suggestion
from spdatoms.paper.experiments.experiment import (
    Experiment,
    NoDataError,
    Published,
    UnknownNameError,
)
from spdatoms.paper.experiments.method import Method, Outcome, Setting
from spdatoms.paper.experiments.results import Results, Row, SettingsError, Summary, read_results
from spdatoms.paper.experiments.runner import RESULTS_FILE, run
from spdatoms.paper.experiments.task import LabelledViews, Task

#: The file in `protocols` and the class of each experiment.
_HOME = {
    "textures": ("textures", "Textures"),
    "texture-dictionaries": ("texture_dictionaries", "TextureDictionaries"),
    "faces": ("faces", "Faces"),
    "actions": ("actions", "Actions"),
    "materials": ("materials", "Materials"),
    "reidentification": ("reidentification", "Reidentification"),
    "sports": ("sports", "Sports"),
    "time": ("timing", "Time"),
    "objective": ("objective", "Objective"),
    "classifiers": ("classifiers", "Classifiers"),
    "curves": ("curves", "Curves"),
    "imperfect": ("imperfect", "Imperfect"),
    "untouched": ("untouched", "Untouched"),
}
EXPERIMENTS = tuple(_HOME)

__all__ = [
    "EXPERIMENTS",
    "RESULTS_FILE",
    "Experiment",
    "LabelledViews",
    "Method",
    "NoDataError",
    "Outcome",
    "Published",
    "Results",
    "Row",
    "Setting",
    "SettingsError",
    "Summary",
    "Task",
    "UnknownNameError",
    "get_experiment",
    "read_results",
    "run",
]


@allow.checks(name=allow.TEXT)
def get_experiment(name: str) -> Experiment:
    """Return an experiment by its name.

    Parameters
    ----------
    name : str
        One of `EXPERIMENTS`.

    Returns
    -------
    Experiment
        A new one.
    """
    if name not in _HOME:
        raise UnknownNameError(
            f"There is no experiment {name!r}; the names are {', '.join(EXPERIMENTS)}.{suggestion(name, EXPERIMENTS)}"
        )
    module, kind = _HOME[name]
    experiment: Experiment = getattr(import_module(f"spdatoms.paper.protocols.{module}"), kind)()
    return experiment
