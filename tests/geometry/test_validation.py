"""What `check_spd` accepts, what it refuses, and what it says."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import sklearn
from hypothesis import given, settings
from hypothesis import strategies as st
from pyriemann.geometry.distance import distance_kullback_sym, distance_logdet

from _matrices import random_spd, spd_stacks
from spdatoms import check_spd
from spdatoms.geometry import exp_map, is_spd, unvech
from spdatoms.geometry.validation import check_semidefinite

SCALES = [1e-300, 1e-150, 1e-12, 1.0, 1e12, 1e150, 1e300]
SCALES_AND_DTYPES = [(scale, np.float64) for scale in SCALES] + [
    (scale, np.float32) for scale in (1e-30, 1.0, 1e30)
]


def refusal(X, *, error=ValueError, **options):
    """Return the message of the error; it must be one sentence."""
    with pytest.raises(error) as caught:
        check_spd(X, **options)
    message = str(caught.value)
    assert message.endswith(".")
    assert "\n" not in message
    return message


def with_bad_matrix(bad, *, m=6, at=2):
    X = random_spd(m, len(bad))
    X[at] = bad
    return X


# --- Accepted -------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [1, 2, 3, 5, 8, 9, 16, 33, 64, 160])
@pytest.mark.parametrize("m", [1, 2, 7, 8, 33])
def test_accepts_any_size_and_count(m, n):
    X = random_spd(m, n)
    assert check_spd(X) is X


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("n", [1, 2, 3, 20])
def test_accepts_any_scale(n, scale):
    check_spd(random_spd(9, n, scale=scale))


def test_accepts_very_different_units():
    check_spd([np.diag([1e-20, 1.0])])
    check_spd([np.diag([1e-300, 1.0, 1e300])])
    units = np.logspace(-100, 100, 20)
    check_spd(random_spd(5, 20) * units * units[:, None])


@settings(max_examples=50, deadline=None)
@given(spd_stacks(max_m=40, max_n=12, max_condition=1e11, log10_scale=(-150, 150)))
def test_accepts_random_spd(X):
    check_spd(X)


@pytest.mark.parametrize(("dtype", "condition"), [(np.float64, 1e13), (np.float32, 1e4)])
@pytest.mark.parametrize("n", [2, 5, 40])
def test_accepts_ill_conditioned(n, dtype, condition):
    check_spd(random_spd(20, n, condition=condition, dtype=dtype))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [3, 30])
def test_accepts_rounding_asymmetry(n, dtype):
    X = random_spd(5, n, dtype=dtype)
    X[:, 0, 1] *= 1 + 4 * np.finfo(dtype).eps
    assert not np.array_equal(X, X.swapaxes(-1, -2))
    check_spd(X)


@pytest.mark.parametrize(
    ("given_dtype", "returned"),
    [
        (np.int8, np.float64),
        (np.int64, np.float64),
        (np.uint16, np.float64),
        (np.longdouble, np.float64),
        (">f8", np.float64),
        (">f4", np.float32),
        (np.float16, np.float32),
        (np.float32, np.float32),
        (np.float64, np.float64),
    ],
)
def test_dtypes(given_dtype, returned):
    X = np.array([[[2, 1], [1, 2]], [[3, 1], [1, 5]]], dtype=given_dtype)
    checked = check_spd(X)
    assert checked.dtype == np.dtype(returned)
    assert checked.dtype.isnative
    np.testing.assert_array_equal(checked, X)


def test_accepts_lists():
    X = check_spd([[[2, 1], [1, 2]]])
    assert X.shape == (1, 2, 2)
    check_spd([np.eye(3), 2 * np.eye(3)])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_no_copy_and_no_change(dtype, tmp_path):
    X = random_spd(40, 6, dtype=dtype)
    original = X.copy()
    frozen = X.copy()
    frozen.flags.writeable = False
    mapped = np.memmap(tmp_path / "X.dat", dtype=dtype, mode="w+", shape=X.shape)
    mapped[:] = X
    mapped.flush()
    readonly = np.memmap(tmp_path / "X.dat", dtype=dtype, mode="r", shape=X.shape)
    for view in (X, frozen, mapped, readonly, X[3:]):
        checked = check_spd(view)
        assert type(checked) is np.ndarray
        assert np.shares_memory(checked, view)
    np.testing.assert_array_equal(X, original)


def test_other_layouts_become_c_order():
    X = random_spd(8, 6)
    unaligned = np.frombuffer(b"0" + X.tobytes(), offset=1).reshape(X.shape)
    for view in (unaligned, X[::3], X[:, :4, :4], np.asfortranarray(X), X.astype(">f8")):
        checked = check_spd(view)
        assert checked.flags.carray
        assert checked.dtype.isnative
        np.testing.assert_array_equal(checked, view)


def test_extra_memory_is_bounded():
    import tracemalloc

    X = np.tile(np.eye(30, dtype=np.float32), (5_000, 1, 1))  # 18 MB
    check_spd(X[:1])
    tracemalloc.start()
    check_spd(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4e6


# --- Refused: shape and type ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("X", "words"),
    [
        (np.eye(3), "X[None]"),
        (np.ones(3), "shape (3,)"),
        (1.0, "shape ()"),
        (np.ones((2, 2, 4, 3, 3)), "X.reshape(-1, 3, 3)"),
        (np.ones((2, 3, 4, 6)), "spdatoms.geometry.unvech(X.reshape(-1, 6))"),
        (np.ones((2, 3, 4, 7)), "fit tensors first"),
        (np.ones((2, 3, 4, 7, 5)), "shape (2, 3, 4, 7, 5)."),
        (np.ones((50, 6)), 'spdatoms.geometry.unvech(X, order="fsl")'),
        (np.ones((50, 10)), "10 numbers for a 4×4 matrix"),
        (np.ones((22, 1000)), "np.cov(X)[None]"),
        (np.ones((50, 9)), "reshape(-1, n, n)"),
        (np.ones((4, 2, 3)), "square"),
        (np.ones((40, 22, 1000)), "np.stack([np.cov(trial) for trial in X])"),
        (np.ones((3, 3, 40)), "X.transpose(2, 0, 1)"),
        (np.ones((0, 3)), "shape (0, 3)."),
        (np.ones((0, 3, 3)), "empty"),
        (np.ones((3, 0, 0)), "empty"),
        ([], "shape (0,)"),
        (
            [np.eye(8), np.eye(8), np.eye(5)],
            "X[0] is 8×8, X[2] is 5×5; cut them to common channels",
        ),
        ([np.ones((3, 90)), np.ones((3, 91))], "differ in size: X[0] is 3×90, X[1] is 3×91."),
        ([[[1.0, 0.0], [0.0]]], "differ in size."),
        ([np.ones(2), np.ones(3)], "differ in size."),
    ],
)
def test_refuses_shape(X, words):
    assert words in refusal(X)


@pytest.mark.parametrize(
    ("shape", "advice"),
    [
        ((2, 3, 4, 3, 3), lambda X: X.reshape(-1, 3, 3)),
        ((5, 6), lambda X: unvech(X)),
        ((2, 3, 6), lambda X: unvech(X.reshape(-1, 6))),
        ((4, 3, 60), lambda X: np.stack([np.cov(trial) for trial in X])),
        ((3, 60), lambda X: np.cov(X)[None]),
        ((3, 3, 7), lambda X: X.transpose(2, 0, 1)),
        ((3, 3), lambda X: X[None]),
    ],
)
def test_advice_gives_a_stack_of_matrices(shape, advice):
    stack = advice(np.random.default_rng(0).standard_normal(shape))
    assert stack.ndim == 3
    assert stack.shape[1] == stack.shape[2]


def test_refuses_types():
    refusal(np.eye(2)[None].astype(str), error=TypeError)
    refusal(np.full((1, 2, 2), "one", dtype=object), error=TypeError)
    assert refusal(None, error=TypeError).endswith("matrices (m, n, n), but is None.")
    assert "is a string, 'X.npy': np.load" in refusal("X.npy", error=TypeError)
    assert "is a path, " in refusal(Path("X.npy"), error=TypeError)
    mixed = np.empty(2, dtype=object)
    mixed[:] = [np.eye(2), np.eye(3)]
    assert "np.stack" in refusal(mixed, error=TypeError)


def test_objects_that_are_numbers_are_converted():
    X = random_spd(3, 2)
    np.testing.assert_array_equal(check_spd(X.astype(object)), X)
    H = X + 1j * np.array([[0.0, 0.1], [-0.1, 0.0]])
    np.testing.assert_array_equal(check_spd(H.astype(object)), H)
    assert check_spd(H.astype(object)).dtype == np.complex128
    X = X.astype(object)
    X[1, 0, 0] = None
    assert "its entry (0, 0) is NaN" in refusal(X)


def test_message_uses_the_name():
    assert refusal(-np.eye(2)[None], name="dictionary").startswith("dictionary[0] is not positive")


# --- Refused: values ------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("n", [1, 2, 3, 9, 40])
def test_refuses_not_finite(n, value, dtype):
    for i, j in {(0, 0), (n - 1, 0), (0, n - 1), (n - 1, n - 1)}:
        for both in (False, True):
            X = random_spd(7, n, dtype=dtype)
            X[4, i, j] = value
            if both:
                X[4, j, i] = value
            message = refusal(X)
            assert message.startswith("X[4] is not finite: its entry (")
            assert f"is {'NaN' if np.isnan(value) else value}" in message


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("n", [2, 3, 9, 40])
def test_refuses_asymmetric(n, scale):
    X = random_spd(5, n)
    X[3, n - 1, 0] += 1e-6
    message = refusal(X * scale)
    assert message.startswith("X[3] is not symmetric: its entries (")
    assert "symmetrise" in message


def test_asymmetry_is_relative_to_the_units_of_the_entry():
    """1e-12 is rounding next to 1, but not between two variables of size 1e-10."""
    A = np.diag([1e-20, 1e-20, 1.0])
    A[0, 1] = 1e-22
    assert "not symmetric" in refusal(A[None])


@pytest.mark.parametrize(("scale", "dtype"), SCALES_AND_DTYPES)
@pytest.mark.parametrize("n", [2, 3, 9, 40])
def test_refuses_indefinite(n, dtype, scale):
    A = random_spd(1, n)[0]
    eigenvalues, U = np.linalg.eigh(A)
    eigenvalues[0] = -0.05
    X = with_bad_matrix((U * eigenvalues) @ U.T)
    X = 0.5 * (X + X.swapaxes(-1, -2))
    message = refusal((X * scale).astype(dtype))
    assert message.startswith("X[2] is not positive definite")
    assert "nearest_spd" in message


def test_refuses_nonpositive_diagonal():
    assert "its entry (1, 1) is -2" in refusal(with_bad_matrix(np.diag([1.0, -2.0, 1.0])))
    assert "its entry (0, 0) is 0" in refusal(with_bad_matrix(np.diag([0.0, 2.0, 1.0])))
    assert "not positive definite" in refusal(-random_spd(3, 4))


@pytest.mark.parametrize(("scale", "dtype"), SCALES_AND_DTYPES)
@pytest.mark.parametrize(("n", "samples"), [(2, 1), (3, 2), (12, 12), (43, 30), (90, 89)])
def test_refuses_rank_deficient_covariance(n, samples, dtype, scale):
    rng = np.random.default_rng(n)
    for _ in range(5):
        Z = rng.standard_normal((n, samples))
        Z -= Z.mean(axis=1, keepdims=True)  # so even n samples leave rank n - 1
        if samples == 1:
            Z += 1.0
        message = refusal((Z @ Z.T * scale / samples).astype(dtype)[None])
        assert "singular" in message or "not positive definite" in message


def test_refuses_rank_deficient_in_mixed_units():
    Z = np.random.default_rng(0).standard_normal((10, 7)) * np.logspace(-50, 50, 10)[:, None]
    refusal((Z @ Z.T)[None])


def test_pivots_alone_would_miss_this_singular_matrix():
    """Kahan's matrix: the least eigenvalue is far below the least pivot."""
    n, c = 60, 0.6
    s = np.sqrt(1 - c * c)
    R = np.diag(s ** np.arange(n)) @ (np.eye(n) - c * np.triu(np.ones((n, n)), 1))
    A = R.T @ R
    A = 0.5 * (A + A.T)
    scale = 1 / np.sqrt(A.diagonal())
    least = np.linalg.eigvalsh(A * scale * scale[:, None])[0]
    assert least < n * np.finfo(float).eps
    refusal(A[None])


def least_eigenvalue(A):
    """λ_min of the unit-diagonal scaling, in double precision."""
    scale = 1.0 / np.sqrt(A.diagonal().astype(np.float64))
    return np.linalg.eigvalsh(A * scale * scale[:, None])[0]


def nearly_singular(n, kind, rng):
    """Return a matrix whose pivots say little about its least eigenvalue."""
    if kind == "triangular":
        L = np.eye(n) - np.tril(rng.uniform(0.3, 1.0, (n, n)), -1)
        return L @ L.T
    if kind == "covariance":
        Z = rng.standard_normal((n, n + rng.integers(0, 4)))
        return Z @ Z.T
    return random_spd(1, n, condition=10.0 ** rng.uniform(4, 8), seed=rng)[0]


@pytest.mark.parametrize("kind", ["triangular", "covariance", "spectrum"])
@pytest.mark.parametrize("n", [5, 20, 40, 55, 70])
def test_single_precision_is_judged_by_the_least_eigenvalue(n, kind):
    """The first unfit matrix is named, and all that are singular to working precision are unfit."""
    rng = np.random.default_rng(n)
    X = np.array([nearly_singular(n, kind, rng) for _ in range(20)]).astype(np.float32)
    X = np.tril(X) + np.tril(X, -1).swapaxes(1, 2)
    limit = n * np.finfo(np.float32).eps
    least = np.array([least_eigenvalue(A) for A in X])
    certain = abs(least / limit - 1) > 1e-3  # the others may be either
    X, unfit = X[certain], least[certain] <= limit
    if not unfit.any():
        check_spd(X)
        return
    message = refusal(X)
    assert message.startswith(f"X[{np.argmax(unfit)}] ")
    if unfit.sum() > 1:
        assert f"({unfit.sum() - 1} more of the {len(X)} matrices" in message


def test_all_pivots_are_large_and_yet_it_is_singular():
    """L has −1 below its unit diagonal: the pivots are 1/i of the diagonal, λ_min is about 4^-n."""
    n = 30
    L = np.eye(n) - np.tril(np.ones((n, n)), -1)
    refusal((L @ L.T)[None])


def test_message_counts_the_others():
    X = random_spd(10, 3)
    X[[3, 5, 9]] = -np.eye(3)
    X[7, 0, 0] = np.nan
    message = refusal(X)
    assert message.startswith("X[3] ")
    assert "3 more of the 10 matrices" in message
    assert "more of" not in refusal(X[:5])


def test_finds_the_first_beyond_the_first_block():
    X = random_spd(20_000, 3)
    X[17_345] = -np.eye(3)
    assert refusal(X).startswith("X[17345] ")
    assert re.match(r"X\[17345\] ", refusal(X.astype(np.float32)))


@settings(max_examples=100, deadline=None)
@given(
    spd_stacks(max_m=20, max_n=8, max_condition=1e3, log10_scale=(-100, 100)),
    st.data(),
)
def test_agrees_with_the_eigenvalues(X, data):
    """Shift each spectrum at random: accepted are just those that stay positive."""
    m, n, _ = X.shape
    shifts = data.draw(st.lists(st.floats(-2, 2), min_size=m, max_size=m))
    middle = np.trace(X, axis1=1, axis2=2) / n
    Y = X + (np.array(shifts) * middle)[:, None, None] * np.eye(n)
    least = np.linalg.eigvalsh(Y)[:, 0] / middle
    if (abs(least) < 1e-9).any():
        return
    if (least > 0).all():
        check_spd(Y)
    else:
        assert refusal(Y).startswith(f"X[{np.argmax(least < 0)}] is not positive definite")


def test_peers_answer_for_indefinite_matrices():
    """For the record: pyRiemann does not look, and answers with numbers that are no distances.

    For an indefinite matrix and an SPD one it gives a log-det distance of 0.0 and a negative
    symmetrised Kullback-Leibler divergence; its other distances are NaN.
    """
    indefinite, identity = np.diag([1.0, -0.5]), np.eye(2)
    with np.errstate(invalid="ignore"):
        assert distance_logdet(indefinite, identity) == 0.0
    assert distance_kullback_sym(indefinite, identity) < 0.0
    refusal(indefinite[None])


# --- The mask -------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [1, 3, 9])
def test_mask_leaves_out_what_is_refused(n, dtype):
    X = random_spd(8, n, dtype=dtype)
    X[1] = 0.0
    X[2, 0, 0] = np.nan
    X[3] *= -1.0
    if n > 1:
        X[4] = 1.0  # singular
        X[5, 0, 1] += X[5, 0, 0]
    bad = [1, 2, 3, 4, 5] if n > 1 else [1, 2, 3]
    assert np.flatnonzero(~is_spd(X)).tolist() == bad
    assert (is_spd(X.reshape(2, 2, 2, n, n)).ravel() == is_spd(X)).all()
    check_spd(X[is_spd(X)])


@given(spd_stacks(), st.data())
def test_mask_agrees_with_the_check_of_each_matrix(X, data):
    X = X.copy()
    spoilt = data.draw(st.sampled_from([0.0, -1.0, np.nan, 1.0]))
    X[data.draw(st.integers(0, len(X) - 1))] *= spoilt

    def accepted(A):
        try:
            check_spd(A[None])
        except ValueError:
            return False
        return True

    assert is_spd(X).tolist() == [accepted(A) for A in X]


def test_mask_of_one_matrix_of_none_and_of_what_is_not_square():
    assert is_spd(np.eye(2)).shape == ()
    assert is_spd(np.zeros((0, 3, 3))).shape == (0,)
    with pytest.raises(ValueError, match="square"):
        is_spd(np.ones((4, 6)))


def test_a_zero_matrix_is_told_how_to_be_left_out():
    X = with_bad_matrix(np.zeros((3, 3)))
    assert "X[2] is zero" in refusal(X)
    assert "spdatoms.geometry.is_spd gives the mask" in refusal(X)
    check_spd(X[is_spd(X)])


@pytest.mark.parametrize("n", [8, 9, 12, 22, 43])
def test_one_bad_matrix_among_many_is_found_in_any_lane(n):
    good = random_spd(21, n)
    assert is_spd(good).all()

    def indefinite(A):
        eigenvalues, U = np.linalg.eigh(A)
        eigenvalues[0] = -1e-3 * eigenvalues[-1]
        B = (U * eigenvalues) @ U.T
        return 0.5 * (B + B.T)

    def changed(value, *at):
        def change(A):
            A = A.copy()
            A[at] = value
            return A

        return change

    makers = [indefinite, changed(-1.0, n - 1, n - 1), changed(0.0, 0, 0), changed(1e3, 2, 1)]
    makers += [changed(value, 0, n - 1) for value in (np.nan, np.inf)]
    makers += [changed(value, n // 2, n // 2) for value in (np.nan, np.inf)]
    for make in makers:
        for place in (0, 6, 13, 20):
            X = good.copy()
            X[place] = make(X[place])
            np.testing.assert_array_equal(np.flatnonzero(~is_spd(X)), [place])
            np.testing.assert_array_equal(np.flatnonzero(~is_spd(1e-290 * X)), [place])


# --- Trusted --------------------------------------------------------------------------------------


UNFIT = {
    "indefinite": [[1.0, 0.0], [0.0, -1.0]],
    "asymmetric": [[1.0, 0.5], [0.0, 1.0]],
    "not finite": [[1.0, 0.0], [0.0, np.nan]],
}


@pytest.mark.parametrize("entries", UNFIT.values(), ids=UNFIT)
@pytest.mark.parametrize("check", [check_spd, check_semidefinite])
def test_values_are_trusted_where_scikit_learn_is_told_so(check, entries):
    X = np.array([entries])
    with sklearn.config_context(assume_finite=True):
        assert check(X) is X
        assert not is_spd(X).any()  # who asks gets an answer
    with pytest.raises(ValueError, match=r"^X\[0\] is not"):
        check(X)


def test_tangents_are_trusted_too():
    V, P = np.array([[0.0, 1.0], [0.0, 0.0]]), np.eye(2)
    with pytest.raises(ValueError, match="V is not symmetric"):
        exp_map(V, P)
    with sklearn.config_context(assume_finite=True):
        assert exp_map(V, P).shape == (2, 2)


def test_shapes_and_types_are_checked_where_values_are_trusted():
    with sklearn.config_context(assume_finite=True):
        for X in (np.eye(2), np.ones((1, 2, 3)), np.ones((0, 2, 2))):
            with pytest.raises(ValueError, match="X "):
                check_spd(X)
        with pytest.raises(TypeError, match="X must hold numbers"):
            check_spd([[["a"]]])


def test_other_threads_trust_nothing():
    def ask():
        with pytest.raises(ValueError, match="not positive definite"):
            check_spd(-np.eye(2)[None])

    with sklearn.config_context(assume_finite=True), ThreadPoolExecutor(1) as other:
        other.submit(ask).result()
