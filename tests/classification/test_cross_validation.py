"""Cells weighted by cross-validation: leave-one-out, folds and splitters, against doing it by hand."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import GroupKFold, StratifiedKFold, cross_val_score

from _matrices import random_spd
from spdatoms import SPDSparseClassifier, SPDSparseClassifierCV
from spdatoms.geometry import logm

ONE = {"rule": "residual", "metric": "stein"}


def test_leave_one_out_equals_coding_over_the_others(labelled) -> None:
    X, y = labelled
    chosen = SPDSparseClassifierCV(betas=[1.0, 3.0], alphas=[0.1, 0.02], cv="loo", **ONE).fit(X, y)
    results = chosen.cv_results_
    assert len(results["weight"]) == 4
    for beta, alpha, score in zip(
        results["param_beta"], results["param_alpha"], results["mean_test_score"], strict=True
    ):
        hits = [
            SPDSparseClassifier("stein", beta=beta, alpha=alpha)
            .fit(np.delete(X, i, axis=0), np.delete(y, i))
            .predict(X[i : i + 1])[0]
            == y[i]
            for i in range(len(X))
        ]
        assert score == pytest.approx(np.mean(hits))


def test_splitter_with_groups_equals_doing_it_by_hand(labelled) -> None:
    X, y = labelled
    groups = np.arange(len(X)) // 6
    chosen = SPDSparseClassifierCV(betas=[1.0], alphas=[0.05], cv=GroupKFold(4), **ONE)
    chosen.fit(X, y, groups=groups)
    plain = SPDSparseClassifier("stein", beta=1.0, alpha=0.05)
    by_hand = cross_val_score(plain, X, y, groups=groups, cv=GroupKFold(4))
    assert chosen.best_score_ == pytest.approx(by_hand.mean())
    assert (chosen.beta_, chosen.alpha_) == (1.0, 0.05)


def test_a_whitened_cell_equals_the_classifier_with_that_kernel(labelled) -> None:
    """With one cell there is nothing to weight: it ranks classes as the classifier with the same parameters."""
    X, y = labelled
    chosen = SPDSparseClassifierCV(
        metric="stein", whitening=[0.3], alphas=[0.02], ridges=[0.1], rule="residual"
    ).fit(X[::2], y[::2])
    plain = SPDSparseClassifier(
        "stein", beta=chosen.average_.cells[0].beta_for(chosen.average_.medians[0]),
        alpha=0.02, ridge=0.1, whitening=0.3,
    )  # fmt: skip
    assert len(chosen.cv_results_["weight"]) == 3  # three β
    by_hand = plain.fit(X[::2], y[::2]).predict(X[1::2])
    np.testing.assert_array_equal(chosen.predict(X[1::2]), by_hand)


def test_class_means_are_the_nearest_means_of_whitened_coordinates(labelled) -> None:
    """With β → 0 the kernel is linear in d_w, and d_w of log-Euclidean is a distance of whitened logarithms."""
    X, y = labelled
    train, test = X[::2], X[1::2]
    delta = 0.3
    model = SPDSparseClassifierCV("euclid", whitening=[delta], rule="mean", cv=2)
    model.fit(train, y[::2])
    # By hand: re-centred matrices as vectors, pooled within-class covariance, shrunk.
    L = model._references.factor
    vectors = [np.linalg.solve(L, np.linalg.solve(L, M).swapaxes(1, 2)) for M in (train, test)]
    Z, Q = (V.reshape(len(V), -1) for V in vectors)
    means = np.stack([Z[y[::2] == c].mean(axis=0) for c in model.classes_])
    R = Z - means[np.searchsorted(model.classes_, y[::2])]
    f, p = len(Z) - len(means), 4 * 5 // 2
    S = (1 - delta) * R.T @ R / f + delta * (np.trace(R.T @ R) / f / p) * np.eye(16)
    away = Q[:, None] - means
    distances = np.einsum("qci,ij,qcj->qc", away, np.linalg.inv(S), away)
    predicted = model.classes_[distances.argmin(axis=1)]
    assert np.mean(model.predict(test) == predicted) > 0.9


@pytest.mark.parametrize(
    "cv",
    [[], [([], [0])], [1, 2], [([0, 1], [24])], [([0.5], [1])], [("a", "b")], [([0], [1], [2])]],
)
def test_splits_that_are_none_are_refused(cv, labelled) -> None:
    with pytest.raises(ValueError, match="cv as a list must hold"):
        SPDSparseClassifierCV(cv=cv).fit(*labelled)


def test_left_out_matrices_have_no_part_in_the_whitening(labelled) -> None:
    """The median d_w from those left out to the others, of re-centred logarithms, by its definition."""
    X, y = labelled
    train, test, delta = np.arange(0, 24, 2), np.arange(1, 24, 2), 0.2
    model = SPDSparseClassifierCV("logeuclid", whitening=[delta], cv=[(train, test)]).fit(X, y)
    L = model._references.factor
    Z = logm(np.linalg.solve(L, np.linalg.solve(L, X).swapaxes(1, 2))).reshape(len(X), -1)
    R = Z[train] - np.stack([Z[train][y[train] == c].mean(axis=0) for c in y[train]])
    f, p = len(train) - 3, 10
    nu = np.trace(R.T @ R) / f / p
    S = (1 - delta) * R.T @ R / f + delta * nu * np.eye(16)
    away = Z[test][:, None] - Z[train]
    d = delta * nu * np.einsum("qji,ik,qjk->qj", away, np.linalg.inv(S), away)
    np.testing.assert_allclose(model.average_.medians, np.median(d), rtol=1e-8)


def test_results_say_which_cell_was_how_good(labelled) -> None:
    X, y = labelled
    model = SPDSparseClassifierCV().fit(X, y)
    results = model.cv_results_
    assert results["weight"].sum() == pytest.approx(1.0)
    assert results["rank_test_log_loss"][model.best_index_] == 1
    assert results["mean_test_log_loss"].argmin() == model.best_index_
    assert model.best_params_["beta"] == model.beta_
    assert set(results["param_rule"]) == {"sum", "mean"}
    assert set(results["param_metric"]) == {"stein", "logeuclid"}
    assert ((results["mean_test_score"] >= 0) & (results["mean_test_score"] <= 1)).all()
    # No cell is left out entirely, and the best is not worse than any other.
    assert results["weight"].min() >= 0.3 / 30 - 1e-12
    assert results["weight"].max() == results["weight"][model.best_index_]


def test_probabilities_are_calibrated_where_classes_overlap() -> None:
    rng = np.random.default_rng(0)
    samples = rng.standard_normal((600, 3, 25))
    samples[300:, 2] *= 1.25
    X, y = samples @ samples.swapaxes(1, 2) / 25, np.repeat([0, 1], 300)
    train = np.arange(600) % 3 == 0
    model = SPDSparseClassifierCV().fit(X[train], y[train])
    p = model.predict_proba(X[~train])[:, 1]
    # A reliability diagram with a slope near one, and a better log-loss than without calibration.
    slope = LinearRegression().fit(p[:, None], y[~train]).coef_[0]
    assert 0.6 < slope < 1.6
    assert log_loss(y[~train], p) < np.log(2.0)
    decision = model.decision_function(X[~train])
    np.testing.assert_array_equal(np.argsort(decision), np.argsort(p))


def test_folds_of_a_splitter_without_groups(labelled) -> None:
    X, y = labelled
    model = SPDSparseClassifierCV("stein", betas=[1.0], cv=StratifiedKFold(3)).fit(X, y)
    assert model.score(X, y) > 0.8


def test_classes_with_one_member_do_no_harm() -> None:
    X, y = random_spd(9, 3), np.array([0, 0, 0, 0, 1, 1, 1, 1, 2])
    model = SPDSparseClassifierCV().fit(X, y)
    assert model.predict_proba(X).shape == (9, 3)
    alone = SPDSparseClassifierCV().fit(X[:3], [0, 1, 2])
    np.testing.assert_array_equal(alone.predict(X[:3]), [0, 1, 2])


def test_leave_one_out_refuses_what_it_cannot_do(labelled) -> None:
    with pytest.raises(ValueError, match="does not go with whitening"):
        SPDSparseClassifierCV(cv="loo", whitening=[0.3]).fit(*labelled)
    with pytest.raises(ValueError, match="at least two matrices"):
        SPDSparseClassifierCV(cv="loo").fit(labelled[0][:1], labelled[1][:1])
