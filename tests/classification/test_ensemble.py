"""The average of sparse codes and class means under several kernels."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.metrics import log_loss, roc_auc_score

from _matrices import noisy_classes, random_spd
from spdatoms import SPDEnsembleClassifier, SPDSparseClassifier
from spdatoms.classification.cells import Cell, labelled_atoms
from spdatoms.geometry import logm

pytestmark = pytest.mark.slow

WEIGHTS = pytest.mark.parametrize("weights", ["uniform", "cv"])


@WEIGHTS
def test_it_is_more_accurate_than_one_kernel_where_directions_vary_within_classes(weights) -> None:
    X, y = noisy_classes(160)
    models = SPDSparseClassifier(), SPDEnsembleClassifier(weights)
    one, averaged = (model.fit(X[:80], y[:80]).score(X[80:], y[80:]) for model in models)
    assert one < 0.8 < 0.9 < averaged


def test_codes_are_sparse() -> None:
    X, y = noisy_classes(120)
    model = SPDEnsembleClassifier().fit(X, y)
    codes = [cell for cell in model.average_.cells if cell.rule != "mean"]
    assert all(cell.alpha > 0 for cell in codes)
    gram = np.exp(-model.average_.divergences[0] / np.median(model.average_.divergences[0]))
    added = labelled_atoms(gram, model._atom_classes, None, 2, codes[0]).contributions(gram[:5])
    assert np.count_nonzero(added, axis=1).max() < 40


@WEIGHTS
def test_logits_are_the_weighted_sum_of_standardised_scores(weights) -> None:
    """From the table of cells and the divergences, by the definition."""
    X, y = noisy_classes(60)
    model = SPDEnsembleClassifier(weights).fit(X[:40], y[:40])
    average, logits = model.average_, 0.0
    to_atoms = model._references.divergences(X[40:])
    for cell, median, usual, gain in zip(
        average.cells, average.medians, average.usual, average.gains, strict=True
    ):
        if cell.shrinkage < 1.0:
            continue
        beta = cell.factor / median
        gram, cross = (np.exp(-beta * d[cell.metric]) for d in (average.divergences, to_atoms))
        scores = labelled_atoms(gram, y[:40], None, 2, cell).scores(cross)
        away = scores - scores.mean(axis=1, keepdims=True)
        spread = (away**2).mean(axis=1, keepdims=True)
        logits = logits + gain * away / np.sqrt((spread + 1e-3 * usual) / 1.001)
    whitened = [i for i, cell in enumerate(average.cells) if cell.shrinkage < 1.0]
    average.gains[whitened] = 0.0
    vars(average).pop("_kernels", None)
    np.testing.assert_allclose(model.decision_function(X[40:]), logits[:, 1] - logits[:, 0])


def test_class_means_are_the_nearest_means_for_a_wide_kernel(labelled) -> None:
    """With β → 0 it is ‖φ(X) − φ(Y)‖² = 2β·d, and for a squared distance d the scores are those of the means."""
    X, y = labelled
    _, classes = np.unique(y, return_inverse=True)
    Z = X.reshape(len(X), -1)
    means = np.stack([Z[classes == c].mean(axis=0) for c in range(3)])
    d = ((Z[:, None] - Z) ** 2).sum(axis=-1)
    gram = np.exp(-1e-9 * d)
    scores = labelled_atoms(gram, classes, None, 3, Cell(0, 1.0, 1.0, 0.0, 0.0, "mean")).scores(
        gram
    )
    distances = ((Z[:, None] - means) ** 2).sum(axis=-1)
    expected = 2e-9 * (distances.mean(axis=1, keepdims=True) - distances)
    found = scores - scores.mean(axis=1, keepdims=True)
    np.testing.assert_allclose(found, expected, atol=1e-4 * abs(expected).max())


def test_results_say_which_cell_was_how_good(labelled) -> None:
    X, y = labelled
    uniform, weighted = (SPDEnsembleClassifier(w).fit(X, y).cv_results_ for w in ("uniform", "cv"))
    assert uniform["weight"] == pytest.approx(np.full(8, 0.125))
    assert weighted["weight"].sum() == pytest.approx(1.0)
    # No cell is left out entirely, and the best is not worse than any other.
    assert weighted["weight"].min() >= 0.5 / 18 - 1e-12
    assert weighted["weight"].argmax() == weighted["mean_test_log_loss"].argmin()
    assert set(weighted["param_rule"]) == {"sum", "mean"}
    assert set(weighted["param_metric"]) == {"stein", "logeuclid"}


def test_left_out_matrices_have_no_part_in_the_whitening(labelled) -> None:
    """The median d_w from those left out to the others, of re-centred logarithms, by its definition."""
    X, y = labelled
    train, test, delta = np.arange(0, 24, 2), np.arange(1, 24, 2), 0.1
    model = SPDEnsembleClassifier(metrics="logeuclid", cv=[(train, test)]).fit(X, y)
    L = model._references.factor
    Z = logm(np.linalg.solve(L, np.linalg.solve(L, X).swapaxes(1, 2))).reshape(len(X), -1)
    R = Z[train] - np.stack([Z[train][y[train] == c].mean(axis=0) for c in y[train]])
    f, p = len(train) - 3, 10
    nu = np.trace(R.T @ R) / f / p
    S = (1 - delta) * R.T @ R / f + delta * nu * np.eye(16)
    away = Z[test][:, None] - Z[train]
    d = delta * nu * np.einsum("qji,ik,qjk->qj", away, np.linalg.inv(S), away)
    own = [cell.shrinkage == delta for cell in model.average_.cells]
    np.testing.assert_allclose(model.average_.medians[own], np.median(d), rtol=1e-8)


@WEIGHTS
def test_probabilities_are_calibrated_where_classes_overlap(weights) -> None:
    rng = np.random.default_rng(0)
    samples = rng.standard_normal((600, 3, 25))
    samples[300:, 2] *= 1.25
    X, y = samples @ samples.swapaxes(1, 2) / 25, np.repeat([0, 1], 300)
    train = np.arange(600) % 3 == 0
    model = SPDEnsembleClassifier(weights).fit(X[train], y[train])
    p = model.predict_proba(X[~train])[:, 1]
    # A reliability diagram with a slope near one, and a better log-loss than without calibration.
    slope = LinearRegression().fit(p[:, None], y[~train]).coef_[0]
    assert 0.6 < slope < 1.6
    assert log_loss(y[~train], p) < np.log(2.0)
    decision = model.decision_function(X[~train])
    np.testing.assert_array_equal(np.argsort(decision), np.argsort(p))
    assert roc_auc_score(y[~train], decision) == roc_auc_score(y[~train], p)


def test_scores_of_a_matrix_do_not_depend_on_the_others() -> None:
    X, y = noisy_classes(200)
    model = SPDEnsembleClassifier().fit(X[:50], y[:50])
    everything = model.decision_function(X)
    for count in (1, 63, 64, 65, 130):
        np.testing.assert_array_equal(model.decision_function(X[:count]), everything[:count])


def test_threads_change_nothing() -> None:
    X, y = noisy_classes(150)
    one, two = (SPDEnsembleClassifier(n_jobs=jobs).fit(X[:60], y[:60]) for jobs in (1, 2))
    np.testing.assert_array_equal(one.predict_proba(X), two.predict_proba(X))


def test_more_matrices_than_atoms(labelled) -> None:
    """Atoms are taken evenly from the classes, each has one, and they are told by their rows."""
    X, y = labelled
    model = SPDEnsembleClassifier(max_atoms=10).fit(X, y)
    assert len(model.atoms_) == 10
    np.testing.assert_array_equal(model.atoms_, X[model.atom_indices_])
    np.testing.assert_array_equal(model.atom_labels_, y[model.atom_indices_])
    assert np.unique(model.atom_labels_, return_counts=True)[1].min() >= 3
    same = SPDEnsembleClassifier().fit(model.atoms_, model.atom_labels_)
    np.testing.assert_array_equal(model.decision_function(X), same.decision_function(X))
    assert set(model.explain(X[:1])[0].atoms) <= set(model.atom_indices_)
    rare = np.where(np.arange(24) == 7, "rare", "frequent")
    assert "rare" in SPDEnsembleClassifier(max_atoms=5).fit(X, rare).atom_labels_


@pytest.mark.filterwarnings("ignore:.*one class")
def test_one_class_one_matrix_and_one_member_each() -> None:
    X = random_spd(4, 3)
    assert (SPDEnsembleClassifier().fit(X, [5] * 4).predict_proba(X) == 1.0).all()
    assert SPDEnsembleClassifier().fit(X[:1], ["a"]).predict(X).tolist() == ["a"] * 4
    alone = SPDEnsembleClassifier().fit(X, list("abcd"))
    assert alone.predict(X).tolist() == list("abcd")


def test_classes_with_one_member_do_no_harm() -> None:
    X, y = random_spd(9, 3), np.array([0, 0, 0, 0, 1, 1, 1, 1, 2])
    assert SPDEnsembleClassifier("cv").fit(X, y).predict_proba(X).shape == (9, 3)
