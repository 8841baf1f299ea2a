"""What every estimator with ``explain`` must do: the explanation is the decision, or the number."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone, is_regressor

from _matrices import random_spd
from conformance.estimators import CLASSIFIERS, ESTIMATORS, one_line, targets

EXPLAINING = [classifier for classifier in CLASSIFIERS if hasattr(classifier, "explain")]
REGRESSORS = [estimator for estimator in ESTIMATORS if is_regressor(estimator)]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::spdatoms.exceptions.ZeroCodeWarning")
@pytest.mark.filterwarnings("ignore::spdatoms.exceptions.IndefiniteKernelWarning")
@pytest.mark.parametrize("estimator", EXPLAINING, ids=one_line)
def test_the_largest_total_is_the_prediction(estimator, labelled) -> None:
    X, y = labelled
    model = clone(estimator).fit(X, y)
    queries = np.concatenate([X, random_spd(30, X.shape[-1], seed=5)])
    found = model.explain(queries)
    np.testing.assert_array_equal(found.predictions, model.predict(queries))
    np.testing.assert_allclose(found.totals, model.decision_function(queries), rtol=1e-10)
    for one in found:
        sums = [one.contribution_of(label) + one.offset for label in one.classes]
        np.testing.assert_allclose(sums, one.totals, atol=1e-10 * max(1.0, abs(one.totals).max()))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::spdatoms.exceptions.ZeroCodeWarning")
@pytest.mark.filterwarnings("ignore::spdatoms.exceptions.IndefiniteKernelWarning")
@pytest.mark.parametrize("estimator", EXPLAINING, ids=one_line)
def test_channels_add_up_to_the_difference_of_margins(estimator, labelled) -> None:
    """That of the matrix and of the training mean; permuted channels permute what they contribute."""
    X, y = labelled
    queries = X[::7]
    found = clone(estimator).fit(X, y).explain(queries)
    relevance = found.channels
    assert relevance.pairs.shape == queries.shape
    assert (relevance.error < 1e-3).all()
    assert np.abs(relevance.pairs).sum() > 0
    np.testing.assert_allclose(relevance.pairs, relevance.pairs.swapaxes(1, 2))
    np.testing.assert_array_equal(found[1].channels.pairs, relevance.pairs[1])
    order = np.random.default_rng(0).permutation(X.shape[-1])
    X, queries = (Z[:, order][:, :, order] for Z in (X, queries))
    permuted = clone(estimator).fit(X, y).explain(queries).channels
    expected = relevance.pairs[:, order][:, :, order]
    # The integrals are computed to some digits only.
    size = np.abs(expected).sum(axis=(1, 2), keepdims=True)
    assert (np.abs(permuted.pairs - expected) <= 2e-3 * size).all()


def test_the_classifiers_of_the_library_explain() -> None:
    names = {type(classifier).__name__ for classifier in EXPLAINING}
    assert {"SPDSparseClassifier", "SPDSparseClassifierCV", "SPDEnsembleClassifier"} <= names


@pytest.mark.filterwarnings("ignore::spdatoms.exceptions.ZeroCodeWarning")
@pytest.mark.parametrize("estimator", REGRESSORS, ids=one_line)
def test_contributions_add_up_to_the_prediction(estimator, labelled) -> None:
    X, y = labelled[0], targets(estimator, labelled[1])
    model = clone(estimator).fit(X, y)
    queries = np.concatenate([X, random_spd(30, X.shape[-1], seed=5)])
    predicted, found = model.predict(queries), model.explain(queries)
    np.testing.assert_allclose(found.predictions, predicted, rtol=0, atol=1e-10 * abs(y).max())
    for one, expected in zip(found, predicted, strict=True):
        assert one.offset + one.contributions.sum() == pytest.approx(expected, abs=1e-10)
