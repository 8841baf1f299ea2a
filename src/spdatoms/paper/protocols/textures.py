"""Texture mosaics: the paper's figure on Brodatz textures; embedded ones also with channels missing or broken."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np

from spdatoms._utils.typing import Array, FloatArray
from spdatoms.channels import BrokenChannels
from spdatoms.descriptors import RegionCovariance, gabor_magnitudes
from spdatoms.paper.experiments.experiment import Experiment, described
from spdatoms.paper.experiments.method import Method, Outcome, Refitted, Setting, percentage, timed
from spdatoms.paper.experiments.task import ACCURACY, COVARIANCES, LabelledViews, Task, drawn
from spdatoms.paper.methods.classifiers import classifiers, textons
from spdatoms.paper.methods.peers import ENSEMBLE, compared_classifiers
from spdatoms.paper.protocols import _texture_blocks as blocks

_SIDE = 256
TRAINING_BLOCKS = 5
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


@described
class Textures(Experiment):
    """Five blocks of each texture train; the texture of every other block is to be named."""

    def embedded_data(self) -> dict[str, Any]:
        """Return the blocks of photographs, perfect and imperfect."""
        from spdatoms.datasets import load_textures

        photographs = load_textures(block=blocks.BLOCK)
        plain = _samples(photographs.data, photographs.labels)
        views = {**plain.views, COVARIANCES: filtered(photographs.data)}
        many = LabelledViews(plain.y, views)
        faults = PARTS.items()
        spoilt = {name: FilteredTextures(many, fault) for name, fault in faults}
        return {"photographs": plain, **spoilt}

    def read(self, folder: Path, on_error: str) -> dict[str, Any]:
        """Return the blocks of every mosaic."""
        from spdatoms.paper.datasets import load_brodatz_mosaics, load_randen

        parts: dict[str, Any] = {}
        mosaics = load_brodatz_mosaics(self.place(folder), crop=None, on_error=on_error)
        for name, plates in mosaics.items():
            images = [blocks.resampled(image, _SIDE) for image in plates.data]
            covariances = [blocks.side_by_side(image) for image in images]
            labels = np.repeat(plates.labels, [len(stack) for stack in covariances])
            pixels = np.concatenate([blocks.pixels_side_by_side(image) for image in images])
            parts[name] = _samples(pixels, labels, np.concatenate(covariances))
        if (folder / "randen").is_dir():
            for name, patches in load_randen(folder / "randen", on_error=on_error).items():
                parts[f"{name} patches"] = _samples(patches.data, patches.labels)
        return parts

    def task(
        self,
        data: LabelledViews | FilteredTextures,
        repeat: int,
        rng: np.random.Generator,
    ) -> Task:
        """Take five random blocks of each texture to train, the others to test."""
        if isinstance(data, FilteredTextures):
            return imperfect_task(data, rng)
        train, test = drawn(data.y, TRAINING_BLOCKS, rng)
        return Task(data.take(train), {ACCURACY: data.take(test)})

    def methods(self) -> dict[str, Method]:
        """Return the recommended classifier, those of the paper, and textons of the pixels."""
        return {ENSEMBLE: compared_classifiers()[ENSEMBLE], **classifiers(textons())}

    def evaluate(self, method: Method, task: Task, setting: Setting) -> Outcome:
        """Return the accuracy; where queries are imperfect, by what a method can do about it."""
        imperfections = task.parameters.get("fault", "none") != "none"
        if imperfections and method.view == COVARIANCES:
            return evaluate_imperfect(method, task, setting)
        return super().evaluate(method, task, setting)


def _samples(images: Any, labels: Array, covariances: Array | None = None) -> LabelledViews:
    """Return blocks as images and as covariances, by default those of each image for itself."""
    if covariances is None:
        covariances = blocks.of_whole(images)
    return LabelledViews(labels, {COVARIANCES: covariances, "images": np.asarray(images)})


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
