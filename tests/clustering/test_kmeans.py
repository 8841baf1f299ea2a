"""k-means: the inertia falls, the fixed point is one, and awkward data survive."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

from _matrices import random_spd
from spdatoms import SPDKMeans, mean, pairwise_divergence
from spdatoms.divergences import AffineInvariant, Burg, get_divergence
from spdatoms.divergences.seeds import Sample, plus_plus_seeds
from spdatoms.geometry import geodesic

METRICS = ["riemann", "stein", "jeffrey", "logeuclid", "euclid", "burg"]
INVARIANT = ["riemann", "stein", "jeffrey", "burg"]


def clustered(k: int, members: int, n: int, seed: int = 0, spread: float = 200.0) -> np.ndarray:
    """Return k·members matrices L_j W L_jᵀ around k centres L_j L_jᵀ, cluster by cluster."""
    L = np.linalg.cholesky(random_spd(k, n, condition=spread, seed=seed))
    L *= np.geomspace(1.0, spread, k)[:, None, None]
    W = (random_spd(k * members, n, seed=seed + 1) + 4.0 * np.eye(n)) / 5.0
    X = np.repeat(L, members, axis=0)
    X = X @ W @ X.swapaxes(1, 2)
    return 0.5 * (X + X.swapaxes(1, 2))


def fit_quietly(kmeans: SPDKMeans, X: np.ndarray, **kwargs: object) -> SPDKMeans:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return kmeans.fit(X, **kwargs)


def same_partition(a: np.ndarray, b: np.ndarray) -> bool:
    pairs = set(zip(a.tolist(), b.tolist(), strict=True))
    return len(pairs) == len(set(a.tolist())) == len(set(b.tolist()))


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(
    metric=st.sampled_from(METRICS),
    init=st.sampled_from(["random", "k-means++"]),
    n=st.integers(1, 5),
    k=st.integers(1, 7),
    condition=st.floats(1.0, 1e5),
    log10_scale=st.integers(-12, 12),
    weighted=st.booleans(),
    seed=st.integers(0, 10_000),
)
@example(
    metric="riemann", init="random", n=5, k=1, condition=1.0, log10_scale=0, weighted=False, seed=0
)
def test_inertia_never_increases(metric, init, n, k, condition, log10_scale, weighted, seed):
    rng = np.random.default_rng(seed)
    X = random_spd(40, n, condition=condition, scale=10.0**log10_scale, seed=seed)
    X[rng.integers(40, size=5)] = X[0]
    weights = rng.integers(0, 3, 40) + (np.arange(40) < k) if weighted else None
    kmeans = SPDKMeans(k, metric=metric, init=init, n_init=1, max_iter=15, random_state=seed)
    fit_quietly(kmeans, X, sample_weight=weights)
    history = kmeans.inertia_history_
    # The cancellation in J, B and log-Euclidean sums leaves a rounding error of its own.
    noise = 1e-12 * (history[0] + 40 * condition * (metric in ("jeffrey", "burg")))
    # Where all matrices are equal, squared distances are squares of rounding errors, which grow with n.
    noise += 40 * (n * 1e-15 * (10.0**log10_scale if metric == "euclid" else 1.0)) ** 2
    assert (np.diff(history) <= noise).all()
    assert abs(kmeans.inertia_ - history[-1]) <= noise + 1e-9 * history[-1]
    assert len(history) == kmeans.n_iter_ + 1


class Overshooting(AffineInvariant):
    """A divergence whose steps to the centre go much too far."""

    def centre(self, Z, weights, current):
        return np.asarray(geodesic(current, super().centre(Z, weights, current), 3.2))


def test_steps_that_would_raise_the_inertia_are_shortened():
    X = clustered(3, 20, 3)
    start = X[::20]
    kmeans = SPDKMeans(3, metric=Overshooting(), init=start).fit(X)
    assert (np.diff(kmeans.inertia_history_) <= 1e-12).all()
    assert kmeans.inertia_ == pytest.approx(SPDKMeans(3, init=start).fit(X).inertia_, rel=1e-6)


@pytest.mark.parametrize("metric", METRICS)
def test_the_result_is_a_fixed_point(metric):
    X = random_spd(150, 4, seed=3)
    kmeans = SPDKMeans(5, metric=metric, random_state=0, tol=1e-8).fit(X)
    D = pairwise_divergence(X, kmeans.cluster_centers_, metric)
    np.testing.assert_array_equal(kmeans.labels_, D.argmin(axis=1))
    assert kmeans.inertia_ == pytest.approx(D.min(axis=1).sum())
    for j, centre in enumerate(kmeans.cluster_centers_):
        expected = mean(X[kmeans.labels_ == j], metric=metric)
        np.testing.assert_allclose(centre, expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("metric", METRICS)
def test_recovers_separated_clusters(metric):
    X = clustered(6, 15, 4, seed=1)
    if metric == "euclid":  # knows nothing of relative differences
        X = X / np.repeat(np.geomspace(1.0, 200.0, 6) ** 2, 15)[:, None, None]
        X += np.repeat(300.0 * np.arange(6), 15)[:, None, None] * np.eye(4)
    kmeans = SPDKMeans(6, metric=metric, random_state=0, n_init=3).fit(X)
    assert same_partition(kmeans.labels_, np.repeat(np.arange(6), 15))


def test_left_sided_burg_centres_are_harmonic_means():
    X = random_spd(60, 3, seed=2)
    kmeans = SPDKMeans(3, metric=Burg(side="left"), random_state=0).fit(X)
    assert (np.diff(kmeans.inertia_history_) <= 1e-12).all()
    members = X[kmeans.labels_ == 0]
    harmonic = np.linalg.inv(np.linalg.inv(members).mean(axis=0))
    np.testing.assert_allclose(kmeans.cluster_centers_[0], harmonic, rtol=1e-8)


@pytest.mark.parametrize("metric", ["stein", "riemann"])
def test_agrees_with_pyriemann(metric):
    clustering = pytest.importorskip("pyriemann.clustering")
    X = clustered(4, 25, 4, seed=5)
    start = X[::25]
    theirs = clustering.Kmeans(4, metric={"stein": "logdet"}.get(metric, metric), init=start)
    theirs.fit(X)
    ours = SPDKMeans(4, metric=metric, init=start, tol=1e-8).fit(X)
    np.testing.assert_array_equal(ours.labels_, theirs.labels_)
    np.testing.assert_allclose(ours.cluster_centers_, theirs.centroids(), rtol=1e-5)
    reached = pairwise_divergence(X, theirs.centroids(), metric).min(axis=1).sum()
    assert ours.inertia_ <= reached * (1 + 1e-9)


@pytest.mark.parametrize("metric", INVARIANT)
def test_scale_does_not_matter(metric):
    X = clustered(4, 15, 3, seed=7, spread=20.0)
    fits = [SPDKMeans(4, metric=metric, random_state=1).fit(s * X) for s in (1.0, 1e-12, 1e12)]
    for fit, scale in zip(fits, (1.0, 1e-12, 1e12), strict=True):
        np.testing.assert_array_equal(fit.labels_, fits[0].labels_)
        centres = fits[0].cluster_centers_
        np.testing.assert_allclose(fit.cluster_centers_ / scale, centres, rtol=1e-8, atol=1e-10)
        assert fit.n_iter_ == fits[0].n_iter_


@pytest.mark.parametrize("metric", METRICS)
def test_single_precision(metric):
    X = clustered(4, 15, 3, seed=7, spread=5.0)
    single = SPDKMeans(4, metric=metric, random_state=1).fit(X.astype(np.float32))
    assert single.cluster_centers_.dtype == np.float32
    assert single.transform(X.astype(np.float32)).dtype == np.float32
    np.testing.assert_array_equal(single.predict(X.astype(np.float32)), single.labels_)
    double = SPDKMeans(4, metric=metric, random_state=1).fit(X)
    assert double.cluster_centers_.dtype == np.float64
    assert single.inertia_ == pytest.approx(double.inertia_, rel=1e-3)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("init", ["k-means++", "random"])
def test_constant_and_duplicate_data(metric, init):
    distinct = random_spd(3, 4, scale=1e-12, seed=4)
    for X, count in ((np.repeat(distinct[:1], 12, axis=0), 1), (np.repeat(distinct, 6, axis=0), 3)):
        kmeans = SPDKMeans(5, metric=metric, init=init, n_init=1, random_state=0)
        with pytest.warns(ConvergenceWarning, match=f"Only {count} of the 5 clusters"):
            kmeans.fit(X)
        assert np.isfinite(kmeans.cluster_centers_).all()
        assert kmeans.inertia_ <= 1e-12 * len(X)
        assert kmeans.n_iter_ < 10


@pytest.mark.parametrize("metric", METRICS)
def test_as_many_clusters_as_matrices(metric):
    X = random_spd(6, 3, seed=1)
    kmeans = SPDKMeans(6, metric=metric, random_state=0).fit(X)
    assert len(set(kmeans.labels_)) == 6
    assert kmeans.inertia_ <= 1e-12


@pytest.mark.parametrize("metric", METRICS)
def test_empty_clusters_get_the_worst_represented_matrices(metric):
    X = clustered(3, 10, 3, seed=2, spread=20.0)
    far = 1e6 * X.max() * np.eye(3)
    start = np.stack([X[0], far, 2.0 * far])
    kmeans = SPDKMeans(3, metric=metric, init=start).fit(X)
    assert len(set(kmeans.labels_)) == 3
    assert (np.diff(kmeans.inertia_history_) <= 1e-12 * kmeans.inertia_history_[0]).all()


@pytest.mark.parametrize("metric", METRICS)
def test_integer_weights_are_repetitions(metric):
    X = clustered(4, 10, 3, seed=5)
    counts = np.random.default_rng(0).integers(1, 4, 40)
    weighted = SPDKMeans(4, metric=metric, init=X[::10]).fit(X, sample_weight=counts)
    repeated = SPDKMeans(4, metric=metric, init=X[::10]).fit(np.repeat(X, counts, axis=0))
    assert weighted.inertia_ == pytest.approx(repeated.inertia_, rel=1e-9)
    np.testing.assert_allclose(
        weighted.cluster_centers_, repeated.cluster_centers_, rtol=1e-8, atol=1e-10
    )
    assert weighted.score(X, sample_weight=counts) == pytest.approx(-weighted.inertia_)


def test_matrices_without_weight_have_no_say():
    X = random_spd(40, 3, seed=5)
    weights = np.r_[np.ones(30), np.zeros(10)]
    some = SPDKMeans(4, random_state=0).fit(X, sample_weight=weights)
    only = SPDKMeans(4, random_state=0).fit(X[:30])
    np.testing.assert_array_equal(some.cluster_centers_, only.cluster_centers_)
    np.testing.assert_array_equal(some.labels_, only.predict(X))


@pytest.mark.slow
@pytest.mark.parametrize("init", ["k-means++", "random"])
def test_a_seed_gives_the_same_result_with_any_number_of_threads(init):
    X = random_spd(300, 12, seed=5)
    first, second = (
        SPDKMeans(3, init=init, n_init=2, random_state=3, n_jobs=jobs).fit(X) for jobs in (None, 2)
    )
    np.testing.assert_array_equal(first.cluster_centers_, second.cluster_centers_)
    by_generator = [
        SPDKMeans(3, "stein", init=init, n_init=2, random_state=np.random.default_rng(3))
        .fit(X[:80])
        .inertia_
        for _ in range(2)
    ]
    assert by_generator[0] == by_generator[1]


@pytest.mark.slow
def test_more_starts_are_not_worse():
    X = random_spd(120, 3, seed=8)
    inertias = [
        SPDKMeans(10, "jeffrey", init="random", n_init=n, random_state=0).fit(X).inertia_
        for n in (1, 4, "auto")
    ]
    assert inertias[0] >= inertias[1] >= inertias[2]


def test_plus_plus_seeds_spread_over_the_clusters():
    X = clustered(8, 20, 3, seed=3)
    sample = Sample(get_divergence("stein"), X, np.ones(len(X)))
    hits = 0
    for seed in range(20):
        seeds = plus_plus_seeds(sample, 8, np.random.default_rng(seed))
        assert len(set(seeds.tolist())) == 8
        hits += len(set((seeds // 20).tolist()))
    assert hits >= 0.95 * 20 * 8


@pytest.mark.slow
@pytest.mark.parametrize("metric", METRICS)
def test_no_exchange_of_a_single_matrix_lowers_the_inertia_by_much(metric):
    X = random_spd(60, 3, seed=6)
    kmeans = SPDKMeans(4, metric=metric, random_state=0, tol=1e-8).fit(X)
    sizes = np.bincount(kmeans.labels_)
    for i in np.flatnonzero(sizes[kmeans.labels_] > 1)[:10]:
        for b in set(range(4)) - {kmeans.labels_[i]}:
            labels = kmeans.labels_.copy()
            labels[i] = b
            moved = sum(
                pairwise_divergence(
                    X[labels == j], mean(X[labels == j], metric)[None], metric
                ).sum()
                for j in range(4)
            )
            assert moved >= 0.995 * kmeans.inertia_


def test_transform_predict_score():
    X, new = random_spd(50, 3, seed=1), random_spd(7, 3, seed=2)
    kmeans = SPDKMeans(4, random_state=0)
    np.testing.assert_array_equal(clone(kmeans).fit_predict(X), kmeans.fit(X).labels_)
    D = kmeans.transform(new)
    np.testing.assert_allclose(D, pairwise_divergence(new, kmeans.cluster_centers_, "riemann"))
    np.testing.assert_array_equal(kmeans.predict(new), D.argmin(axis=1))
    assert kmeans.score(new) == pytest.approx(-D.min(axis=1).sum())
    assert list(kmeans.get_feature_names_out()) == [f"spdkmeans{j}" for j in range(4)]
    assert kmeans.n_features_in_ == 3


def test_works_in_a_pipeline():
    X = clustered(3, 15, 3, seed=4)
    y = np.repeat(np.arange(3), 15)
    pipeline = make_pipeline(SPDKMeans(6, metric="stein", random_state=0), KNeighborsClassifier())
    assert pipeline.fit(X, y).score(X, y) == 1.0


def test_input_is_not_modified():
    X = random_spd(30, 3, seed=1)
    X.flags.writeable = False
    start = X[:3]
    SPDKMeans(3, init=start).fit(X)
    np.testing.assert_array_equal(X, random_spd(30, 3, seed=1))


def test_says_when_it_has_not_converged():
    X = random_spd(200, 4, seed=1)
    with pytest.warns(ConvergenceWarning, match="did not converge in 1 iterations"):
        SPDKMeans(8, max_iter=1, random_state=0).fit(X)


def test_progress_bar(capsys):
    SPDKMeans(3, verbose=1, random_state=0).fit(random_spd(30, 3))
    assert "inertia=" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_clusters": 0}, "n_clusters must be an integer ≥ 1"),
        ({"n_clusters": 2.5}, "n_clusters must be an integer ≥ 1"),
        ({"n_clusters": 31}, "30 matrices (n_samples=30), fewer than n_clusters=31"),
        ({"max_iter": 0}, "max_iter must be"),
        ({"n_init": "many"}, "n_init must be 'auto' or an integer ≥ 1"),
        ({"tol": -1.0}, "tol must be"),
        ({"tol": np.nan}, "tol must be"),
        ({"init": "best"}, "init must be 'k-means++', 'random'"),
        ({"init": random_spd(3, 3)}, "init holds 3 matrices, but n_clusters is 8"),
        ({"init": random_spd(8, 4)}, "init holds 4×4 matrices"),
        ({"init": -random_spd(8, 3)}, "init[0]"),
        ({"metric": "manhattan"}, "metric must be one of"),
    ],
)
def test_bad_parameters(parameters, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        SPDKMeans(**parameters).fit(random_spd(30, 3))


def test_bad_data():
    X = random_spd(30, 3)
    with pytest.raises(ValueError, match="sample_weight must have the shape"):
        SPDKMeans(3).fit(X, sample_weight=np.ones(29))
    with pytest.raises(
        ValueError, match=r"2 matrices with a positive weight \(n_samples=2\), fewer than"
    ):
        SPDKMeans(3).fit(X, sample_weight=np.arange(30) < 2)
    with pytest.raises(NotFittedError):
        SPDKMeans(3).predict(X)
    fitted = SPDKMeans(3, random_state=0).fit(X)
    with pytest.raises(ValueError, match="4×4"):
        fitted.predict(random_spd(5, 4))
    X[4, 0, 0] = np.nan
    with pytest.raises(ValueError, match=r"X\[4\]"):
        fitted.fit(X)


def test_without_a_seed_the_global_state_of_numpy_is_left_alone() -> None:
    X = random_spd(30, 2, seed=0)
    np.random.seed(0)  # noqa: NPY002
    before = np.random.get_state()[1:3]  # noqa: NPY002
    fit_quietly(SPDKMeans(3, init="random", n_init=2), X)
    after = np.random.get_state()[1:3]  # noqa: NPY002
    np.testing.assert_array_equal(before[0], after[0])
    assert before[1] == after[1]
