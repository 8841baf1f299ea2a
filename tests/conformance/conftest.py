"""Data of the conformance suite."""

from __future__ import annotations

import numpy as np
import pytest

from conformance.estimators import targets


@pytest.fixture
def labelled(
    request: pytest.FixtureRequest, labelled: tuple[np.ndarray, np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """Return matrices with what the estimator of the test is to learn of them: labels, or numbers."""
    X, y = labelled
    callspec = getattr(request.node, "callspec", None)
    return X, targets(callspec.params.get("estimator"), y) if callspec else y
