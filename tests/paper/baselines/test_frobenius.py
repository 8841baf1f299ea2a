"""Frobenius sparse coding and dictionary learning, against non-negative least squares and CVXPY."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.optimize
from hypothesis import given, settings
from hypothesis import strategies as st

from _matrices import random_spd
from spdatoms.geometry import unvech, vech
from spdatoms.paper.baselines import FrobeniusDictionaryLearning, FrobeniusSparseCoder
from spdatoms.paper.baselines.frobenius import admissible


def nnls(x: np.ndarray, D: np.ndarray, penalty: float) -> np.ndarray:
    """min_{y≥0} ‖x − Dᵀy‖² + penalty·Σy, as least squares with completed squares.

    With D of full row rank there is a w with 2Dw = −penalty·1, and the problem is that of x + w.
    """
    w = np.linalg.lstsq(2.0 * D, np.full(len(D), -penalty), rcond=None)[0]
    return scipy.optimize.nnls(D.T, x + w)[0]


@pytest.mark.parametrize("alpha", [0.0, 0.05, 0.5])
@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e100])
def test_codes_equal_nonnegative_least_squares(alpha, scale) -> None:
    D, X = random_spd(9, 5, seed=1), random_spd(20, 5, seed=2)
    codes = FrobeniusSparseCoder(scale * D, alpha=alpha).fit(scale * D).transform(scale * X)
    penalty = alpha * np.mean(np.sum(D**2, axis=(1, 2)))
    expected = [nnls(x.ravel(), D.reshape(9, -1), penalty) for x in X]
    np.testing.assert_allclose(codes, expected, atol=1e-7)
    assert (codes >= 0).all()
    assert (codes == 0).any()


@pytest.mark.slow
@given(st.integers(0, 2**32 - 1), st.sampled_from([None, 1, 2, 9]))
@settings(max_examples=20, deadline=None)
def test_the_objective_never_increases(seed, rank) -> None:
    X = random_spd(40, 4, scale=1e-6, seed=seed)
    learner = FrobeniusDictionaryLearning(10, rank=rank, random_state=seed, tol=0.0, max_iter=8)
    learner.fit(X)
    assert (np.diff(learner.objective_) <= 1e-9 * learner.objective_[0]).all()
    assert learner.objective_[-1] < learner.objective_[0]
    eigenvalues = np.linalg.eigvalsh(learner.atoms_ / learner.scale_)
    assert eigenvalues.min() >= -1e-12
    assert np.linalg.norm(eigenvalues, axis=1).max() <= 1.0 + 1e-12
    if rank is not None:
        assert (np.count_nonzero(eigenvalues > 1e-9, axis=1) <= rank).all()


def test_the_recorded_objective_is_that_of_the_formula() -> None:
    X = random_spd(30, 3, scale=7.0, seed=3)
    learner = FrobeniusDictionaryLearning(6, alpha=0.05, random_state=0, max_iter=4, tol=0.0)
    learner.fit(X)
    unused = FrobeniusDictionaryLearning(6, alpha=0.05, random_state=0, max_iter=5, tol=0.0)
    after_coding = unused.fit(X).objective_[-2]  # the next coding, over the atoms of `learner`
    Y, s2 = learner.transform(X), np.mean(np.sum(X**2, axis=(1, 2)))
    losses = np.sum((X - np.einsum("ij,jkl->ikl", Y, learner.atoms_)) ** 2) / s2
    assert losses + 0.05 * Y.sum() == pytest.approx(after_coding, rel=1e-6)


@pytest.mark.slow
def test_the_best_full_rank_atom_is_that_of_a_convex_solver() -> None:
    cvxpy = pytest.importorskip("cvxpy")
    for seed in range(4):
        G = np.random.default_rng(seed).standard_normal((4, 4)) * (0.2 if seed == 0 else 1.0)
        C = 0.5 * (G + G.T)
        D = cvxpy.Variable((4, 4), PSD=True)
        objective = cvxpy.Minimize(cvxpy.sum_squares(D - C))
        cvxpy.Problem(objective, [cvxpy.norm(D, "fro") <= 1]).solve(solver="CLARABEL")
        found = unvech(admissible(vech(C, weighted=True)), weighted=True)
        np.testing.assert_allclose(found, D.value, atol=1e-3)
        assert np.sum((found - C) ** 2) <= objective.value + 1e-8


@pytest.mark.parametrize("length", [0.3, 3.0])
def test_no_rank_one_atom_is_nearer(length) -> None:
    rng = np.random.default_rng(1)
    G = rng.standard_normal((3, 3))
    C = length * (G + G.T + np.eye(3))
    found = unvech(admissible(vech(C, weighted=True), rank=1), weighted=True)
    assert np.linalg.matrix_rank(found) == 1

    def distance(a: np.ndarray) -> float:
        a = a / max(1.0, np.linalg.norm(a))
        return float(np.sum((np.outer(a, a) - C) ** 2))

    best = min(
        scipy.optimize.minimize(distance, rng.standard_normal(3), method="Nelder-Mead").fun
        for _ in range(8)
    )
    assert np.sum((found - C) ** 2) == pytest.approx(best, rel=1e-5)


@pytest.mark.slow
def test_planted_rank_one_atoms_are_found() -> None:
    rng = np.random.default_rng(0)
    a = rng.standard_normal((6, 4))
    a /= np.linalg.norm(a, axis=1, keepdims=True)
    codes = rng.exponential(size=(400, 6)) * (rng.random((400, 6)) < 0.5)
    X = np.einsum("ij,jk,jl->ikl", codes, a, a) + 1e-3 * np.eye(4)
    learner = FrobeniusDictionaryLearning(
        6, rank=1, alpha=1e-3, max_iter=300, tol=1e-7, random_state=1
    ).fit(X)
    directions = np.linalg.eigh(learner.atoms_)[1][:, :, -1]
    assert (np.abs(a @ directions.T).max(axis=1) > 0.98).all()


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_atoms": 0}, "n_atoms must be an integer ≥ 1"),
        ({"rank": 0}, "rank must be None or an integer ≥ 1"),
        ({"alpha": -1.0}, "alpha must be"),
        ({"tol": -1.0}, "tol must be"),
        ({"n_atoms": 21}, "too few for 21 atoms"),
    ],
)
def test_bad_parameters(parameters, message) -> None:
    with pytest.raises(ValueError, match=message):
        FrobeniusDictionaryLearning(**parameters).fit(random_spd(20, 3))


@pytest.mark.parametrize(
    "model", [FrobeniusSparseCoder(), FrobeniusDictionaryLearning(4, max_iter=2, random_state=0)]
)
def test_codes_have_the_precision_of_the_model(model) -> None:
    X = random_spd(8, 3, seed=1)
    single = X.astype(np.float32)
    assert model.fit(X).transform(single).dtype == np.float64
    assert model.fit(single).transform(single).dtype == np.float32
