"""One classifier chosen by cross-validation: leave-one-out, folds and splitters, against doing it by hand."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import GroupKFold, StratifiedKFold, cross_val_score

from _matrices import noisy_classes, random_spd
from spdatoms import SPDSparseClassifier, SPDSparseClassifierCV

pytestmark = pytest.mark.slow


def test_leave_one_out_equals_coding_over_the_others(labelled) -> None:
    X, y = labelled
    chosen = SPDSparseClassifierCV("stein", [1.0, 3.0], [0.1, 0.02], cv="loo").fit(X, y)
    results = chosen.cv_results_
    assert len(results["params"]) == 4
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
    chosen = SPDSparseClassifierCV("stein", [1.0], [0.05], cv=GroupKFold(4))
    chosen.fit(X, y, groups=groups)
    plain = SPDSparseClassifier("stein", beta=1.0, alpha=0.05)
    by_hand = cross_val_score(plain, X, y, groups=groups, cv=GroupKFold(4))
    assert chosen.best_score_ == pytest.approx(by_hand.mean())


@pytest.mark.filterwarnings("ignore::spdatoms.exceptions.ZeroCodeWarning")
@pytest.mark.parametrize("options", [{}, {"rules": ["sum", "max"], "metrics": "jeffrey"}])
def test_what_was_chosen_predicts(options) -> None:
    """best_params_ make the classifier that predicts, and nothing else has a part in it."""
    X, y = noisy_classes(80)
    chosen = SPDSparseClassifierCV(**options).fit(X[:50], y[:50])
    results = chosen.cv_results_
    assert results["rank_test_log_loss"][chosen.best_index_] == 1
    assert results["params"][chosen.best_index_] == chosen.best_params_
    assert results["mean_test_score"][chosen.best_index_] == chosen.best_score_
    same = SPDSparseClassifier(**chosen.best_params_).fit(X[:50], y[:50])
    for method in ("predict", "decision_function"):
        expected = getattr(same, method)(X[50:])
        np.testing.assert_array_equal(getattr(chosen, method)(X[50:]), expected)
    assert str(chosen.explain(X[50:], n_atoms=3)) == str(same.explain(X[50:], n_atoms=3))


def test_left_out_scores_are_those_of_the_classifier(labelled) -> None:
    """A cell of the grid in one split, and the estimator with its parameters: the same accuracy."""
    X, y = labelled
    train, test = np.arange(0, 24, 2), np.arange(1, 24, 2)
    chosen = SPDSparseClassifierCV(cv=[(train, test)]).fit(X, y)
    for params, score in zip(
        chosen.cv_results_["params"], chosen.cv_results_["mean_test_score"], strict=True
    ):
        plain = SPDSparseClassifier(**params).fit(X[train], y[train])
        assert plain.score(X[test], y[test]) == pytest.approx(score)


@pytest.mark.parametrize(
    "cv",
    [
        [], [([], [0])], [1, 2], [([0, 1], [24])], [([0.5], [1])], [("a", "b")], [([0], [1], [2])],
        np.ones((2, 3)),
    ],
)  # fmt: skip
def test_splits_that_are_none_are_refused(cv, labelled) -> None:
    with pytest.raises(ValueError, match="cv as a list must hold"):
        SPDSparseClassifierCV(cv=cv).fit(*labelled)


def test_probabilities_are_calibrated_where_classes_overlap() -> None:
    rng = np.random.default_rng(0)
    samples = rng.standard_normal((600, 3, 25))
    samples[300:, 2] *= 1.25
    X, y = samples @ samples.swapaxes(1, 2) / 25, np.repeat([0, 1], 300)
    train = np.arange(600) % 3 == 0
    model = SPDSparseClassifierCV("stein").fit(X[train], y[train])
    p = model.predict_proba(X[~train])[:, 1]
    # A reliability diagram with a slope near one, and a better log-loss than without calibration.
    slope = LinearRegression().fit(p[:, None], y[~train]).coef_[0]
    assert 0.5 < slope < 1.8
    assert log_loss(y[~train], p) < np.log(2.0)


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


def test_a_large_set_is_compared_on_some_and_fitted_on_all(labelled, monkeypatch) -> None:
    X, y = labelled
    monkeypatch.setattr("spdatoms.classification.cross_validation.MOST_COMPARED", 12)
    chosen = SPDSparseClassifierCV("stein").fit(X, y)
    assert len(chosen.best_estimator_.atom_labels_) == 24


def test_leave_one_out_refuses_what_it_cannot_do(labelled) -> None:
    with pytest.raises(ValueError, match="does not go with whitening"):
        SPDSparseClassifierCV(cv="loo", whitenings=[0.3]).fit(*labelled)
    with pytest.raises(ValueError, match="at least two matrices"):
        SPDSparseClassifierCV(cv="loo").fit(labelled[0][:1], labelled[1][:1])
