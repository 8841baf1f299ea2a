"""What an experiment is: data, a protocol, methods to compare, and the figures that were published."""

from __future__ import annotations

import sys
import time
import tomllib
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import numpy as np

from spdatoms.paper.experiments.method import (
    Method,
    Outcome,
    Setting,
    fitted,
    percentage,
    predict_in_time,
)
from spdatoms.paper.experiments.task import Task


@dataclass(frozen=True)
class Published:
    """A row of a published table, in per cent.

    Parameters
    ----------
    method : str
        The name of the method.
    scores : dict of str to float
        The scores by name.
    deviations : dict of str to float, default={}
        Standard deviations, where they were given.
    part : str, default=""
        The part of the experiment that the row belongs to; the empty string stands for all.
    cited : bool, default=False
        Whether the method is only quoted and cannot be run here.
    why : str, default=""
        What it would take to run a method that is only quoted.
    """

    method: str
    scores: Mapping[str, float]
    deviations: Mapping[str, float] = field(default_factory=dict)
    part: str = ""
    cited: bool = False
    why: str = ""


class NoDataError(ValueError):
    """An experiment has no data to run on; the message says which folder it needs."""


class UnknownNameError(ValueError):
    """There is no experiment, method or part of a name; the message says which there are."""


class Experiment(ABC):
    """One table or figure: where its data are, how they are divided, what is measured.

    A subclass sets the class attributes, most of them by `described`, and defines `read`, `task` and `methods`. The
    `evaluate` given here suits most protocols: it fits a method to the training samples and returns its accuracy on
    the test samples.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    #: The protocol, in a few sentences.
    protocol: ClassVar[str]
    #: What a folder of data must hold.
    wants: ClassVar[str]
    #: Its usual name inside a folder that holds several data sets.
    subfolder: ClassVar[str]
    published: ClassVar[Sequence[Published]] = ()
    #: Printed confusion matrices by method: names of the classes, and rows in %.
    published_confusions: ClassVar[Mapping[str, Sequence[Any]]] = {}
    #: The number of repeats of the protocol, and a smaller one for a first look at embedded data.
    repeats: ClassVar[int] = 20
    repeats_embedded: ClassVar[int | None] = None
    #: The numbers of repeats of methods and parts that take too long for all of them, by name.
    few_repeats: ClassVar[Mapping[str, int]] = {}
    #: Whether seconds are what is measured: nothing else may then run at the same time.
    timed: ClassVar[bool] = False
    #: Whether a repeat is one query, whose accuracy is 0 or 100 and has no deviation worth showing.
    single_queries: ClassVar[bool] = False
    #: Whether a method that raises an error has no score in a division, which a note says, and the others go on.
    errors_are_noted: ClassVar[bool] = False
    #: How the data that come with the package's dependencies differ; empty if there are none.
    embedded: ClassVar[str] = ""
    #: Whether they are drawn by a program, and stand in for data that are missing where all experiments are run.
    drawn: ClassVar[bool] = False
    #: How the data at hand differ from those of the paper.
    caveat: ClassVar[str] = ""
    #: What the paper has and these data do not, and what it would take.
    missing: ClassVar[Sequence[tuple[str, str]]] = ()
    #: The kind of figure: "bars", "sparsity", "cmc", "confusion", "curves", "imperfect", "seconds" or
    #: "descent".
    figure: ClassVar[str] = "bars"
    #: The kind of tables: "scores" beside published ones, "comparison" with the best of the others, "curves",
    #: "imperfect" data, "seconds" beside published ones, "descent" of an objective, or scores against "sparsity".
    table: ClassVar[str] = "scores"
    #: The method that others are compared with, and in a comparison with the best of peers the methods that are none.
    reference: ClassVar[str] = "RSR-S"
    own: ClassVar[Sequence[str]] = ()
    #: The peer to compare with, where it was named before looking. Empty for the best one of every column.
    peer: ClassVar[str] = ""
    #: The methods in the figure, where all would be too many to tell apart. Empty for all.
    in_figure: ClassVar[Sequence[str]] = ()

    def load(self, folder: Path | None, on_error: str = "raise") -> dict[str, Any]:
        """Return the data of every part.

        Parameters
        ----------
        folder : Path or None
            Where the data are; None stands for the embedded ones.
        on_error : {"raise", "warn"}, default="raise"
            What to do about files that are missing or cannot be read: stop before anything is
            computed, or leave them out with a warning.

        Returns
        -------
        dict
            The data by the name of the part.
        """
        return self.embedded_data() if folder is None else self.read(folder, on_error)

    @abstractmethod
    def read(self, folder: Path, on_error: str) -> dict[str, Any]:
        """Return the data of every part that a folder holds.

        Parameters
        ----------
        folder : Path
            Where the data are.
        on_error : {"raise", "warn"}
            As in `load`.

        Returns
        -------
        dict
            The data by the name of the part.
        """

    def embedded_data(self) -> dict[str, Any]:
        """Return the data of every part that need no folder.

        Returns
        -------
        dict
            The data by the name of the part.
        """
        raise NoDataError(
            f"The experiment '{self.name}' has no embedded data: give --data FOLDER with {self.wants}."
        )

    @abstractmethod
    def task(self, data: Any, repeat: int, rng: np.random.Generator) -> Task:
        """Return what the methods have to do in one repeat.

        Parameters
        ----------
        data : object
            The data of one part, see `load`.
        repeat : int
            The number of the repeat.
        rng : Generator
            The source of randomness.

        Returns
        -------
        Task
        """

    @abstractmethod
    def methods(self) -> dict[str, Method]:
        """Return the methods that can be compared.

        Returns
        -------
        dict of str to Method
            The methods by name, in the order of the table.
        """

    def most_repeats(self, data: Any) -> int | None:
        """Return how many different repeats there can be.

        Parameters
        ----------
        data : object
            The data of one part, see `load`.

        Returns
        -------
        int or None
            None if there is no limit.
        """
        return None

    def usual_repeats(self, embedded: bool) -> int:
        """Return the number of repeats that the protocol has.

        Parameters
        ----------
        embedded : bool
            Whether the data are the embedded ones.

        Returns
        -------
        int
        """
        return (self.repeats_embedded if embedded else None) or self.repeats

    def few(self, part: str, method: str) -> float:
        """Return the number of repeats that a method in a part is limited to because it takes long.

        Returns
        -------
        float
            Infinity if there is no limit.
        """
        return min(self.few_repeats.get(name, np.inf) for name in (part, method))

    def default_methods(self, embedded: bool) -> list[str]:
        """Return the methods to run if none are chosen.

        Parameters
        ----------
        embedded : bool
            Whether the data are the embedded ones.

        Returns
        -------
        list of str
            The names of all methods, or of the usual ones on embedded data.
        """
        methods = self.methods().values()
        return [method.name for method in methods if not embedded or method.kind == "usual"]

    def evaluate(self, method: Method, task: Task, setting: Setting) -> Outcome:
        """Return the accuracy of a method.

        Parameters
        ----------
        method : Method
            The method.
        task : Task
            The samples to learn from and to classify.
        setting : Setting
            The seed, the number of threads and the time limit.

        Returns
        -------
        Outcome
            A score for every test set, and their average where there are several.
        """
        from spdatoms.paper.methods.codes import nonzeros_of

        model, fit_seconds = fitted(method, task, setting)
        start, scores, asked_of = time.process_time(), {}, []
        units: dict[str, list[int]] = {}
        share = 1.0 / len(task.tests)
        for name, test in task.tests.items():
            predicted, asked = predict_in_time(model, test.views[method.view], setting, share)
            hits = predicted == test.y[asked]
            scores[name] = percentage(hits)
            # Of a single division the queries are what methods can be compared on.
            if self.repeats == 1:
                units |= {f"{name} {i}": [int(hit), 1] for i, hit in zip(asked, hits, strict=True)}
            if len(asked) < len(test):
                where = f" ({name})" if len(task.tests) > 1 else ""
                asked_of.append(f"{len(asked)} of {len(test)}{where}")
        if len(scores) > 1:
            scores["average"] = float(np.mean(list(scores.values())))
        seconds = time.process_time() - start
        extra: dict[str, Any] = {"units": units} if units else {}
        nonzeros = nonzeros_of(model, next(iter(task.tests.values())).views[method.view])
        if nonzeros is not None:
            extra["nonzeros"] = nonzeros
        if hasattr(model, "alpha_"):
            extra["alpha"] = model.alpha_
        note = f"{', '.join(asked_of)} queries because time ran out" if asked_of else ""
        return Outcome(scores, fit_seconds, seconds, extra, note)

    def place(self, folder: Path) -> Path:
        """Return where the data of this experiment are.

        Parameters
        ----------
        folder : Path
            A folder of these data, or of several data sets.

        Returns
        -------
        Path
            The folder with the usual name inside it, or the folder itself.
        """
        inside = folder / self.subfolder
        return inside if inside.is_dir() else folder


Described = TypeVar("Described", bound=type[Experiment])


def described(experiment: Described) -> Described:
    """Decorate an experiment: a file beside its module, with the ending .toml, has its class attributes."""
    module = sys.modules[experiment.__module__]
    found = tomllib.loads(Path(str(module.__file__)).with_suffix(".toml").read_text("utf-8"))
    found.setdefault("few_repeats", {})  # not those of a base class
    found["missing"] = [(m["what"], m["takes"]) for m in found.get("missing", ())]
    found["published"] = [Published(**row) for row in found.get("published", ())]
    for name, value in found.items():
        setattr(experiment, name, " ".join(value.split()) if isinstance(value, str) else value)
    return experiment
