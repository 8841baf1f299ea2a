"""scikit-learn's own checks of all estimators, all that it has, through rows that stand for matrices."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse
from sklearn.base import clone
from sklearn.utils.estimator_checks import check_estimator

from conformance.estimators import ESTIMATORS, one_line
from conformance.rows import on_rows
from spdatoms import SPDKNeighborsClassifier, SPDSparseClassifier, SPDSparseClassifierCV
from spdatoms.baselines import RiemannianDictionaryLearning, RiemannianSparseClassifier

#: One estimator of each class, with parameters for which it is quick. Shares of votes cannot tell how ties
#: are broken, so there is one neighbour only.
ONE_OF_EACH = {type(estimator): estimator for estimator in reversed(ESTIMATORS)} | {
    SPDKNeighborsClassifier: SPDKNeighborsClassifier(),
    SPDSparseClassifier: SPDSparseClassifier(beta=1.0, alpha=0.1),
    SPDSparseClassifierCV: SPDSparseClassifierCV("stein", alphas=[0.1], betas=[1.0], cv=2),
    RiemannianDictionaryLearning: RiemannianDictionaryLearning(2, max_iter=1, random_state=0),
    RiemannianSparseClassifier: RiemannianSparseClassifier(alpha=10.0),
}
every_class = pytest.mark.parametrize("estimator", ONE_OF_EACH.values(), ids=one_line)


@pytest.mark.filterwarnings("ignore")
@every_class
def test_all_checks_of_scikit_learn(estimator) -> None:
    results = check_estimator(on_rows(estimator), on_fail=None, on_skip=None)
    failed = {r["check_name"]: r["exception"] for r in results if r["status"] == "failed"}
    assert len(results) > 30
    assert not failed


@every_class
def test_the_words_of_scikit_learn(estimator, labelled) -> None:
    X, y = labelled
    bad = X.copy()
    bad[3, 0, 0] = np.nan
    for matrices, error, words in (
        (bad, ValueError, r"X\[3\] is not finite: its entry \(0, 0\) is NaN"),
        (scipy.sparse.csr_array(X[0]), TypeError, "sparse data was passed"),
        (np.full(X.shape, "a", dtype=object), TypeError, "X must hold numbers, got objects"),
        (X[0, 0], ValueError, r"shape \(m, n, n\), got the shape \(\d+,\)\. Reshape your data"),
    ):
        with pytest.raises(error, match=words):
            clone(estimator).fit(matrices, y)
