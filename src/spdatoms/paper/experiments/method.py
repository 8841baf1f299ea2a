"""A method that experiments compare, and what is measured of it: how often it is right, and its seconds."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import numpy as np
from joblib import hash as digest_of

from spdatoms._utils.typing import Array, FloatArray, Indices
from spdatoms.geometry.channels import Mask, cut, known_channels, patterns
from spdatoms.paper.experiments.task import COVARIANCES, LabelledViews, Task

Kind: TypeAlias = Literal["usual", "variant", "slow", "external"]
#: Queries that are predicted to find out how long one takes.
_TIMED = 8


@dataclass(frozen=True)
class Setting:
    """What a method is made with in a repeat.

    Parameters
    ----------
    seed : int
        The seed of the repeat.
    n_jobs : int, default=None
        The number of threads.
    time_limit : float, default=None
        Seconds of processor time that the predictions of a repeat may take.
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
        The name, as in the tables of the paper.
    make : callable
        Returns a new estimator for a `Setting`.
    note : str, default=""
        What it is, in one line.
    kind : {"usual", "variant", "slow", "external"}, default="usual"
        A "variant" of a usual method has another rule or other parameters, a "slow" one takes long to
        compile or to run, and an "external" one needs another library. Without a choice of methods
        only the usual ones run on embedded data.
    view : str, default="covariances"
        The description of the samples that it works on.
    """

    name: str
    make: Callable[[Setting], Any]
    note: str = ""
    kind: Kind = "usual"
    view: str = COVARIANCES


def by_name(*methods: Method) -> dict[str, Method]:
    """Return methods by their names."""
    return {method.name: method for method in methods}


@dataclass(frozen=True)
class Outcome:
    """What a method reached in one repeat.

    Parameters
    ----------
    scores : dict of str to float
        The scores by name, in per cent.
    fit_seconds, predict_seconds : float
        Processor time, which other work on the machine changes little.
    extra : dict, default={}
        What figures need besides the scores: curves, predictions.
    note : str, default=""
        What a reader of the scores must know.
    """

    scores: dict[str, float]
    fit_seconds: float
    predict_seconds: float
    extra: dict[str, Any] = field(default_factory=dict)
    note: str = ""


def timed(call: Callable[..., Any], *arguments: Any) -> tuple[Any, float]:
    """Return what a call returns, and the seconds of processor time it took."""
    start = time.process_time()
    result = call(*arguments)
    return result, time.process_time() - start


def fitted(method: Method, task: Task, setting: Setting) -> tuple[Any, float]:
    """Return the method's estimator, fitted to the training samples, and the seconds it took."""
    train = task.train
    return timed(lambda: method.make(setting).fit(train.views[method.view], train.y))


def percentage(hits: Any) -> float:
    """Return the share of true values in per cent."""
    return 100.0 * float(np.mean(hits))


def predict_in_time(
    model: Any, X: Array, setting: Setting, share: float = 1.0
) -> tuple[Array, Indices]:
    """Return predictions, and the indices of their queries: all, or as many as the time allows.

    The time is a ``share`` of the limit. If it is not enough for all, the queries are random ones.
    """
    everything = np.arange(len(X))
    if setting.time_limit is None or len(X) <= _TIMED:
        return np.asarray(model.predict(X)), everything
    order = np.random.default_rng(setting.seed).permutation(len(X))
    model.predict(X[order[:1]])  # what is loaded or prepared once does not count
    first, seconds = timed(model.predict, X[order[:_TIMED]])
    first, each = np.asarray(first), seconds / _TIMED
    limit = share * setting.time_limit
    if each * len(X) <= limit:
        return np.asarray(model.predict(X)), everything
    asked = order[: max(_TIMED, int(limit / each))]
    rest = asked[_TIMED:]
    if not len(rest):
        return first, asked
    return np.concatenate([first, np.asarray(model.predict(X[rest]))]), asked


class Refitted:
    """A method that is fitted to the channels that queries have, once for all queries that have the same ones.

    Treatments and levels share a model, too, if their training matrices and labels are equal.

    Parameters
    ----------
    method : Method
        The method.
    setting : Setting
        What it is made with.
    """

    def __init__(self, method: Method, setting: Setting) -> None:
        self._method, self._setting = method, setting
        self._models: dict[tuple[str, bytes], Any] = {}
        self.fit_seconds = self.predict_seconds = 0.0

    def predict(self, train: LabelledViews, Q: FloatArray, *, whole: bool = False) -> Array:
        """Return the labels of queries, which a method gets as they are if they are to stay ``whole``."""
        X, predicted = train.views[self._method.view], np.empty(len(Q), train.y.dtype)
        known = np.ones(Q.shape[:2], np.bool_) if whole else known_channels(Q)
        content = str(digest_of((X, train.y)))
        for mask, rows in patterns(known):
            key = content, mask.tobytes()
            if key not in self._models:
                model = self._method.make(self._setting)
                _, seconds = timed(model.fit, _cut(X, mask), train.y)
                self._models[key] = model
                self.fit_seconds += seconds
            predicted[rows], seconds = timed(self._models[key].predict, _cut(Q[rows], mask))
            self.predict_seconds += seconds
        return predicted

    def outcome(self, scores: dict[str, float], **extra: Any) -> Outcome:
        """Return scores and what else there is to tell, with the seconds of all fits and predictions."""
        return Outcome(scores, self.fit_seconds, self.predict_seconds, extra)


def _cut(X: FloatArray, known: Mask) -> FloatArray:
    return X if known.all() else cut(X, known)
