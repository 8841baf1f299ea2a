"""Greedy codes in feature space: scikit-learn's pursuit as oracle."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import orthogonal_mp_gram

from _matrices import random_spd
from spdatoms import DivergenceKernel, SPDSparseCoder
from spdatoms.paper.baselines import KernelPursuitClassifier, KernelPursuitCoder


@pytest.mark.parametrize("metric", ["stein", "jeffrey", "logeuclid"])
def test_codes_are_those_of_scikit_learn(metric) -> None:
    X = random_spd(30, 4, seed=0)
    D, Q = X[:18], X[18:]
    coder = KernelPursuitCoder(metric=metric, n_nonzero=4).fit(D)
    kernel = DivergenceKernel(metric).fit(D)
    expected = orthogonal_mp_gram(kernel.gram_, kernel.cross(Q).T, n_nonzero_coefs=4).T
    np.testing.assert_allclose(coder.transform(Q), expected, atol=1e-7)
    np.testing.assert_array_equal(
        KernelPursuitCoder(D, metric, n_nonzero=4).fit(Q).transform(Q), coder.transform(Q)
    )


def test_least_squares_on_its_support_is_what_the_lasso_tends_to() -> None:
    """With all atoms allowed the pursuit solves Ky = k, as the Lasso does without a penalty."""
    X = random_spd(16, 3, seed=1)
    greedy = KernelPursuitCoder(X[:8], n_nonzero=8).fit(X).transform(X[8:])
    beta = DivergenceKernel().fit(X[:8]).beta_
    exact = SPDSparseCoder(X[:8], beta=beta, alpha=0.0).fit(X).transform(X[8:])
    np.testing.assert_allclose(greedy, exact, atol=1e-6)


def test_residuals_written_out() -> None:
    X = random_spd(24, 3, seed=2)
    y = np.arange(16) % 3
    model = KernelPursuitClassifier(n_nonzero=3).fit(X[:16], y)
    K, k = model.kernel_.gram_, model.kernel_.cross(X[16:])
    codes = KernelPursuitCoder(X[:16], n_nonzero=3).fit(X).transform(X[16:])
    for scores, code, cross in zip(model.decision_function(X[16:]), codes, k, strict=True):
        for c in range(3):
            part = np.where(y == c, code, 0.0)
            assert scores[c] == pytest.approx(2 * part @ cross - part @ K @ part, abs=1e-10)


def test_weights_are_lengths_of_atoms() -> None:
    X = random_spd(24, 3, seed=2)
    y, w = np.arange(16) % 3, np.linspace(0.1, 4.0, 16)
    model = KernelPursuitClassifier(n_nonzero=3).fit(X[:16], y, sample_weight=w)
    K, k = model.kernel_.gram_, model.kernel_.cross(X[16:])
    lengths = np.sqrt(w / w.mean())
    codes = (
        lengths
        * orthogonal_mp_gram(np.outer(lengths, lengths) * K, (lengths * k).T, n_nonzero_coefs=3).T
    )
    for scores, code, cross in zip(model.decision_function(X[16:]), codes, k, strict=True):
        for c in range(3):
            part = np.where(y == c, code, 0.0)
            assert scores[c] == pytest.approx(2 * part @ cross - part @ K @ part, abs=1e-7)


def test_wrong_numbers() -> None:
    X = random_spd(4, 2, seed=3)
    for model in (KernelPursuitCoder(n_nonzero=0), KernelPursuitClassifier(n_nonzero=0)):
        with pytest.raises(ValueError, match="n_nonzero"):
            model.fit(X, [0, 1, 0, 1])
