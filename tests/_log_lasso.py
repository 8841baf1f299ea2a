"""Log-Euclidean sparse codes by SciPy's logarithm and scikit-learn's Lasso."""

from __future__ import annotations

import numpy as np
import scipy.linalg
from sklearn.linear_model import Lasso


def unit_logs(X: np.ndarray, scale: float) -> np.ndarray:
    """log(X/c) by SciPy, flattened whole, as unit vectors."""
    logs = np.stack([scipy.linalg.logm(x / scale).real.ravel() for x in X])
    return logs / np.linalg.norm(logs, axis=1, keepdims=True)


def scale_of(D: np.ndarray) -> float:
    return float(np.exp(np.mean(np.log(np.linalg.eigvalsh(D)))))


def lasso(v: np.ndarray, D: np.ndarray, alpha: float, positive: bool) -> np.ndarray:
    """Scikit-learn divides the squares by 2p, the library by nothing."""
    model = Lasso(
        alpha / (2 * len(v)), fit_intercept=False, tol=1e-14, max_iter=200_000, positive=positive
    )
    return model.fit(D.T, v).coef_
