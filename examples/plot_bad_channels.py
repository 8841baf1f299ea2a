"""
Bad channels of EEG: marked, unmarked, and lost ranks
=====================================================

Electrodes come loose in the middle of a recording. If somebody has marked them, their rows and columns are NaN, and
:class:`~spdatoms.SPDSparseClassifier` compares such trials by the channels that are left. If nobody has,
:class:`~spdatoms.BrokenChannels` finds the channels that do not fit the others. And where preprocessing has taken away
ranks, :class:`~spdatoms.SPDRange` works on what all trials share. The signals are drawn: sixteen channels that see the
same sources, as those on a head do.
"""

# %%
# Two kinds of trial, which differ in the power of some sources.

import numpy as np
from matplotlib import pyplot as plt
from sklearn.pipeline import make_pipeline

from spdatoms import BrokenChannels, SPDRange, SPDSparseClassifier

CHANNELS, SOURCES, TIMES, TRIALS = 16, 10, 250, 240
rng = np.random.default_rng(0)
angle = np.linspace(0, 2 * np.pi, CHANNELS, endpoint=False)
centres = rng.uniform(0, 2 * np.pi, SOURCES)
fields = np.exp(np.cos(angle[:, None] - centres) / 0.4 - 2.5)
y = np.repeat(["left", "right"], TRIALS // 2)
log_power = 0.5 * rng.standard_normal((TRIALS, SOURCES, 1))
log_power[y == "left", :3] -= 0.6
log_power[y == "right", 3:6] -= 0.6
signals = fields @ (np.exp(log_power / 2) * rng.standard_normal((TRIALS, SOURCES, TIMES)))
signals = 1e-5 * (signals + 0.2 * rng.standard_normal(signals.shape))
order = rng.permutation(TRIALS)
signals, y = signals[order], y[order]
train, test = slice(0, 120), slice(120, None)


def covariances(signals):
    """Return the covariances of the channels."""
    return signals @ signals.swapaxes(1, 2) / TIMES


X = covariances(signals)
classifier = SPDSparseClassifier().fit(X[train], y[train])
print(f"clean trials: {classifier.score(X[test], y[test]):.2f}")

# %%
# In every test trial two electrodes come loose: they see noise in place of the brain.

spoilt = signals[test].copy()
loose = np.zeros((len(spoilt), CHANNELS), dtype=bool)
for trial, bad in zip(spoilt, loose, strict=True):
    bad[rng.choice(CHANNELS, 2, replace=False)] = True
    trial[bad] = 4e-5 * rng.standard_normal((2, TIMES))
Q = covariances(spoilt)
print(f"two channels broken: {classifier.score(Q, y[test]):.2f}")

# %%
# If channels are known to be bad, say so by NaN (or by ``channels=``):

marked = Q.copy()
for matrix, bad in zip(marked, loose, strict=True):
    matrix[bad] = matrix[:, bad] = np.nan
print(f"marked as bad: {classifier.score(marked, y[test]):.2f}")

# %%
# If they are not known, the detector finds them. It has learned from training trials what channels say of each other.

detector = BrokenChannels().fit(X[train])
found = detector.predict(Q)
right = (found == loose).all(axis=1)
alarms = detector.predict(X[test]).any(axis=1)
print(f"exactly those: {right.mean():.0%}, alarms in clean trials: {alarms.mean():.1%}")
for one in detector.report(Q[:2]):
    print(f"trial {one.matrix}, channel {one.channel}: {one.reason} (p = {one.p_value:.1g})")
robust = SPDSparseClassifier(robust=True).fit(X[train], y[train])
print(
    f"robust=True: {robust.score(Q, y[test]):.2f}, on clean trials {robust.score(X[test], y[test]):.2f}"
)

# %%
# The scores of the first trials, relative to the threshold: above 1 is broken. Crosses are the loose electrodes.

figure, ax = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
scores = detector.score_channels(Q[:40])
image = ax.imshow(np.log10(scores.T), aspect="auto", cmap="RdBu_r", vmin=-2, vmax=2)
ax.plot(*np.nonzero(loose[:40]), "kx", markersize=4)
ax.set(xlabel="trial", ylabel="channel")
figure.colorbar(image, label="log₁₀ of the score")

# %%
# An average reference makes all covariances singular, in the same way. On their common range nothing is lost that was
# there before:

referenced = covariances(signals - signals.mean(axis=1, keepdims=True))
model = make_pipeline(SPDRange(), SPDSparseClassifier()).fit(referenced[train], y[train])
print(f"rank {model[0].rank_} of {CHANNELS}: {model.score(referenced[test], y[test]):.2f}")
