"""Classifiers that learn from a stream: what they keep, and that they are those fitted to what they keep."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone

from spdatoms import SPDEnsembleClassifier, SPDSparseClassifier, load, save
from spdatoms.classification._atom_choice import newest_of_classes
from spdatoms.classification.kernel_ensemble import References
from spdatoms.kernels.kernel import DivergenceKernel
from spdatoms.paper.baselines import LogEuclideanSparseClassifier


def stream(count: int = 60, n: int = 4, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = rng.choice(["left", "rest", "right"], count, p=[0.5, 0.1, 0.4])
    gains = {"left": 1.0, "rest": 1.5, "right": 2.5}
    G = rng.standard_normal((count, n, 3 * n))
    G[:, 0] *= np.array([gains[label] for label in y])[:, None]
    return G @ G.swapaxes(1, 2) / (3 * n), y


def assert_same_model(one, other, X, rtol: float = 0.0) -> None:
    np.testing.assert_array_equal(one.classes_, other.classes_)
    np.testing.assert_array_equal(one.atoms_, other.atoms_)
    np.testing.assert_array_equal(one.atom_labels_, other.atom_labels_)
    for method in ("predict", "decision_function", "predict_proba"):
        found, expected = getattr(one, method)(X), getattr(other, method)(X)
        if rtol and found.dtype.kind == "f":
            np.testing.assert_allclose(found, expected, rtol=rtol, atol=rtol)
        else:
            np.testing.assert_array_equal(found, expected)


def test_the_oldest_of_the_largest_class_go_first() -> None:
    labels = np.array([0, 0, 1, 0, 2, 0, 1])
    np.testing.assert_array_equal(newest_of_classes(labels, 5), [2, 3, 4, 5, 6])
    np.testing.assert_array_equal(newest_of_classes(labels, 6), [1, 2, 3, 4, 5, 6])
    np.testing.assert_array_equal(newest_of_classes(labels, 3), [4, 5, 6])
    np.testing.assert_array_equal(newest_of_classes(labels, 1), [4, 5, 6])  # no class is forgotten
    np.testing.assert_array_equal(newest_of_classes(labels, None), np.arange(7))


@pytest.mark.parametrize("seed", range(20))
def test_what_is_kept_does_not_depend_on_batches(seed) -> None:
    rng = np.random.default_rng(seed)
    labels, most = rng.choice(4, 80, p=[0.6, 0.2, 0.15, 0.05]), int(rng.integers(4, 30))
    labels[:4] = np.arange(4)
    kept = np.arange(0)
    for i in range(80):
        kept = np.append(kept, i)
        kept = kept[newest_of_classes(labels[kept], most)]
    np.testing.assert_array_equal(kept, newest_of_classes(labels, most))


def test_a_classifier_is_that_of_the_matrices_it_keeps_to_the_last_bit() -> None:
    X, y = stream(120, 5)
    model, queries = SPDSparseClassifier(max_atoms=25).fit(X[:20], y[:20]), X[100:]
    for start in range(20, 100, 4):
        model.partial_fit(X[start : start + 4], y[start : start + 4])
        batch = SPDSparseClassifier().fit(model.atoms_, model.atom_labels_)
        assert_same_model(model, batch, queries)
        assert model.kernel_.beta_ == batch.kernel_.beta_
        np.testing.assert_array_equal(model.kernel_.gram_, batch.kernel_.gram_)
    kept = newest_of_classes(np.unique(y[:100], return_inverse=True)[1], 25)
    np.testing.assert_array_equal(model.atoms_, X[kept])


@pytest.mark.filterwarnings("ignore::spdatoms.exceptions.IndefiniteKernelWarning")
@pytest.mark.parametrize(
    "model",
    [
        SPDSparseClassifier("jeffrey", max_atoms=20),
        SPDSparseClassifier("logeuclid", beta=0.3, alpha=0.1, rule="sum", max_atoms=20),
        SPDSparseClassifier("riemann", max_atoms=20),
        SPDSparseClassifier(whitening=0.3, ridge=0.1, max_atoms=20),
        SPDSparseClassifier(landmarks=10, max_atoms=20),
        SPDSparseClassifier(class_weight="balanced", max_atoms=20),
        LogEuclideanSparseClassifier(),
    ],
    ids=lambda model: " ".join(repr(model).split()),
)
def test_other_metrics_whitening_landmarks_and_class_weights(model) -> None:
    X, y = stream(50)
    live = clone(model)
    for start in range(0, 40, 10):
        live.partial_fit(X[start : start + 10], y[start : start + 10])
    batch = clone(model).fit(live.atoms_, live.atom_labels_)
    assert_same_model(live, batch, X[40:], rtol=1e-9)


@pytest.mark.parametrize("scale", [1.0, 1e-12])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex128])
def test_scales_and_types(scale, dtype) -> None:
    X, y = stream(40)
    X = (scale * X).astype(dtype)
    model = (
        SPDSparseClassifier(max_atoms=15).partial_fit(X[:20], y[:20]).partial_fit(X[20:], y[20:])
    )
    assert model.atoms_.dtype == dtype
    assert_same_model(model, SPDSparseClassifier().fit(model.atoms_, model.atom_labels_), X)


def test_a_stream_may_begin_with_one_matrix_and_new_classes_may_come() -> None:
    X, y = stream(30)
    model = SPDSparseClassifier()
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # one label only is no reason to warn in a stream
        for i in range(30):
            model.partial_fit(X[i : i + 1], y[i : i + 1])
    assert_same_model(model, SPDSparseClassifier().fit(X, y), X)


def test_parameters_may_change_between_batches() -> None:
    X, y = stream(40)
    model = SPDSparseClassifier().partial_fit(X[:20], y[:20]).partial_fit(X[20:30], y[20:30])
    model.set_params(metric="logeuclid", beta=0.5).partial_fit(X[30:], y[30:])
    assert_same_model(model, SPDSparseClassifier("logeuclid", 0.5).fit(X, y), X)


def test_only_new_divergences_are_computed(monkeypatch) -> None:
    X, y = stream(40)
    model = (
        SPDSparseClassifier(max_atoms=20).partial_fit(X[:30], y[:30]).partial_fit(X[30:], y[30:])
    )
    monkeypatch.setattr(
        DivergenceKernel, "_divergences_within", lambda self, D: pytest.fail("all pairs")
    )
    model.partial_fit(X[:1], y[:1])
    assert len(model.atoms_) == 20


def test_a_saved_classifier_goes_on_where_it_stopped(tmp_path) -> None:
    X, y = stream(40)
    model = (
        SPDSparseClassifier(max_atoms=20)
        .partial_fit(X[:20], y[:20])
        .partial_fit(X[20:30], y[20:30])
    )
    save(model, tmp_path / "model")
    again = load(tmp_path / "model")
    for one in (model, again):
        one.partial_fit(X[30:], y[30:])
    assert_same_model(again, model, X)


def test_fit_takes_at_most_so_many_evenly_from_the_classes() -> None:
    X, y = stream(60)
    model = SPDSparseClassifier(max_atoms=12).fit(X, y)
    assert len(model.atoms_) == 12
    counts = dict(zip(*np.unique(model.atom_labels_, return_counts=True), strict=True))
    assert counts["left"] > counts["right"] > counts["rest"] >= 1


def test_queries_without_channels_follow_the_stream() -> None:
    X, y = stream(50)
    model = SPDSparseClassifier(max_atoms=20).fit(X[:20], y[:20])
    model.predict(X[:3], channels=[0, 1, 2])
    model.partial_fit(X[20:40], y[20:40])
    batch = SPDSparseClassifier().fit(model.atoms_, model.atom_labels_)
    found, expected = (one.decision_function(X[40:], channels=[0, 1, 2]) for one in (model, batch))
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    ("model", "X", "y", "message"),
    [
        (SPDSparseClassifier(), -np.eye(4)[None], ["left"], "not positive definite|X\\[0\\]"),
        (SPDSparseClassifier(), np.eye(3)[None], ["left"], "4×4|3×3"),
        (SPDSparseClassifier(), np.eye(4)[None], [1], "labels like those so far"),
        (SPDSparseClassifier(), np.eye(4)[None], ["left", "rest"], "2 labels"),
        (SPDSparseClassifier(n_atoms_per_class=2), np.eye(4)[None], ["left"], "max_atoms"),
    ],
)
def test_a_bad_batch_changes_nothing(model, X, y, message) -> None:
    matrices, labels = stream(30)
    model = clone(model).fit(matrices, labels)
    before = dict(vars(model))
    with pytest.raises(ValueError, match=message):
        model.partial_fit(X, y)
    assert vars(model) == before


def test_weights_of_matrices_are_refused() -> None:
    X, y = stream(30)
    model = SPDSparseClassifier().fit(X, y, np.linspace(1, 2, 30))
    with pytest.raises(ValueError, match="without sample_weight"):
        model.partial_fit(X[:1], y[:1])


def calibration(model: SPDEnsembleClassifier) -> list[np.ndarray]:
    average = model.average_
    return [average.medians, average.usual, average.gains, model._references.factor]


def with_the_same_calibration(model: SPDEnsembleClassifier, X: np.ndarray) -> np.ndarray:
    """Return the logits of an ensemble made anew of the atoms, with the constants of the model."""
    metrics, factor = model._references.metrics, model._references.factor
    inverse = np.linalg.inv(factor)
    centred = inverse @ model.atoms_ @ inverse.conj().T
    references = References(metrics, 0.5 * (centred + centred.conj().swapaxes(1, 2)), factor)
    average = replace(model.average_, divergences=references.among())
    return average.scores(references.divergences(X))


@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
def test_an_ensemble_keeps_its_calibration_until_it_is_due(dtype) -> None:
    X, y = stream(100)
    X = X.astype(dtype)
    model = SPDEnsembleClassifier(max_atoms=40, cv=2).fit(X[:40], y[:40])
    before = calibration(model)
    for start in range(40, 76, 4):
        model.partial_fit(X[start : start + 4], y[start : start + 4])
        expected = with_the_same_calibration(model, X[80:])
        np.testing.assert_allclose(model.decision_function(X[80:]), expected, rtol=1e-7, atol=1e-9)
    for one, other in zip(before, calibration(model), strict=True):
        np.testing.assert_array_equal(one, other)
    model.partial_fit(X[76:80], y[76:80])  # forty new ones
    batch = SPDEnsembleClassifier(cv=2).fit(model.atoms_, model.atom_labels_)
    assert_same_model(model, batch, X[80:])
    assert model.n_samples_seen_ == 80
    np.testing.assert_array_equal(model.atoms_, X[model.atom_indices_])


def test_an_ensemble_is_calibrated_when_it_has_doubled_or_a_class_is_new() -> None:
    X, y = stream(40)
    model = SPDEnsembleClassifier(cv=2)
    order = np.argsort(y, kind="stable")[::-1]  # right, then rest, then left
    X, y = X[order], y[order]
    news = [i for i in range(33) if i == 0 or y[i] not in y[:i]]
    calibrated, last = [], None
    for i in range(33):
        model.partial_fit(X[i : i + 1], y[i : i + 1])
        if last is None or not np.array_equal(model._references.factor, last):
            calibrated.append(i)
        last = model._references.factor
    expected, due = [], 0
    for i in range(33):
        if i in news or i + 1 >= due:
            expected.append(i)
            due = 2 * (i + 1)
    assert calibrated == expected
    assert len(model.atoms_) == 33
    assert model.left_out_probabilities_.shape == (33, 3)
    np.testing.assert_allclose(model.left_out_probabilities_.sum(axis=1), 1.0)


def test_an_ensemble_explains_after_partial_fit_and_is_saved(tmp_path) -> None:
    X, y = stream(60)
    model = (
        SPDEnsembleClassifier(max_atoms=30, cv=2)
        .fit(X[:30], y[:30])
        .partial_fit(X[30:40], y[30:40])
    )
    totals = np.array([one.totals for one in model.explain(X[50:])])
    np.testing.assert_array_equal(model.classes_[totals.argmax(axis=1)], model.predict(X[50:]))
    save(model, tmp_path / "model")
    again = load(tmp_path / "model")
    for one in (model, again):
        one.partial_fit(X[40:50], y[40:50])
    assert_same_model(again, model, X[50:])
    np.testing.assert_array_equal(again.atom_indices_, model.atom_indices_)


def test_an_ensemble_keeps_the_domains_of_its_atoms(tmp_path) -> None:
    X, y = stream(60)
    domains = np.array(["a", "b", "c", "d"])[np.arange(60) % 4]
    model = SPDEnsembleClassifier(cv=2, max_atoms=24).fit(X[:30], y[:30], domains=domains[:30])
    for rows in (slice(30, 32), slice(32, 40), slice(40, 60)):  # the last one is due
        model.partial_fit(X[rows], y[rows], domains=domains[rows])
        for one in model.explain(X[:3]):
            assert one.domains == tuple(domains[one.atoms])
    again = SPDEnsembleClassifier(cv=2, max_atoms=24)
    again.fit(model.atoms_, model.atom_labels_, domains=domains[model.atom_indices_])
    assert_same_model(model, again, X)  # not whitened: by the cells of domains
    assert all(one is None for one in model.cv_results_["param_whitening"])
    save(model, tmp_path / "model")
    stored = load(tmp_path / "model").partial_fit(X[:2], y[:2], ["e", "a"])
    assert "e" in stored.explain(X[:1])[0].domains
    query = X[:1].copy()
    query[0, 1] = query[0, :, 1] = np.nan
    assert set(stored.explain(query)[0].domains) <= set("abcde")


def test_a_stream_may_begin_with_one_domain() -> None:
    X, y = stream(40)
    model = SPDEnsembleClassifier(cv=2).partial_fit(X[:20], y[:20], ["a"] * 20)
    assert model.domains_ is None
    assert set(model.explain(X[:1])[0].domains) == {"a"}
    assert_same_model(model, SPDEnsembleClassifier(cv=2).fit(X[:20], y[:20]), X[20:])
    model.partial_fit(X[20:25], y[20:25], "b")  # not due, but the second domain
    names = ["a"] * 20 + ["b"] * 5
    fitted = SPDEnsembleClassifier(cv=2).fit(X[:25], y[:25], domains=names)
    assert_same_model(model, fitted, X[25:])


def test_either_all_matrices_of_a_stream_have_domains_or_none() -> None:
    X, y = stream(40)
    model = SPDEnsembleClassifier(cv=2).fit(X, y, domains=np.arange(40) % 4)
    with pytest.raises(ValueError, match="have domains: give those of the new ones"):
        model.partial_fit(X[:1], y[:1])
    with pytest.raises(ValueError, match="one name or a list of 2"):
        model.partial_fit(X[:2], y[:2], ["a", "b", "c"])
    with pytest.raises(ValueError, match="have no domains: leave out those"):
        SPDEnsembleClassifier(cv=2).fit(X, y).partial_fit(X[:1], y[:1], ["a"])


def test_an_ensemble_of_an_earlier_version_knows_the_domains_of_its_atoms() -> None:
    X, y = stream(40)
    domains = np.array(list("abcd"))[np.arange(40) % 4]
    model = SPDEnsembleClassifier(cv=2, max_atoms=20).fit(X, y, domains=domains)
    del model._atom_domains
    one = model.explain(X[:1])[0]
    assert one.domains == tuple(domains[one.atoms])
    model.partial_fit(X[:1], y[:1], ["e"])
    assert model._atom_domains[-1] == "e"


def test_an_ensemble_stays_as_it_was_if_a_batch_is_bad() -> None:
    X, y = stream(40)
    model = SPDEnsembleClassifier(cv=2).fit(X, y)
    before = dict(vars(model))
    for bad, labels in ((-X[:1], y[:1]), (X[:1, :3, :3], y[:1]), (X[:1], [3]), (X[:2], y[:1])):
        with pytest.raises(ValueError, match=r"X|y"):
            model.partial_fit(bad, labels)
        assert vars(model) == before
