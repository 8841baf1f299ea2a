"""scikit-learn's own checks of all estimators, all that it has, through rows that stand for matrices."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse
from sklearn.base import clone, is_outlier_detector
from sklearn.utils.estimator_checks import check_estimator

from conformance.estimators import every_class
from conformance.rows import on_rows

pytestmark = pytest.mark.slow

#: Novelty is judged by atoms, which may be the training matrices: these are usual by definition.
OF_OUTLIERS_IN_TRAINING = dict.fromkeys(
    ("check_outliers_train", "check_outliers_fit_predict"), "no training matrix is novel"
)


@pytest.mark.filterwarnings("ignore")
@every_class
def test_all_checks_of_scikit_learn(estimator) -> None:
    expected = OF_OUTLIERS_IN_TRAINING if is_outlier_detector(estimator) else {}
    results = check_estimator(
        on_rows(estimator), expected_failed_checks=expected, on_fail=None, on_skip=None
    )
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
