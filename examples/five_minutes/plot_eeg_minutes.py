"""
EEG and MEG in five minutes
===========================

From the epochs of `MNE <https://mne.tools>`_ to classes: one covariance per epoch, and a classifier that
shows its reasons. The epochs are simulated here. With your own recording replace the first block by ``epochs
= mne.read_epochs("my-epo.fif")``.
"""

# %%
# 120 epochs of 16 channels. In one kind of epoch the 10 Hz rhythm is weak on the left, in the other on the
# right.

import mne
import numpy as np
from matplotlib import pyplot as plt
from pyriemann.classification import MDM, TSClassifier
from pyriemann.estimation import Covariances
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

from spdatoms import SPDEnsembleClassifier
from spdatoms.plotting import ExplanationDisplay

mne.set_log_level("ERROR")
channels = ["F3", "F4", "FC5", "FC1", "FC2", "FC6", "C3", "C4"]
channels += ["CP5", "CP1", "CP2", "CP6", "P3", "P4", "O1", "O2"]
left = np.isin(channels, ["FC5", "FC1", "C3", "CP5", "CP1"])
right = np.isin(channels, ["FC6", "FC2", "C4", "CP6", "CP2"])
rng = np.random.default_rng(0)
kind = np.tile(["left hand", "right hand"], 60)
rhythm = np.sin(2 * np.pi * 10 * np.arange(250) / 125 + rng.uniform(0, 6, (120, 16, 1)))
weak = np.where((kind == "left hand")[:, None], right, left)[..., None]
signals = 1e-5 * (np.where(weak, 0.5, 1.1) * rhythm + rng.standard_normal((120, 16, 250)))
info = mne.create_info(channels, 125.0, "eeg").set_montage("standard_1020")
epochs = mne.EpochsArray(signals, info)

# %%
# Band-pass filter, covariances, classifier. ``"oas"`` is a shrinkage estimator: with it covariances are
# positive definite even if an epoch is short. Two classifiers of pyRiemann are there for comparison.

data = epochs.filter(8, 12).get_data()
model = make_pipeline(Covariances("oas"), SPDEnsembleClassifier())
peers = {"MDM": MDM(), "tangent space": TSClassifier()}
for name, last in {"ensemble": model[-1], **peers}.items():
    scores = cross_val_score(make_pipeline(Covariances("oas"), last), data, kind, cv=5)
    print(f"{name}: {scores.mean():.0%}")

# %%
# Which training epochs decided about the last one? And where do the two kinds differ? The maps show the variance
# of each channel in one kind of epoch, relative to the mean of both.

model.fit(data[:-1], kind[:-1])
X = model[0].transform(data)
power = {name: np.log(np.diagonal(X[kind == name].mean(axis=0))) for name in np.unique(kind)}

figure, axes = plt.subplots(1, 3, figsize=(11, 3.2), width_ratios=(1, 1, 1.8), layout="constrained")
for ax, (name, values) in zip(axes, power.items(), strict=False):
    mne.viz.plot_topomap(values - sum(power.values()) / 2, info, axes=ax, show=False)
    ax.set_title(name)
ExplanationDisplay.from_estimator(model[-1], X[-1], max_atoms=5, ax=axes[2])
plt.show()
