"""Textures whose channels are missing or broken: what the embedded experiment shows beside the plain one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from spdatoms._utils.typing import Array, FloatArray
from spdatoms.channels import BrokenChannels
from spdatoms.descriptors import RegionCovariance, gabor_magnitudes
from spdatoms.paper.experiments.method import Method, Outcome, Refitted, Setting, percentage, timed
from spdatoms.paper.experiments.task import ACCURACY, COVARIANCES, LabelledViews, Task, drawn

Fault: TypeAlias = Literal["none", "missing", "broken"]
#: The wavelets of a bank: with the grey value they are thirteen channels.
_SCALES, _ORIENTATIONS = 3, 4
#: Training blocks of each texture, and the greatest number of queries.
_TRAINING, _QUERIES = 15, 100
#: Queries have one of this many sets of bad channels, as if they were from as many recordings.
_SETS = 5
#: How many times its variance a broken channel has.
_GAIN = 10.0
#: Methods that take matrices without some channels, and can leave broken ones out.
_OWN = ("SPDEnsembleClassifier", "RSR-S", "RSR-J")
PARTS: dict[str, Fault] = {
    "13 filters": "none",
    "half missing": "missing",
    "one broken": "broken",
}


@dataclass(frozen=True)
class FilteredTextures:
    """Blocks by the covariances of filters, and what is wrong with the queries among them."""

    samples: LabelledViews
    fault: Fault


def filtered(images: Iterable[Array]) -> FloatArray:
    """Return the 13×13 covariances of the grey value and twelve Gabor magnitudes, one per image."""
    return np.asarray(RegionCovariance(_channels).transform(list(images)))


def _channels(image: Array) -> Array:
    wavelets = gabor_magnitudes(image, scales=_SCALES, orientations=_ORIENTATIONS)
    return np.concatenate([np.asarray(image, np.float64)[..., None], wavelets], axis=-1)


def imperfect_task(data: FilteredTextures, rng: np.random.Generator) -> Task:
    """Take fifteen random blocks of each texture to train, a hundred others to test, and spoil the latter."""
    train, test = drawn(data.samples.y, _TRAINING, rng)
    queries = data.samples.take(np.sort(rng.permutation(test)[:_QUERIES]))
    queries = queries.with_covariances(spoilt(queries.views[COVARIANCES], data.fault, rng))
    return Task(data.samples.take(train), {ACCURACY: queries}, parameters={"fault": data.fault})


def spoilt(Q: FloatArray, fault: Fault, rng: np.random.Generator) -> FloatArray:
    """Return matrices half of whose channels are missing (NaN), or one of whose channels has ten times its variance."""
    m, n, _ = Q.shape
    count = {"none": 0, "missing": n // 2, "broken": 1}[fault]
    bad = (rng.random((_SETS, n)).argsort(axis=1) < count)[np.arange(m) % _SETS]
    gains = np.where(bad, np.nan if fault == "missing" else np.sqrt(_GAIN), 1.0)
    return np.asarray(Q * gains[:, :, None] * gains[:, None, :])


def evaluate_imperfect(method: Method, task: Task, setting: Setting) -> Outcome:
    """Return the accuracy on spoilt queries.

    This library's classifiers take them as they are, behind `BrokenChannels` if a channel is broken. The others are
    refitted to the channels of every query where some are missing, and cannot know which are broken.
    """
    train, test = task.train, task.tests[ACCURACY]
    X, Q = train.views[COVARIANCES], test.views[COVARIANCES]
    own, models = method.name in _OWN, Refitted(method, setting)
    if own and task.parameters["fault"] == "broken":
        detector, models.fit_seconds = timed(BrokenChannels().fit, X)
        Q, models.predict_seconds = timed(detector.transform, Q)
    predicted = models.predict(train, Q, whole=own)
    return models.outcome({ACCURACY: percentage(predicted == test.y)})
