"""Hermitian matrices: checks and their words, repair, functions and maps, against pyRiemann and SciPy."""

from __future__ import annotations

import numpy as np
import pyriemann.geometry.base
import pyriemann.geometry.geodesic
import pyriemann.geometry.tangentspace
import pytest
import scipy.linalg

from _hermitian import random_hpd
from _matrices import assert_close, random_spd
from spdatoms import check_spd, nearest_spd
from spdatoms.geometry import (
    exp_map,
    expm,
    geodesic,
    geometric_mean,
    invsqrtm,
    is_spd,
    log_map,
    logm,
    powm,
    regularise,
    shrink,
    sqrtm,
    unvech,
    vech,
)
from spdatoms.geometry.hermitian import complex_form, real_form


def test_real_form_keeps_products_sums_and_inverses():
    A, B = random_hpd(2, 4)
    assert_close(real_form(A) @ real_form(B), real_form(A @ B), 1e-15)
    assert_close(np.linalg.inv(real_form(A)), real_form(np.linalg.inv(A)), 1e-13)
    np.testing.assert_array_equal(complex_form(real_form(A) + real_form(B)), A + B)
    doubled = np.repeat(np.linalg.eigvalsh(A), 2)
    np.testing.assert_allclose(np.linalg.eigvalsh(real_form(A)), doubled, rtol=1e-12)
    X = random_spd(2, 3)
    assert real_form(X) is X


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_checks_accept_hermitian_matrices(dtype):
    X = random_hpd(5, 4, dtype=dtype)
    assert check_spd(X) is X
    assert is_spd(X.reshape(5, 1, 4, 4)).all()
    for scale in (1e-30, 1e30):
        check_spd(X * dtype(scale))


def refusal(X):
    with pytest.raises(ValueError, match=r"^X\[2\] ") as caught:
        check_spd(X)
    assert not is_spd(X)[2]
    return str(caught.value)


@pytest.mark.parametrize("n", [2, 9])
def test_checks_say_what_is_wrong(n):
    X = random_hpd(5, n)
    symmetric = X.copy()
    symmetric[2] = symmetric[2].real + 1j * abs(symmetric[2].imag)
    assert "is not Hermitian: its entries (" in refusal(symmetric)
    assert "X.conj().swapaxes" in refusal(symmetric)
    diagonal = X.copy()
    diagonal[2, 1, 1] += 1e-3j
    assert "is not Hermitian: its diagonal entry (1, 1) is " in refusal(diagonal)
    assert "+0.001j, which is not real; " in refusal(diagonal)
    unconjugated = X.copy()
    unconjugated[2] = unconjugated[2] @ unconjugated[2].T + 3.0 * n * np.eye(n)
    assert "S @ S.conj().swapaxes(-1, -2)" in refusal(unconjugated)
    indefinite = X.copy()
    λ, U = np.linalg.eigh(X[2])
    λ[0] = -0.05
    indefinite[2] = (U * λ) @ U.conj().T
    indefinite[2] = 0.5 * (indefinite[2] + indefinite[2].conj().T)
    assert "is not positive definite" in refusal(indefinite)
    missing = X.copy()
    missing[2, 0, 1] = complex(0.0, np.nan)
    assert "its entry (0, 1) is" in refusal(missing)
    singular = X.copy()
    singular[2] = np.outer(singular[2, 0].conj(), singular[2, 0])
    assert "singular" in refusal(singular) or "not positive definite" in refusal(singular)


@pytest.mark.parametrize(
    ("function", "reference", "peer"),
    [
        (logm, scipy.linalg.logm, pyriemann.geometry.base.logm),
        (sqrtm, scipy.linalg.sqrtm, pyriemann.geometry.base.sqrtm),
        (expm, scipy.linalg.expm, pyriemann.geometry.base.expm),
        (lambda X: powm(X, -0.3), lambda A: scipy.linalg.fractional_matrix_power(A, -0.3), None),
        (invsqrtm, lambda A: scipy.linalg.sqrtm(np.linalg.inv(A)), None),
    ],
)
@pytest.mark.parametrize("n", [1, 3, 8])
def test_functions(n, function, reference, peer):
    X = random_hpd(4, n, seed=n)
    Y = function(X)
    np.testing.assert_array_equal(Y, Y.conj().swapaxes(1, 2))
    assert_close(Y, np.stack([reference(A) for A in X]), 1e-12)
    if peer is not None:
        assert_close(Y, peer(X), 1e-12)
    single = function(X.astype(np.complex64))
    assert single.dtype == np.complex64
    assert_close(single, Y, 1e-5)


def test_maps_and_geodesics():
    X, P = random_hpd(6, 4), random_hpd(1, 4, seed=1)[0]
    V = log_map(X, P)
    assert_close(V, pyriemann.geometry.tangentspace.log_map_riemann(X, P, C12=True), 1e-12)
    assert_close(exp_map(V, P), X, 1e-12)
    for t in (0.0, 0.3, 1.0):
        peer = np.stack([pyriemann.geometry.geodesic.geodesic_riemann(A, P, t) for A in X])
        assert_close(geodesic(X, P, t), peer, 1e-12)
    M = np.random.default_rng(2).standard_normal((4, 4)) + 1j * np.eye(4)

    def moved(A):
        B = M @ A @ M.conj().T
        return 0.5 * B + 0.5 * B.conj().swapaxes(-1, -2)

    assert_close(geometric_mean(moved(X), moved(P)), moved(geometric_mean(X, P)), 1e-11)
    with pytest.raises(ValueError, match=r"^V\[0\] is not Hermitian"):
        exp_map(1j * X, P)


def test_repair():
    X = random_hpd(3, 4)
    lowered = X - 0.3 * np.eye(4)
    projected = check_spd(nearest_spd(lowered))
    λ, U = np.linalg.eigh(lowered)
    floor = 1e-10 * abs(λ).max(axis=1, keepdims=True)
    expected = (U * np.maximum(λ, floor)[:, None]) @ U.conj().swapaxes(1, 2)
    assert_close(projected, expected, 1e-13)
    mean_eigenvalue = np.trace(X, axis1=1, axis2=2)[:, None, None] / 4 * np.eye(4)
    assert_close(regularise(X, 0.1), X + 0.1 * mean_eigenvalue, 1e-15)
    assert_close(shrink(X, 0.1), 0.9 * X + 0.1 * mean_eigenvalue, 1e-15)


@pytest.mark.parametrize("order", ["lower", "upper", "diagonal"])
def test_half_vectors(order):
    X = random_hpd(3, 4)
    v = vech(X, order=order, weighted=True)
    np.testing.assert_allclose(unvech(v, order=order, weighted=True), X, rtol=1e-15)
    inner = np.trace(X[0] @ X[1]).real
    np.testing.assert_allclose(np.vdot(v[0], v[1]).real, inner, rtol=1e-13)
