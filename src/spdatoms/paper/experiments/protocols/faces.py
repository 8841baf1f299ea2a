"""Face recognition: the paper's table on the subset b of FERET."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from spdatoms.paper.experiments.experiment import (
    COVARIANCES,
    Experiment,
    LabelledViews,
    Method,
    Published,
    Task,
)
from spdatoms.paper.experiments.methods.classifiers import (
    alpha_chosen,
    classifiers,
    gabor_src,
    made,
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


def _row(method: str, *scores: float) -> Published:
    return Published(method, dict(zip((*TESTS, "average"), scores, strict=True)))


class Faces(Experiment):
    """Three frontal images of each person train; the person in every turned image is to be named."""

    name = "faces"
    title = "Face recognition"
    protocol = (
        "Subset b of FERET, 200 people. An image of 64×64 pixels becomes the 43×43 covariance of intensity, "
        "position and the magnitudes of 40 Gabor wavelets (8 orientations, 5 scales). The frontal images ba, bj and bk "
        "train; bd, be, bf and bg, turned to either side, are recognised one pose at a time."
    )
    wants = (
        "FERET's subset b: images by person and pose, ba.mat … bk.mat with ready covariances, or both, "
        "perhaps inside a folder 'feret_b'"
    )
    subfolder = "feret_b"
    caveat = (
        "'ready covariances' are 43×43 matrices as they come with the data, of the same people and poses as in "
        "the paper; 'from images' are ours, of images that were cut to 40×40 pixels by others and are brought to "
        "the 64×64 of the paper, so that detail is missing. In the file of these images the order of the poses "
        "was judged by eye. The variance of x in the ready covariances, 0.0412, is that of a window of 45 of 64 "
        "pixels. So 'from images' has wavelets of 20×20 pixels, and only the 45×45 pixels where they lie inside "
        "the image. The width of their envelopes, σ = 1.25π, is the best one for leaving out one of the training "
        "poses. RSR's α (0.01, and 0.05 for RSR-J, whose Gram matrix is indefinite) was once settled on the turned "
        "poses. On the training images (one pose left out in turn, `benchmarks/faces.py`) 0.01 is the best in the mean "
        "over RSR-S and RSR-J; RSR-S alone would take 0.001 (81.0 and 75.7 % there, 79.5 and 74.8 with 0.01), RSR-J "
        "0.03 and 0.01. The rows 'chosen α' have the α of the training images. "
        "Frontal images choose a smaller α than turned ones would: RSR-J loses up to two points by it, linear "
        "logEuc-SC five and SRC thirteen, RSR-S none; the rows 'default α' have 0.01, as RSR-S has. "
        "The rows of variants tell what does it: 'all pixels' has wavelets of three standard deviations, σ"
        " = π and a reflected border, 'inner pixels' the same in the window of 45 pixels, 'short wavelets' those "
        "of 20×20 pixels (σ = 1.25π) with a reflected border. The tighter window alone gives RSR-S two points, short "
        "wavelets alone as many, both together eight: then no wavelet reaches beyond the image. What is left: "
        "on the ready covariances every method is four to "
        "ten points above its published figure, TSC without its bound by thirty, and GSRC from images stays "
        "below; the authors' wavelets and their GSRC are not known in detail. For SRC the paper reports the best "
        "dimension found on the test data; here are several."
    )
    repeats = 1
    published = (
        _row("SRC", 27.5, 55.5, 61.0, 26.0, 42.5),
        _row("GSRC", 77.0, 93.5, 97.0, 79.0, 86.6),
        _row("logEuc-SC", 74.0, 94.0, 97.5, 80.5, 86.5),
        _row("TSC", 36.0, 73.0, 73.5, 44.5, 56.8),
        _row("RSR-J", 82.5, 94.5, 98.0, 83.5, 89.6),
        _row("RSR-S", 79.5, 96.5, 97.5, 86.0, 89.9),
    )

    def load(self, folder: Path | None, on_error: str = "raise") -> dict[str, LabelledViews]:
        """Return the faces as ready covariances, as images, or both, depending on the folder."""
        from spdatoms.paper.datasets import load_feret

        if folder is None:
            raise self.no_embedded_data()
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
        known = classifiers()
        settled = [
            Method(
                f"{name} chosen α",
                alpha_chosen(known[name].make, _ALPHAS, queries=600),
                note=f"{name}, α from 0.0003 to 0.1 chosen on the training images, one of three left out",
                kind="variant",
            )
            for name in ("RSR-S", "RSR-J")
        ]
        usual = {
            "logEuc-SC linear": ("LogEuclideanSparseClassifier", COVARIANCES),
            "SRC": ("PixelSparseClassifier", "images"),
        }
        settled += [
            Method(
                f"{name} default α",
                made("paper.baselines", kind),
                view,
                f"{name}, α = 0.01",
                "variant",
            )
            for name, (kind, view) in usual.items()
        ]
        return classifiers(*settled, *src(), gabor_src(), *other_views(_ALL, _INNER, _SHORT))


def _samples(faces: Any, views: dict[str, Any]) -> LabelledViews:
    return LabelledViews(faces.labels, {**views, _POSES: faces.groups})
