"""`SPDImputer`: channels that are missing, filled in."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline

from _incomplete import clusters
from _matrices import random_spd
from spdatoms import SPDImputer, SPDSparseClassifier, divergence, mean, pairwise_divergence
from spdatoms.divergences.incomplete import completed
from spdatoms.exceptions import NoChannelWarning
from spdatoms.geometry.channels import known_channels


def test_known_entries_stay_and_complete_matrices_come_back() -> None:
    X, queries, _ = clusters()
    found = SPDImputer().fit_transform(queries)
    known = ~np.isnan(queries)
    np.testing.assert_array_equal(found[known], queries[known])
    assert np.linalg.eigvalsh(found).min() > 0
    imputer = SPDImputer().fit(queries)
    np.testing.assert_array_equal(found, imputer.transform(queries))
    assert imputer.transform(X) is X


def test_the_formula() -> None:
    """One query, one model: the mean of its nearest matrices and of all, and the regression on it."""
    X, _, _ = clusters(count=8)
    imputer = SPDImputer(n_neighbors=4, global_share=0.2).fit(X)
    np.testing.assert_array_equal(imputer.donors_, X)
    query = random_spd(1, 6, seed=9)
    o, m = np.array([0, 2, 3, 5]), np.array([1, 4])
    d = pairwise_divergence(query[:, o][:, :, o], X[:, o][:, :, o])[0]
    near = np.argsort(d)[:4]
    w = np.exp(-d[near] / np.sort(d[near])[1])
    matrices, weights = np.concatenate([X[near], imputer.mean_[None]]), [*(0.8 * w / w.sum()), 0.2]
    S = mean(matrices, "jeffrey", weights)
    A = S[np.ix_(m, o)] @ np.linalg.inv(S[np.ix_(o, o)])
    X_oo = query[0][np.ix_(o, o)]
    found = imputer.transform(query, channels=o)[0]
    np.testing.assert_allclose(found[np.ix_(m, o)], A @ X_oo, rtol=1e-10)
    expected = A @ X_oo @ A.T + S[np.ix_(m, m)] - A @ S[np.ix_(o, m)]
    np.testing.assert_allclose(found[np.ix_(m, m)], expected, rtol=1e-10)
    incomplete = query.copy()
    incomplete[:, m] = incomplete[:, :, m] = np.nan
    np.testing.assert_array_equal(imputer.transform(incomplete)[0], found)


def test_local_imputation_is_nearer_to_the_truth_than_global() -> None:
    X, queries, _ = clusters(count=40)
    local = SPDImputer().fit(queries)
    globally = completed(queries, known_channels(queries), local.mean_)
    missing = np.isnan(queries).any(axis=(1, 2))
    errors = [
        divergence(X, found)[missing].mean() for found in (local.transform(queries), globally)
    ]
    assert errors[0] < 0.7 * errors[1]
    np.testing.assert_allclose(
        SPDImputer(global_share=1.0).fit_transform(queries), globally, rtol=1e-9
    )


def test_a_matrix_is_not_filled_in_from_itself() -> None:
    _, queries, _ = clusters()
    imputer = SPDImputer(n_neighbors=1, global_share=1e-6).fit(queries)
    spoilt = SPDImputer(n_neighbors=1, global_share=1e-6).fit(queries)
    missing = np.isnan(queries[0])
    spoilt.donors_ = imputer.donors_.copy()
    spoilt.donors_[0][missing] *= 1.0 + 1e-3
    np.testing.assert_array_equal(spoilt.transform(queries[:1]), imputer.transform(queries[:1]))


def test_any_scale_and_kind_of_number() -> None:
    _, queries, _ = clusters()
    found = SPDImputer().fit_transform(queries)
    tiny = SPDImputer().fit_transform(1e-12 * queries)
    np.testing.assert_allclose(1e12 * tiny, found, rtol=1e-8, atol=1e-8)
    single = SPDImputer().fit_transform(queries.astype(np.float32))
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, found, rtol=1e-2, atol=1e-2)
    turn = np.exp(1j * np.arange(6.0))[:, None]
    phases = turn * turn.conj().T
    np.testing.assert_allclose(
        SPDImputer().fit_transform(queries * phases), found * phases, rtol=1e-6, atol=1e-6
    )


def test_before_a_classifier() -> None:
    _, queries, y = clusters(count=30)
    pipeline = make_pipeline(SPDImputer(), SPDSparseClassifier())
    assert pipeline.fit(queries[::2], y[::2]).score(queries[1::2], y[1::2]) > 0.9


def test_what_cannot_be_filled_in() -> None:
    _, queries, _ = clusters()
    imputer = SPDImputer().fit(queries)
    nothing = np.full((1, 6, 6), np.nan)
    with pytest.warns(NoChannelWarning, match="1 of 1 matrices have no channel"):
        np.testing.assert_array_equal(imputer.transform(nothing)[0], imputer.mean_)
    np.testing.assert_array_equal(
        SPDImputer().fit(np.concatenate([queries, nothing])).donors_, imputer.donors_
    )
    lacking = queries.copy()
    lacking[:, 3] = lacking[:, :, 3] = np.nan
    with pytest.raises(ValueError, match="No matrix has the channel 3"):
        SPDImputer().fit(lacking)
    spoilt = queries.copy()
    spoilt[7, 2, 2] = np.nan
    for ask in (SPDImputer().fit, imputer.transform):
        with pytest.raises(ValueError, match=r"X\[7\] is not finite"):
            ask(spoilt)
    alone = queries[:1].copy()
    alone[0] = np.eye(6)
    alone[0, 1] = alone[0, :, 1] = np.nan
    with pytest.raises(ValueError, match="No matrix has the channel 1"):
        SPDImputer().fit(alone)
