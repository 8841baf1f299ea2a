"""scikit-learn's own checks of the quick estimators, all that it has, through rows that stand for matrices."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse
from sklearn.base import clone
from sklearn.utils.estimator_checks import check_estimator

from conformance.estimators import ESTIMATORS, one_line, targets
from conformance.rows import on_rows
from spdatoms import (
    SPDKMeans,
    SPDKNeighborsClassifier,
    SPDKNeighborsRegressor,
    SPDSparseCoder,
    SPDSparseRegressor,
)
from spdatoms.baselines import MinimumDistanceToMean

#: One estimator of each class. Shares of votes cannot tell how ties of three neighbours are broken: it has one.
ONE_OF_EACH = {type(e): e for e in reversed(ESTIMATORS)} | {
    SPDKNeighborsClassifier: SPDKNeighborsClassifier()
}


QUICK = (
    SPDSparseCoder,
    SPDKNeighborsClassifier,
    SPDKNeighborsRegressor,
    SPDSparseRegressor,
    SPDKMeans,
    MinimumDistanceToMean,
)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("estimator", [ONE_OF_EACH[cls] for cls in QUICK], ids=one_line)
def test_all_checks_of_scikit_learn(estimator) -> None:
    results = check_estimator(on_rows(estimator), on_fail=None, on_skip=None)
    failed = {r["check_name"]: r["exception"] for r in results if r["status"] == "failed"}
    assert len(results) > 30
    assert not failed


@pytest.mark.parametrize("estimator", ONE_OF_EACH.values(), ids=one_line)
def test_the_words_of_scikit_learn(estimator, labelled) -> None:
    X, y = labelled
    y = targets(estimator, y)
    bad = X.copy()
    bad[3, 0, 0] = np.nan
    for matrices, error, words in (
        (bad, ValueError, r"X\[3\] is not finite: its entry \(0, 0\) is NaN"),
        (scipy.sparse.csr_array(X[0]), TypeError, "sparse data was passed"),
        (np.full(X.shape, "a", dtype=object), TypeError, "X must hold numbers, got objects"),
        (X[0, 0], ValueError, r"shape \(m, n, n\)"),
    ):
        with pytest.raises(error, match=words):
            clone(estimator).fit(matrices, y)
