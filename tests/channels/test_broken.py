"""Broken channels: found where they are, and seldom where they are not."""

from __future__ import annotations

import warnings

import dask.array
import numpy as np
import pytest
from sklearn.linear_model import RidgeCV

from spdatoms import BrokenChannels, SPDSparseClassifier, load, pairwise_divergence, save
from spdatoms.channels._statistics import NEAREST, Regression, Statistics, own_values


def covariances(m, n=6, seed=0, dtype=float):
    """Return covariances of signals with common sources, whose strengths differ between matrices."""
    rng = np.random.default_rng(seed)
    mixing = np.random.default_rng(99).standard_normal((n, 3))
    signals = mixing @ (rng.gamma(4.0, 0.25, (m, 3, 1)) * rng.standard_normal((m, 3, 80)))
    signals = signals + 0.3 * rng.standard_normal((m, n, 80))
    if np.dtype(dtype).kind == "c":
        signals = signals + 1j * np.roll(signals, 1, axis=2)
    return (signals @ signals.conj().swapaxes(1, 2) / 80).astype(dtype)


def with_gain(X, channel, gain):
    X = X.copy()
    X[:, channel] *= gain
    X[:, :, channel] *= gain
    return X


def with_noise(X, channel, times=3.0):
    X = X.copy()
    variance = times * X[:, channel, channel].copy()
    X[:, channel] = X[:, :, channel] = 0.0
    X[:, channel, channel] = variance
    return X


TRAINED = BrokenChannels().fit(covariances(150))


def test_statistics_are_those_of_the_definition() -> None:
    """Of matrices that are cut, and of a regression that leaves out matrices one by one."""
    X = covariances(30, 4)
    values, predictors = own_values(X)
    usual = Statistics.fit(X)
    k, i = 2, 7
    others = [0, 1, 3]
    cut = X[:, others][:, :, others]
    expected = np.concatenate(
        [
            np.log(cut.diagonal(axis1=1, axis2=2)),
            -np.log(np.linalg.inv(cut).diagonal(axis1=1, axis2=2)),
        ],
        axis=1,
    )
    np.testing.assert_allclose(predictors[k], expected, rtol=1e-10)
    np.testing.assert_allclose(values[:, k, 0], np.log(X[:, k, k]))
    np.testing.assert_allclose(values[:, k, 1], -np.log(np.linalg.inv(X)[:, k, k]), rtol=1e-10)
    rest = np.delete(np.arange(30), i)
    V = expected - expected.mean(axis=0)
    unit = (V**2).sum() / 30
    left_out = []
    for alpha in unit * np.geomspace(1e-3, 1e2, 11):
        model = RidgeCV([alpha]).fit(expected[rest], values[rest, k])
        left_out.append(values[i, k] - model.predict(expected[[i]])[0])
    found = Regression.fit(values, predictors).left_out[i, k]
    assert min(abs(found - e).max() for e in left_out) < 1e-9
    queries = covariances(5, 4, seed=1)
    added = []
    for Q in queries:
        whole = pairwise_divergence(Q[None], X, metric="stein")[0]
        without = pairwise_divergence(Q[others][:, others][None], cut, metric="stein")[0]
        near = np.argsort(whole)[:20]
        added.append(
            np.sort(whole[near])[:NEAREST].mean() - np.sort(without[near])[:NEAREST].mean()
        )
    z = usual.residuals(queries)
    np.testing.assert_allclose(
        z[:, k, 2] * usual.deviations[k, 2], np.log(added) - usual.mean[k], rtol=1e-8, atol=1e-8
    )


@pytest.mark.parametrize("spoil", [with_noise, lambda X, k: with_gain(X, k, 10**0.5)])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.complex128])
def test_one_broken_channel_is_found(spoil, dtype) -> None:
    X = covariances(100, seed=1, dtype=dtype)
    detector = BrokenChannels().fit(covariances(150, dtype=dtype))
    assert detector.predict(X).any(axis=1).mean() <= 0.05
    found = detector.predict(spoil(X, 4))
    assert found[:, 4].mean() > 0.9
    np.testing.assert_array_equal(
        detector.score_channels(X).max(axis=1) > 1, detector.predict(X).any(axis=1)
    )


def test_several_broken_channels_and_the_most() -> None:
    X = with_gain(with_gain(covariances(30, seed=2), 1, 8.0), 3, 0.05)
    found = TRAINED.predict(X)
    assert (found[:, [1, 3]].all(axis=1)).mean() > 0.9
    one = BrokenChannels(max_share=0.1).fit(covariances(150)).predict(X)
    assert (one.sum(axis=1) <= 1).all()


def test_false_alarms_are_no_more_than_asked_for() -> None:
    clean = covariances(2000, seed=3)
    shares = []
    for rate in (0.01, 0.1):
        detector = BrokenChannels(rate).fit(covariances(300))
        shares.append(detector.predict(clean).any(axis=1).mean())
        assert shares[-1] < 1.5 * rate
    assert shares[0] < shares[1]
    assert shares[1] > 0.03


def test_missing_and_flat_channels() -> None:
    X = covariances(10, seed=4)
    X[3, 2] = X[3, :, 2] = np.nan
    X[5, 1] = X[5, :, 1] = 0.0
    found = TRAINED.predict(X)
    assert not found[3].any()
    assert found[5].nonzero()[0].tolist() == [1]
    scores = TRAINED.score_channels(X)
    assert np.isnan(scores[3]).nonzero()[0].tolist() == [2]
    assert np.isinf(scores[5]).nonzero()[0].tolist() == [1]
    cleaned = TRAINED.transform(X)
    known = ~np.isnan(cleaned.diagonal(axis1=1, axis2=2))
    assert (~known).sum(axis=1).tolist() == [0, 0, 0, 1, 0, 1, 0, 0, 0, 0]
    np.testing.assert_array_equal(cleaned[0], X[0])
    (flat,) = [one for one in TRAINED.report(X) if one.matrix == 5]
    assert (flat.channel, flat.reason, flat.p_value) == (1, "it has no variance", 0.0)
    assert str(flat) == "matrix 5, channel 1: it has no variance (inf times the threshold, p = 0)"


def textures(m, seed):
    """Return matrices whose five variances nearly follow from each other, as those of derivatives of an image do."""
    rng = np.random.default_rng(seed)
    contrast, sharpness = np.exp(rng.standard_normal((2, m, 1, 1)) * [[[[1.0]]], [[[0.7]]]])
    a, b = rng.standard_normal((2, m, 1, 400))
    signals = np.concatenate([a * sharpness, a, b * sharpness, a + b, (a - b) * sharpness], axis=1)
    noise = 0.3 * rng.standard_normal((m, 5, 400)) * [[1.0], [0.3], [0.3], [0.3], [1.0]]
    signals = contrast * (signals + noise)
    return signals @ signals.swapaxes(1, 2) / 400


def test_a_channel_that_is_off_by_much_does_not_make_others_look_so() -> None:
    detector = BrokenChannels().fit(textures(60, seed=0))
    found = [
        (detector.predict(with_noise(textures(40, seed=1), k, 1e-4)) == np.eye(5)[k]).all(axis=1)
        for k in range(5)
    ]
    assert np.mean(found) > 0.88
    assert np.min(np.mean(found, axis=1)) > 0.4


def test_report() -> None:
    X = covariances(4, seed=5)
    X[1:2] = with_gain(X[1:2], 2, 10.0)
    X[2:3] = with_noise(X[2:3], 0, 3.0)
    first, second = TRAINED.report(X)
    assert (first.matrix, first.channel) == (1, 2)
    assert first.score > 1
    assert first.p_value < 0.01
    assert "times what" in first.reason
    assert (second.matrix, second.channel) == (2, 0)
    assert "do not explain" in second.reason


def test_recalibration_under_shift() -> None:
    """Matrices of shorter windows vary more: alarms are many before, few after, and large faults are found."""
    rng = np.random.default_rng(6)
    factors = np.linalg.cholesky(covariances(300, seed=6))
    signals = factors @ rng.standard_normal((300, 6, 14))
    X = signals @ signals.swapaxes(1, 2) / 14
    detector = BrokenChannels().fit(covariances(150))
    before = detector.predict(X).any(axis=1).mean()
    after = detector.recalibrate(X).predict(X).any(axis=1).mean()
    assert after < 0.07 < before
    assert detector.predict(with_gain(X, 2, 30.0))[:, 2].mean() > 0.9
    with pytest.warns(UserWarning, match="10 complete matrices do not tell what is usual"):
        detector.recalibrate(X[:10])


def test_a_robust_classifier_leaves_broken_channels_out(tmp_path) -> None:
    rng = np.random.default_rng(0)
    y = np.arange(160) % 2
    gains = np.where(y[:, None], np.linspace(0.7, 1.4, 6), np.linspace(1.4, 0.7, 6))
    X = covariances(160, seed=7) * gains[:, :, None] * gains[:, None]
    Xa, ya, Xb, yb = X[:100], y[:100], X[100:], y[100:]
    bad = np.stack([with_gain(Xb[[i]], rng.integers(6), 10.0)[0] for i in range(60)])
    plain, robust = (SPDSparseClassifier(robust=r).fit(Xa, ya) for r in (False, True))
    assert robust.score(bad, yb) > plain.score(bad, yb) + 0.1
    assert robust.score(Xb, yb) >= plain.score(Xb, yb) - 0.02
    expected = plain.predict(BrokenChannels().fit(Xa).transform(bad))
    np.testing.assert_array_equal(robust.predict(bad), expected)
    explained = robust.explain(bad[:5])
    assert [robust.classes_[one.totals.argmax()] for one in explained] == expected[:5].tolist()
    save(robust, tmp_path / "model.spdatoms")
    np.testing.assert_array_equal(load(tmp_path / "model.spdatoms").predict(bad), expected)


def test_a_robust_classifier_of_few_atoms_is_saved(tmp_path) -> None:
    X, y = covariances(40), np.arange(40) % 2
    robust = SPDSparseClassifier(robust=True, n_atoms_per_class=3, random_state=0).fit(X, y)
    save(robust, tmp_path / "model.spdatoms")
    bad = with_gain(X[:3], 2, 30.0)
    np.testing.assert_array_equal(
        load(tmp_path / "model.spdatoms").predict_proba(bad), robust.predict_proba(bad)
    )


def test_a_robust_classifier_keeps_its_training_matrices() -> None:
    X, y = covariances(40), np.arange(40) % 2
    robust = SPDSparseClassifier(robust=True, landmarks=10)
    assert robust.fit(X, y).predict(with_gain(X[:3], 2, 30.0)).shape == (3,)
    with pytest.raises(ValueError, match="robust=True needs the training matrices"):
        robust.fit(dask.array.from_array(X, chunks=(10, 6, 6)), y)


def test_too_little_to_learn_from() -> None:
    with pytest.raises(ValueError, match=r"3 matrices .* at least 4"):
        BrokenChannels().fit(covariances(3))
    with pytest.raises(ValueError, match="a channel is judged by others"):
        BrokenChannels().fit(np.ones((20, 1, 1)))
    with pytest.warns(UserWarning, match="Fit to 20 or more"):
        BrokenChannels().fit(covariances(19))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        BrokenChannels().fit(covariances(20))
