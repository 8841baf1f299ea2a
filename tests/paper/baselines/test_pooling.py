"""Max pooling of codes: the formula written out, and bags that can only be told apart by their largest entries."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from spdatoms import SPDDictionaryLearning
from spdatoms.paper.baselines import LogEuclideanKSVD, MaxPoolingClassifier


@pytest.fixture(scope="module")
def bags() -> tuple[list[np.ndarray], np.ndarray]:
    """Bags of different sizes; the first matrix is long in every second one."""
    rng = np.random.default_rng(0)
    found = []
    for kind in np.arange(24) % 2:
        samples = rng.standard_normal((int(rng.integers(4, 8)), 3, 10))
        samples[0, 2] *= 1 + 5 * kind
        found.append(samples @ samples.swapaxes(1, 2))
    return found, np.array(["round", "long"])[np.arange(24) % 2]


def test_maximum_scaler_and_svm_written_out(bags) -> None:
    X, y = bags
    learner = SPDDictionaryLearning(6, alpha=0.05, max_iter=3, random_state=0)
    model = MaxPoolingClassifier(learner, C=0.5).fit(X[:16], y[:16])
    coder = learner.fit(np.concatenate(X[:16]))
    V = np.array([[max(column) for column in coder.transform(bag).T] for bag in X])
    scaler = StandardScaler().fit(V[:16])
    svm = LinearSVC(C=0.5, random_state=0, max_iter=20000)
    svm.fit(scaler.transform(V[:16]), np.searchsorted(model.classes_, y[:16]))
    expected = svm.decision_function(scaler.transform(V[16:]))
    np.testing.assert_allclose(model.decision_function(X[16:]), expected, rtol=1e-3, atol=1e-4)
    np.testing.assert_array_equal(model.predict(X[16:]), model.classes_[(expected > 0).astype(int)])


@pytest.mark.slow
def test_bags_are_told_apart(bags) -> None:
    X, y = bags
    # More atoms than matrices: there are then as many as matrices.
    learner = SPDDictionaryLearning(256, alpha=0.05, max_iter=3, random_state=0)
    model = MaxPoolingClassifier(learner).fit(X[:16], y[:16])
    assert model.learner_.n_atoms == sum(map(len, X[:16]))
    assert learner.n_atoms == 256
    assert model.score(X[16:], y[16:]) >= 0.75
    ksvd = MaxPoolingClassifier(LogEuclideanKSVD(8, 2, max_iter=5, random_state=0))
    assert ksvd.fit(X[:16], y[:16]).score(X[16:], y[16:]) >= 0.75
    assert MaxPoolingClassifier().fit(X[:16], y[:16]).learner_.n_atoms == 64


def test_errors_name_the_bag(bags) -> None:
    X, y = bags
    with pytest.raises(ValueError, match="X is empty: give at least one bag"):
        MaxPoolingClassifier().fit([], [])
    with pytest.raises(ValueError, match=r"X\[1\] holds matrices of size 2, but X\[0\] of size 3"):
        MaxPoolingClassifier().fit([X[0], X[1][:, :2, :2]], y[:2])
    with pytest.raises(ValueError, match=r"X\[1\]"):
        MaxPoolingClassifier().fit([X[0], -X[1]], y[:2])
