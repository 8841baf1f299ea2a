"""Cov3DJ: the hierarchy of windows, the descriptor against NumPy, and what it can tell apart."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from spdatoms.paper.baselines.cov3dj import Cov3DJClassifier, cov3dj, hierarchy


def test_hierarchy_of_windows() -> None:
    bounds = [(w.start, w.stop) for w in hierarchy(16, 3, True)]
    assert bounds[:4] == [(0, 16), (0, 8), (4, 12), (8, 16)]
    assert bounds[4:] == [(2 * i, 2 * i + 4) for i in range(7)]
    assert [(w.start, w.stop) for w in hierarchy(16, 2, False)] == [(0, 16), (0, 8), (8, 16)]
    for frames in range(2, 20):
        for window in hierarchy(frames, 4, True):
            assert 0 <= window.start < window.stop <= frames


def test_descriptor_against_numpy(motions) -> None:
    sequence = motions[0][0]
    T, K = sequence.shape[:2]
    scaled = np.empty_like(sequence)
    for axis in range(3):
        values = sequence[..., axis]
        scaled[..., axis] = (values - values.min()) / (values.max() - values.min())
    f = np.hstack([scaled[..., axis] for axis in range(3)])
    windows = [f, f[: T // 2], f[round(T / 4) : round(3 * T / 4)], f[T // 2 :]]
    upper = np.triu_indices(3 * K)
    expected = np.concatenate([np.cov(w, rowvar=False)[upper] for w in windows])
    expected /= np.linalg.norm(expected)
    np.testing.assert_allclose(cov3dj(sequence), expected, rtol=1e-10, atol=1e-14)


def test_descriptor_does_not_see_place_size_and_speed(motions) -> None:
    sequence = motions[0][0]
    v = cov3dj(sequence)
    np.testing.assert_allclose(cov3dj(1e-6 * sequence + 3.0), v, atol=1e-8)
    assert v @ cov3dj(sequence.repeat(3, axis=0)) > 0.99
    np.testing.assert_array_equal(cov3dj(np.ones((5, 2, 3))), 0.0)


def test_hierarchy_tells_when_something_happens(motions) -> None:
    X, y = motions
    train, test = X[:12], X[12:]
    model = Cov3DJClassifier().fit(train, y[:12])
    assert model.score(test, y[12:]) == 1.0
    assert model.decision_function(test).shape == (12, 3)
    v = np.stack([cov3dj(s) for s in test])
    np.testing.assert_array_equal(model.predict(test), model.classes_[model.svm_.predict(v)])
    # The same motion early or late: one covariance of the whole cannot tell, the hierarchy can.
    early = X[2]
    late = early[::-1]
    np.testing.assert_allclose(cov3dj(early, levels=1), cov3dj(late, levels=1), atol=1e-12)
    assert np.linalg.norm(cov3dj(early) - cov3dj(late)) > 0.1


def test_bad_sequences(motions) -> None:
    X, y = motions
    with pytest.raises(NotFittedError):
        Cov3DJClassifier().predict(X)
    with pytest.raises(ValueError, match=r"X\[1\] has one frame or none"):
        Cov3DJClassifier().fit([X[0], X[1][:1]], [0, 1])
    with pytest.raises(ValueError, match=r"X\[1\] has 2 joints, but X\[0\] 3"):
        Cov3DJClassifier().fit([X[0], X[1][:, :2]], [0, 1])
    with pytest.raises(ValueError, match="levels must be an integer from 1 to 20"):
        Cov3DJClassifier(levels=0).fit(X, y)
    model = Cov3DJClassifier().fit(X, y)
    with pytest.raises(ValueError, match="sequences of 2 joints, but those of fit had 3"):
        model.predict([x[:, :2] for x in X])
