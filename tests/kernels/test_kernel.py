"""Kernels: the Gram matrix, cross values, precision and conventions."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from _matrices import random_spd
from spdatoms import DivergenceKernel, pairwise_divergence
from spdatoms.exceptions import IndefiniteKernelWarning
from spdatoms.kernels.bandwidth import kernel_values

SYMMETRIC = ["stein", "jeffrey", "riemann", "logeuclid", "euclid"]


# --- Values ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("metric", SYMMETRIC)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_values(metric, dtype):
    D, X = random_spd(7, 4, dtype=dtype), random_spd(5, 4, seed=1, dtype=dtype)
    kernel = DivergenceKernel(metric=metric, beta=1.5, correction="none").fit(D)
    tolerance = 1e-4 if dtype is np.float32 else 1e-12
    assert kernel.beta_ == 1.5
    assert kernel.n_features_in_ == 4
    assert not kernel.corrected_
    expected = np.exp(-1.5 * pairwise_divergence(D.astype(np.float64), metric=metric))
    np.testing.assert_allclose(kernel.gram_, expected, rtol=tolerance)
    np.testing.assert_array_equal(kernel.gram_.diagonal(), 1.0)
    expected = np.exp(-1.5 * pairwise_divergence(X.astype(np.float64), D, metric))
    np.testing.assert_allclose(kernel.cross(X), expected, rtol=tolerance)
    assert kernel.gram_.dtype == kernel.cross(X).dtype == np.float64


def test_distant_matrices_have_the_kernel_value_zero():
    values = kernel_values(np.array([0.0, 1.0, 740.0, 1e300]), 1.0)
    np.testing.assert_array_equal(values, [1.0, np.exp(-1.0), 0.0, 0.0])


def test_extreme_eigenvalues():
    D = random_spd(9, 3)
    kernel = DivergenceKernel(beta=0.5).fit(D)
    eigenvalues = np.linalg.eigvalsh(np.exp(-0.5 * pairwise_divergence(D)))
    assert kernel.min_eigenvalue_ == pytest.approx(eigenvalues[0], rel=1e-9)
    assert kernel.max_eigenvalue_ == pytest.approx(eigenvalues[-1], rel=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_duplicate_atoms_are_not_indefinite(dtype):
    for count in (2, 30):
        D = np.repeat(random_spd(6, 4, dtype=dtype), count, axis=0)
        with warnings.catch_warnings():
            warnings.simplefilter("error", IndefiniteKernelWarning)
            for metric in ("stein", "logeuclid"):
                kernel = DivergenceKernel(metric=metric, beta=1.5, correction="none").fit(D)
                assert not kernel.corrected_
                assert abs(kernel.min_eigenvalue_) <= 1e-3


# --- Use ------------------------------------------------------------------------------------------


def test_refusals():
    D = random_spd(4, 3)
    with pytest.raises(ValueError, match="metric must have a kernel, but the burg"):
        DivergenceKernel(metric="burg").fit(D)
    with pytest.raises(ValueError, match=r"D\[0\] is not positive definite"):
        DivergenceKernel().fit(-D)
    kernel = DivergenceKernel().fit(D)
    with pytest.raises(ValueError, match="X holds 5×5 matrices, but those seen in fit are 3×3"):
        kernel.cross(random_spd(2, 5))
    with pytest.raises(ValueError, match=r"X\[0\] is not positive definite"):
        kernel.cross(-D)


def test_unfitted():
    with pytest.raises(NotFittedError):
        DivergenceKernel().cross(random_spd(2, 3))


def test_estimator_conventions():
    kernel = DivergenceKernel(metric="jeffrey", beta=2.0, correction="shift", n_jobs=2)
    parameters = {"metric": "jeffrey", "beta": 2.0, "correction": "shift", "n_jobs": 2}
    assert kernel.get_params() == parameters
    D = random_spd(6, 3)
    assert kernel.fit(D) is kernel
    assert kernel.get_params() == parameters
    copy = clone(kernel)
    assert copy.get_params() == parameters
    assert not hasattr(copy, "gram_")
    np.testing.assert_array_equal(copy.fit(D).gram_, kernel.gram_)
    assert kernel.set_params(beta="auto").fit(D).beta_ != 2.0
    assert "DivergenceKernel" in repr(kernel)


def test_mixed_precision():
    D, X = random_spd(5, 3), random_spd(4, 3, seed=1)
    expected = DivergenceKernel(beta=1.0).fit(D).cross(X)
    for first, second in ((np.float32, np.float64), (np.float64, np.float32)):
        cross = DivergenceKernel(beta=1.0).fit(D.astype(first)).cross(X.astype(second))
        assert cross.dtype == np.float64
        np.testing.assert_allclose(cross, expected, rtol=1e-5)
