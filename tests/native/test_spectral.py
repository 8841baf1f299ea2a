"""Functions of matrices and of pairs of matrices in lanes, against eigenvalues and singular values of LAPACK."""

import numpy as np
import pytest
import scipy.linalg

from spdatoms.native import kernel

spectral_pairs = kernel("spectral_pairs", "qqqdDDqqDI")
LOG, EXP, POWER, AIRM, THOMPSON, WASSERSTEIN = range(6)


def matrices(n, count, seed=0):
    """Return SPD matrices A and B, with eigenvalues from about 1e-3 to 10."""
    G = np.random.default_rng([n, seed]).standard_normal((2, count, n, n + 1))
    return G @ G.swapaxes(2, 3) / n + 1e-3 * np.eye(n)


def computed(kind, A, B, exponent=0.0):
    """Return what the kernel writes; what lies before and behind it stays what it is."""
    count, n = len(B), B.shape[-1]
    out = np.full((count + 2, n, n) if kind < AIRM else count + 2, 7.0)
    one = A is not None and A.ndim == 2
    spectral_pairs(n, count, kind, exponent, A, B, not one, 1, out[1:-1], None)
    assert (out[[0, -1]] == 7.0).all()
    return out[1:-1]


def twin(kind, A, B, exponent=0.0):
    """Return F f(λ) Fᵀ, where A = L Lᵀ, L⁻¹ B L⁻ᵀ = U λ Uᵀ and F = L U; or a distance."""
    L = np.linalg.cholesky(A)
    values, U = scipy.linalg.eigh(B, A)  # Uᵀ A U = I
    M, logs = np.linalg.cholesky(B) if kind != EXP else L, np.log(np.abs(values))
    if kind >= AIRM:
        return {
            AIRM: np.sum(logs**2),
            THOMPSON: np.max(logs**2),
            WASSERSTEIN: np.trace(A + B) - 2.0 * np.linalg.svd(L.T @ M)[1].sum(),
        }[kind]
    function = {LOG: np.log, EXP: np.exp, POWER: lambda x: x**exponent}[kind]
    return (A @ U * function(values)) @ (A @ U).T


@pytest.mark.parametrize("kind", range(6))
@pytest.mark.parametrize("n", range(1, 41))
def test_every_size(n, kind):
    A, B = matrices(n, 11)
    if kind == EXP:
        B = B - np.eye(n)
    found = computed(kind, A, B, 0.3)
    for value, a, b in zip(found, A, B, strict=True):
        expected = twin(kind, a, b, 0.3)
        np.testing.assert_allclose(value, expected, atol=1e-10 * np.abs(expected).max())


@pytest.mark.parametrize("kind", range(6))
def test_what_is_left_open(kind):
    A, B = matrices(3, 13)
    if kind == EXP:
        A, B = B, B - np.eye(3)
    scales = np.array([1e3, 1.0, 1.0])
    B[2], A[4] = np.nan, np.nan
    # Variances of very different size, which is nothing to an exponential.
    A[6] *= np.outer(scales, scales)
    A[8] *= 1e61
    B[10, 0, 0] = 1e300 if kind == EXP else -1.0
    expected = np.isin(np.arange(13), [2, 4, 8, 10] if kind == EXP else [2, 4, 6, 8, 10])
    out, open_ = np.empty((13, 3, 3) if kind < AIRM else 13), np.empty(13, np.int64)
    assert spectral_pairs(3, 13, kind, 0.3, A, B, 1, 1, out, open_) == expected.sum()
    np.testing.assert_array_equal(open_, expected)


@pytest.mark.parametrize("count", range(1, 19))
def test_every_count_without_a_base_and_with_one_for_all(count):
    A, B = matrices(3, count)
    for kind in (LOG, EXP, POWER):
        alone, one = computed(kind, None, B, -0.5), computed(kind, A[0], B, -0.5)
        for i in range(count):
            np.testing.assert_allclose(alone[i], twin(kind, np.eye(3), B[i], -0.5), rtol=1e-10)
            np.testing.assert_array_equal(one[i], computed(kind, A[:1], B[i : i + 1], -0.5)[0])


@pytest.mark.parametrize("kind", range(6))
def test_a_result_does_not_depend_on_the_other_pairs(kind):
    A, B = matrices(6, 21)
    together = computed(kind, A, B, 0.7)
    for i in range(21):
        np.testing.assert_array_equal(
            computed(kind, A[i : i + 1], B[i : i + 1], 0.7)[0], together[i]
        )


def test_small_eigenvalues_have_all_their_digits():
    c, s = np.cos(0.3), np.sin(0.3)
    F = np.array([[c, -s], [s, c]]) * np.exp([0.0, -12.0])  # λ = 1 and e^-24
    logs = computed(LOG, None, (F @ F.T)[None])[0]
    expected = -24.0 * np.outer([-s, c], [-s, c])
    np.testing.assert_allclose(logs, expected, atol=1e-4)  # B itself has no more
    graded = np.diag(np.exp([0.0, -24.0]))[None]
    np.testing.assert_allclose(computed(LOG, None, graded)[0], np.diag([0.0, -24.0]), rtol=1e-15)


def test_close_pairs_have_small_distances():
    A, _ = matrices(5, 8)
    E = 1e-7 * A
    np.testing.assert_allclose(
        computed(WASSERSTEIN, A, A + E), np.trace(A, axis1=1, axis2=2) * 0.25e-14, rtol=1e-6
    )


@pytest.mark.parametrize("kind", range(6))
def test_what_is_not_definite_or_no_number_is_nan_and_alone(kind):
    A, B = matrices(4, 9)
    A[2, 0, 0] = -1.0
    B[5, 1, 0] = B[5, 0, 1] = np.nan
    found = computed(kind, A, B, 0.5).reshape(9, -1)
    assert np.isnan(found[[2, 5]]).all()
    assert np.isfinite(np.delete(found, [2, 5], axis=0)).all()
