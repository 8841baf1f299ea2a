"""Face recognition: the paper's table on the subset b of FERET."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from spdatoms.paper import baselines
from spdatoms.paper.experiments.experiment import Experiment, described
from spdatoms.paper.experiments.method import Method
from spdatoms.paper.experiments.task import COVARIANCES, LabelledViews, Task
from spdatoms.paper.methods.classifiers import (
    alpha_chosen,
    classifiers,
    gabor_src,
    made,
    noted,
    other_views,
    src,
)

TRAINING, TESTS = ("ba", "bj", "bk"), ("bd", "be", "bf", "bg")
_SIDE = 64
_POSES = "poses"
#: The α of RSR to choose from on the training images.
_ALPHAS = (0.01, 0.0003, 0.001, 0.003, 0.03, 0.1)
#: The descriptor that the ready covariances betray; σ is chosen on the training poses (benchmarks/faces.py).
DESCRIPTOR: dict[str, Any] = {"sigma": 1.25 * np.pi, "size": 20, "border": "valid"}
_WINDOW, _MARGIN = 45, 9  # the pixels around which 20×20 wavelets lie inside 64×64
# What is left of the present descriptor, one property at a time.
_ALL, _INNER, _SHORT = "all pixels", "inner pixels", "short wavelets"


@described
class Faces(Experiment):
    """Three frontal images of each person train; the person in every turned image is to be named."""

    def read(self, folder: Path, on_error: str) -> dict[str, LabelledViews]:
        """Return the faces as ready covariances, as images, or both, depending on the folder."""
        from spdatoms.paper.datasets import load_feret

        place, parts = self.place(folder), {}
        if (place / f"{TRAINING[0]}.mat").exists():
            ready = load_feret(place, kind="covariances", on_error=on_error)
            parts["ready covariances"] = _samples(ready, {COVARIANCES: ready.data})
        if not parts or any(place.glob("images*.mat")):
            parts["from images"] = self._from_images(place, on_error)
        return parts

    def _from_images(self, place: Path, on_error: str) -> LabelledViews:
        from spdatoms.descriptors import FaceCovariance
        from spdatoms.paper.datasets import load_feret

        faces = load_feret(place, kind="images", size=(_SIDE, _SIDE), on_error=on_error)
        # Windows at 0, 9 and 18 pixels in both directions: the fifth is the inner one.
        windows = FaceCovariance(block=_WINDOW, step=_MARGIN).transform_regions(faces.data)
        short = DESCRIPTOR | {"border": "reflect"}
        views = {
            COVARIANCES: FaceCovariance(**DESCRIPTOR).fit_transform(faces.data),
            _ALL: FaceCovariance().fit_transform(faces.data),
            _INNER: np.stack([of_image[4] for of_image in windows]),
            _SHORT: FaceCovariance(**short).fit_transform(faces.data),
            "images": np.asarray(faces.data),
        }
        return _samples(faces, views)

    def most_repeats(self, data: Any) -> int:
        """Return 1: there is one division."""
        return 1

    def task(self, data: LabelledViews, repeat: int, rng: np.random.Generator) -> Task:
        """Take the frontal images to train, each of the other poses as a test."""
        poses = data.views[_POSES]
        tests = {pose: data.take(poses == pose) for pose in TESTS}
        return Task(data.take(np.isin(poses, TRAINING)), tests)

    def methods(self) -> dict[str, Method]:
        """Return the classifiers, and those on images."""
        known, linear = classifiers(), made(baselines.LogEuclideanSparseClassifier)
        settled = [
            noted(f"{name} chosen α", alpha_chosen(known[name].make, _ALPHAS, 600), "variant")
            for name in ("RSR-S", "RSR-J")
        ]
        pixels = made(baselines.PixelSparseClassifier)
        return classifiers(
            *settled,
            noted("logEuc-SC linear default α", linear, "variant"),
            noted("SRC default α", pixels, "variant", "images"),
            *src(),
            gabor_src(),
            *other_views(_ALL, _INNER, _SHORT),
        )


def _samples(faces: Any, views: dict[str, Any]) -> LabelledViews:
    return LabelledViews(faces.labels, {**views, _POSES: faces.groups})
