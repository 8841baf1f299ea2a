"""The width of the wavelets of faces, chosen without test poses.

``python benchmarks/faces.py FOLDER`` (FERET's subset b, images). For widths σ of the descriptor of the experiment
'faces': the accuracy of RSR-S and RSR-J where one of the three training poses is left out in turn. The width with the
largest mean is that of the experiment. No turned pose is used.
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import numpy as np

from spdatoms import SPDSparseClassifier
from spdatoms.descriptors import FaceCovariance
from spdatoms.paper.datasets import load_feret
from spdatoms.paper.experiments.protocols.faces import DESCRIPTOR, TRAINING

WIDTHS = (0.75, 1.0, 1.25, 1.5, 2.0)


def left_out(X: np.ndarray, y: np.ndarray, poses: np.ndarray, metric: str) -> float:
    """Return the mean accuracy in percent over the training poses, each left out once."""
    scores = []
    for pose in TRAINING:
        kept = poses != pose
        model = SPDSparseClassifier(metric).fit(X[kept], y[kept])
        scores.append(100 * model.score(X[~kept], y[~kept]))
    return float(np.mean(scores))


def main() -> None:
    """Print a table."""
    warnings.simplefilter("ignore")  # that the kernel of RSR-J is indefinite
    faces = load_feret(Path(sys.argv[1]), kind="images", size=(64, 64))
    frontal = np.isin(faces.groups, TRAINING)
    images, y, poses = (np.asarray(of)[frontal] for of in (faces.data, faces.labels, faces.groups))
    print("| σ/π | RSR-S | RSR-J | mean |\n|---|---|---|---|")
    for width in WIDTHS:
        descriptor = FaceCovariance(**DESCRIPTOR | {"sigma": width * np.pi})
        X = descriptor.fit_transform(images)
        scores = [left_out(X, y, poses, metric) for metric in ("stein", "jeffrey")]
        print("|", " | ".join(f"{value:.2f}" for value in (width, *scores, np.mean(scores))), "|")


if __name__ == "__main__":
    main()
