"""SPD matrices as vectors by landmarks: compared with scikit-learn, and positive definite in any case."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.kernel_approximation import Nystroem

from _matrices import random_spd, spd_stacks, wishart_classes
from spdatoms import SPDNystroem, pairwise_divergence
from spdatoms.divergences import get_divergence
from spdatoms.kernels import DivergenceKernel
from spdatoms.kernels.landmarks import LandmarkSpace

METRICS = ["stein", "jeffrey", "logeuclid", "riemann", "euclid"]


@pytest.fixture(scope="module", name="X")
def matrices() -> np.ndarray:
    return wishart_classes(8, 25)[0]


@pytest.mark.parametrize("metric", METRICS)
def test_inner_products_are_those_of_scikit_learn(X, metric) -> None:
    """Its Nyström map inverts the Gram matrix of the landmarks; ours does where all directions stay."""
    beta = 3.0 / np.median(pairwise_divergence(X, metric=metric))
    ours = SPDNystroem(metric, beta=beta, landmarks=X[:6], tol=1e-12).fit(X)
    if len(ours.eigenvalues_) < 6:
        pytest.skip("the kernel is indefinite on these landmarks")
    kernel = np.exp(-beta * pairwise_divergence(X, metric=metric))
    theirs = Nystroem(kernel="precomputed", n_components=6)
    theirs.component_indices_ = np.arange(6)
    w, U = np.linalg.eigh(kernel[:6, :6])
    theirs.normalization_, theirs.components_ = (U / np.sqrt(w)) @ U.T, None
    expected = kernel[:, :6] @ theirs.normalization_.T
    features = ours.transform(X)
    np.testing.assert_allclose(features @ features.T, expected @ expected.T, atol=1e-9)


@pytest.mark.filterwarnings("ignore::spdatoms.exceptions.IndefiniteKernelWarning")
def test_between_landmarks_it_is_the_clip_correction() -> None:
    X = random_spd(60, 3, condition=1e3, seed=0)
    map_ = SPDNystroem("jeffrey", landmarks=X, beta=0.01, tol=0.0).fit(X)
    assert map_.discarded_.min() < -1e-3
    features = map_.transform(X)
    clipped = DivergenceKernel("jeffrey", beta=0.01).fit(X).gram_
    np.testing.assert_allclose(features @ features.T, clipped, atol=1e-7)


@settings(max_examples=40, deadline=None)
@given(
    X=spd_stacks(m=12, max_n=4, max_condition=1e4),
    metric=st.sampled_from(METRICS),
    log_beta=st.floats(-2.0, 2.0),
    tol=st.sampled_from([0.0, 1e-3, 0.1]),
)
def test_the_map_is_finite_and_bounded(X, metric, log_beta, tol) -> None:
    typical = np.median(pairwise_divergence(X, metric=metric)) or 1.0
    map_ = SPDNystroem(metric, beta=10.0**log_beta / typical, landmarks=X[:7], tol=tol).fit(X)
    features = map_.transform(X)
    assert np.isfinite(features).all()
    assert features.shape == (12, len(map_.eigenvalues_))
    assert len(map_.eigenvalues_) + len(map_.discarded_) == 7
    assert (np.diff(np.r_[map_.eigenvalues_, map_.discarded_]) <= 0).all()


def test_the_scale_of_the_matrices_does_not_matter(X) -> None:
    one = SPDNystroem(n_landmarks=20, random_state=0).fit(X)
    tiny = SPDNystroem(n_landmarks=20, random_state=0).fit(1e-12 * X)
    np.testing.assert_array_equal(one.landmark_indices_, tiny.landmark_indices_)
    np.testing.assert_allclose(
        abs(tiny.transform(1e-12 * X)), abs(one.transform(X)), rtol=1e-6, atol=1e-8
    )


def test_more_landmarks_come_closer_to_the_kernel(X) -> None:
    beta = 1.0 / np.median(pairwise_divergence(X))
    kernel = np.exp(-beta * pairwise_divergence(X))
    errors = []
    for count in (10, 40, 160):
        features = SPDNystroem("stein", beta, count, tol=0.0, random_state=0).fit_transform(X)
        errors.append(np.linalg.norm(features @ features.T - kernel) / np.linalg.norm(kernel))
    assert errors[0] > errors[1] > errors[2]
    assert errors[2] < 0.02


def test_landmarks_that_are_far_apart_serve_better_than_random_ones(X) -> None:
    kernel = np.exp(-0.5 * pairwise_divergence(X))

    def error(landmarks: str, seed: int) -> float:
        map_ = SPDNystroem(beta=0.5, n_landmarks=12, landmarks=landmarks, random_state=seed)
        features = map_.fit_transform(X)
        return float(np.linalg.norm(features @ features.T - kernel))

    far_apart, drawn = (
        np.mean([error(how, seed) for seed in range(5)]) for how in ("k-means++", "random")
    )
    assert far_apart < drawn


@pytest.mark.parametrize(("n", "metric"), [(5, "stein"), (12, "stein"), (5, "logeuclid")])
def test_a_condensed_map_is_nearly_the_same_with_fewer_landmarks(n, metric) -> None:
    X, _ = wishart_classes(10, 50, n)
    divergence = get_divergence(metric)
    whole = LandmarkSpace.of(divergence, X[:200], "auto", 1e-2)
    condensed = whole.condensed()
    assert condensed.size == whole.size < len(condensed.landmarks) < 200
    kernel = np.exp(-whole.beta * pairwise_divergence(X[200:], metric=metric))

    def error(space: LandmarkSpace) -> float:
        features = space.features(X[200:])
        return float(np.linalg.norm(features @ features.T - kernel))

    assert error(condensed) < 1.25 * error(whole)
    subset = LandmarkSpace.of(divergence, condensed.landmarks, whole.beta, 1e-2)
    assert error(condensed) < error(subset)


def test_an_indefinite_kernel_keeps_its_landmarks() -> None:
    X = random_spd(60, 3, condition=1e3, seed=0)
    space = LandmarkSpace.of(get_divergence("jeffrey"), X, 0.01, 1e-3)
    assert space.size < len(X)
    assert space.condensed() is space


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"landmarks": "corners"}, "landmarks must be 'k-means"),
        ({"n_landmarks": 0}, "n_landmarks must be"),
        ({"tol": 1.0}, r"tol must be a number ≥ 0 and < 1"),
        ({"landmarks": -np.eye(5)[None]}, "landmarks"),
        ({"landmarks": np.eye(3)[None]}, "landmarks"),
        ({"beta": -1.0}, "beta"),
    ],
)
def test_what_is_wrong_is_said(X, options, message) -> None:
    with pytest.raises(ValueError, match=message):
        SPDNystroem(**options).fit(X)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_vectors_come_in_blocks(X, monkeypatch, dtype) -> None:
    X = X.astype(dtype)
    mapped = SPDNystroem(n_landmarks=30, random_state=0).fit(X)
    whole = mapped.transform(X)
    kernel, counts = LandmarkSpace.kernel, []

    def noted(self, Z, n_jobs):
        counts.append(len(Z))
        return kernel(self, Z, n_jobs)

    monkeypatch.setattr(LandmarkSpace, "kernel", noted)
    monkeypatch.setattr("spdatoms.kernels.landmarks._BLOCK_BYTES", 7 * 8 * 64)
    found = mapped.transform(X)
    np.testing.assert_array_equal(found, whole)
    assert found.dtype == dtype
    assert sum(counts) == len(X)
    assert max(counts) < 20


def test_names_and_dask_arrays(X) -> None:
    da = pytest.importorskip("dask.array")
    map_ = SPDNystroem(n_landmarks=9, random_state=0).fit(X)
    names = map_.get_feature_names_out()
    assert names[0] == "spdnystroem0"
    assert len(names) == len(map_.eigenvalues_)
    lazy = map_.transform(da.from_array(X, chunks=(30, 5, 5)))
    np.testing.assert_allclose(lazy.compute(), map_.transform(X), atol=1e-13)
