"""Weights, positive codes, more atoms than matrices, and what codes describe."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from _matrices import random_spd
from spdatoms import (
    SPDDictionaryLearning,
    check_spd,
    class_dictionary,
    load,
    pairwise_divergence,
    save,
)

pytestmark = pytest.mark.filterwarnings("ignore::spdatoms.exceptions.IndefiniteKernelWarning")

#: The kernel itself with two divergences, and the span of landmarks.
FORMS = [("stein", None), ("logeuclid", None), ("jeffrey", 12)]


def learner(metric, landmarks, X, **options) -> SPDDictionaryLearning:
    landmarks = landmarks and X[:landmarks]
    common = {"beta": 0.5, "alpha": 0.1, "init": X[:5], "max_iter": 3, "tol": 0.0}
    return SPDDictionaryLearning(5, metric, landmarks=landmarks, **(common | options))


@pytest.mark.parametrize(("metric", "landmarks"), FORMS)
@pytest.mark.parametrize("online", [False, True])
def test_integer_weights_are_repetitions(metric, landmarks, online) -> None:
    X, counts = random_spd(40, 3), np.random.default_rng(0).integers(1, 4, 40)
    weighted, repeated = (learner(metric, landmarks, X) for _ in range(2))
    method = "partial_fit" if online else "fit"
    getattr(weighted, method)(X, sample_weight=counts)
    getattr(repeated, method)(np.repeat(X, counts, axis=0))
    np.testing.assert_allclose(weighted.atoms_, repeated.atoms_, rtol=1e-8, atol=1e-8)
    assert weighted.score(X, sample_weight=counts) == pytest.approx(
        repeated.score(np.repeat(X, counts, axis=0))
    )
    if not online:
        np.testing.assert_allclose(weighted.objective_ * counts.mean(), repeated.objective_)


@pytest.mark.parametrize(("metric", "landmarks"), FORMS)
def test_streams_have_weights_too(metric, landmarks) -> None:
    da = pytest.importorskip("dask.array")
    X, weights = random_spd(40, 3), np.random.default_rng(0).choice([0.0, 1.0, 2.5], 40)
    here = learner(metric, landmarks, X).fit(X, sample_weight=weights)
    there = learner(metric, landmarks, X).fit(da.from_array(X, chunks=(9, 3, 3)), None, weights)
    np.testing.assert_allclose(there.atoms_, here.atoms_, rtol=1e-8, atol=1e-8)
    random = learner(metric, landmarks, X, init="random", random_state=0)
    chosen = random.fit(da.from_array(X, chunks=(9, 3, 3)), sample_weight=weights).atoms_
    np.testing.assert_allclose(
        chosen, random.fit(X[weights > 0], None, weights[weights > 0]).atoms_
    )


def test_a_checkpoint_belongs_to_weights_and_signs(tmp_path) -> None:
    X, weights = random_spd(30, 3), np.linspace(0.5, 1.5, 30)
    file = {"checkpoint": tmp_path / "file", "positive": True}
    first = learner("stein", None, X, **file).fit(X, sample_weight=weights)
    longer = learner("stein", None, X, **(file | {"max_iter": 4})).fit(X, sample_weight=weights)
    np.testing.assert_array_equal(longer.objective_[:6], first.objective_)
    for other, given in (({}, None), ({}, weights[::-1]), ({"positive": False}, weights)):
        with pytest.raises(ValueError, match="belongs to other data or other parameters"):
            learner("stein", None, X, **(file | other)).fit(X, sample_weight=given)


@pytest.mark.parametrize(("metric", "landmarks"), FORMS)
def test_positive_codes(metric, landmarks, tmp_path) -> None:
    X = random_spd(40, 3)
    signed = learner(metric, landmarks, X).fit(X)
    positive = learner(metric, landmarks, X, positive=True).fit(X)
    assert signed.transform(X).min() < 0.0 <= positive.transform(X).min()
    assert (np.diff(positive.objective_) <= 1e-9).all()
    save(positive.partial_fit(X[:10]), tmp_path / "model")
    loaded = load(tmp_path / "model").partial_fit(X[10:20])
    np.testing.assert_array_equal(loaded.atoms_, positive.partial_fit(X[10:20]).atoms_)


@pytest.mark.parametrize("init", ["kmeans", "random"])
def test_more_atoms_than_matrices(init) -> None:
    X = random_spd(5, 3)
    model = SPDDictionaryLearning(9, init=init, alpha=0.1, max_iter=2, random_state=0)
    with pytest.warns(UserWarning, match="n_atoms=9 is more than the 5 different matrices"):
        model.fit(X)
    assert model.atoms_.shape == (9, 3, 3)
    assert np.unique(model.atoms_.round(9), axis=0).shape == model.atoms_.shape


@pytest.mark.slow
def test_a_small_first_batch_if_all_is_given() -> None:
    X = random_spd(30, 3)
    model = learner("stein", None, X)
    for one in X[5:]:
        model.partial_fit(one[None])
    assert model.batch_losses_.shape == (25,)
    check_spd(model.atoms_)
    for missing in ({"init": "random"}, {"beta": "auto"}, {"alpha": "auto"}):
        with pytest.raises(
            ValueError, match="The first batch holds 1 matrices, fewer than n_atoms=5"
        ):
            learner("stein", None, X, **missing).partial_fit(X[:1])


def test_a_code_describes_the_best_matrix_of_size_one() -> None:
    X = np.random.default_rng(0).lognormal(size=(30, 1, 1))
    model = learner("stein", None, X).fit(X)
    codes = model.transform(X) + 0.05
    grid = np.linspace(-4.0, 4.0, 801)
    to_atoms = pairwise_divergence(np.exp(grid)[:, None, None], model.atoms_, "stein")
    starts = grid[np.argmax(codes @ np.exp(-0.5 * to_atoms).T, axis=1)]
    for start, code, found in zip(starts, codes, model.inverse_transform(codes), strict=True):

        def loss(log: float, code=code) -> float:
            d = pairwise_divergence(np.exp([[[log]]]), model.atoms_, "stein")[0]
            return -float(code @ np.exp(-0.5 * d))

        best = minimize_scalar(loss, bracket=(start - 0.01, start + 0.01), tol=1e-12)
        assert loss(np.log(found[0, 0])) == pytest.approx(best.fun, rel=1e-9)


@pytest.mark.parametrize("metric", ["stein", "logeuclid", "jeffrey"])
@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
def test_what_a_code_describes_is_stationary(metric, dtype) -> None:
    X = random_spd(30, 3).astype(dtype)
    if dtype is np.complex128:
        X[:, 0, 1] += 0.1j
        X[:, 1, 0] -= 0.1j
    model = learner(metric, None, X).fit(X)
    codes = model.transform(X[:6])
    C = model.inverse_transform(codes)
    assert C.dtype == dtype

    def similarity(Z: np.ndarray) -> np.ndarray:
        return (codes * np.exp(-0.5 * pairwise_divergence(Z, model.atoms_, metric))).sum(axis=1)

    value = similarity(C)
    rng = np.random.default_rng(0)
    for _ in range(10):
        V = rng.standard_normal((3, 3))
        V = 1e-3 * (V + V.T)
        L = np.linalg.cholesky(C)
        nearby = L @ (np.eye(3) + V) @ L.conj().swapaxes(1, 2)
        nearby = 0.5 * (nearby + nearby.conj().swapaxes(1, 2))
        assert (similarity(nearby) <= value * (1.0 + 1e-9)).all()


def test_the_words_of_bad_codes() -> None:
    X = random_spd(20, 3)
    model = learner("stein", None, X).fit(X)
    with pytest.raises(ValueError, match=r"Codes must be finite numbers of shape \(m, 5\)"):
        model.inverse_transform(np.ones((2, 4)))
    with pytest.raises(ValueError, match="Code 1 is zero, so that it describes no matrix"):
        model.inverse_transform([[1.0, 0, 0, 0, 0], [0.0] * 5])


def test_class_dictionaries_have_weights(labelled) -> None:
    X, y = labelled
    weights = np.where(np.arange(24) % 4 == 1, 0.0, 1.0)
    some = weights > 0
    options = {"alpha": 0.1, "max_iter": 2, "random_state": 0}
    given = class_dictionary(X, y, 2, sample_weight=weights, **options)
    without = class_dictionary(X[some], y[some], 2, **options)
    np.testing.assert_array_equal(given[0], without[0])
