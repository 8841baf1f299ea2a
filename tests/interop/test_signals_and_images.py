"""MNE, nilearn and dipy: their objects to matrices, the matrices into our estimators."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline

from spdatoms import (
    SPDDictionaryLearning,
    SPDSparseClassifier,
    SPDSparseClassifierCV,
    check_spd,
    nearest_spd,
)
from spdatoms.geometry import regularise, unvech


def two_kinds_of_trial(rng: np.random.Generator, channels: int, times: int) -> tuple:
    signals = rng.standard_normal((40, channels, times))
    signals[20:, :2] *= 2.0
    return signals, np.repeat([0, 1], 20)


def test_mne_epochs_in_volts():
    mne = pytest.importorskip("mne")
    estimation = pytest.importorskip("pyriemann.estimation")
    signals, y = two_kinds_of_trial(np.random.default_rng(0), 8, 200)
    info = mne.create_info(8, sfreq=200.0, ch_types="eeg")
    events = np.column_stack([np.arange(40), np.zeros(40, int), y])
    epochs = mne.EpochsArray(1e-6 * signals, info, events, verbose="error")
    X = estimation.Covariances().fit_transform(epochs.get_data(copy=False))
    assert X.mean() < 1e-12  # volt², as it comes
    check_spd(X)
    classifier = SPDSparseClassifier().fit(X[::2], epochs.events[::2, 2])
    assert classifier.score(X[1::2], y[1::2]) > 0.9


def test_mne_average_reference_is_refused_and_repaired():
    mne = pytest.importorskip("mne")
    signals, y = two_kinds_of_trial(np.random.default_rng(1), 6, 150)
    info = mne.create_info(6, sfreq=150.0, ch_types="eeg")
    epochs = mne.EpochsArray(1e-6 * signals, info, verbose="error")
    epochs.set_eeg_reference("average", verbose="error")
    data = epochs.get_data(copy=False)
    X = data @ data.swapaxes(1, 2) / data.shape[-1]
    with pytest.raises(ValueError, match="0"):
        SPDSparseClassifier().fit(X, y)
    repaired = regularise(X, 1e-3)
    assert SPDSparseClassifier().fit(repaired[::2], y[::2]).score(repaired[1::2], y[1::2]) > 0.8


@pytest.mark.parametrize("kind", ["covariance", "correlation", "partial correlation"])
def test_nilearn_connectivity(kind):
    connectome = pytest.importorskip("nilearn.connectome")
    rng = np.random.default_rng(2)
    signals, y = two_kinds_of_trial(rng, 7, 150)
    signals[20:, 3] += signals[20:, 4]  # a connection that only one group has
    series = [np.ascontiguousarray(trial.T) for trial in signals]
    matrices = connectome.ConnectivityMeasure(kind=kind, standardize=False).fit_transform(series)
    # Partial correlations have ones on the diagonal, but need not be definite.
    X = nearest_spd(matrices) if kind == "partial correlation" else matrices
    classifier = SPDSparseClassifierCV(cv=3).fit(X[::2], y[::2])
    assert classifier.score(X[1::2], y[1::2]) > 0.8


def test_nilearn_vectors_come_back_as_matrices():
    connectome = pytest.importorskip("nilearn.connectome")
    signals, y = two_kinds_of_trial(np.random.default_rng(3), 5, 120)
    measure = connectome.ConnectivityMeasure(kind="covariance", standardize=False)
    X = measure.fit_transform([trial.T for trial in signals])
    vectors = connectome.sym_matrix_to_vec(X)
    back = connectome.vec_to_sym_matrix(vectors)
    np.testing.assert_array_equal(
        SPDSparseClassifier().fit(X, y).predict(back), SPDSparseClassifier().fit(X, y).predict(X)
    )


def test_dipy_tensors():
    dti = pytest.importorskip("dipy.reconst.dti")
    gradients = pytest.importorskip("dipy.core.gradients")
    directions = np.random.default_rng(4).standard_normal((30, 3))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    bvals = np.r_[0.0, np.full(30, 1000.0)]
    table = gradients.gradient_table(bvals, bvecs=np.vstack([np.zeros(3), directions]))
    D = np.array([np.diag([1.7e-3, 3e-4, 3e-4]), np.diag([3e-4, 1.7e-3, 3e-4]), 8e-4 * np.eye(3)])
    D = np.repeat(D, 12, axis=0)
    exponents = np.einsum("gi,mij,gj->mg", table.bvecs, D, table.bvecs)
    noise = np.random.default_rng(5).normal(0, 1.0, exponents.shape)
    signal = 100.0 * np.exp(-bvals * exponents) + noise
    fit = dti.TensorModel(table).fit(signal)
    X = nearest_spd(fit.quadratic_form)
    np.testing.assert_allclose(unvech(fit.lower_triangular(), order="dipy"), fit.quadratic_form)
    learner = SPDDictionaryLearning(3, random_state=0, max_iter=5, tol=0.0).fit(X)
    strongest = np.abs(learner.transform(X)).argmax(axis=1).reshape(3, 12)
    assert [len(set(row)) for row in strongest] == [1, 1, 1]  # one atom for each kind of tissue


def test_pipeline_from_series_to_classes():
    connectome = pytest.importorskip("nilearn.connectome")
    signals, y = two_kinds_of_trial(np.random.default_rng(6), 5, 120)
    series = np.ascontiguousarray(signals.swapaxes(1, 2))
    pipeline = make_pipeline(
        connectome.ConnectivityMeasure(kind="covariance", standardize=False), SPDSparseClassifier()
    )
    assert pipeline.fit(list(series[::2]), y[::2]).score(list(series[1::2]), y[1::2]) > 0.9
