"""The default classifier, an average over kernels, and within-class whitening."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from sklearn.metrics import roc_auc_score

from _matrices import random_spd
from spdatoms import SPDSparseClassifier
from spdatoms.classification.calibration import sharpness


def noisy_classes(count: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return matrices of two classes that differ in one direction, and vary much more in six others."""
    rng = np.random.default_rng(seed)
    samples = rng.standard_normal((count, 8, 100))
    samples[:, :6] *= np.exp(rng.standard_normal((count, 6, 1)))
    y = np.arange(count) % 2
    samples[:, 6] *= np.where(y == 1, 1.3, 1.0)[:, None]
    return samples @ samples.swapaxes(1, 2) / 100, y


def test_whitening_helps_where_directions_vary_within_classes() -> None:
    X, y = noisy_classes(160)
    plain, whitened, averaged = (
        SPDSparseClassifier(**parameters).fit(X[:80], y[:80]).score(X[80:], y[80:])
        for parameters in ({"metric": "stein"}, {"metric": "stein", "whitening": 0.1}, {})
    )
    assert plain < 0.8 < 0.85 < whitened
    assert averaged > 0.9


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


def test_a_single_kernel_is_used_where_a_parameter_asks_for_it(labelled) -> None:
    X, y = labelled
    assert hasattr(SPDSparseClassifier().fit(X, y), "average_")
    for parameters in (
        {"metric": "stein"}, {"beta": 1.0}, {"alpha": 0.1}, {"rule": "sum"}, {"ridge": 0.1},
        {"whitening": 0.5}, {"landmarks": 8}, {"n_atoms_per_class": 2},
    ):  # fmt: skip
        model = SPDSparseClassifier(**parameters).fit(X, y)
        assert not hasattr(model, "average_")
        assert model.kernel_.beta_ > 0


def test_a_refit_with_one_kernel_forgets_the_average(labelled) -> None:
    X, y = labelled
    model = SPDSparseClassifier().fit(X, y)
    expected = SPDSparseClassifier("stein").fit(X, y).decision_function(X)
    found = model.set_params(metric="stein").fit(X, y).decision_function(X)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.filterwarnings("ignore::spdatoms.exceptions.IndefiniteKernelWarning")
def test_probabilities_rank_as_decisions_do() -> None:
    X, y = noisy_classes(90)
    for model in (
        SPDSparseClassifier(),
        SPDSparseClassifier("stein"),
        SPDSparseClassifier("jeffrey"),
    ):
        model.fit(X[:60], y[:60])
        decisions, p = model.decision_function(X[60:]), model.predict_proba(X[60:])[:, 1]
        assert roc_auc_score(y[60:], decisions) == roc_auc_score(y[60:], p)
        np.testing.assert_allclose(p.sum() + model.predict_proba(X[60:])[:, 0].sum(), 30)


def test_scores_of_a_matrix_do_not_depend_on_the_others() -> None:
    X, y = noisy_classes(200)
    model = SPDSparseClassifier().fit(X[:50], y[:50])
    everything = model.decision_function(X)
    for count in (1, 63, 64, 65, 130):
        np.testing.assert_array_equal(model.decision_function(X[:count]), everything[:count])


def test_threads_change_nothing() -> None:
    X, y = noisy_classes(150)
    one, two = (SPDSparseClassifier(n_jobs=jobs).fit(X[:60], y[:60]) for jobs in (1, 2))
    np.testing.assert_array_equal(one.predict_proba(X), two.predict_proba(X))


@pytest.mark.filterwarnings("ignore:.*one class")
def test_one_class_one_matrix_and_one_member_each() -> None:
    X = random_spd(4, 3)
    assert (SPDSparseClassifier().fit(X, [5] * 4).predict_proba(X) == 1.0).all()
    assert SPDSparseClassifier().fit(X[:1], ["a"]).predict(X).tolist() == ["a"] * 4
    alone = SPDSparseClassifier().fit(X, list("abcd"))
    assert alone.predict(X).tolist() == list("abcd")
    whitened = SPDSparseClassifier("stein", whitening=0.2).fit(X, list("abcd"))
    assert whitened.predict(X).tolist() == list("abcd")


def test_too_many_matrices_to_whiten_need_landmarks(monkeypatch, labelled) -> None:
    X, y = labelled
    monkeypatch.setattr("spdatoms.classification.sparse.MOST_WHITENED", 20)
    with pytest.raises(ValueError, match="from 20 on give landmarks"):
        SPDSparseClassifier("stein", whitening=0.5).fit(X, y)
    assert SPDSparseClassifier("stein", whitening=0.5, landmarks=12).fit(X, y).score(X, y) > 0.8
    monkeypatch.setattr("spdatoms.classification.sparse.MOST_AVERAGED", 20)
    assert SPDSparseClassifier().fit(X, y).kernel_.beta_ > 0


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


@pytest.mark.parametrize("seed", range(3))
def test_sharpness_minimises_the_smoothed_log_loss(seed) -> None:
    rng = np.random.default_rng(seed)
    scores, labels = rng.standard_normal((40, 3)), rng.integers(0, 3, 40)
    scores[np.arange(40), labels] += 1.0
    wanted = np.full((40, 3), 1.0 / 42 / 2)
    wanted[np.arange(40), labels] = 1.0 - 1.0 / 42

    def loss(t: float) -> float:
        logits = t * scores
        return -(wanted * (logits - np.log(np.exp(logits).sum(1, keepdims=True)))).sum(1).mean()

    best = minimize_scalar(loss, bounds=(0.01, 50.0), method="bounded", options={"xatol": 1e-9})
    assert sharpness(scores, labels) == pytest.approx(best.x, rel=1e-5)
