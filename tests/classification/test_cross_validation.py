"""The choice of β and α: leave-one-out and splitters, against doing it by hand."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.model_selection import GroupKFold, cross_val_score

from spdatoms import SPDSparseClassifier, SPDSparseClassifierCV


def test_leave_one_out_equals_coding_over_the_others(labelled) -> None:
    X, y = labelled
    chosen = SPDSparseClassifierCV(betas=[1.0, 3.0], alphas=[0.1, 0.02]).fit(X, y)
    for b, beta in enumerate(chosen.betas_):
        for a, alpha in enumerate(chosen.alphas_):
            hits = [
                SPDSparseClassifier(beta=beta, alpha=alpha)
                .fit(np.delete(X, i, axis=0), np.delete(y, i))
                .predict(X[i : i + 1])[0]
                == y[i]
                for i in range(len(X))
            ]
            assert chosen.cv_scores_[b, a] == pytest.approx(np.mean(hits))


def test_splitter_with_groups_equals_doing_it_by_hand(labelled) -> None:
    X, y = labelled
    groups = np.arange(len(X)) // 6
    chosen = SPDSparseClassifierCV(betas=[1.0], alphas=[0.05], cv=GroupKFold(4))
    chosen.fit(X, y, groups=groups)
    plain = SPDSparseClassifier(beta=1.0, alpha=0.05)
    by_hand = cross_val_score(plain, X, y, groups=groups, cv=GroupKFold(4))
    assert chosen.best_score_ == pytest.approx(by_hand.mean())
    assert (chosen.beta_, chosen.alpha_) == (1.0, 0.05)
