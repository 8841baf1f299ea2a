"""Explanations: what training matrices contribute adds up to the decision, for every classifier."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from _matrices import noisy_classes, random_spd
from spdatoms import (
    SPDEnsembleClassifier,
    SPDSparseClassifier,
    SPDSparseClassifierCV,
    SPDSparseCoder,
)

MODELS = [
    SPDSparseClassifier(),
    SPDSparseClassifier("jeffrey", rule="sum"),
    SPDSparseClassifier(rule="max", ridge=0.1),
    SPDSparseClassifier("logeuclid", whitening=0.2),
    SPDSparseClassifier(landmarks=12),
    SPDSparseClassifier(landmarks=12, rule="max"),
    SPDSparseClassifier(n_atoms_per_class=3, random_state=0),
    SPDSparseClassifier(beta=1e4),  # codes are zero: the nearest atom decides
    SPDSparseClassifierCV("stein", alphas=[0.1]),
    SPDEnsembleClassifier(),
    SPDEnsembleClassifier("cv", "jeffrey"),
]


@pytest.mark.filterwarnings("ignore::spdatoms.exceptions.ZeroCodeWarning")
@pytest.mark.filterwarnings("ignore::spdatoms.exceptions.IndefiniteKernelWarning")
@pytest.mark.parametrize("model", MODELS, ids=lambda model: " ".join(repr(model).split()))
def test_contributions_add_up_to_the_decision_between_two_classes(labelled, model) -> None:
    """For more classes, and every classifier, it is a law of the conformance suite."""
    X, y = labelled
    y = np.where(y == "ash", "ash", "other")
    model.fit(X[::2], y[::2])
    queries = np.concatenate([X[1::2], random_spd(20, 4, seed=3)])
    found = model.explain(queries)
    np.testing.assert_array_equal(found.predictions, model.predict(queries))
    decision, totals = model.decision_function(queries), found.totals
    np.testing.assert_allclose(totals[:, 1] - totals[:, 0], decision, rtol=1e-10)
    for one in found:
        sums = [one.contribution_of(label) + one.offset for label in one.classes]
        np.testing.assert_allclose(sums, one.totals, atol=1e-10 * max(1.0, abs(one.totals).max()))
        assert one.alone == one.prediction
        assert one.share == pytest.approx(1.0)


def test_weights_of_matrices_are_in_the_contributions(labelled) -> None:
    X, y = labelled
    weights = np.random.default_rng(0).uniform(0.1, 3.0, len(X))
    for model in (SPDSparseClassifier(), SPDEnsembleClassifier()):
        model.fit(X, y, sample_weight=weights)
        for one in model.explain(X):
            sums = [one.contribution_of(label) + one.offset for label in one.classes]
            np.testing.assert_allclose(sums, one.totals, atol=1e-9)


def test_contributions_of_the_residual_rule_by_their_definition(labelled) -> None:
    X, y = labelled
    model = SPDSparseClassifier(alpha=0.05).fit(X[::2], y[::2])
    K, k = model.kernel_.gram_, model.kernel_.cross(X[1::2])
    coder = SPDSparseCoder(X[::2], beta=model.kernel_.beta_, alpha=0.05)
    codes = coder.fit(X).transform(X[1::2])
    for code, cross, one in zip(codes, k, model.explain(X[1::2]), strict=True):
        assert sorted(one.atoms) == np.flatnonzero(code).tolist()
        for atom, added, label in zip(one.atoms, one.contributions, one.labels, strict=True):
            own = np.where(y[::2] == label, code, 0.0)
            assert added == pytest.approx(code[atom] * (2 * cross - K @ own)[atom], abs=1e-7)


def test_a_short_explanation_keeps_what_moves_the_margin() -> None:
    X, y = noisy_classes(120)
    model = SPDEnsembleClassifier().fit(X[:80], y[:80])
    whole, short = model.explain(X[80:]), model.explain(X[80:], n_atoms=5)
    for all_atoms, few in zip(whole, short, strict=True):
        assert len(few.atoms) == 5 <= all_atoms.n_used == few.n_used
        np.testing.assert_array_equal(few.atoms, all_atoms.atoms[:5])
        np.testing.assert_array_equal(few.totals, all_atoms.totals)
        held = few.contribution_of(few.prediction) - few.contribution_of(few.runner_up)
        assert few.share == pytest.approx(held / few.margin)
        assert np.abs(few.contributions).min() >= np.abs(all_atoms.contributions[5:]).max()
        assert (few.alone == few.prediction) == (held > 0)


def test_small_classes_are_not_explained_by_their_size() -> None:
    """Class means contribute from the mean of all atoms, so a class of five is not ahead of one of thirty."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], [30, 30, 5])
    samples = rng.standard_normal((65, 4, 30)) * np.where(y == 1, 2.0, 1.0)[:, None, None]
    samples[y == 2] *= 0.5
    X = samples @ samples.swapaxes(1, 2) / 30
    model = SPDEnsembleClassifier().fit(X, y)
    largest = [one.labels[0] for one in model.explain(X[y == 1])]
    assert np.mean(np.array(largest) == 2) < 0.1


def test_a_training_matrix_explains_itself() -> None:
    X = random_spd(12, 3)
    model = SPDSparseClassifier(alpha=1e-3).fit(X, np.arange(12) % 2)
    for i, found in enumerate(model.explain(X)):
        assert found.atoms[0] == i
        assert found.contributions[0] > 0.9


def test_words_of_an_explanation(labelled) -> None:
    X, y = labelled
    model = SPDSparseClassifier(alpha=0.01).fit(X, y)
    [found] = model.explain(X[:1])
    assert str(found) == "ash (1) before elm (0). 1 matrix, 100 % of the margin: ash #0 +1"
    both = {"labels": np.array(["ash", "elm"]), "atoms": np.array([0, 3])}
    text = str(replace(found, **both, contributions=np.array([0.5, 0.25]), n_used=2))
    assert text.endswith("2 matrices, 25 % of the margin: ash #0 +0.5; against it: elm #3 +0.25")
    names = [f"tree {i}" for i in range(24)]
    assert "ash tree 0 +1" in str(model.explain(X[:1], names=names)[0])
    short = str(SPDEnsembleClassifier().fit(X, y).explain(X[:1], n_atoms=2)[0])
    assert "2 of 24 matrices" in short
    with pytest.raises(ValueError, match="a name for each of the 24 atoms, got 3"):
        model.explain(X, names=names[:3])
    with pytest.raises(ValueError, match="n_atoms must be"):
        model.explain(X, n_atoms=0)


def test_html_escapes_names(labelled) -> None:
    X, y = labelled
    model = SPDSparseClassifier().fit(X, y)
    names = ["<script>"] * 24
    page = model.explain(X[:2], names=names)._repr_html_()
    assert "&lt;script&gt;" in page
    assert "<script>" not in page
    assert page.count("<table>") == 2


@pytest.mark.filterwarnings("ignore:.*All 24 labels")
def test_one_class_has_no_runner_up(labelled) -> None:
    X, _ = labelled
    [found] = SPDSparseClassifier().fit(X, ["a"] * 24).explain(X[:1])
    assert found.runner_up is None
    assert str(found) == "a: there is no other class"


def test_queries_are_checked(labelled) -> None:
    X, y = labelled
    model = SPDSparseClassifier().fit(X, y)
    with pytest.raises(ValueError, match=r"X\[None\]"):
        model.explain(X[0])


def test_one_class_warns(labelled) -> None:
    X, _ = labelled
    with pytest.warns(UserWarning, match=r"All 24 labels are a.*Check y"):
        SPDSparseClassifier().fit(X, ["a"] * len(X))
