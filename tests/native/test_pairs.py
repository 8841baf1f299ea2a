"""Divergences of pairs by triangular factors, and the verdict on the matrices, against LAPACK."""

import numpy as np
import pytest
import scipy.linalg

from spdatoms.native import kernel

factored_pairs = kernel("factored_pairs", "qqqddDDqqDI")
factor_sum = kernel("factor_sum", "qqqddDDD")
hermitian = kernel("hermitian", "DqqqddI")
STEIN, JEFFREY, BURG, CHOLESKY, LOG_CHOLESKY, EUCLIDEAN, COMPLEX_EUCLIDEAN = range(7)
DOUBTFUL, OPEN = 1, 2
TOLERANCE, LEAST = 1e-8, 1e-12


def matrices(n, count, seed=0):
    """Return SPD matrices A and B that are not near singular."""
    G = np.random.default_rng([n, seed]).standard_normal((2, count, n, 4 * n + 1))
    return G @ G.swapaxes(2, 3) / n


def computed(kind, A, B, least=LEAST):
    """Return values and findings; what lies before and behind them stays what it is."""
    count, n = max(len(A), len(B)), A.shape[1]
    out, findings = np.full(count + 2, 7.0), np.full(count + 2, 77)
    steps = len(A) == count, len(B) == count
    factored_pairs(
        *(n, count, kind, TOLERANCE, least, A.view(np.float64), B.view(np.float64)),
        *(*steps, out[1:-1], findings[1:-1]),
    )
    assert (out[[0, -1]] == 7.0).all()
    assert (findings[[0, -1]] == 77).all()
    return out[1:-1], findings[1:-1]


def twin(kind, A, B):
    """Return the definition, by factors and by the eigenvalues of A⁻¹B."""
    if kind >= EUCLIDEAN:
        return np.sum(np.abs(A - B) ** 2)
    L, M = np.linalg.cholesky(A), np.linalg.cholesky(B)
    ratios = scipy.linalg.eigh(B, A, eigvals_only=True)
    return {
        STEIN: np.sum(np.log((1.0 + ratios) / 2.0) - 0.5 * np.log(ratios)),
        JEFFREY: np.sum((ratios + 1.0 / ratios) / 2.0 - 1.0),
        BURG: np.sum(1.0 / ratios + np.log(ratios) - 1.0),
        CHOLESKY: np.sum((L - M) ** 2),
        LOG_CHOLESKY: np.sum(np.tril(L - M, -1) ** 2)
        + np.sum(np.log(np.diag(L) / np.diag(M)) ** 2),
    }[kind]


@pytest.mark.parametrize("kind", range(7))
@pytest.mark.parametrize("n", range(1, 41))
def test_every_size(n, kind):
    A, B = matrices(n, 11)
    if kind == COMPLEX_EUCLIDEAN:
        S = np.triu(matrices(n, 11, 1)[0], 1)
        A = A + 1j * (S - S.swapaxes(1, 2))
        B = B.astype(complex)
    values, findings = computed(kind, A, B)
    assert not findings.any()
    expected = [twin(kind, a, b) for a, b in zip(A, B, strict=True)]
    np.testing.assert_allclose(values, expected, rtol=1e-10)


@pytest.mark.parametrize("kind", range(6))
@pytest.mark.parametrize("n", [3, 11])
def test_a_value_does_not_depend_on_the_other_pairs(n, kind):
    A, B = matrices(n, 21)
    together = computed(kind, A, B)[0]
    alone = [computed(kind, A[i : i + 1], B[i : i + 1])[0][0] for i in range(21)]
    np.testing.assert_array_equal(alone, together)
    one = computed(kind, A[:1], B)[0]
    np.testing.assert_array_equal(one, computed(kind, np.repeat(A[:1], 21, axis=0), B)[0])
    assert computed(kind, A, A)[0].max() < 1e-12


@pytest.mark.parametrize("kind", range(6))
@pytest.mark.parametrize("n", [2, 8, 9, 23])
def test_what_is_in_doubt(n, kind):
    A, B = matrices(n, 19)
    A[2, 0, 0] = -1.0
    B[5, 1, 0] = B[5, 0, 1] = np.nan
    A[7, n - 1, 0] += 1e-3
    A[9, 0, 1] = np.inf
    B[11] = np.outer(B[11, 0], B[11, 0])  # singular
    findings = computed(kind, A, B)[1] & DOUBTFUL
    bad = [2, 5, 7, 9] + [11] * (kind != EUCLIDEAN)
    np.testing.assert_array_equal(np.flatnonzero(findings), bad)


@pytest.mark.parametrize("kind", range(6))
@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_values_at_the_ends_of_the_range_are_left_open(scale, kind):
    A, B = matrices(4, 9)
    A[3], B[3] = A[3] * scale, B[3] * scale
    np.testing.assert_array_equal(np.flatnonzero(computed(kind, A, B)[1] & OPEN), [3])


@pytest.mark.parametrize("n", [2, 5, 8, 12, 30])
def test_no_matrix_near_singular_is_beyond_doubt(n):
    rng = np.random.default_rng(n)
    for exponent in np.linspace(-16.0, -1.0, 60):
        Q = np.linalg.qr(rng.standard_normal((8, n, n)))[0]
        values = np.exp(rng.uniform(-3.0, 0.0, (8, n)))
        values[:, 0] = 10.0**exponent
        X = (Q * values[:, None, :]) @ Q.swapaxes(1, 2)
        X = 0.5 * (X + X.swapaxes(1, 2))
        root = np.sqrt(X.diagonal(axis1=1, axis2=2))
        least = np.linalg.eigvalsh(X / root[:, :, None] / root[:, None, :])[:, 0]
        findings = computed(STEIN, X, X, least=1e-9)[1]
        assert (least[findings == 0] > 1e-9).all()


def test_a_tiny_determinant_is_no_reason_for_doubt():
    """It is that of all large matrices; a variable that others explain is one."""
    G = np.random.default_rng(0).standard_normal((3, 200, 600))
    X = G @ G.swapaxes(1, 2)
    assert np.linalg.slogdet(X / 600.0)[1].max() < -30.0
    assert not computed(STEIN, X, X)[1].any()
    G[1, 150] = G[1, :150].sum(axis=0) + 1e-6 * G[1, 150]
    X = G @ G.swapaxes(1, 2)
    np.testing.assert_array_equal(computed(STEIN, X, X)[1] & DOUBTFUL, [0, DOUBTFUL, 0])


@pytest.mark.parametrize("kind", [CHOLESKY, LOG_CHOLESKY])
@pytest.mark.parametrize("n", [*range(1, 12), 23, 40])
def test_sum_of_factors(n, kind):
    X, weights = matrices(n, 11)[0], np.linspace(0.1, 1.0, 11)
    out = np.ones((n + 2, n, n))
    assert factor_sum(n, 11, kind, TOLERANCE, LEAST, X, weights, out[1]) == 0
    L = np.linalg.cholesky(X)
    if kind == LOG_CHOLESKY:
        L[:, range(n), range(n)] = np.log(L[:, range(n), range(n)])
    expected = np.ones(out.shape)
    expected[1] += np.tensordot(weights, L, axes=1)
    np.testing.assert_allclose(out, expected, rtol=1e-12, atol=1e-13)
    for i, j, entry in ((0, 0, np.nan), (n - 1, n - 1, -1.0), (n - 1, 0, np.inf), (0, 0, 1e70)):
        bad = X.copy()
        bad[8, i, j] = entry
        assert factor_sum(n, 11, kind, TOLERANCE, LEAST, bad, weights, out[1]) != 0


@pytest.mark.parametrize("n", [1, 2, 3, 7, 8, 9, 16, 21])
@pytest.mark.parametrize("parts", [1, 2])
def test_what_is_hermitian(parts, n):
    X = matrices(n, 9)[0].astype(complex if parts == 2 else float)
    if parts == 2:
        S = np.triu(matrices(n, 9, 1)[0], 1)
        X = X + 1j * (S - S.swapaxes(1, 2))
    X[2, n - 1, 0] += 1e-3 * (1j if parts == 2 else n > 1)
    X[4, 0, n - 1] = np.nan
    X[6, n // 2, n // 2] = np.inf
    X[7] *= -1.0
    equal = (X.conj().swapaxes(1, 2) == X).all(axis=(1, 2))
    expected = ~equal | ~np.isfinite(X).all(axis=(1, 2))
    found = np.full(11, 77)
    for least, negative in ((-np.inf, False), (0.0, True)):
        hermitian(X.view(np.float64), 9, n, parts, 0.0, least, found[1:-1])
        assert found[0] == found[-1] == 77
        np.testing.assert_array_equal(found[1:-1] != 0, expected | (negative & (np.arange(9) == 7)))
