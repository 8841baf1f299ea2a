"""What an experiment is: data, a protocol, methods to compare, and the figures that were published."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from spdatoms._utils.typing import Indices

Array = NDArray[Any]

#: The name of the score where there is only one.
ACCURACY = "accuracy"
COVARIANCES = "covariances"


@dataclass(frozen=True)
class Samples:
    """Labelled samples, described in one or several ways.

    Parameters
    ----------
    y : ndarray of shape (m,)
        The labels.
    views : dict of str to ndarray
        Descriptions of the same m samples by name, "covariances" (m, n, n) among them.
    """

    y: Array
    views: Mapping[str, Array]

    def take(self, indices: Any) -> Samples:
        """Return the samples with these ``indices``, numbers or a mask."""
        return Samples(self.y[indices], {name: view[indices] for name, view in self.views.items()})

    def __len__(self) -> int:
        return len(self.y)


@dataclass(frozen=True)
class Task:
    """What one repeat asks of a method: learn from some samples, name others.

    Parameters
    ----------
    train : Samples
        The labelled samples: what a classifier is fitted to, or the gallery.
    tests : dict of str to Samples
        What is to be classified, by the name of the score.
    learn : Samples, optional
        What a dictionary is learned from, where that is not `train`.
    parameters : dict
        Parameters of the methods that the part prescribes: the number of atoms.
    """

    train: Samples
    tests: Mapping[str, Samples]
    learn: Samples | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Setting:
    """What a method is made with in a repeat.

    Parameters
    ----------
    seed : int
        The seed of the repeat.
    n_jobs : int, optional
        The number of threads.
    time_limit : float, optional
        Seconds that the predictions of a repeat may take.
    """

    seed: int
    n_jobs: int | None = None
    time_limit: float | None = None


@dataclass(frozen=True)
class Method:
    """A named way to make an estimator.

    Parameters
    ----------
    name : str
        As in the tables of the paper.
    make : callable
        Returns a new estimator for a `Setting`.
    view : str
        The description of the samples that it wants.
    note : str
        What it is, in one line.
    """

    name: str
    make: Callable[[Setting], Any]
    view: str = COVARIANCES
    note: str = ""


@dataclass(frozen=True)
class Published:
    """A row of a published table, in per cent.

    Parameters
    ----------
    method : str
        The name of the method.
    scores : dict of str to float
        By the name of the score.
    deviations : dict of str to float
        Standard deviations, where they were given.
    part : str
        The part of the experiment that the row belongs to; the empty string stands for all.
    cited : bool
        Whether the method is only quoted here and not among those that can be run.
    """

    method: str
    scores: Mapping[str, float]
    deviations: Mapping[str, float] = field(default_factory=dict)
    part: str = ""
    cited: bool = False


@dataclass(frozen=True)
class Outcome:
    """What a method reached in one repeat.

    Parameters
    ----------
    scores : dict of str to float
        In per cent.
    fit_seconds, predict_seconds : float
        Wall-clock time.
    extra : dict
        What figures need beside the scores: curves, predictions.
    note : str
        Anything a reader of the score must know.
    """

    scores: dict[str, float]
    fit_seconds: float
    predict_seconds: float
    extra: dict[str, Any] = field(default_factory=dict)
    note: str = ""


class NoDataError(ValueError):
    """An experiment has no data to run on; the message says which folder it wants."""


class UnknownNameError(ValueError):
    """There is no experiment, method or part of a name; the message says which there are."""


class Experiment(ABC):
    """One table or figure: where its data are, how they are divided, what is measured.

    A subclass sets the class attributes and writes `load` and `task`; `evaluate` fits a method to the
    training samples and counts how often it names the others rightly, which most protocols are.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    #: The protocol, in a few sentences.
    protocol: ClassVar[str]
    #: What a folder of data must hold.
    wants: ClassVar[str]
    #: Its usual name inside a folder that holds several data sets.
    subfolder: ClassVar[str]
    published: ClassVar[tuple[Published, ...]] = ()
    #: Printed confusion matrices by method: names of the classes, and rows in %.
    published_confusions: ClassVar[Mapping[str, tuple[Sequence[str], Any]]] = {}
    #: How many repeats the protocol asks for, and how many do for a look at embedded data.
    repeats: ClassVar[int] = 20
    repeats_embedded: ClassVar[int | None] = None
    #: Whether data come with the package's dependencies, and how they differ.
    embedded: ClassVar[str] = ""
    #: How the data at hand differ from those of the paper.
    caveat: ClassVar[str] = ""
    #: The kind of figure: "bars", "sizes", "cmc" or "confusion".
    figure: ClassVar[str] = "bars"

    @abstractmethod
    def load(self, folder: Path | None, on_error: str = "raise") -> dict[str, Any]:
        """Return the data of every part by its name, from a ``folder`` or else the embedded ones.

        Files that are missing or cannot be read stop it before anything is computed, or are left out
        with a warning if ``on_error="warn"``.
        """

    @abstractmethod
    def task(self, data: Any, repeat: int, rng: np.random.Generator) -> Task:
        """Return what the ``repeat`` of this number asks, from the ``data`` of one part, by ``rng``."""

    @abstractmethod
    def methods(self) -> dict[str, Method]:
        """Return the methods that can be compared, in the order of the table."""

    def most_repeats(self, data: Any) -> int | None:
        """Return how many different repeats there can be with ``data``, None for any number."""
        return None

    def default_methods(self, embedded: bool) -> list[str]:
        """Return the names of the methods to run if none are asked for, on ``embedded`` data or others."""
        return list(self.methods())

    def evaluate(self, method: Method, task: Task, setting: Setting) -> Outcome:
        """Return the accuracy of a ``method`` in a ``task`` with a ``setting``.

        There is one for every test set, and their average where there are several.
        """
        model, fit_seconds = fitted(method, task, setting)
        start, scores, asked_of = time.perf_counter(), {}, []
        share = 1.0 / len(task.tests)
        for name, test in task.tests.items():
            predicted, asked = predict_in_time(model, test.views[method.view], setting, share)
            scores[name] = percentage(predicted == test.y[asked])
            if len(asked) < len(test):
                where = f" ({name})" if len(task.tests) > 1 else ""
                asked_of.append(f"{len(asked)} of {len(test)}{where}")
        if len(scores) > 1:
            scores["average"] = float(np.mean(list(scores.values())))
        seconds = time.perf_counter() - start
        note = f"{', '.join(asked_of)} queries for want of time" if asked_of else ""
        return Outcome(scores, fit_seconds, seconds, note=note)

    def place(self, folder: Path) -> Path:
        """Return where this experiment's data are: in ``folder`` itself, or in the usual one inside it."""
        inside = folder / self.subfolder
        return inside if inside.is_dir() else folder

    def no_embedded_data(self) -> NoDataError:
        """Return the error that says which folder is wanted."""
        return NoDataError(
            f"The experiment '{self.name}' has no embedded data: give --data FOLDER with {self.wants}."
        )


def fitted(method: Method, task: Task, setting: Setting) -> tuple[Any, float]:
    """Return the method's estimator, fitted to the training samples, and the seconds it took."""
    start = time.perf_counter()
    model = method.make(setting).fit(task.train.views[method.view], task.train.y)
    return model, time.perf_counter() - start


def percentage(hits: Any) -> float:
    """Return the share of true values in per cent."""
    return 100.0 * float(np.mean(hits))


#: Queries that are timed before the rest is asked for.
_TIMED = 8


def predict_in_time(
    model: Any, X: Array, setting: Setting, share: float = 1.0
) -> tuple[Array, Indices]:
    """Return predictions, and for which queries: all, or as many as a share of the time allows.

    If there is not enough of it, the queries are random ones.
    """
    everything = np.arange(len(X))
    if setting.time_limit is None or len(X) <= _TIMED:
        return np.asarray(model.predict(X)), everything
    order = np.random.default_rng(setting.seed).permutation(len(X))
    model.predict(X[order[:1]])  # what is compiled or prepared once does not count
    start = time.perf_counter()
    first = np.asarray(model.predict(X[order[:_TIMED]]))
    each = (time.perf_counter() - start) / _TIMED
    limit = share * setting.time_limit
    if each * len(X) <= limit:
        return np.asarray(model.predict(X)), everything
    asked = order[: max(_TIMED, int(limit / each))]
    rest = asked[_TIMED:]
    if not len(rest):
        return first, asked
    return np.concatenate([first, np.asarray(model.predict(X[rest]))]), asked
