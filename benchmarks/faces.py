"""The width of the wavelets of faces, and the penalty α of RSR, chosen without test poses.

``python benchmarks/faces.py FOLDER`` (FERET's subset b, images and ready covariances). For widths σ of the descriptor
of the experiment 'faces', then for values of α: the accuracy of RSR-S and RSR-J where one of the three training poses
is left out in turn. The width with the largest mean is that of the experiment. No turned pose is used.
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import numpy as np

from spdatoms import SPDSparseClassifier
from spdatoms.descriptors import FaceCovariance
from spdatoms.paper.datasets import load_feret
from spdatoms.paper.protocols.faces import DESCRIPTOR, TRAINING

WIDTHS = (0.75, 1.0, 1.25, 1.5, 2.0)
ALPHAS = (0.0003, 0.001, 0.003, 0.01, 0.03, 0.05, 0.1, 0.2)
METRICS = ("stein", "jeffrey")


def left_out(
    X: np.ndarray, y: np.ndarray, poses: np.ndarray, metric: str, alpha: float | str = "auto"
) -> float:
    """Return the mean accuracy in percent over the training poses, each left out once."""
    scores = []
    for pose in TRAINING:
        kept = poses != pose
        model = SPDSparseClassifier(metric, alpha=alpha).fit(X[kept], y[kept])
        scores.append(100 * model.score(X[~kept], y[~kept]))
    return float(np.mean(scores))


def main() -> None:
    """Print two tables."""
    warnings.simplefilter("ignore")  # that the kernel of RSR-J is indefinite
    folder = Path(sys.argv[1])
    faces = load_feret(folder, kind="images", size=(64, 64))
    ready = load_feret(folder, kind="covariances")
    frontal = np.isin(faces.groups, TRAINING)
    images, y, poses = (np.asarray(of)[frontal] for of in (faces.data, faces.labels, faces.groups))
    print("| σ/π | RSR-S | RSR-J | mean |\n|---|---|---|---|")
    for width in WIDTHS:
        X = FaceCovariance(**DESCRIPTOR | {"sigma": width * np.pi}).fit_transform(images)
        row(width, [left_out(X, y, poses, metric) for metric in METRICS])
    known = np.isin(ready.groups, TRAINING)
    sets = (
        (np.asarray(ready.data)[known], ready.labels[known], ready.groups[known]),
        (FaceCovariance(**DESCRIPTOR).fit_transform(images), y, poses),
    )
    print("\n| α | RSR-S, ready | RSR-J, ready | RSR-S, images | RSR-J, images | mean |")
    print("|---|---|---|---|---|---|")
    for alpha in ALPHAS:
        row(alpha, [left_out(X, y, p, metric, alpha) for X, y, p in sets for metric in METRICS])


def row(first: float, scores: list[float]) -> None:
    """Print a row with the mean of its scores."""
    cells = (f"{first:g}", *(f"{value:.2f}" for value in (*scores, np.mean(scores))))
    print("|", " | ".join(cells), "|", flush=True)


if __name__ == "__main__":
    main()
