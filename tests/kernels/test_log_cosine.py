"""Sparse codes with cosines of logarithms, against scikit-learn's Lasso on explicit vectors."""

from __future__ import annotations

import numpy as np
import pytest

from _log_lasso import lasso, scale_of, unit_logs
from _matrices import random_spd
from spdatoms import LogEuclideanSparseCoder


@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("rescale", [False, True])
@pytest.mark.parametrize("alpha", [0.02, 0.2])
def test_codes_equal_scikit_learns_lasso(rescale, positive, alpha) -> None:
    D, X = random_spd(12, 5, scale=3.0, seed=1), random_spd(8, 5, scale=3.0, seed=2)
    coder = LogEuclideanSparseCoder(D, alpha=alpha, rescale=rescale, positive=positive).fit(D)
    c = scale_of(D) if rescale else 1.0
    atoms, queries = unit_logs(D, c), unit_logs(X, c)
    expected = [lasso(v, atoms, alpha, positive) for v in queries]
    np.testing.assert_allclose(coder.transform(X), expected, atol=1e-7)
    assert np.any(np.asarray(expected) != 0)


def test_multiples_of_the_identity_have_no_direction() -> None:
    with pytest.raises(ValueError, match="same multiple of the identity"):
        LogEuclideanSparseCoder().fit(3.0 * np.stack([np.eye(3)] * 4))


def test_without_rescaling_the_unit_matters() -> None:
    X = random_spd(10, 3, seed=4)
    coder = LogEuclideanSparseCoder(rescale=False)
    plain = coder.fit(X[2:]).transform(X[:2])
    other = coder.fit(100.0 * X[2:]).transform(100.0 * X[:2])
    assert np.abs(plain - other).max() > 1e-3
