"""Texture mosaics: the paper's figure on Brodatz textures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from spdatoms._utils.typing import Array
from spdatoms.paper.experiments.experiment import Experiment, described
from spdatoms.paper.experiments.method import Method, Outcome, Setting
from spdatoms.paper.experiments.task import ACCURACY, COVARIANCES, LabelledViews, Task, drawn
from spdatoms.paper.methods.classifiers import classifiers, textons
from spdatoms.paper.methods.peers import ENSEMBLE, compared_classifiers
from spdatoms.paper.protocols import _imperfect_textures as imperfect
from spdatoms.paper.protocols import _texture_blocks as blocks

_SIDE = 256
TRAINING_BLOCKS = 5


@described
class Textures(Experiment):
    """Five blocks of each texture train; the texture of every other block is to be named."""

    def embedded_data(self) -> dict[str, Any]:
        """Return the blocks of photographs, perfect and imperfect."""
        from spdatoms.datasets import load_textures

        photographs = load_textures(block=blocks.BLOCK)
        plain = _samples(photographs.data, photographs.labels)
        views = {**plain.views, COVARIANCES: imperfect.filtered(photographs.data)}
        many = LabelledViews(plain.y, views)
        faults = imperfect.PARTS.items()
        spoilt = {name: imperfect.FilteredTextures(many, fault) for name, fault in faults}
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
        data: LabelledViews | imperfect.FilteredTextures,
        repeat: int,
        rng: np.random.Generator,
    ) -> Task:
        """Take five random blocks of each texture to train, the others to test."""
        if isinstance(data, imperfect.FilteredTextures):
            return imperfect.imperfect_task(data, rng)
        train, test = drawn(data.y, TRAINING_BLOCKS, rng)
        return Task(data.take(train), {ACCURACY: data.take(test)})

    def methods(self) -> dict[str, Method]:
        """Return the recommended classifier, those of the paper, and textons of the pixels."""
        return {ENSEMBLE: compared_classifiers()[ENSEMBLE], **classifiers(textons())}

    def evaluate(self, method: Method, task: Task, setting: Setting) -> Outcome:
        """Return the accuracy; where queries are imperfect, by what a method can do about it."""
        imperfections = task.parameters.get("fault", "none") != "none"
        if imperfections and method.view == COVARIANCES:
            return imperfect.evaluate_imperfect(method, task, setting)
        return super().evaluate(method, task, setting)


def _samples(images: Any, labels: Array, covariances: Array | None = None) -> LabelledViews:
    """Return blocks as images and as covariances, by default those of each image for itself."""
    if covariances is None:
        covariances = blocks.of_whole(images)
    return LabelledViews(labels, {COVARIANCES: covariances, "images": np.asarray(images)})
