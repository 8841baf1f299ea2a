"""Codes and what is reported of them, by the conditions of optimality in NumPy."""

import numpy as np
import pytest

from spdatoms.native.feature_sign import (
    EXCESS,
    LINEAR,
    NONZEROS,
    NORM,
    PEAK,
    QUADRATIC,
    REPORT,
    ROUNDS,
    SOLVED,
    VIOLATION,
    AtomScales,
    code_block,
)

TOLERANCE = 1e-11
DEFINITE = (1e-14, -0.01)
GUARD = 4711.0


def problem(n, m=3, seed=0, correlation=0.3):
    """Return K and k of correlated atoms with squared lengths near 1."""
    rng = np.random.default_rng([n, seed])
    atoms = rng.standard_normal((n, n + 2)) / np.sqrt(n + 2)
    atoms += correlation * rng.standard_normal(n + 2) / np.sqrt(n + 2)
    return atoms @ atoms.T, rng.standard_normal((m, n + 2)) @ atoms.T


def scales_of(K, *, own=False, limits=DEFINITE):
    squares = K.diagonal() if own else np.full(len(K), K.diagonal().max())
    return AtomScales(1 / np.sqrt(squares), not own, limits)


def code(K, k, tau, *, positive=False, own=False, start=None, excluded=None, rows=None, rounds=500):
    """Return the codes and their reports; numbers around them must stay as they are."""
    m, n = k.shape
    codes, report = np.full((m + 2, n), GUARD), np.full((m + 2, REPORT), GUARD)
    if start is not None:
        codes[1:-1] = start
    result = code_block(
        K, k, np.broadcast_to(tau, m).astype(float), np.full(m, TOLERANCE), positive, rounds,
        scales_of(K, own=own), np.full(m, -1) if excluded is None else excluded,
        start is not None, codes[1:-1], report[1:-1], rows,
    )  # fmt: skip
    assert result == SOLVED
    assert (codes[[0, -1]] == GUARD).all()
    assert (report[[0, -1]] == GUARD).all()
    return codes[1:-1], report[1:-1]


def check(K, k, tau, codes, report, *, positive=False, own=False, excluded=None):
    """The definition: h = τ sign(y) where y is not zero, |h| ≤ τ elsewhere, and the columns of the report."""
    h = k - codes @ K
    inverse = scales_of(K, own=own).inverse
    sizes = h if positive else np.abs(h)
    off = np.where(codes != 0, np.abs(h - tau * np.sign(codes)), np.maximum(sizes - tau, 0))
    counted = np.ones(h.shape, bool)
    if excluded is not None:
        counted[np.arange(len(h)), excluded] = excluded < 0
        assert not codes[~counted].any()
    off *= counted
    np.testing.assert_array_less((off * inverse).max(axis=1), 3 * TOLERANCE)
    assert not positive or (codes >= 0).all()
    np.testing.assert_allclose(report[:, VIOLATION], off.max(axis=1), atol=1e-12)
    np.testing.assert_allclose(report[:, EXCESS], (off * inverse).max(axis=1), atol=1e-12)
    np.testing.assert_allclose(report[:, LINEAR], (codes * k).sum(axis=1), rtol=1e-9, atol=1e-12)
    quadratic = (codes * (codes @ K)).sum(axis=1)
    np.testing.assert_allclose(report[:, QUADRATIC], quadratic, rtol=1e-8, atol=1e-11)
    np.testing.assert_allclose(report[:, NORM], np.abs(codes).sum(axis=1), rtol=1e-12)
    peak = np.where(counted, sizes, 0).max(axis=1).clip(0)
    np.testing.assert_allclose(report[:, PEAK], peak, atol=1e-11)
    np.testing.assert_array_equal(report[:, NONZEROS], (codes != 0).sum(axis=1))


@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("own", [False, True])
@pytest.mark.parametrize("n", range(1, 41))
def test_every_size(n, own, positive):
    K, k = problem(n)
    for tau in (0.3, 0.01):
        codes, report = code(K, k, tau, positive=positive, own=own)
        check(K, k, tau, codes, report, positive=positive, own=own)


@pytest.mark.parametrize("n", [1, 7, 23, 40])
def test_without_a_penalty_it_solves_equations(n):
    K, k = problem(n, correlation=0.0)
    K += 0.1 * np.eye(n)
    codes, _ = code(K, k, 0.0)
    np.testing.assert_allclose(codes, np.linalg.solve(K, k.T).T, atol=1e-9)


@pytest.mark.parametrize("n", [2, 9, 17, 33])
def test_an_atom_that_must_not_be_used(n):
    K, k = problem(n)
    excluded = np.array([-1, 0, n - 1])
    codes, report = code(K, k, 0.05, excluded=excluded)
    check(K, k, 0.05, codes, report, excluded=excluded)


@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("n", [3, 21, 40, 65])
def test_many_atoms_leave_a_start_far_from_the_optimum(n, positive):
    K, k = problem(n, correlation=2.0)
    start = 3 * np.random.default_rng(n).standard_normal(k.shape)
    codes, report = code(K, k, 0.2, start=start, positive=positive)
    check(K, k, 0.2, codes, report, positive=positive)
    np.testing.assert_allclose(codes, code(K, k, 0.2, positive=positive)[0], atol=1e-8)


@pytest.mark.parametrize("n", [263, 300])
def test_more_active_atoms_than_there_is_room_for_at_first(n):
    K, k = problem(n, m=2)
    codes, report = code(K, k, 1e-4)
    assert (report[:, NONZEROS] > 150).all()
    check(K, k, 1e-4, codes, report)
    again, report = code(K, k, 1e-4, start=codes)
    assert (report[:, ROUNDS] <= 2).all()
    np.testing.assert_allclose(again, codes, atol=1e-9)


def test_rows_are_coded_in_any_order_and_alone():
    K, k = problem(37, m=5)
    tau = np.linspace(0.01, 0.3, 5)
    together, _ = code(K, k, tau)
    some = np.full(k.shape, GUARD)
    order = np.array([4, 0, 2])
    result = code_block(
        K, k, tau, np.full(5, TOLERANCE), False, 500, scales_of(K), np.full(5, -1), False, some,
        np.zeros((5, REPORT)), order,
    )  # fmt: skip
    assert result == SOLVED
    np.testing.assert_array_equal(some[order], together[order])
    assert (some[[1, 3]] == GUARD).all()


@pytest.mark.parametrize("n", [2, 10, 40])
@pytest.mark.parametrize("bad", [-3.0, np.nan, np.inf])
def test_a_block_that_is_indefinite(n, bad):
    K, k = problem(n, correlation=0.0)
    scales, k[0] = scales_of(K), 0.0
    K[0, 1] = K[1, 0] = bad
    k[1, :2] = 100.0
    arguments = k, np.full(3, 0.1), np.full(3, TOLERANCE), False, 500
    rest = scales, np.full(3, -1), False, np.zeros(k.shape), np.zeros((3, REPORT))
    assert code_block(K, *arguments, *rest) == 1


def test_copies_of_atoms_share_the_code():
    K, k = problem(11)
    twice = np.r_[np.arange(11), np.arange(11), 0]
    codes, _ = code(K[np.ix_(twice, twice)], np.ascontiguousarray(k[:, twice]), 0.05)
    alone, _ = code(K, k, 0.05)
    merged = codes[:, :11] + codes[:, 11:22]
    merged[:, 0] += codes[:, 22]
    np.testing.assert_allclose(merged, alone, atol=1e-8)
