"""Pairwise divergences against 50-digit references, SciPy and pyRiemann; any input, threads and memory."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from pyriemann.geometry.distance import pairwise_distance

from _divergence_oracles import value as exact_value
from _matrices import random_spd
from _references import by_eigenvalues, table, well_separated
from spdatoms import pairwise_divergence
from spdatoms.divergences import get_divergence

EPS = np.finfo(np.float64).eps
METRICS = ["stein", "jeffrey", "burg", "riemann", "logeuclid", "euclid"]
INVARIANT = ["stein", "jeffrey", "riemann"]
#: About 1e-150 and 1e150, exact.
SCALES = [2.0**-498, 1.0, 2.0**498]


# --- Accuracy -------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("condition", [1e1, 1e6, 1e11])
def test_against_mpmath(metric, condition):
    for n in (1, 2, 3, 6):
        X, Y = well_separated(2, n, condition=condition, seed=n)
        expected = table(lambda A, B: exact_value(metric, A, B), X, Y)
        tolerance = max(1e-11, 2 * EPS * (condition if n > 1 else 1.0))
        for scale in SCALES if metric != "euclid" else [1.0]:
            actual = pairwise_divergence(scale * X, scale * Y, metric)
            np.testing.assert_allclose(actual, expected, rtol=tolerance)


@pytest.mark.slow
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
            np.testing.assert_allclose(actual, exact_value(metric, X, Y), rtol=tolerance)


@pytest.mark.slow
@pytest.mark.parametrize("metric", ["stein", "jeffrey"])
@pytest.mark.parametrize("sizes", [range(1, 14), range(14, 27)])
def test_every_small_size(metric, sizes):
    """The compiled programs differ by size."""
    for n in sizes:
        X, Y = well_separated(3, n, seed=n)
        expected = table(lambda A, B: by_eigenvalues(metric, A, B), X, Y)
        exact = exact_value(metric, X[0], Y[1])
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


@pytest.mark.slow
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


@pytest.mark.slow
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
        needed = "semidefinite" if metric == "euclid" else "definite"
        with pytest.raises(ValueError, match=rf"^X\[2\] is not positive {needed}"):
            pairwise_divergence(bad, metric=metric)
        with pytest.raises(ValueError, match=rf"^Y\[2\] is not positive {needed}"):
            pairwise_divergence(X, bad, metric=metric)
        with pytest.raises(ValueError, match="matrices of one size, got 3×3 and 4×4"):
            pairwise_divergence(X, random_spd(2, 4), metric=metric)
    with pytest.raises(TypeError, match="must hold numbers"):
        pairwise_divergence(X.astype(str))
    with pytest.raises(ValueError, match="empty"):
        pairwise_divergence(X[:0])
    with pytest.raises(ValueError, match="n_jobs"):
        pairwise_divergence(X, n_jobs=0)


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


@pytest.mark.slow
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


@pytest.mark.slow
@pytest.mark.parametrize("metric", ["stein", "jeffrey", "logeuclid", "euclid", "burg"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_threads_share_rows_and_do_not_change_a_bit(metric, dtype):
    """So many rows that each of the threads gets some of them."""
    X, Y = random_spd(1100, 12, dtype=dtype), random_spd(310, 12, seed=1, dtype=dtype)
    alone = pairwise_divergence(X, Y, metric)
    for n_jobs in (2, 3):
        np.testing.assert_array_equal(pairwise_divergence(X, Y, metric, n_jobs=n_jobs), alone)


def extra_memory(compute):
    """Return the peak of what was allocated beyond the result, in bytes."""
    tracemalloc.start()
    result = compute()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak - result.nbytes


@pytest.mark.slow
@pytest.mark.parametrize("metric", ["stein", "jeffrey", "burg", "logeuclid", "euclid"])
def test_extra_memory(metric):
    """64 MB and a copy of the inputs, whatever the result takes."""
    X, Y = random_spd(3000, 12), random_spd(3000, 12, seed=1)
    pairwise_divergence(X[:9], Y[:9], metric)
    bound = 64e6 + X.nbytes + Y.nbytes
    assert extra_memory(lambda: pairwise_divergence(X, Y, metric, n_jobs=2)) < bound
    assert extra_memory(lambda: pairwise_divergence(X, metric=metric, n_jobs=2)) < bound
