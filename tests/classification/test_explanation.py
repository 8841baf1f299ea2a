"""Explanations: which atoms a query is made of, and shares that add up."""

from __future__ import annotations

import numpy as np
import pytest

from _matrices import random_spd
from spdatoms import SPDSparseClassifier, SPDSparseClassifierCV, SPDSparseCoder


def test_atoms_weights_and_labels_are_those_of_the_code(labelled) -> None:
    X, y = labelled
    model = SPDSparseClassifier("stein").fit(X[::2], y[::2])
    codes = SPDSparseCoder(X[::2], alpha=model.alpha_).fit(X).transform(X[1::2])
    for code, found in zip(codes, model.explain(X[1::2]), strict=True):
        assert sorted(found.atoms) == np.flatnonzero(code).tolist()
        np.testing.assert_allclose(found.weights, code[found.atoms], rtol=1e-6, atol=1e-12)
        np.testing.assert_array_equal(found.labels, y[::2][found.atoms])
        assert (np.diff(found.shares) <= 0).all()


@pytest.mark.parametrize("metric", ["stein", "jeffrey", "logeuclid"])
def test_shares_add_up_to_what_the_code_explains(labelled, metric) -> None:
    """‖φ(X)‖² − ‖φ(X) − Σ y_j φ(D_j)‖² from the dense code, and each term by its optimality condition."""
    X, y = labelled
    model = SPDSparseClassifier(metric, alpha=0.05).fit(X[::2], y[::2])
    K, k = model.kernel_.gram_, model.kernel_.cross(X[1::2])
    for cross, found in zip(k, model.explain(X[1::2]), strict=True):
        code = np.zeros(len(K))
        code[found.atoms] = found.weights
        residual = 1.0 - 2.0 * code @ cross + code @ K @ code
        assert found.explained == pytest.approx(1.0 - residual, rel=1e-12)
        assert found.shares.sum() == pytest.approx(found.explained, rel=1e-12)
        terms = found.weights * cross[found.atoms] + 0.05 / 2 * abs(found.weights)
        np.testing.assert_allclose(found.shares, terms, atol=1e-6)
        assert sum(found.share_of(label) for label in model.classes_) == pytest.approx(
            found.explained
        )


def test_a_training_matrix_explains_itself() -> None:
    X = random_spd(12, 3)
    model = SPDSparseClassifier(alpha=1e-3).fit(X, np.arange(12) % 2)
    for i, found in enumerate(model.explain(X)):
        assert found.atoms[0] == i
        assert found.shares[0] > 0.9


def test_landmarks_explain_as_all_matrices_do(labelled) -> None:
    """With every training matrix as a landmark the kernel is the same on their span."""
    X, y = labelled
    exact = SPDSparseClassifier(alpha=0.05).fit(X, y)
    spanned = SPDSparseClassifier(alpha=0.05, landmarks=X).fit(X, y)
    for one, other in zip(exact.explain(X), spanned.explain(X), strict=True):
        assert other.explained == pytest.approx(one.explained, rel=1e-3)
        assert other.atoms[0] == one.atoms[0]


@pytest.mark.filterwarnings("ignore::spdatoms.exceptions.IndefiniteKernelWarning")
def test_cross_validated_classifiers_explain_too(labelled) -> None:
    X, y = labelled
    plain = SPDSparseClassifier("jeffrey").fit(X, y)
    chosen = SPDSparseClassifierCV("jeffrey", betas=[1.0], alphas=[0.1]).fit(X, y)
    assert [*map(str, chosen.explain(X[:3]))] == [*map(str, plain.explain(X[:3]))]


def test_averaged_classifiers_explain_by_the_sparse_code_over_the_stein_kernel(labelled) -> None:
    X, y = labelled
    averaged = SPDSparseClassifier().fit(X, y)
    plain = SPDSparseClassifier("stein").fit(X, y)
    assert [*map(str, averaged.explain(X[:3]))] == [*map(str, plain.explain(X[:3]))]


def test_words_of_an_explanation(labelled) -> None:
    X, y = labelled
    model = SPDSparseClassifier(alpha=0.01).fit(X, y)
    text = str(model.explain(X[:1])[0])
    assert text == "100 % explained by 1 atom: ash #0 100 %"
    assert str(SPDSparseClassifier(beta=1e6).fit(X[::2], y[::2]).explain(X[1:2])[0]) == (
        "nothing is explained: the code is zero"
    )


def test_queries_are_checked(labelled) -> None:
    X, y = labelled
    model = SPDSparseClassifier().fit(X, y)
    with pytest.raises(ValueError, match=r"X\[None\]"):
        model.explain(X[0])


def test_one_class_warns(labelled) -> None:
    X, _ = labelled
    with pytest.warns(UserWarning, match=r"All 24 labels are a.*Check y"):
        SPDSparseClassifier().fit(X, ["a"] * len(X))
