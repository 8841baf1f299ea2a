"""Classifiers on three data sets on which nothing was settled: no default, no grid, no form of a peer."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from spdatoms._utils.typing import Floats
from spdatoms.paper.datasets import load_covariances
from spdatoms.paper.experiments.experiment import NoDataError, described
from spdatoms.paper.protocols._columns import Column, column_of
from spdatoms.paper.protocols.classifiers import Classifiers

#: Files of matrices: the column, and how it is divided.
_FILES = {
    "utkinect": ("UTKinect", "half of the subjects"),
    "spoken_digits": ("spoken digits", "all but one subject"),
    "kth_tips2": ("KTH-TIPS2", "published"),
}
#: Correlations with a smaller eigenvalue are not safely definite: in single precision it would be rounding.
_LEAST = 1e-6
#: The part of its variance that every channel then gets as noise, that of `JointCovariance`.
_SHRINKAGE = 1e-4


@described
class Untouched(Classifiers):
    """Every classifier in every division of three data sets that nobody looked at before."""

    def read(self, folder: Path, on_error: str) -> dict[str, Column]:
        """Return the columns that the folder has files of; the name of one that had to be shrunk says so."""
        files = load_covariances(self.place(folder), definite=False, on_error=on_error)
        found: dict[str, Column] = {}
        for file, (name, rule) in _FILES.items():
            if file in files:
                X = np.asarray(files[file].data, np.float64)
                X = (X + X.swapaxes(1, 2)) / 2.0
                if not safely_definite(X):
                    name, X = f"{name}, shrunk", shrunk(X)
                found[name] = column_of(files[file], X, rule)
        if not found:
            raise NoDataError(f"{self.place(folder)} has none of {self.wants}.")
        return found


def safely_definite(X: Floats) -> bool:
    """Return whether the correlations of all matrices have eigenvalues above 1e-6."""
    variances = X.diagonal(axis1=1, axis2=2)
    if not variances.min() > 0.0:
        return False
    scales = 1.0 / np.sqrt(variances)
    correlations = X * scales[:, :, None] * scales[:, None, :]
    return bool(np.linalg.eigvalsh(correlations).min() > _LEAST)


def shrunk(X: Floats) -> Floats:
    """Return (1 − s) X + s diag(X), s = 1e-4; channels that are still get s times the mean variance of the set."""
    variances = X.diagonal(axis1=1, axis2=2)
    floor = _SHRINKAGE * variances.mean()
    noise = _SHRINKAGE * np.maximum(variances, floor)
    return np.asarray((1.0 - _SHRINKAGE) * X + noise[:, :, None] * np.eye(X.shape[-1]))
