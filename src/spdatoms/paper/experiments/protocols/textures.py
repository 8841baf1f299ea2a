"""Texture mosaics: the paper's figure on Brodatz textures."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from spdatoms._utils.typing import Array
from spdatoms.paper.experiments.division import drawn
from spdatoms.paper.experiments.experiment import (
    ACCURACY,
    COVARIANCES,
    Experiment,
    LabelledViews,
    Method,
    Outcome,
    Setting,
    Task,
)
from spdatoms.paper.experiments.methods.classifiers import classifiers, textons
from spdatoms.paper.experiments.methods.peers import ENSEMBLE, compared_classifiers
from spdatoms.paper.experiments.protocols import _imperfect_textures as imperfect
from spdatoms.paper.experiments.protocols import _texture_blocks as blocks

_SIDE = 256
TRAINING_BLOCKS = 5


class Textures(Experiment):
    """Five blocks of each texture train; the texture of every other block is to be named."""

    name = "textures"
    title = "Texture classification"
    protocol = (
        "Every image is brought to 256×256 pixels and cut into 64 blocks of 32×32; a block becomes the "
        "5×5 covariance of (I, |Ix|, |Iy|, |Ixx|, |Iyy|). Five random blocks of each texture train, "
        "the others are classified."
    )
    wants = (
        "the Brodatz plates (D1.png … D112.png), or with a folder 'brodatz' of them and perhaps a folder "
        "'randen' of the training patches of Randen's mosaics"
    )
    subfolder = "brodatz"
    embedded = (
        "These are not the textures of the paper: 60 blocks of each of six photographs that come with "
        "scikit-image. Beside the paper's protocol stand imperfect data: 13×13 covariances of the grey value and "
        "twelve Gabor filters, fifteen training blocks of each texture, a hundred queries, five repeats. 'Half "
        "missing': queries lack six of thirteen channels. This library's classifiers (the first three) take them as "
        "they are; the others are refitted to the channels of every query. 'One broken': one channel of a query has "
        "ten times its variance, and no method is told which. This library's classifiers stand behind its "
        "BrokenChannels; the others have nothing of the kind."
    )
    few_repeats: ClassVar[Mapping[str, int]] = dict.fromkeys(imperfect.PARTS, 5)
    missing = (
        ("mosaics 10v and 16v", "Randen's mosaics of these names, or which plates they consist of"),
    )
    caveat = (
        "The paper shows this experiment as bars without numbers, for nine mosaics; in words: RSR-S and "
        "RSR-J are best everywhere but on 5c, where TSC is slightly better. The plates of 5c and 16c were "
        "identified by matching, those of 10 are probable. 'patches' are the 32×16 training patches of "
        "Randen's mosaics, 49 per texture; that they are 5v, 5v2, 5v3 and 5m is probable. The plates at hand "
        "have 300×300 pixels; with blocks of their upper left "
        "256×256 pixels, not resampled, RSR-S and RSR-J gain three to four points on 16c: the level depends "
        "on the preparation."
    )

    def load(self, folder: Path | None, on_error: str = "raise") -> dict[str, Any]:
        """Return the blocks of every mosaic, or of photographs, perfect and imperfect."""
        from spdatoms.datasets import load_textures
        from spdatoms.paper.datasets import load_brodatz_mosaics, load_randen

        if folder is None:
            photographs = load_textures(block=blocks.BLOCK)
            plain = _samples(photographs.data, photographs.labels)
            views = {**plain.views, COVARIANCES: imperfect.filtered(photographs.data)}
            many = LabelledViews(plain.y, views)
            spoilt = {
                name: imperfect.FilteredTextures(many, fault)
                for name, fault in imperfect.PARTS.items()
            }
            return {"photographs": plain, **spoilt}
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
