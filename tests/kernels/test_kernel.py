"""Kernels: β, the Gram matrix, its corrections, and values that are consistent with them."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from _matrices import random_spd, spd_stacks
from spdatoms import DivergenceKernel, pairwise_divergence, sparse_code
from spdatoms._utils.sampling import evenly_spaced
from spdatoms.divergences.stein import stein_kernel_is_guaranteed
from spdatoms.exceptions import IndefiniteKernelWarning
from spdatoms.kernels import correct_gram
from spdatoms.kernels.bandwidth import automatic_beta
from spdatoms.kernels.kernel import kernel_values

SYMMETRIC = ["stein", "jeffrey", "riemann", "logeuclid", "euclid"]


def indefinite_dictionary():
    """Numbers on a logarithmic grid, where Jeffrey's kernel at β = 0.01 is far from definite."""
    return np.exp(np.linspace(-7.0, 7.0, 40)).reshape(-1, 1, 1)


def fitted(D, **options):
    with pytest.warns(IndefiniteKernelWarning) as caught:
        kernel = DivergenceKernel(metric="jeffrey", beta=0.01, **options).fit(D)
    assert len(caught) == 1
    return kernel, str(caught[0].message)


# --- β --------------------------------------------------------------------------------------------


def test_guaranteed_beta():
    """Positive definite for every set iff β ∈ {½, 1, …, (n−1)/2} or β ≥ (n−1)/2."""
    for n in (1, 2, 3, 4, 7):
        halves = np.arange(1, 2 * n) / 2
        assert all(stein_kernel_is_guaranteed(beta, n) for beta in halves)
        assert stein_kernel_is_guaranteed((n - 1) / 2 + 0.01, n)
        for beta in halves[halves < (n - 1) / 2]:
            assert not stein_kernel_is_guaranteed(beta - 0.01, n)
        assert not stein_kernel_is_guaranteed(0.0, n)
        assert not stein_kernel_is_guaranteed(-1.0, n)
    assert stein_kernel_is_guaranteed(1e-3, 1)
    with pytest.raises(ValueError, match="at least 1"):
        stein_kernel_is_guaranteed(1.0, 0)


@settings(max_examples=30, deadline=None)
@given(
    X=spd_stacks(max_m=12, max_n=5, max_condition=1e4, log10_scale=(0, 0)),
    halves=st.integers(1, 6),
)
def test_guaranteed_beta_never_needs_a_correction(X, halves):
    with warnings.catch_warnings():
        warnings.simplefilter("error", IndefiniteKernelWarning)
        kernel = DivergenceKernel(beta=halves / 2, correction="none").fit(X)
    assert not kernel.corrected_


def test_stein_is_indefinite_between_the_guaranteed_values():
    """Lines and planes at many angles: n = 3, β below ½."""
    a = np.random.default_rng(0).standard_normal((100, 3))
    a /= np.linalg.norm(a, axis=1, keepdims=True)
    lines = np.einsum("mi,mj->mij", a, a)
    D = np.concatenate([lines + 0.01 * np.eye(3), np.eye(3) - 0.99 * lines])
    assert not stein_kernel_is_guaranteed(0.25, 3)
    with pytest.warns(IndefiniteKernelWarning, match="stein kernel at beta=0.25"):
        DivergenceKernel(beta=0.25).fit(D)
    DivergenceKernel(beta=0.5, correction="none").fit(D)


@pytest.mark.parametrize("metric", SYMMETRIC)
def test_automatic_beta(metric):
    D = random_spd(12, 4, condition=10.0)
    divergences = pairwise_divergence(D, metric=metric)
    median = np.median(divergences[np.triu_indices(12, 1)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", IndefiniteKernelWarning)
        kernel = DivergenceKernel(metric=metric).fit(D)
    assert kernel.beta_ == pytest.approx(1 / median, rel=1e-12)


def test_automatic_beta_leaves_duplicates_out():
    D = random_spd(8, 3)
    repeated = D[[0, 0, 0, 0, 0, 1, 2, 3]]
    S = pairwise_divergence(repeated)
    off_diagonal = S[np.triu_indices(8, 1)]
    expected = 1 / np.median(off_diagonal[off_diagonal > 0])
    assert DivergenceKernel().fit(repeated).beta_ == pytest.approx(expected, rel=1e-12)
    assert automatic_beta(np.array([[0.0, 0.25], [0.25, 0.0]])) == 4.0


def test_automatic_beta_without_any_distance():
    for D in (random_spd(1, 3), np.repeat(random_spd(1, 3), 5, axis=0)):
        kernel = DivergenceKernel(correction="none").fit(D)
        assert kernel.beta_ == 1.0
        np.testing.assert_array_equal(kernel.gram_, np.ones((len(D), len(D))))


def test_automatic_beta_of_a_large_dictionary_is_a_subsample_of_it():
    D = random_spd(600, 2)
    kernel = DivergenceKernel().fit(D)
    assert DivergenceKernel().fit(D).beta_ == kernel.beta_
    exact = automatic_beta(pairwise_divergence(D))
    assert kernel.beta_ == pytest.approx(exact, rel=0.1)
    assert len(range(600)[evenly_spaced(600, 500)]) == 300


@pytest.mark.parametrize("beta", [0.0, -1.0, np.nan, np.inf, "scale"])
def test_bad_beta(beta):
    with pytest.raises(ValueError, match="beta must be 'auto' or a positive number"):
        DivergenceKernel(beta=beta).fit(random_spd(3, 2))


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
    assert kernel.gram_.dtype == kernel.cross(X).dtype == dtype


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


# --- Corrections ----------------------------------------------------------------------------------


def test_jeffrey_is_indefinite():
    """n = 1, β = 0.01: J = cosh(u − v) − 1, and exp(−β cosh) has no positive Fourier transform."""
    kernel, message = fitted(indefinite_dictionary())
    assert kernel.corrected_
    assert -0.12 < kernel.min_eigenvalue_ / kernel.max_eigenvalue_ < -0.06
    assert message.startswith("The jeffrey kernel at beta=0.01 is indefinite")
    assert f"least eigenvalue {kernel.min_eigenvalue_:.3g}" in message
    assert "'clip'" in message


def test_without_correction_it_is_refused():
    with pytest.raises(ValueError, match=r"least eigenvalue is -\d.*Use correction='clip'"):
        DivergenceKernel(metric="jeffrey", beta=0.01, correction="none").fit(
            indefinite_dictionary()
        )
    with pytest.raises(ValueError, match="correction must be one of clip, flip, shift, none"):
        DivergenceKernel(correction="clamp").fit(random_spd(3, 2))


@pytest.mark.parametrize("correction", ["clip", "flip", "shift"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_corrections(correction, dtype):
    D = indefinite_dictionary().astype(dtype)
    X = (D[:7] * dtype(1.3)).astype(dtype)
    kernel, _ = fitted(D, correction=correction)
    tolerance = 2e-4 if dtype is np.float32 else 1e-10
    raw_gram, raw_cross = (
        kernel_values(pairwise_divergence(Z, D, metric="jeffrey"), kernel.beta_) for Z in (D, X)
    )
    raw_gram = raw_gram.astype(np.float64)
    eigenvalues, U = np.linalg.eigh(raw_gram)
    assert kernel.gram_.dtype == kernel.cross(X).dtype == dtype
    np.testing.assert_array_equal(kernel.gram_, kernel.gram_.T)
    corrected = np.linalg.eigvalsh(kernel.gram_.astype(np.float64))
    assert corrected[0] >= -tolerance * corrected[-1]
    if correction == "shift":
        shift = kernel.gram_ - raw_gram
        expected = -kernel.min_eigenvalue_ * np.eye(len(D))
        np.testing.assert_allclose(shift, expected, atol=tolerance * corrected[-1])
        np.testing.assert_array_equal(kernel.cross(X), raw_cross)
        return
    modified = np.maximum(eigenvalues, 0) if correction == "clip" else abs(eigenvalues)
    expected = (U * modified) @ U.T
    np.testing.assert_allclose(kernel.gram_, expected, atol=tolerance * corrected[-1])
    # The atoms are queries like any other.
    np.testing.assert_allclose(kernel.cross(D), kernel.gram_, atol=tolerance * corrected[-1])
    assert abs(kernel.cross(X) - raw_cross).max() > 1e-3


def test_a_positive_definite_gram_is_left_alone():
    gram = np.array([[1.0, 0.5], [0.5, 1.0]])
    for correction in ("clip", "flip", "shift", "none"):
        result = correct_gram(gram, correction)
        assert result.gram is gram
        assert not result.indefinite
        cross = np.ones((3, 2))
        assert result.transform(cross) is cross
        assert (result.min_eigenvalue, result.max_eigenvalue) == pytest.approx((0.5, 1.5))


def test_corrections_of_a_known_matrix():
    """[[1, 2], [2, 1]] has the eigenvalues −1 and 3."""
    gram = np.array([[1.0, 2.0], [2.0, 1.0]])
    clip, flip, shift = (correct_gram(gram, name) for name in ("clip", "flip", "shift"))
    np.testing.assert_allclose(clip.gram, np.full((2, 2), 1.5), rtol=1e-14)
    np.testing.assert_allclose(clip.transform(np.array([[1.0, 0.0]])), [[0.5, 0.5]], rtol=1e-14)
    np.testing.assert_allclose(flip.gram, [[2.0, 1.0], [1.0, 2.0]], rtol=1e-14)
    np.testing.assert_allclose(
        flip.transform(np.array([[1.0, 0.0]])), [[0.0, 1.0]], rtol=1e-14, atol=1e-15
    )
    np.testing.assert_allclose(shift.gram, [[2.0, 2.0], [2.0, 2.0]], rtol=1e-13)
    for result in (clip, flip, shift):
        assert result.indefinite
        assert result.min_eigenvalue == pytest.approx(-1.0)


def test_one_warning_and_none_at_cross():
    kernel, _ = fitted(indefinite_dictionary())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kernel.cross(indefinite_dictionary()[:3])


# --- Use ------------------------------------------------------------------------------------------


def test_refusals():
    D = random_spd(4, 3)
    with pytest.raises(ValueError, match="burg divergence is not symmetric and gives no kernel"):
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


def test_zero_eigenvalue_that_rounding_made_negative_can_be_coded_with():
    """Nearly dependent atoms: the Gram matrix has negative eigenvalues of the size of rounding."""
    atoms = np.repeat(random_spd(1, 3), 12, axis=0) * np.linspace(1.0, 1.001, 12)[:, None, None]
    kernel = DivergenceKernel("jeffrey", beta=0.1).fit(atoms)
    assert -1e-12 < kernel.min_eigenvalue_ < 0.0
    assert np.linalg.eigvalsh(kernel.gram_)[0] >= -1e-15
    queries = random_spd(40, 3, seed=1)
    codes, certificate = sparse_code(
        kernel.gram_, kernel.cross(queries), 1e-3, return_certificate=True
    )
    assert certificate.converged.all()
    assert np.isfinite(codes).all()
