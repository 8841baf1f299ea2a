"""Within-class whitening of the kernel of a classifier."""

from __future__ import annotations

import numpy as np
import pytest

from _matrices import noisy_classes
from spdatoms import SPDSparseClassifier


def test_whitening_helps_where_directions_vary_within_classes() -> None:
    X, y = noisy_classes(160)
    plain, whitened = (
        SPDSparseClassifier(whitening=whitening).fit(X[:80], y[:80]).score(X[80:], y[80:])
        for whitening in (None, 0.1)
    )
    assert plain < 0.8 < 0.85 < whitened


@pytest.mark.parametrize("metric", ["stein", "jeffrey", "riemann", "logeuclid"])
def test_whitened_kernels_are_positive_definite(labelled, metric) -> None:
    X, y = labelled
    model = SPDSparseClassifier(metric, whitening=0.2, beta=0.01).fit(X, y)
    assert np.linalg.eigvalsh(model.kernel_.gram_)[0] > -1e-12
    assert not model.kernel_.corrected_


def test_a_training_matrix_is_where_it_was(labelled) -> None:
    """Placed as a query, a training matrix has the kernel values of its row of the Gram matrix."""
    X, y = labelled
    kernel = SPDSparseClassifier("logeuclid", whitening=0.3).fit(X, y).kernel_
    np.testing.assert_allclose(kernel.cross(X), kernel.gram_, rtol=1e-8, atol=1e-10)


def test_whitened_distances_by_their_definition(labelled) -> None:
    """exp(−β (δν)·(z_i − z_j)ᵀ S_w⁻¹ (z_i − z_j)) with z the logarithms, out of sample, too."""
    from spdatoms.geometry import logm

    X, y = labelled
    delta = 0.25
    kernel = SPDSparseClassifier("logeuclid", whitening=delta, beta=0.7).fit(X[::2], y[::2]).kernel_
    Z, Q = (logm(M).reshape(len(M), -1) for M in (X[::2], X[1::2]))
    means = {c: Z[y[::2] == c].mean(axis=0) for c in np.unique(y)}
    R = Z - np.stack([means[c] for c in y[::2]])
    f, p = len(Z) - len(means), 10
    nu = np.trace(R.T @ R) / f / p
    S = (1 - delta) * R.T @ R / f + delta * nu * np.eye(16)
    away = Q[:, None] - Z
    d = delta * nu * np.einsum("qji,ik,qjk->qj", away, np.linalg.inv(S), away)
    np.testing.assert_allclose(-np.log(kernel.cross(X[1::2])) / 0.7, d, rtol=1e-7)


def test_too_many_matrices_to_whiten_need_landmarks(monkeypatch, labelled) -> None:
    X, y = labelled
    monkeypatch.setattr("spdatoms.classification.sparse.MOST_WHITENED", 20)
    with pytest.raises(ValueError, match="from 20 on give landmarks"):
        SPDSparseClassifier("stein", whitening=0.5).fit(X, y)
    assert SPDSparseClassifier("stein", whitening=0.5, landmarks=12).fit(X, y).score(X, y) > 0.8


def test_landmarks_that_are_all_matrices_whiten_as_without_landmarks(labelled) -> None:
    X, y = labelled
    exact = SPDSparseClassifier("stein", whitening=0.3, beta=2.0).fit(X, y)
    spanned = SPDSparseClassifier("stein", whitening=0.3, beta=2.0, landmarks=X).fit(X, y)
    near = spanned.kernel_.features_ @ spanned.kernel_.features_.T
    # Directions below 10⁻³ of the greatest eigenvalue are left out.
    np.testing.assert_allclose(near, exact.kernel_.gram_, atol=5e-3)


def test_ridge_codes_of_the_classifier_are_those_of_the_solver(labelled) -> None:
    X, y = labelled
    model = SPDSparseClassifier("stein", alpha=0.0, ridge=0.2, rule="sum").fit(X[::2], y[::2])
    codes = np.linalg.solve(
        model.kernel_.gram_ + 0.2 * np.eye(12), model.kernel_.cross(X[1::2]).T
    ).T
    expected = np.stack([codes[:, model.atom_labels_ == c].sum(axis=1) for c in model.classes_], 1)
    np.testing.assert_allclose(model.decision_function(X[1::2]), expected, rtol=1e-6, atol=1e-8)
