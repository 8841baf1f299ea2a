"""Pairwise divergences against 50-digit references, SciPy, pyRiemann, and their own identities."""

from __future__ import annotations

import tracemalloc

import mpmath
import numpy as np
import pytest
import scipy.linalg
from hypothesis import given, settings
from hypothesis import strategies as st
from pyriemann.geometry.distance import pairwise_distance

from _matrices import random_orthogonal, random_spd, spd_stacks
from spdatoms import pairwise_divergence
from spdatoms.divergences import Burg, Divergence, Stein, divergence_names, get_divergence
from spdatoms.geometry import batched

EPS = np.finfo(np.float64).eps
METRICS = ["stein", "jeffrey", "burg", "riemann", "logeuclid", "euclid"]
INVARIANT = ["stein", "jeffrey", "riemann"]
#: About 1e-150 and 1e150, exact.
SCALES = [2.0**-498, 1.0, 2.0**498]
relaxed = settings(max_examples=40, deadline=None)


# --- References -----------------------------------------------------------------------------------


def mp_logarithm(A):
    eigenvalues, U = mpmath.eigsy(A)
    return U * mpmath.diag([mpmath.log(x) for x in eigenvalues]) * U.T


def mp_log_determinant(A):
    L = mpmath.cholesky(A)
    return 2 * sum(mpmath.log(L[i, i]) for i in range(A.rows))


def mp_trace_of_product(A, B):
    return sum(A[i, j] * B[j, i] for i in range(A.rows) for j in range(A.rows))


def mp_eigenvalues(A, B):
    """Eigenvalues of A⁻¹B."""
    inverse = mpmath.cholesky(A) ** -1
    return mpmath.eigsy(inverse * B * inverse.T, eigvals_only=True)


def mp_divergence(metric, A, B):
    """d(A, B) by its definition in 50 digits; both have scale 1, as mpmath's tolerances are absolute."""
    with mpmath.workdps(50):
        A, B = mpmath.matrix(A.tolist()), mpmath.matrix(B.tolist())
        n = A.rows
        if metric == "stein":
            halves = (mp_log_determinant(A) + mp_log_determinant(B)) / 2
            return float(mp_log_determinant((A + B) / 2) - halves)
        if metric == "jeffrey":
            traces = mp_trace_of_product(A**-1, B) + mp_trace_of_product(B**-1, A)
            return float(traces / 2 - n)
        if metric == "burg":
            logs = mp_log_determinant(A) - mp_log_determinant(B)
            return float(mp_trace_of_product(A, B**-1) - logs - n)
        if metric == "riemann":
            return float(sum(mpmath.log(x) ** 2 for x in mp_eigenvalues(A, B)))
        if metric == "logeuclid":
            A, B = mp_logarithm(A), mp_logarithm(B)
        difference = A - B
        return float(mp_trace_of_product(difference, difference))


def by_eigenvalues(metric, A, B):
    """S, J and AIRM² from the logarithms u of the eigenvalues of A⁻¹B, which SciPy finds."""
    u = np.log(scipy.linalg.eigh(B, A, eigvals_only=True))
    if metric == "stein":
        return np.logaddexp(u / 2, -u / 2).sum() - len(u) * np.log(2.0)
    return (np.cosh(u) - 1.0).sum() if metric == "jeffrey" else (u**2).sum()


def table(function, X, Y):
    return np.array([[function(A, B) for B in Y] for A in X])


def pair_values(metric, X, Y):
    """d(X_i, Y_i), as the diagonal of the table."""
    return pairwise_divergence(X, Y, metric).diagonal()


def well_separated(m, n, *, condition=30.0, seed=0, dtype=np.float64):
    """Return 2m matrices such that every one of the first m is far from every other one."""
    X = random_spd(2 * m, n, condition=condition, seed=seed)
    if n == 1:
        X = np.linspace(1.0, 2.0, 2 * m).reshape(-1, 1, 1)
    X[m:] *= 3.0
    return X[:m].astype(dtype), X[m:].astype(dtype)


# --- Accuracy -------------------------------------------------------------------------------------


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("condition", [1e1, 1e6, 1e11])
def test_against_mpmath(metric, condition):
    for n in (1, 2, 3, 6):
        X, Y = well_separated(2, n, condition=condition, seed=n)
        expected = table(lambda A, B: mp_divergence(metric, A, B), X, Y)
        tolerance = max(1e-11, 2 * EPS * (condition if n > 1 else 1.0))
        for scale in SCALES if metric != "euclid" else [1.0]:
            actual = pairwise_divergence(scale * X, scale * Y, metric)
            np.testing.assert_allclose(actual, expected, rtol=tolerance)


@pytest.mark.parametrize("metric", ["stein", "jeffrey", "burg", "riemann"])
def test_ill_conditioned_leading_blocks(metric):
    """Pivots of any size in any order: elimination by blocks must not square the condition number."""
    rng = np.random.default_rng(0)
    for n in (2, 3, 4, 5, 6, 7, 8, 9, 12):
        for _ in range(3):
            L = np.tril(rng.standard_normal((n, n)), -1) + np.eye(n)
            pivots = 10.0 ** rng.uniform(-7, 0, n)
            X = (L * pivots) @ L.T
            Y = (L * (pivots * 10.0 ** rng.uniform(-1, 1, n))) @ L.T
            X, Y = 0.5 * (X + X.T), 0.5 * (Y + Y.T)
            condition = max(np.linalg.cond(X), np.linalg.cond(Y))
            actual = pairwise_divergence(X[None], Y[None], metric)[0, 0]
            tolerance = max(1e-11, 2 * EPS * condition)
            np.testing.assert_allclose(actual, mp_divergence(metric, X, Y), rtol=tolerance)


@pytest.mark.parametrize("metric", ["stein", "jeffrey"])
@pytest.mark.parametrize("sizes", [range(1, 14), range(14, 27)])
def test_every_small_size(metric, sizes):
    """The compiled programs differ by size."""
    for n in sizes:
        X, Y = well_separated(3, n, seed=n)
        expected = table(lambda A, B: by_eigenvalues(metric, A, B), X, Y)
        exact = mp_divergence(metric, X[0], Y[1])
        for scale in SCALES:
            actual = pairwise_divergence(scale * X, scale * Y, metric)
            np.testing.assert_allclose(actual, expected, rtol=1e-11, err_msg=f"n={n}")
            np.testing.assert_allclose(actual[0, 1], exact, rtol=1e-11, err_msg=f"n={n}")
        within = pairwise_divergence(X, metric=metric)
        inside = table(lambda A, B: by_eigenvalues(metric, A, B), X, X)
        np.testing.assert_allclose(within, inside, rtol=1e-11, atol=1e-13, err_msg=f"n={n}")


@pytest.mark.parametrize("n", [31, 32, 43, 64, 93, 155, 160])
def test_large_sizes(n):
    X, Y = well_separated(2, n, seed=n)
    for metric in INVARIANT:
        expected = table(lambda A, B, metric=metric: by_eigenvalues(metric, A, B), X, Y)
        for scale in SCALES:
            actual = pairwise_divergence(scale * X, scale * Y, metric)
            np.testing.assert_allclose(actual, expected, rtol=1e-11)


@pytest.mark.parametrize("metric", METRICS)
def test_against_pyriemann(metric):
    names = {"stein": "logdet", "jeffrey": "kullback_sym", "burg": "kullback"}
    for n in (1, 2, 5, 22):
        X, Y = well_separated(4, n, seed=n)
        distances = pairwise_distance(X, Y, metric=names.get(metric, metric))
        expected = {"burg": 2.0 * distances, "jeffrey": distances}.get(metric, distances**2)
        np.testing.assert_allclose(pairwise_divergence(X, Y, metric), expected, rtol=1e-10)


@pytest.mark.parametrize("metric", METRICS)
def test_any_count(metric):
    """Counts that are no multiple of the lane width, more rows than columns and the reverse."""
    for n in (3, 10):
        X, Y = well_separated(17, n)
        whole = pairwise_divergence(X, Y, metric)
        one_by_one = table(lambda A, B: pairwise_divergence(A[None], B[None], metric)[0, 0], X, Y)
        np.testing.assert_allclose(whole, one_by_one, rtol=1e-11)
        within = pairwise_divergence(X, X.copy(), metric)
        for m in (1, 2, 3, 5, 7, 8, 9, 16, 17):
            np.testing.assert_allclose(
                pairwise_divergence(X[:m], metric=metric), within[:m, :m], rtol=1e-11, atol=1e-12
            )
            for N in (1, 2, 8, 17):
                part = pairwise_divergence(X[:m], Y[:N], metric)
                assert part.shape == (m, N)
                np.testing.assert_allclose(part, whole[:m, :N], rtol=1e-11)


@pytest.mark.parametrize("metric", METRICS)
def test_many_matrices_against_few(metric):
    """Many more columns than rows are cut along the columns."""
    X, Y = well_separated(700, 6)
    few = X[:3]
    wide = pairwise_divergence(few, Y, metric, n_jobs=2)
    tall = pairwise_divergence(Y, few, metric, n_jobs=2)
    picked = slice(0, 700, 97)
    expected = pairwise_divergence(few, Y[picked], metric)
    np.testing.assert_allclose(wide[:, picked], expected, rtol=1e-11)
    if get_divergence(metric).symmetric:
        np.testing.assert_allclose(tall, wide.T, rtol=1e-11)


@pytest.mark.parametrize("metric", METRICS)
def test_float32(metric):
    for n in (1, 2, 3, 5, 12, 22, 43, 93):
        X, Y = well_separated(9, n, dtype=np.float32)
        expected = pairwise_divergence(X.astype(np.float64), Y.astype(np.float64), metric)
        actual = pairwise_divergence(X, Y, metric)
        assert actual.dtype == np.float32
        np.testing.assert_allclose(actual, expected, rtol=1e-4, err_msg=f"n={n}")
        within = pairwise_divergence(X, metric=metric)
        assert within.dtype == np.float32
        assert not within.diagonal().any()
        if metric != "euclid":
            for scale in (2.0**-120, 2.0**110):
                scaled = [Z * np.float32(scale) for Z in (X, Y)]
                actual = pairwise_divergence(*scaled, metric)
                np.testing.assert_allclose(actual, expected, rtol=1e-4, err_msg=f"n={n}")


def test_mixed_precision_is_double():
    X, Y = well_separated(5, 4)
    single = X.astype(np.float32)
    for metric in METRICS:
        actual = pairwise_divergence(single, Y, metric)
        assert actual.dtype == np.float64
        expected = pairwise_divergence(single.astype(np.float64), Y, metric)
        np.testing.assert_array_equal(actual, expected)


# --- Extreme scales -------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", [2.0**-1018, 2.0**1010])
def test_at_the_ends_of_the_range(scale):
    X, Y = well_separated(9, 5, condition=4.0)
    for metric in ("stein", "jeffrey", "riemann", "logeuclid"):
        expected = pairwise_divergence(X, Y, metric)
        actual = pairwise_divergence(scale * X, scale * Y, metric)
        np.testing.assert_allclose(actual, expected, rtol=1e-11)


@pytest.mark.parametrize("n", [1, 3, 10, 20])
def test_scales_that_differ_within_one_call(n):
    """S(A, tB) for t → ∞ is ½ n log t − n log 2 + ½ log det B − ½ log det A."""
    A, B = well_separated(3, n, seed=n)
    X = np.concatenate([SCALES[0] * A, SCALES[2] * B])
    S = pairwise_divergence(X)
    logdet = np.linalg.slogdet(np.concatenate([A, B]))[1]
    half = 0.5 * (996 * n * np.log(2.0) + logdet[3:] - logdet[:3, None]) - n * np.log(2.0)
    np.testing.assert_allclose(S[:3, 3:], half, rtol=1e-13)
    np.testing.assert_array_equal(S, S.T)
    np.testing.assert_allclose(S[:3, :3], pairwise_divergence(A), rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(S[3:, 3:], pairwise_divergence(B), rtol=1e-11, atol=1e-12)
    np.testing.assert_array_equal(pairwise_divergence(X, X.copy()), S)
    assert not S.diagonal().any()
    J = pairwise_divergence(X, metric="jeffrey")[:3, 3:]
    traces = np.einsum("aij,bji->ab", np.linalg.inv(A), B)
    np.testing.assert_allclose(J, 0.5 * traces * 2.0**996, rtol=1e-11)
    squared = pairwise_divergence(X, metric="riemann")[:3, 3:]
    expected = table(
        lambda P, Q: (
            (np.log(scipy.linalg.eigh(Q, P, eigvals_only=True)) + 996 * np.log(2)) ** 2
        ).sum(),
        A,
        B,
    )
    np.testing.assert_allclose(squared, expected, rtol=1e-11)


def test_scales_that_differ_in_single_precision():
    A, B = well_separated(3, 4, dtype=np.float32)
    X = np.concatenate([A * np.float32(2.0**-100), B * np.float32(2.0**100)])
    S = pairwise_divergence(X)
    assert S.dtype == np.float32
    np.testing.assert_allclose(S, pairwise_divergence(X.astype(np.float64)), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("decades", [20, 100, 300])
def test_diagonal_matrices_in_very_different_units(decades):
    """Condition numbers far beyond 1/eps, which cost no digit of S and J."""
    rng = np.random.default_rng(decades)
    for n in (2, 3, 9, 20):
        logs = np.linspace(-decades, decades, n) * np.log(10.0) + rng.uniform(-2, 2, (6, n))
        X = np.exp(logs)[:, :, None] * np.eye(n)
        u = np.log(X.diagonal(axis1=1, axis2=2))
        u = u[:, None] - u
        expected = (np.logaddexp(u / 2, -u / 2) - np.log(2.0)).sum(axis=-1)
        S = pairwise_divergence(X)
        np.testing.assert_allclose(S, expected, rtol=1e-11, atol=1e-11)
        J = pairwise_divergence(X, metric="jeffrey")
        np.testing.assert_allclose(J, (np.cosh(u) - 1).sum(axis=-1), rtol=1e-11, atol=1e-11)
        # The compiled code sums logarithms, so that the size of u itself counts here.
        if decades <= 100:
            squared = pairwise_divergence(X, metric="riemann")
            np.testing.assert_allclose(squared, (u**2).sum(axis=-1), rtol=1e-11, atol=1e-11)


@pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning")
def test_divergences_out_of_range_are_refused():
    X = np.stack([np.eye(2) * 1e-200, np.eye(2) * 1e200])
    for metric in ("jeffrey", "burg", "euclid"):
        with pytest.raises(OverflowError, match="beyond the range of float64"):
            pairwise_divergence(X, metric=metric)
        with pytest.raises(OverflowError, match="beyond the range of float64"):
            pairwise_divergence(X, X[::-1], metric=metric)
    single = np.stack([np.eye(2), np.eye(2) * 1e30]).astype(np.float32)
    with pytest.raises(OverflowError, match="beyond the range of float32"):
        pairwise_divergence(single, metric="euclid")


# --- Exact zeros and symmetry ---------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_stein_of_equal_matrices_is_exactly_zero(dtype):
    sizes = (1, 2, 3, 5, 12, 22) if dtype is np.float32 else (*range(1, 27), 43, 64, 93)
    for n in sizes:
        X = random_spd(11, n, condition=1e3, seed=n, dtype=dtype)
        S = pairwise_divergence(X, X[::-1].copy())
        assert not np.fliplr(S).diagonal().any(), n
        assert (S + np.fliplr(np.eye(11)) > 0).all(), n


@pytest.mark.parametrize("metric", METRICS)
def test_without_y(metric):
    """Symmetric to the bit, the diagonal exactly zero, no entry negative."""
    for m, n in ((1, 3), (2, 1), (9, 4), (40, 12), (33, 22)):
        X = random_spd(m, n, condition=1e3, seed=n)
        X[-1] = X[0]
        D = pairwise_divergence(X, metric=metric)
        assert not D.diagonal().any()
        assert (D >= 0).all()
        if metric != "burg":
            np.testing.assert_array_equal(D, D.T)
        both = pairwise_divergence(X, X.copy(), metric)
        atol = 1e-9 * max(1.0, both.max())
        np.testing.assert_allclose(D, both, rtol=1e-10, atol=atol)
        assert D[0, -1] <= atol


# --- Input ----------------------------------------------------------------------------------------


def views_of(X, tmp_path):
    """Return arrays of any kind that hold the matrices X."""
    m, n = X.shape[:2]
    frozen = X.copy()
    frozen.flags.writeable = False
    np.save(tmp_path / "X.npy", X)
    doubled = np.repeat(X, 2, axis=0)
    inside = np.zeros((m, n + 3, 2 * n), X.dtype)
    inside[:, 2 : n + 2, ::2] = X
    unaligned = np.frombuffer(b"0" + X.tobytes(), dtype=X.dtype, offset=1).reshape(X.shape)
    return {
        "read-only": frozen,
        "memmap": np.load(tmp_path / "X.npy", mmap_mode="r"),
        "writable memmap": np.load(tmp_path / "X.npy", mmap_mode="r+"),
        "Fortran": np.asfortranarray(X),
        "transposed": X.swapaxes(1, 2),
        "every second": doubled[::2],
        "reversed": X[::-1].copy()[::-1],
        "mirrored": X[:, ::-1, ::-1].copy()[:, ::-1, ::-1],
        "strided": inside[:, 2 : n + 2, ::2],
        "unaligned": unaligned,
        "big-endian": X.astype(X.dtype.newbyteorder(">")),
        "list": list(X),
    }


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_any_memory_layout(metric, dtype, tmp_path):
    X, Y = well_separated(11, 5, dtype=dtype)
    original = X.copy()
    across, within = pairwise_divergence(X, Y, metric), pairwise_divergence(X, metric=metric)
    for kind, view in views_of(X, tmp_path).items():
        result = pairwise_divergence(view, Y, metric)
        assert type(result) is np.ndarray, kind
        np.testing.assert_array_equal(result, across, err_msg=kind)
        np.testing.assert_array_equal(pairwise_divergence(view, metric=metric), within, kind)
        reverse = pairwise_divergence(Y, view, metric)
        np.testing.assert_array_equal(reverse, pairwise_divergence(Y, X, metric), err_msg=kind)
    np.testing.assert_array_equal(X, original)


def test_broadcast_matrices():
    X = np.broadcast_to(random_spd(1, 4), (20, 4, 4))
    assert not pairwise_divergence(X).any()
    assert not pairwise_divergence(X, X).any()


@pytest.mark.parametrize("metric", METRICS)
def test_integers(metric):
    X = [[[2, 1], [1, 2]], [[3, 1], [1, 5]], [[9, 0], [0, 1]]]
    expected = pairwise_divergence(np.array(X, np.float64), metric=metric)
    np.testing.assert_array_equal(pairwise_divergence(X, metric=metric), expected)
    np.testing.assert_array_equal(
        pairwise_divergence(np.array(X, np.int8), metric=metric), expected
    )


def test_bad_input():
    X = random_spd(4, 3)
    bad = X.copy()
    bad[2] = -np.eye(3)
    for metric in METRICS:
        with pytest.raises(ValueError, match=r"^X\[2\] is not positive definite"):
            pairwise_divergence(bad, metric=metric)
        with pytest.raises(ValueError, match=r"^Y\[2\] is not positive definite"):
            pairwise_divergence(X, bad, metric=metric)
        with pytest.raises(ValueError, match="matrices of one size, got 3×3 and 4×4"):
            pairwise_divergence(X, random_spd(2, 4), metric=metric)
    with pytest.raises(TypeError, match="only real matrices"):
        pairwise_divergence(X + 0j)
    with pytest.raises(ValueError, match="empty"):
        pairwise_divergence(X[:0])
    with pytest.raises(ValueError, match="n_jobs"):
        pairwise_divergence(X, n_jobs=0)


# --- Sums that are not positive definite are detected ---------------------------------------------


def log_determinants_of_sums(X, Y):
    shifts_x, shifts_y = np.zeros(len(X), X.dtype), np.zeros(len(Y), X.dtype)
    lanes = batched.Lanes(Y, 1.0)
    return batched.log_determinants(X, lanes, 1.0, shifts_x, shifts_y, floor=0.0)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_bad_pivots_are_detected(dtype):
    """A pivot that is negative, zero, NaN or infinite, at any place, in one matrix of many."""
    sizes = (1, 2, 3, 5, 12, 22) if dtype is np.float32 else (*range(1, 26), 43)
    for n in sizes:
        X, Y = (np.repeat(np.eye(n, dtype=dtype)[None], count, axis=0) for count in (3, 13))
        for at in {0, n // 2, n - 1}:
            for value in (-3.0, -1.0, np.nan, np.inf):
                bad = Y.copy()
                bad[6, at, at] = value
                with pytest.raises(ValueError, match="not positive definite"):
                    log_determinants_of_sums(X, bad)
                with pytest.raises(ValueError, match="not positive definite"):
                    log_determinants_of_sums(bad, X)
                if value < 0 and dtype is np.float64:
                    with pytest.raises(ValueError, match="Matrix 6 is not positive definite"):
                        batched.inverse(bad)


def test_indefinite_with_positive_diagonal_is_detected():
    for n in (2, 3, 5, 8, 12, 16, 20, 43):
        Y = random_spd(9, n)
        eigenvalues, U = np.linalg.eigh(Y[4])
        # Two negative eigenvalues leave a positive determinant.
        eigenvalues[:2] = -0.05
        Y[4] = (U * eigenvalues) @ U.T
        zero = np.zeros((1, n, n))
        message = r"\(the first is 0, 4\)"
        with pytest.raises(ValueError, match=message):
            log_determinants_of_sums(zero, Y)
        with pytest.raises(ValueError, match="Matrix 4 is not positive definite"):
            batched.inverse(Y)
        with pytest.raises(ValueError, match="not positive definite"):
            batched.careful_log_determinant(Y[4], Y[4])
        with pytest.raises(ValueError, match="not positive definite"):
            batched.weighted_inverse_sum(Y, np.ones(9), zero[0], 1.0)


def test_unchecked_matrices_get_no_answer():
    bad = np.stack([np.diag([1.0, -4.0]), np.eye(2)])
    wide = np.stack([np.diag([1e-150, -1e150]), np.eye(2) * 1e150])
    for metric in ("stein", "jeffrey", "burg", "riemann"):
        divergence = get_divergence(metric)
        for X in (bad, wide):
            with pytest.raises(ValueError):  # noqa: PT011 (LinAlgError is one, too)
                divergence.pairwise(divergence.prepare(X))
    for metric in ("stein", "jeffrey", "burg"):
        with pytest.raises(ValueError, match="not positive definite"):
            get_divergence(metric).gradient(bad, np.stack([np.eye(2), np.eye(2)]))


# --- Threads and memory ---------------------------------------------------------------------------


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_threads_do_not_change_a_bit(metric, dtype):
    for m, N, n in ((150, 170, 22), (2, 900, 12), (700, 9, 5)):
        X, Y = random_spd(m, n, dtype=dtype), random_spd(N, n, seed=1, dtype=dtype)
        across, within = pairwise_divergence(X, Y, metric), pairwise_divergence(X, metric=metric)
        for n_jobs in (1, 2, 3, -1):
            again = pairwise_divergence(X, Y, metric, n_jobs=n_jobs)
            np.testing.assert_array_equal(again, across)
            again = pairwise_divergence(X, metric=metric, n_jobs=n_jobs)
            np.testing.assert_array_equal(again, within)


def extra_memory(compute):
    """Return the peak of what was allocated beyond the result, in bytes."""
    tracemalloc.start()
    result = compute()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak - result.nbytes


@pytest.mark.parametrize("metric", ["stein", "jeffrey", "burg", "logeuclid", "euclid"])
def test_extra_memory(metric):
    """64 MB and a copy of the inputs, whatever the result takes."""
    X, Y = random_spd(3000, 12), random_spd(3000, 12, seed=1)
    pairwise_divergence(X[:9], Y[:9], metric)
    bound = 64e6 + X.nbytes + Y.nbytes
    assert extra_memory(lambda: pairwise_divergence(X, Y, metric, n_jobs=2)) < bound
    assert extra_memory(lambda: pairwise_divergence(X, metric=metric, n_jobs=2)) < bound


# --- Names ----------------------------------------------------------------------------------------


def test_registry():
    assert set(METRICS) <= set(divergence_names())
    for name in divergence_names():
        divergence = get_divergence(name)
        assert isinstance(divergence, Divergence)
        assert get_divergence(divergence) is divergence
    X = random_spd(3, 3)
    for alias, name in (
        ("logdet", "stein"),
        ("kullback_sym", "jeffrey"),
        ("kullback", "burg"),
        ("airm", "riemann"),
    ):
        assert get_divergence(alias).name == name
        np.testing.assert_array_equal(
            pairwise_divergence(X, metric=alias), pairwise_divergence(X, metric=name)
        )
    np.testing.assert_array_equal(pairwise_divergence(X, metric=Stein()), pairwise_divergence(X))
    for bad in ("cosine", None, 3):
        with pytest.raises(ValueError, match="metric must be one of stein, jeffrey"):
            pairwise_divergence(X, metric=bad)
    with pytest.raises(ValueError, match="side"):
        Burg(side="both")


# --- Properties -----------------------------------------------------------------------------------


def pairs(**options):
    return spd_stacks(m=2, **{"max_condition": 1e3, "max_n": 9, **options})


@relaxed
@given(X=spd_stacks(max_m=12, max_n=12, max_condition=1e5, log10_scale=(-150, 150)))
def test_symmetry_and_sign(X):
    for metric in INVARIANT:
        D = pairwise_divergence(X, X, metric)
        assert (D >= 0).all()
        np.testing.assert_allclose(D, D.T, rtol=1e-9, atol=1e-9)
        assert D.diagonal().max() <= 1e-9


@relaxed
@given(X=pairs())
def test_eigenvalue_formulas_and_inequalities(X):
    values = {metric: pairwise_divergence(X, metric=metric)[0, 1] for metric in INVARIANT}
    for metric, value in values.items():
        expected = by_eigenvalues(metric, X[0], X[1])
        np.testing.assert_allclose(value, expected, rtol=1e-9, atol=1e-12)
    eighth = values["riemann"] / 8
    assert values["stein"] <= eighth * (1 + 1e-9) + 1e-12
    assert eighth <= values["jeffrey"] / 4 * (1 + 1e-9) + 1e-12


@relaxed
@given(X=pairs(max_condition=1e2), seed=st.integers(0, 999), spread=st.floats(0.0, 2.0))
def test_congruence_and_inversion(X, seed, spread):
    n = X.shape[-1]
    U, V = random_orthogonal(2, n, np.random.default_rng(seed))
    A = (U * np.logspace(-spread / 2, spread / 2, n)) @ V
    moved = A @ X @ A.T
    moved = 0.5 * (moved + moved.swapaxes(-1, -2))
    inverse = np.linalg.inv(X)
    inverse = 0.5 * (inverse + inverse.swapaxes(-1, -2))
    for metric in INVARIANT:
        value = pairwise_divergence(X, metric=metric)[0, 1]
        for other in (moved, inverse):
            again = pairwise_divergence(other, metric=metric)[0, 1]
            np.testing.assert_allclose(again, value, rtol=1e-9, atol=1e-11)


@relaxed
@given(X=spd_stacks(m=3, max_n=9, max_condition=1e4))
def test_triangle_inequality_of_root_stein(X):
    d = np.sqrt(pairwise_divergence(X))
    for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        assert d[i, j] <= d[i, k] + d[k, j] + 1e-6


@pytest.mark.parametrize("metric", ["stein", "jeffrey", "burg", "euclid"])
@relaxed
@given(X=pairs(max_condition=1e2, max_n=6, log10_scale=(-3, 3)), seed=st.integers(0, 999))
def test_gradients_against_finite_differences(metric, X, seed):
    n = X.shape[-1]
    L = np.linalg.cholesky(X[0])
    E = np.random.default_rng(seed).standard_normal((n, n))
    E = L @ (E + E.T) @ L.T
    h = 1e-5 / n
    ahead, behind = (X[:1] + step * E for step in (h, -h))
    ahead, behind = (0.5 * (Z + Z.swapaxes(1, 2)) for Z in (ahead, behind))
    rise = pair_values(metric, ahead, X[1:])[0] - pair_values(metric, behind, X[1:])[0]
    slope = rise / (2 * h)
    gradient = get_divergence(metric).gradient(X[:1], X[1:])
    assert gradient.shape == (1, n, n)
    value = pair_values(metric, X[:1], X[1:])[0]
    # What a step of relative size one may change.
    change = np.linalg.norm(L.T @ gradient[0] @ L) * n + value + n
    if metric == "euclid":
        change = value + np.linalg.norm(X) ** 2
    assert abs(slope - np.sum(gradient[0] * E)) <= 1e-6 * change


def test_gradient_at_equality_is_zero():
    X = random_spd(5, 6, condition=1e2)
    for metric in ("stein", "jeffrey", "burg", "euclid"):
        gradient = get_divergence(metric).gradient(X, X)
        largest = abs(np.linalg.inv(X)).max()
        assert abs(gradient).max() <= 1e-12 * largest
