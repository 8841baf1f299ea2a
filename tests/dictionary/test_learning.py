"""Dictionary learning: it descends, whatever the kernel, and gives up gracefully."""

from __future__ import annotations

import os
import signal
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.neighbors import KNeighborsClassifier

from _matrices import random_spd, wishart_classes
from spdatoms import SPDDictionaryLearning, check_spd, pairwise_divergence
from spdatoms.dictionary._loop import State
from spdatoms.dictionary.problem import LandmarkProblem, Problem
from spdatoms.exceptions import IndefiniteKernelWarning

pytestmark = pytest.mark.filterwarnings("ignore::spdatoms.exceptions.IndefiniteKernelWarning")

METRICS = ["stein", "jeffrey", "logeuclid"]


def objective_of(learner: SPDDictionaryLearning, X: np.ndarray, Y: np.ndarray) -> float:
    """F by its definition, with the kernel itself or with κᵀRRᵀκ in the span of landmarks."""
    D, alpha = learner.atoms_, learner.alpha_

    def kernel(A: np.ndarray, B: np.ndarray) -> np.ndarray:
        return np.exp(-learner.beta_ * pairwise_divergence(A, B, metric=learner.metric))

    if isinstance(learner._problem, Problem):
        K, k, norms = kernel(D, D) + learner.ridge_ * np.eye(len(D)), kernel(X, D), np.ones(len(X))
    else:
        Z, R = learner._problem.space.landmarks, learner._problem.space.roots
        inverse = R @ R.T
        K = kernel(D, Z) @ inverse @ kernel(Z, D)
        k = kernel(X, Z) @ inverse @ kernel(Z, D)
        norms = np.einsum("ij,jl,il->i", kernel(X, Z), inverse, kernel(X, Z))
    quadratic = np.einsum("ij,jl,il->", Y, K, Y)
    return norms.sum() - 2 * (Y * k).sum() + quadratic + alpha * abs(Y).sum()


def rises(objective: np.ndarray, m: int) -> np.ndarray:
    """Return the half-steps that raised F by more than rounding."""
    size = np.maximum(abs(objective[:-1]), m)
    return np.flatnonzero(np.diff(objective) > 1e-10 * size)


@pytest.mark.slow
@settings(max_examples=80, deadline=None)
@given(
    metric=st.sampled_from(METRICS),
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(1, 6),
    n_atoms=st.integers(1, 12),
    log_beta=st.floats(-3.0, 2.5),
    log_alpha=st.floats(-4.0, 0.5),
    condition=st.sampled_from([None, 1e3]),
    init=st.sampled_from(["random", "kmeans", "kmeans-riemann"]),
    update=st.sampled_from(["centre", "gradient"]),
    block_size=st.sampled_from([None, 1, 3]),
)
def test_the_objective_never_increases(
    metric, seed, n, n_atoms, log_beta, log_alpha, condition, init, update, block_size
) -> None:
    X = random_spd(40, n, condition=condition, seed=seed)
    typical = np.median(pairwise_divergence(X, metric=metric))
    learner = SPDDictionaryLearning(
        n_atoms,
        metric,
        beta=10.0**log_beta / typical,
        alpha=10.0**log_alpha,
        init=init,
        max_iter=4,
        tol=0.0,
        random_state=seed % 1000,
        update=update,
        block_size=block_size,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", IndefiniteKernelWarning)
        learner.fit(X)
    objective = learner.objective_
    assert np.isfinite(objective).all()
    assert len(objective) == 2 * learner.n_iter_
    assert len(rises(objective, len(X))) == 0
    check_spd(learner.atoms_)
    # The value after the last update is that of the atoms with the codes before: coding again
    # cannot be worse.
    assert objective_of(learner, X, learner.transform(X)) <= objective[-1] + 1e-7 * len(X)


@pytest.mark.parametrize("metric", METRICS)
def test_learning_helps_and_the_objective_is_what_it_says(metric) -> None:
    X, _ = wishart_classes(10, 20)
    learner = SPDDictionaryLearning(12, metric, init="random", alpha=0.05, random_state=0, tol=0.0)
    one = learner.set_params(max_iter=1).fit(X).objective_
    learner.set_params(max_iter=15).fit(X)
    assert learner.objective_[-1] < 0.95 * one[0]
    loss = objective_of(learner, X, learner.transform(X)) / len(X)
    assert loss * len(X) <= learner.objective_[-1] * (1 + 1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("beta", [1e-3, 0.05, 0.3, 2.0])
def test_jeffrey_is_sound_where_its_kernel_is_strongly_indefinite(beta) -> None:
    X = random_spd(150, 3, condition=1e3, seed=3)
    typical = np.median(pairwise_divergence(X, metric="jeffrey"))
    learner = SPDDictionaryLearning(
        20, "jeffrey", beta=beta / typical, alpha=1e-3, max_iter=30, tol=0.0, random_state=0
    ).fit(X)
    assert len(rises(learner.objective_, len(X))) == 0
    assert learner.objective_[-1] >= 0.0  # a sum of squared norms and of a penalty
    assert learner.ridge_ == 0.0
    assert abs(learner.transform(X)).max() < 50.0


@pytest.mark.slow
@pytest.mark.parametrize("beta", [1e-3, 0.05, 0.3, 2.0])
def test_jeffrey_with_a_ridge_is_bounded(beta) -> None:
    X = random_spd(150, 3, condition=1e3, seed=3)
    typical = np.median(pairwise_divergence(X, metric="jeffrey"))
    options = {"alpha": 1e-3, "max_iter": 30, "tol": 0.0, "random_state": 0, "landmarks": None}
    learner = SPDDictionaryLearning(20, "jeffrey", beta=beta / typical, **options).fit(X)
    assert len(rises(learner.objective_, len(X))) == 0
    # f(y) ≥ −μ holds on the training set at the start, and learning hardly gets around it.
    assert learner.objective_[-1] > -len(X) * (1.0 + learner.ridge_)
    assert abs(learner.transform(X)).max() < 50.0


@pytest.mark.slow
def test_learning_with_jeffrey_makes_codes_better() -> None:
    """The codes of left-out matrices tell their classes, after many iterations as after one."""
    X, y = wishart_classes(10, 60)
    X, y, Z, z = X[::2], y[::2], X[1::2], y[1::2]
    hits = []
    for max_iter in (1, 30):
        options = {"alpha": 0.05, "max_iter": max_iter, "tol": 0.0, "random_state": 0}
        learner = SPDDictionaryLearning(16, "jeffrey", **options).fit(X)
        nearest = KNeighborsClassifier(1).fit(learner.transform(X), y)
        hits.append(nearest.score(learner.transform(Z), z))
    assert hits[1] >= hits[0] - 0.01
    assert hits[1] > 0.9
    assert (learner.transform(Z) != 0).mean() < 0.6


@pytest.mark.parametrize("metric", METRICS)
def test_landmarks_are_a_number_or_matrices(metric) -> None:
    X, _ = wishart_classes(6, 30)
    options = {"alpha": 0.05, "max_iter": 3, "init": X[:8], "tol": 0.0}
    one = SPDDictionaryLearning(8, metric, landmarks=60, **options).fit(X)
    other = SPDDictionaryLearning(8, metric, landmarks=X[::3], beta=one.beta_, **options).fit(X)
    np.testing.assert_array_equal(one.atoms_, other.atoms_)
    assert (one.objective_ >= 0).all()


def test_where_landmarks_are_taken() -> None:
    X = random_spd(60, 3, condition=1e3, seed=0)
    options = {"alpha": 0.1, "init": "random", "random_state": 0, "max_iter": 1}
    with pytest.warns(IndefiniteKernelWarning, match="span of 60 landmarks"):
        jeffrey = SPDDictionaryLearning(5, "jeffrey", beta=0.01, **options).fit(X)
    assert isinstance(jeffrey._problem, LandmarkProblem)
    stein = SPDDictionaryLearning(5, beta=1.0, **options).fit(X)
    assert isinstance(stein._problem, Problem)


def test_jeffrey_is_sound_where_the_samples_show_nothing() -> None:
    """The kernel is positive definite on the samples, but not where atoms would move to."""
    G = np.random.default_rng(0).standard_normal((60, 12, 14))
    X = G @ G.swapaxes(1, 2) / 14
    J = pairwise_divergence(X, metric="jeffrey")
    beta = 3.0 / np.median(J)
    assert np.linalg.eigvalsh(np.exp(-beta * J))[0] > 0.2
    options = {"alpha": 0.01, "init": "random", "max_iter": 30, "tol": 0.0, "random_state": 0}
    objective = SPDDictionaryLearning(8, "jeffrey", beta, **options).fit(X).objective_
    assert (objective >= 0).all()
    assert len(rises(objective, len(X))) == 0


def test_ridge_is_reported_and_zero_where_the_kernel_is_guaranteed() -> None:
    X = random_spd(60, 3, condition=1e3, seed=0)
    settled = {"alpha": 0.1, "init": "random", "random_state": 0, "max_iter": 2}
    for metric, beta in (("logeuclid", 0.3), ("stein", 0.5), ("stein", 1.0), ("stein", 7.3)):
        learner = SPDDictionaryLearning(5, metric, beta=beta, **settled).fit(X)
        assert learner.ridge_ == 0.0
    with pytest.warns(IndefiniteKernelWarning, match="ridge"):
        learner = SPDDictionaryLearning(5, "jeffrey", beta=0.01, landmarks=None, **settled).fit(X)
    assert learner.ridge_ > 1e-3
    K = learner.kernel_.gram_
    assert K[0, 0] == pytest.approx(1.0 + learner.ridge_)
    assert np.linalg.eigvalsh(K)[0] > 0


@pytest.mark.parametrize("metric", METRICS)
def test_one_sample_is_a_fixed_point(metric) -> None:
    X = random_spd(1, 4, seed=5)
    learner = SPDDictionaryLearning(
        1, metric, beta=1.0, alpha=0.1, init=X * 1.3, max_iter=60, tol=0.0, landmarks=None
    )
    np.testing.assert_allclose(learner.fit(X).atoms_, X, rtol=1e-5)


def test_unused_atoms_are_reseeded_and_come_into_use() -> None:
    X, _ = wishart_classes(8, 15)
    far = np.eye(5) * np.array([1e6, 1e7, 1e8])[:, None, None]
    init = np.concatenate([X[:4], far])
    learner = SPDDictionaryLearning(7, alpha=0.05, init=init, max_iter=1).fit(X)
    assert (learner.atoms_[4:] < 1e3).all()
    learner.set_params(max_iter=3).fit(X)
    assert (abs(learner.transform(X)).max(axis=0) > 0).all()
    assert len(rises(learner.objective_, len(X))) == 0


def test_codes_that_are_all_zero_are_a_legal_end() -> None:
    X = random_spd(20, 3, seed=0)
    learner = SPDDictionaryLearning(4, alpha=3.0, init="random", random_state=0).fit(X)
    np.testing.assert_allclose(learner.objective_, 20.0)
    assert not learner.transform(X).any()


@pytest.mark.parametrize("metric", METRICS)
def test_threads_do_not_change_a_bit(metric, monkeypatch) -> None:
    monkeypatch.setattr("spdatoms.scale.parts._PART_ENTRIES", 300)
    X, _ = wishart_classes(6, 30)
    learner = SPDDictionaryLearning(8, metric, max_iter=4, alpha=0.02, random_state=0)
    one = learner.fit(X).atoms_
    two = learner.set_params(n_jobs=2).fit(X).atoms_
    np.testing.assert_array_equal(one, two)


def test_scales_and_precisions() -> None:
    X, _ = wishart_classes(6, 15)
    learner = SPDDictionaryLearning(6, max_iter=3, alpha=0.05, init=X[:6])
    plain = learner.fit(X).atoms_
    tiny = learner.set_params(init=X[:6] * 2.0**-40).fit(X * 2.0**-40).atoms_
    np.testing.assert_allclose(tiny * 2.0**40, plain, rtol=1e-6)
    single = learner.set_params(init=X[:6]).fit(X.astype(np.float32))
    assert single.atoms_.dtype == single.transform(X.astype(np.float32)).dtype == np.float32
    np.testing.assert_allclose(single.atoms_, plain, rtol=0.05, atol=0.05)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_atoms": 0}, "n_atoms must be an integer ≥ 1"),
        ({"init": "best"}, "init must be 'kmeans', 'kmeans-riemann', 'random' or an array"),
        ({"init": np.eye(3)[None]}, "init holds 1 atoms, but n_atoms is 4"),
        ({"init": np.stack([np.eye(2)] * 4)}, "init holds 2×2 matrices"),
        ({"metric": "burg"}, "not symmetric"),
        ({"beta": -1.0}, "beta must be"),
        ({"alpha": "some"}, "alpha must be"),
        ({"update": "newton"}, "update must be 'centre' or 'gradient'"),
        ({"block_size": 0}, "block_size must be None or an integer ≥ 1"),
        ({"landmarks": 0}, "landmarks must be 'auto', None, an integer ≥ 1 or an array"),
        ({"landmarks": "some"}, "landmarks must be 'auto', None"),
        ({"landmarks": np.eye(2)[None]}, "landmarks holds 2×2 matrices"),
        ({"forgetting": 0.0}, "forgetting must be a number > 0 and ≤ 1"),
        ({"max_iter": 0}, "max_iter must be"),
        ({"tol": -1.0}, "tol must be"),
        ({"checkpoint": "no/such/directory/file"}, "directory of checkpoint"),
    ],
)
def test_bad_parameters(parameters, message) -> None:
    X = random_spd(40, 3, seed=0)
    with pytest.raises(ValueError, match=message):
        SPDDictionaryLearning(**{"n_atoms": 4, **parameters}).fit(X)


@pytest.mark.parametrize("init", ["kmeans", "random"])
def test_constant_data_and_duplicates(init) -> None:
    X = random_spd(40, 3, seed=0)
    constant = np.repeat(X[:1], 40, axis=0)
    with pytest.raises(
        ValueError, match=r"n_samples=\d+\) holds 1 different matrices, too few for 4 atoms"
    ):
        SPDDictionaryLearning(4, init=init).fit(constant)
    one = SPDDictionaryLearning(1, init=init, alpha=0.1).fit(constant)
    np.testing.assert_allclose(one.atoms_[0], X[0], rtol=1e-6)
    for metric in METRICS:
        doubled = np.repeat(X[:8], 5, axis=0)
        learner = SPDDictionaryLearning(6, metric, init=init, random_state=0).fit(doubled)
        assert len(rises(learner.objective_, 40)) == 0


@pytest.mark.parametrize("metric", ["stein", "jeffrey"])
def test_intrinsic_kmeans_begins_with_affine_invariant_means(metric) -> None:
    """Three groups far apart, whose means k-means finds from any seeds; pyRiemann computes them, too."""
    geometry = pytest.importorskip("pyriemann.geometry.mean")
    groups = [random_spd(10, 4, seed=i, condition=20.0) * 100.0**i for i in range(3)]
    X = np.concatenate(groups)
    means = np.stack([geometry.mean_riemann(group, tol=1e-12) for group in groups])
    options = {"alpha": 0.05, "max_iter": 1, "landmarks": None}
    by_name = SPDDictionaryLearning(3, metric, init="kmeans-riemann", random_state=0, **options)
    given_ones = SPDDictionaryLearning(3, metric, init=means, **options).fit(X)
    other = SPDDictionaryLearning(3, metric, init="kmeans", random_state=0, **options).fit(X)
    found = by_name.fit(X).atoms_[np.argsort(np.trace(by_name.atoms_, axis1=1, axis2=2))]
    np.testing.assert_allclose(found, given_ones.atoms_, rtol=1e-3)
    assert by_name.objective_[0] == pytest.approx(given_ones.objective_[0], rel=1e-6)
    assert by_name.objective_[0] != pytest.approx(other.objective_[0], rel=1e-6)


def test_progress_bar(capsys) -> None:
    pytest.importorskip("tqdm")
    X = random_spd(30, 3, seed=0)
    SPDDictionaryLearning(4, init="random", random_state=0, max_iter=3, tol=0, verbose=1).fit(X)
    shown = capsys.readouterr().err
    assert "3/3" in shown
    assert "objective=" in shown
    assert "nonzeros=" in shown


@pytest.mark.skipif(os.name != "posix", reason="sends a signal")
def test_ctrl_c_keeps_the_best_state_so_far(monkeypatch, no_collection) -> None:
    X, _ = wishart_classes(20, 100)
    learner = SPDDictionaryLearning(
        32, beta=2.0, init="random", random_state=0, max_iter=10**6, tol=0.0
    )
    original, calls = State.next, []

    def iterated(self, data, moves):
        calls.append(self.n_iter)
        if len(calls) == 3:
            os.kill(os.getpid(), signal.SIGINT)
        return original(self, data, moves)

    monkeypatch.setattr(State, "next", iterated)
    with pytest.warns(UserWarning, match="Learning was interrupted: the atoms are those after 2"):
        learner.fit(X)
    assert learner.n_iter_ == 2
    assert len(rises(learner.objective_, len(X))) == 0
    assert learner.transform(X[:5]).shape == (5, 32)
