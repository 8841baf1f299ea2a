"""
Bad channels of EEG: marked, unmarked, and lost ranks
=====================================================

Electrodes come loose in the middle of a recording. If somebody has marked them in ``info["bads"]`` of
`MNE <https://mne.tools>`_, :class:`~spdatoms.SPDSparseClassifier` compares epochs by the channels that are left. If
nobody has, :class:`~spdatoms.BrokenChannels` finds the channels that do not fit the others. And where preprocessing has
taken away ranks, :class:`~spdatoms.SPDRange` works on what all epochs share. The epochs are drawn: sixteen channels
that see the same sources, as those on a head do.
"""

# %%
# Two kinds of epoch, which differ in the power of some sources. With your own recording, replace the block by
# ``epochs = mne.read_epochs("my-epo.fif")``.

import warnings

import mne
import numpy as np
from matplotlib import pyplot as plt
from sklearn.pipeline import make_pipeline

from spdatoms import BrokenChannels, SPDRange, SPDSparseClassifier
from spdatoms.exceptions import ZeroCodeWarning

warnings.simplefilter("ignore", ZeroCodeWarning)  # broken epochs are like no training epoch
mne.set_log_level("ERROR")
names = ["F3", "F4", "FC5", "FC1", "FC2", "FC6", "C3", "C4"]
names += ["CP5", "CP1", "CP2", "CP6", "P3", "P4", "O1", "O2"]
info = mne.create_info(names, 125.0, "eeg").set_montage("standard_1020")
places = np.array([channel["loc"][:3] for channel in info["chs"]])

rng = np.random.default_rng(0)
kind = np.tile(["left", "right"], 120)
sources = places[rng.choice(16, 10, replace=False)] + 0.02 * rng.standard_normal((10, 3))
fields = np.exp(-np.sum((places[:, None] - sources) ** 2, axis=2) / 0.06**2)
log_power = 0.5 * rng.standard_normal((240, 10, 1))
log_power[kind == "left", :3] -= 0.6
log_power[kind == "right", 3:6] -= 0.6
signals = fields @ (np.exp(log_power / 2) * rng.standard_normal((240, 10, 250)))
signals = 1e-5 * (signals + 0.2 * rng.standard_normal(signals.shape))
epochs = mne.EpochsArray(signals, info)


def covariances(epochs):
    """Return the covariance of all channels of every epoch, in μV²."""
    data = epochs.get_data(units="uV", picks="all")
    return data @ data.swapaxes(1, 2) / data.shape[2]


train, test = epochs[:120], epochs[120:]
X, y, truth = covariances(train), kind[:120], kind[120:]
classifier = SPDSparseClassifier().fit(X, y)
print(f"clean epochs: {classifier.score(covariances(test), truth):.0%}")

# %%
# In the second half of the recording two electrodes have come loose: they see noise in place of the brain.

loose = ["C3", "P4"]


def with_noise(data):
    """Return signals of noise."""
    return 4e-5 * rng.standard_normal(data.shape)


spoilt = test.copy().apply_function(with_noise, picks=loose, channel_wise=False)
Q = covariances(spoilt)
print(f"two channels broken: {classifier.score(Q, truth):.0%}")

# %%
# **Marked.** ``channels`` are those that are not bad. The classifier is fitted once more to these, by itself:

spoilt.info["bads"] = loose
good = mne.pick_types(spoilt.info, eeg=True, exclude="bads")
print(f"marked as bad: {np.mean(classifier.predict(Q, channels=good) == truth):.0%}")

# %%
# **Unmarked.** The detector has learned from training epochs what channels say of each other. What it finds in most
# epochs is worth a mark:

detector = BrokenChannels().fit(X)
found = detector.predict(Q)
alarms = detector.predict(covariances(test)).any(axis=1)
print(
    "found in more than half of the epochs:",
    [names[k] for k in np.flatnonzero(found.mean(axis=0) > 0.5)],
)
print(f"alarms in clean epochs: {alarms.mean():.1%}")
for one in detector.report(Q[:1]):
    print(f"{names[one.channel]}: {one.reason} (p = {one.p_value:.1g})")
robust = SPDSparseClassifier(robust=True).fit(X, y)
print(f"robust=True: {robust.score(Q, truth):.0%}")

# %%
# How often each channel is found:

figure, ax = plt.subplots(figsize=(4.6, 3.4), layout="constrained")
image, _ = mne.viz.plot_topomap(
    100 * found.mean(axis=0), info, axes=ax, names=names, cmap="Reds", vlim=(0, 100), show=False
)
figure.colorbar(image, label="epochs in which it is found (%)")

# %%
# **Ranks.** An average reference makes all covariances singular, in the same way. On their common range nothing is lost
# that was there before. (Look for broken channels before it: after it the noise of one is in all.)

referenced = covariances(epochs.copy().set_eeg_reference("average"))
model = make_pipeline(SPDRange(), SPDSparseClassifier()).fit(referenced[:120], y)
print(f"rank {model[0].rank_} of {len(names)}: {model.score(referenced[120:], truth):.0%}")
