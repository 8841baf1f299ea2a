"""Corrections of an indefinite Gram matrix, and cross values that are consistent with them."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from _matrices import random_spd
from spdatoms import DivergenceKernel, SPDSparseClassifier, pairwise_divergence, sparse_code
from spdatoms.exceptions import IndefiniteKernelWarning
from spdatoms.geometry.semidefinite import is_semidefinite
from spdatoms.kernels import correct_gram
from spdatoms.kernels.bandwidth import kernel_values
from spdatoms.kernels.correction import semidefinite_gram


def indefinite_dictionary():
    """Numbers on a logarithmic grid, where Jeffrey's kernel at β = 0.01 is far from definite."""
    return np.exp(np.linspace(-7.0, 7.0, 40)).reshape(-1, 1, 1)


def fitted(D, **options):
    with pytest.warns(IndefiniteKernelWarning) as caught:
        kernel = DivergenceKernel(metric="jeffrey", beta=0.01, **options).fit(D)
    assert len(caught) == 1
    return kernel, str(caught[0].message)


def test_jeffrey_is_indefinite():
    """n = 1, β = 0.01: J = cosh(u − v) − 1, and exp(−β cosh) has no positive Fourier transform."""
    kernel, message = fitted(indefinite_dictionary())
    assert kernel.corrected_
    assert -0.12 < kernel.min_eigenvalue_ / kernel.max_eigenvalue_ < -0.06
    assert message.startswith("DivergenceKernel: The jeffrey kernel at beta=0.01 is indefinite")
    assert f"least eigenvalue {kernel.min_eigenvalue_:.3g}" in message
    assert "'clip'" in message


def test_without_correction_it_is_refused():
    with pytest.raises(ValueError, match=r"least eigenvalue is -\d.*Use correction='clip'"):
        DivergenceKernel(metric="jeffrey", beta=0.01, correction="none").fit(
            indefinite_dictionary()
        )
    with pytest.raises(ValueError, match="correction must be 'clip', 'flip', 'shift' or 'none'"):
        DivergenceKernel(correction="clamp").fit(random_spd(3, 2))


@pytest.mark.parametrize("correction", ["clip", "flip", "shift"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_corrections(correction, dtype):
    D = indefinite_dictionary().astype(dtype)
    X = (D[:7] * dtype(1.3)).astype(dtype)
    kernel, _ = fitted(D, correction=correction)
    tolerance = 1e-10  # kernels are in double precision, whatever the matrices are in
    raw_gram, raw_cross = (
        kernel_values(
            pairwise_divergence(Z.astype(np.float64), D.astype(np.float64), metric="jeffrey"),
            kernel.beta_,
        )
        for Z in (D, X)
    )
    eigenvalues, U = np.linalg.eigh(raw_gram)
    assert kernel.gram_.dtype == kernel.cross(X).dtype == np.float64
    np.testing.assert_array_equal(kernel.gram_, kernel.gram_.T)
    corrected = np.linalg.eigvalsh(kernel.gram_.astype(np.float64))
    assert corrected[0] >= -tolerance * corrected[-1]
    if correction == "shift":
        shift = kernel.gram_ - raw_gram
        expected = (1e-6 - kernel.min_eigenvalue_) * np.eye(len(D))
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


@pytest.mark.parametrize("correction", ["clip", "flip", "shift"])
@pytest.mark.parametrize("least", [0.5, -1e-17, -0.5])
def test_a_gram_that_is_symmetric_but_for_rounding_becomes_so(correction, least):
    rng = np.random.default_rng(0)
    Q = np.linalg.qr(rng.standard_normal((6, 6)))[0]
    gram = (Q * np.linspace(least, 2.0, 6)) @ Q.T + 1e-9 * np.triu(rng.standard_normal((6, 6)), 1)
    corrected = correct_gram(gram, correction).gram
    np.testing.assert_array_equal(corrected, corrected.T)
    assert is_semidefinite(corrected)


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
    lifted = 2.0 + 2e-6
    np.testing.assert_allclose(shift.gram, [[lifted, 2.0], [2.0, lifted]], rtol=1e-13)
    for result in (clip, flip, shift):
        assert result.indefinite
        assert result.min_eigenvalue == pytest.approx(-1.0)


def test_codes_over_a_shifted_gram_are_bounded():
    """Cross values are not shifted: over K − λ_min·I, which is singular, the least squares have no minimum."""
    kernel, _ = fitted(indefinite_dictionary(), correction="shift")
    cross = kernel.cross(1.3 * indefinite_dictionary())
    codes = sparse_code(kernel.gram_, cross, alpha=1e-3)
    np.testing.assert_array_less(np.abs(codes), np.linalg.norm(cross, axis=1).max() / 1e-6)


@pytest.mark.parametrize("correction", ["clip", "flip"])
@pytest.mark.parametrize("negative", [1, 4, 8, 11])
def test_the_smaller_eigenspace_gives_the_same_cross_values(correction, negative):
    rng = np.random.default_rng(negative)
    U = np.linalg.qr(rng.standard_normal((12, 12)))[0]
    eigenvalues = np.concatenate([-rng.uniform(0.5, 1.0, negative), np.ones(12 - negative)])
    result = correct_gram((U * eigenvalues) @ U.T, correction)
    factors = np.sign(eigenvalues) if correction == "flip" else (eigenvalues > 0).astype(float)
    cross = rng.standard_normal((5, 12))
    np.testing.assert_allclose(result.transform(cross), cross @ (U * factors) @ U.T, atol=1e-13)
    assert result.basis.shape[1] == min(negative, 12 - negative)
    np.testing.assert_array_equal(result.transform(cross)[:2], result.transform(cross[:2]))


@pytest.mark.parametrize("seed", range(4))
def test_single_precision_is_classified_with_jeffrey_at_a_small_penalty(seed):
    """A corrected Gram matrix must not be indefinite again after rounding."""
    X = random_spd(60, 6, seed=seed, condition=1e4).astype(np.float32)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = SPDSparseClassifier("jeffrey", alpha=0.001).fit(X[:40], np.arange(40) % 4)
        assert np.isfinite(model.predict_proba(X[40:])).all()


def test_one_warning_and_none_at_cross():
    kernel, _ = fitted(indefinite_dictionary())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kernel.cross(indefinite_dictionary()[:3])


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


def test_a_factor_in_the_place_of_eigenvalues_gives_the_same_gram():
    """Definite, singular by copies of atoms, nearly dependent, not symmetric by rounding."""
    atoms = random_spd(12, 3)
    copies = np.concatenate([atoms, atoms])
    near = np.repeat(atoms[:1], 12, axis=0) * np.linspace(1.0, 1.001, 12)[:, None, None]
    skew = 1e-15 * np.triu(np.random.default_rng(0).standard_normal((12, 12)), 1)
    for D, rounding in ((atoms, 0.0), (copies, 0.0), (near, 0.0), (atoms, skew)):
        gram = kernel_values(pairwise_divergence(D, metric="stein"), 1.0) + rounding
        quick, exact = semidefinite_gram(gram), correct_gram(gram)
        assert not quick.indefinite
        assert quick.min_eigenvalue is None
        assert quick.eigenvalues() == pytest.approx(exact.eigenvalues(), rel=1e-9, abs=1e-12)
        assert is_semidefinite(quick.gram)
        np.testing.assert_allclose(quick.gram, exact.gram, rtol=0, atol=1e-12)
        assert quick.transform(gram) is gram


@pytest.mark.parametrize("correction", ["clip", "flip", "shift"])
def test_an_indefinite_gram_has_no_factor_and_is_corrected(correction):
    D = indefinite_dictionary()
    gram = kernel_values(pairwise_divergence(D, metric="jeffrey"), 0.01)
    quick, exact = semidefinite_gram(gram, correction), correct_gram(gram, correction)
    assert quick.indefinite
    np.testing.assert_array_equal(quick.gram, exact.gram)
    np.testing.assert_array_equal(quick.transform(gram), exact.transform(gram))
