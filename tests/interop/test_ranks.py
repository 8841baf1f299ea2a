"""Ranks and bad channels of EEG: MNE's `compute_rank` as the oracle, pyRiemann's estimators before and after."""

from __future__ import annotations

import numpy as np
import pytest
from pyriemann.classification import MDM
from pyriemann.estimation import Covariances
from pyriemann.geometry.distance import pairwise_distance
from sklearn.pipeline import make_pipeline

from spdatoms import BrokenChannels, SPDImputer, SPDRange, SPDSparseClassifier, pairwise_divergence

mne = pytest.importorskip("mne")

N, TIMES, RATE = 16, 400, 200.0


def epochs(count=40, seed=0):
    """Return epochs of two classes, in volts: smooth sources on a head of 16 electrodes."""
    rng = np.random.default_rng(seed)
    places = np.random.default_rng(98).standard_normal((N, 3))
    places[:, 2] = abs(places[:, 2])
    places *= 0.09 / np.linalg.norm(places, axis=1, keepdims=True)
    names = [f"E{i}" for i in range(N)]
    info = mne.create_info(names, RATE, "eeg")
    montage = dict(zip(names, places, strict=True))
    info.set_montage(mne.channels.make_dig_montage(montage, coord_frame="head"))
    sources = np.random.default_rng(99).standard_normal((24, 3))
    sources *= 0.08 / np.linalg.norm(sources, axis=1, keepdims=True)
    fields = np.exp(-(((places[:, None] - sources) / 0.06) ** 2).sum(axis=2))
    y = np.arange(count) // 2 % 2
    strengths = np.where(y[:, None] == 1, np.linspace(0.5, 2, 24), np.linspace(2, 0.5, 24))
    signals = fields @ (strengths[:, :, None] * rng.laplace(size=(count, 24, TIMES)))
    signals += 0.1 * rng.standard_normal(signals.shape)
    return mne.EpochsArray(1e-5 * signals, info, verbose="error"), y


def referenced(data):
    return data.copy().set_eeg_reference("average", verbose="error")


def cleaned(data):
    ica = mne.preprocessing.ICA(8, max_iter=200, random_state=0, verbose="error")
    ica.fit(data, verbose="error")
    # Only components are kept, so that what PCA has left out is lost, too.
    return ica.apply(data.copy(), exclude=[0, 3], n_pca_components=8, verbose="error")


def interpolated(data):
    data = data.copy()
    data.info["bads"] = data.ch_names[3:6]
    return data.interpolate_bads(verbose="error")


@pytest.mark.parametrize("treatment", [referenced, cleaned, interpolated])
def test_rank_is_that_of_mne(treatment) -> None:
    original, y = epochs()
    # The mean of PCA, which ICA adds again, is no part of a covariance.
    data = treatment(original).apply_baseline((None, None), verbose="error")
    expected = mne.compute_rank(data, rank=None, tol=1e-6, tol_kind="relative", verbose="error")
    X = Covariances("cov").transform(data.get_data())
    model = make_pipeline(SPDRange(), SPDSparseClassifier()).fit(X[::2], y[::2])
    assert model[0].rank_ == expected["eeg"] < N
    with pytest.raises(ValueError, match="SPDRange"):
        SPDSparseClassifier().fit(X, y)


def test_accuracy_is_that_of_the_original() -> None:
    data, y = epochs(80)
    for treatment in (referenced, interpolated):
        X = Covariances("cov").transform(treatment(data).get_data())
        model = make_pipeline(SPDRange(), SPDSparseClassifier()).fit(X[:40], y[:40])
        assert model.score(X[40:], y[40:]) > 0.95


def test_distances_are_those_of_pyriemann_on_the_range() -> None:
    data, _ = epochs(10)
    X = Covariances("cov").transform(referenced(data).get_data())
    Z = SPDRange().fit_transform(X)
    # Any other basis of the range: differences of neighbouring channels.
    D = np.eye(N)[:-1] - np.eye(N)[1:]
    expected = pairwise_distance(D @ X @ D.T, metric="riemann") ** 2
    np.testing.assert_allclose(
        pairwise_divergence(Z, metric="riemann"), expected, rtol=1e-7, atol=1e-9
    )


def test_a_bad_channel_before_pyriemann() -> None:
    """As MNE would mark it; what is found is filled in for an estimator that takes no NaN."""
    data, y = epochs(160)
    X = Covariances("cov").transform(data.get_data())  # shrinkage would spread the fault
    detector = BrokenChannels().fit(X[:100])
    signals = data.get_data()[100:].copy()
    signals[:, 5] = 3e-5 * np.random.default_rng(0).standard_normal(signals[:, 5].shape)
    spoilt = Covariances("cov").transform(signals)
    found = detector.predict(spoilt)
    assert found[:, 5].mean() > 0.95
    assert np.delete(found, 5, axis=1).mean() < 0.02
    filled = SPDImputer().fit(X[:100]).transform(detector.transform(spoilt))
    assert MDM().fit(X[:100], y[:100]).score(filled, y[100:]) > 0.9
