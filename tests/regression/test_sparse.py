"""Regression by codes: kernel ridge regression where α is 0, and the optimality of codes elsewhere."""

from __future__ import annotations

import dask.array
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import GridSearchCV, cross_val_score

from _hermitian import random_hpd
from _matrices import random_spd
from spdatoms import (
    DivergenceKernel,
    SPDEnsembleRegressor,
    SPDKNeighborsRegressor,
    SPDSparseCoder,
    SPDSparseRegressor,
    load,
    pairwise_divergence,
    save,
)
from spdatoms.exceptions import ZeroCodeWarning


def problem(m: int = 30, outputs: tuple[int, ...] = (), make=random_spd):
    """Return matrices, smooth targets with noise, weights, and queries."""
    rng = np.random.default_rng(0)
    X = make(m, 3)
    t = np.linalg.slogdet(X)[1] + 0.1 * rng.standard_normal(m)
    t = t if not outputs else t[:, None] * rng.standard_normal(outputs) + 7.0
    return X, t, rng.uniform(0.2, 3.0, m), make(7, 3, seed=1)


@pytest.mark.parametrize("make", [random_spd, random_hpd])
@pytest.mark.parametrize("outputs", [(), (1,), (3,)])
@pytest.mark.parametrize("metric", ["stein", "logeuclid"])
def test_without_alpha_it_is_kernel_ridge_regression(metric, outputs, make) -> None:
    X, t, w, queries = problem(outputs=outputs, make=make)
    K = np.exp(-0.5 * pairwise_divergence(X, metric=metric))
    k = np.exp(-0.5 * pairwise_divergence(queries, X, metric=metric))
    for weights in (None, w):
        model = SPDSparseRegressor(metric, 0.5, alpha=0.0, ridge=0.2)
        found = model.fit(X, t, sample_weight=weights).predict(queries)
        mean = np.average(t, axis=0, weights=weights)
        own = None if weights is None else w / w.mean()
        ridge = KernelRidge(alpha=0.2, kernel="precomputed").fit(K, t - mean, sample_weight=own)
        np.testing.assert_allclose(found, mean + ridge.predict(k), rtol=1e-9, atol=1e-9)


@settings(deadline=None, max_examples=25)
@given(seed=st.integers(0, 2**32 - 1), shift=st.floats(-1e6, 1e6), factor=st.floats(1e-3, 1e3))
def test_predictions_follow_shifted_and_scaled_targets(seed, shift, factor) -> None:
    X = random_spd(12, 2, seed=seed)
    t = np.random.default_rng(seed).standard_normal(12)
    first, second = (
        SPDSparseRegressor(alpha=0.05, ridge=0.1).fit(X, y).predict(2.0 * X)
        for y in (t, factor * t + shift)
    )
    size = abs(shift) + factor * (1.0 + abs(t).max())
    np.testing.assert_allclose(second, factor * first + shift, rtol=0, atol=1e-9 * size)


def test_automatic_alpha_is_a_twentieth_of_where_codes_become_zero() -> None:
    X, t, _, _ = problem()
    model = SPDSparseRegressor().fit(X, t)
    kernel = DivergenceKernel().fit(X)
    others = kernel.gram_ - np.diag(np.full(len(X), np.inf))
    assert model.kernel_.beta_ == kernel.beta_
    assert model.alpha_ == pytest.approx(0.1 * np.median(others.max(axis=1)))


def test_codes_are_those_of_the_coder() -> None:
    X, t, _, queries = problem()
    model = SPDSparseRegressor(ridge=0.05).fit(X, t)
    coder = SPDSparseCoder(None, "stein", model.kernel_.beta_, model.alpha_, ridge=0.05).fit(X)
    expected = t.mean() + coder.transform(queries) @ (t - t.mean())
    np.testing.assert_allclose(model.predict(queries), expected, rtol=1e-12)


@pytest.mark.filterwarnings("ignore::spdatoms.exceptions.ZeroCodeWarning")
def test_it_learns_and_can_be_searched() -> None:
    X, t, _, _ = problem(120)
    for model in (SPDSparseRegressor(ridge=0.01), SPDKNeighborsRegressor()):
        assert cross_val_score(model, X, t, cv=4).min() > 0.6  # R²
    search = GridSearchCV(SPDSparseRegressor(), {"alpha": [1.0, 0.01], "ridge": [0.01, 1.0]}, cv=3)
    assert search.fit(X, t).best_params_ == {"alpha": 0.01, "ridge": 0.01}


@pytest.mark.parametrize(
    "model", [SPDSparseRegressor(ridge=0.1), SPDKNeighborsRegressor(), SPDEnsembleRegressor()]
)
def test_several_targets_dask_arrays_and_files(model, tmp_path) -> None:
    X, t, w, queries = problem(outputs=(3,))
    expected = model.fit(X, t, sample_weight=w).predict(queries)
    assert expected.shape == (7, 3)
    for j in range(3):
        one = model.fit(X, t[:, j], sample_weight=w).predict(queries)
        np.testing.assert_allclose(one, expected[:, j], rtol=1e-10)
    model.fit(X, t, sample_weight=w)
    lazy = model.predict(dask.array.from_array(queries, chunks=(3, 3, 3)))
    np.testing.assert_array_equal(lazy.compute(), expected)
    save(model, tmp_path / "model")
    np.testing.assert_array_equal(load(tmp_path / "model").predict(queries), expected)


@pytest.mark.filterwarnings("ignore::spdatoms.exceptions.OtherUnitsWarning")
def test_far_away_the_mean_is_predicted() -> None:
    X, t, _, _ = problem()
    model = SPDSparseRegressor().fit(X, t)
    with pytest.warns(
        ZeroCodeWarning, match=r"^SPDSparseRegressor: 30 of 30 queries have an all-z"
    ):
        found = model.predict(1e9 * X)
    np.testing.assert_array_equal(found, t.mean())


@pytest.mark.parametrize(
    "model", [SPDSparseRegressor(), SPDKNeighborsRegressor(), SPDEnsembleRegressor()]
)
@pytest.mark.parametrize(
    ("y", "words"),
    [
        (None, "A regressor requires y to be passed, but the target y is None: give a number"),
        (np.ones(29), "X holds 30 matrices, but y 29 targets"),
        (np.ones((30, 2, 2)), r"y must have the shape \(m,\) or \(m, q\), got \(30, 2, 2\)"),
        (["a"] * 30, "y must hold real numbers, got the dtype <U1: for labels take a classifier"),
        (np.full(30, 1j), "y must hold real numbers, got the dtype complex128"),
        (np.where(np.arange(30) == 4, np.nan, 1.0), r"y\[4\] is not finite"),
        ([[np.inf]] * 30, r"y\[0\] is not finite"),
    ],
)
def test_bad_targets(model, y, words) -> None:
    with pytest.raises(ValueError, match=words):
        model.fit(random_spd(30, 3), y)


def test_targets_of_other_kinds() -> None:
    X, t, _, _ = problem()
    t = t.round(2)
    expected = SPDSparseRegressor().fit(X, t).predict(X)
    for other in (t.tolist(), t.astype(object)):
        np.testing.assert_array_equal(SPDSparseRegressor().fit(X, other).predict(X), expected)
