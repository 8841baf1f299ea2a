"""K-SVD on logarithms: scikit-learn's pursuit as oracle, planted dictionaries, a falling objective."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import Lasso, orthogonal_mp_gram

from _matrices import random_spd
from spdatoms.geometry import expm, logm, unvech, vech
from spdatoms.paper.baselines import LogEuclideanKSVD
from spdatoms.paper.baselines._factorisation import (
    KSVD,
    approximate_update,
    exact_update,
)
from spdatoms.paper.baselines.pursuit import pursue


def unit_rows(A: np.ndarray) -> np.ndarray:
    return A / np.linalg.norm(A, axis=1, keepdims=True)


def planted(seed: int, snr: float | None, n: int = 7, n_atoms: int = 40, m: int = 1200):
    """Return planted atoms, and SPD matrices whose logarithms combine three of them each."""
    rng = np.random.default_rng(seed)
    atoms = unit_rows(rng.standard_normal((n_atoms, n * (n + 1) // 2)))
    codes = np.zeros((m, n_atoms))
    for row in codes:
        row[rng.choice(n_atoms, 3, replace=False)] = rng.standard_normal(3)
    logs = codes @ atoms
    if snr is not None:
        noise = rng.standard_normal(logs.shape)
        logs += noise * (np.linalg.norm(logs) / np.linalg.norm(noise)) * 10 ** (-snr / 20)
    return atoms, expm(unvech(logs, weighted=True))


@given(st.integers(0, 2**32 - 1), st.integers(1, 6), st.integers(6, 20))
@settings(max_examples=30, deadline=None)
def test_the_pursuit_is_scikit_learns(seed, n_nonzero, n_atoms) -> None:
    rng = np.random.default_rng(seed)
    D, V = unit_rows(rng.standard_normal((n_atoms, 15))), rng.standard_normal((9, 15))
    gram, cross = D @ D.T, V @ D.T
    expected = orthogonal_mp_gram(gram, cross.T, n_nonzero_coefs=n_nonzero)
    expected = np.reshape(expected, (n_atoms, 9)).T
    np.testing.assert_allclose(pursue(gram, cross, n_nonzero), expected, atol=1e-8)


def test_the_pursuit_stops_when_nothing_is_left() -> None:
    rng = np.random.default_rng(0)
    D = unit_rows(rng.standard_normal((6, 10)))
    D[5] = D[2]  # an atom twice must not be chosen twice
    V = np.stack([3.0 * D[1], np.zeros(10), D[2]])
    codes = pursue(D @ D.T, V @ D.T, 4)
    np.testing.assert_allclose(codes @ D, V, atol=1e-12)
    assert (np.count_nonzero(codes, axis=1) == [1, 0, 1]).all()


@pytest.mark.parametrize("shape", [(30, 6), (4, 9)])
def test_the_exact_update_is_the_first_singular_pair(shape) -> None:
    E = np.random.default_rng(1).standard_normal(shape)
    U, s, Vt = np.linalg.svd(E, full_matrices=False)
    atom, y = exact_update(E, np.ones(len(E)))
    np.testing.assert_allclose(np.outer(y, atom), s[0] * np.outer(U[:, 0], Vt[0]), atol=1e-12)
    assert np.linalg.norm(atom) == pytest.approx(1.0)


def test_approximate_updates_lead_to_the_exact_one() -> None:
    E = np.random.default_rng(2).standard_normal((30, 6))
    y = np.ones(30)
    losses = []
    for _ in range(300):
        atom, y = approximate_update(E, y)
        losses.append(np.sum((E - np.outer(y, atom)) ** 2))
    exact = exact_update(E, y)
    assert (np.diff(losses) <= 1e-12).all()
    np.testing.assert_allclose(np.outer(y, atom), np.outer(exact[1], exact[0]), atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("update", ["exact", "approximate"])
@pytest.mark.parametrize("snr", [None, 20.0])
def test_a_planted_dictionary_is_recovered(update, snr) -> None:
    atoms, X = planted(3, snr)
    learner = LogEuclideanKSVD(
        40, 3, update=update, rescale=False, max_iter=200, random_state=0
    ).fit(X)
    found = vech(learner.log_atoms_, weighted=True)
    recovered = np.abs(atoms @ found.T).max(axis=1) > 0.99
    assert recovered.mean() > 0.95
    # Down to rounding: once the codes of exact data are found, there is nothing left to gain.
    rises = np.diff(learner.objective_)
    assert (rises <= 1e-12 * learner.objective_[0]).all()


@pytest.mark.slow
@pytest.mark.parametrize("update", ["exact", "approximate"])
@given(st.integers(0, 2**32 - 1), st.integers(1, 4))
@settings(max_examples=15, deadline=None)
def test_the_objective_never_increases(update, seed, n_nonzero) -> None:
    X = random_spd(40, 4, seed=seed)
    learner = LogEuclideanKSVD(
        12, n_nonzero, update=update, random_state=seed, tol=0.0, max_iter=25
    ).fit(X)
    objective = learner.objective_
    assert (np.diff(objective) <= 1e-12 * objective[0]).all()
    np.testing.assert_allclose(np.linalg.norm(learner.log_atoms_, axis=(1, 2)), 1.0)


def test_a_sample_keeps_its_code_where_the_pursuit_is_worse() -> None:
    rng = np.random.default_rng(5)
    V = rng.standard_normal((60, 8))
    learner = KSVD(V, 3, "exact", 0.0)
    now, _ = learner.run(unit_rows(V[:16]), 8, lambda objective: None)
    pursued = pursue(now.atoms @ now.atoms.T, V @ now.atoms.T, 3)
    pursued_loss = np.sum((V - pursued @ now.atoms) ** 2, axis=1)
    kept_loss = np.sum((V - now.codes @ now.atoms) ** 2, axis=1)
    worse = pursued_loss > kept_loss
    assert worse.any()  # else this data would show nothing
    after = learner._iterate(now)
    supports = now.codes[worse] != 0, after.codes[worse] != 0
    np.testing.assert_array_equal(*supports)


def test_the_recorded_objective_is_the_loss_of_the_result() -> None:
    V = np.random.default_rng(6).standard_normal((50, 6))
    now, history = KSVD(V, 2, "exact", 0.0).run(unit_rows(V[:9]), 6, lambda objective: None)
    assert now.objective == pytest.approx(np.sum((V - now.codes @ now.atoms) ** 2))
    assert now.objective <= history[-1]
    assert (np.count_nonzero(now.codes, axis=1) <= 2).all()


def test_codes_with_alpha_equal_scikit_learns_lasso() -> None:
    X = random_spd(40, 3, seed=8)
    learner = LogEuclideanKSVD(5, 2, alpha=0.1, rescale=False, random_state=0).fit(X)
    D, V = vech(learner.log_atoms_, weighted=True), vech(logm(X[:6]), weighted=True)
    for v, code in zip(V, learner.transform(X[:6]), strict=True):
        alpha = 0.1 * np.linalg.norm(v) / (2 * len(v))
        oracle = Lasso(alpha, fit_intercept=False, tol=1e-14, max_iter=100_000).fit(D.T, v)
        np.testing.assert_allclose(code, oracle.coef_, atol=1e-7)


def test_inverse_transform_gives_back_what_the_code_holds() -> None:
    X = 1e-6 * random_spd(30, 3, seed=9)
    learner = LogEuclideanKSVD(8, 6, random_state=0).fit(X)
    np.testing.assert_allclose(learner.inverse_transform(learner.transform(X)), X, rtol=1e-6)
    with pytest.raises(ValueError, match=r"\(m, 8\)"):
        learner.inverse_transform(np.zeros((2, 7)))


def test_verbose_shows_the_objective(capsys) -> None:
    pytest.importorskip("tqdm")
    LogEuclideanKSVD(3, 2, max_iter=3, random_state=0, verbose=1).fit(random_spd(20, 3))
    assert "objective=" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_atoms": 0}, "n_atoms must be an integer ≥ 1"),
        ({"n_nonzero": 1.5}, "n_nonzero must be an integer"),
        ({"update": "best"}, "update must be 'exact' or 'approximate'"),
        ({"alpha": -1.0}, "alpha must be None or a number ≥ 0"),
        ({"tol": -1.0}, "tol must be"),
        ({"n_atoms": 21}, "too few for 21 atoms"),
    ],
)
def test_bad_parameters(parameters, message) -> None:
    with pytest.raises(ValueError, match=message):
        LogEuclideanKSVD(**parameters).fit(random_spd(20, 3))


@pytest.mark.parametrize("alpha", [None, 0.1])
def test_codes_have_the_precision_of_the_model(alpha) -> None:
    X = random_spd(20, 3, seed=1)
    single = X.astype(np.float32)
    learner = LogEuclideanKSVD(4, 2, alpha=alpha, max_iter=2, random_state=0)
    assert learner.fit(X).transform(single).dtype == np.float64
    assert learner.fit(single).transform(single).dtype == np.float32
