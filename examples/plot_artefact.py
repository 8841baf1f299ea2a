"""
An artefact found and named
===========================

Some windows of a recording are spoilt: the person blinks, a cable swings, an electrode comes loose. `SPDNovelty` knows
clean windows only. It finds the others with a rate of false alarms that was asked for, and names the channels to blame.
The signals are drawn: twelve channels on a head that see the same sources.
"""

# %%
# Ten minutes of clean recording, one covariance per second: neighbouring channels see neighbouring sources.

import numpy as np
from matplotlib import pyplot as plt

from spdatoms import SPDNovelty
from spdatoms.plotting import DriftDisplay

NAMES = ["Fp1", "Fp2", "F3", "F4", "C3", "Cz", "C4", "P3", "P4", "O1", "Oz", "O2"]
N, SAMPLES = len(NAMES), 128
rng = np.random.default_rng(5)
place = np.array(
    [[-1, 3], [1, 3], [-1, 2], [1, 2], [-1.5, 1], [0, 1], [1.5, 1], [-1, 0], [1, 0], [-1, -1], [0, -1], [1, -1]]
)  # fmt: skip
sources = rng.uniform([-2, -1.5], [2, 3.5], (30, 2))
mixing = np.exp(-((place[:, None] - sources) ** 2).sum(axis=2) / 2)


def windows(count):
    """Return signals (count, channels, samples) whose sources are louder and softer from window to window."""
    loudness = np.exp(0.2 * rng.standard_normal((count, 30, 1)))
    noise = 0.1 * rng.standard_normal((count, N, SAMPLES))
    return mixing @ (loudness * rng.standard_normal((count, 30, SAMPLES))) + noise


def covariances(signals):
    """Return the covariance of every window."""
    return signals @ signals.swapaxes(1, 2) / signals.shape[2]


detector = SPDNovelty(false_alarms=0.01).fit(covariances(windows(600)))

# %%
# Five more minutes. There are six blinks, which the frontal channels see together; O2 comes loose for ten seconds; and
# the cable of C3 swings for five.

signals = windows(300)
blinks = np.array([20, 61, 95, 140, 214, 260])
shape = 4.0 * np.exp(-(((np.arange(SAMPLES) - 64) / 20) ** 2))
for channel, share in (("Fp1", 1.0), ("Fp2", 1.0), ("F3", 0.4), ("F4", 0.4)):
    signals[blinks, NAMES.index(channel)] += share * shape
signals[120:130, NAMES.index("O2")] = 0.6 * rng.standard_normal((10, SAMPLES))
signals[180:185, NAMES.index("C3")] += np.linspace(-4, 4, SAMPLES)
spoilt = np.zeros(300, dtype=bool)
spoilt[[*blinks, *range(120, 130), *range(180, 185)]] = True

X = covariances(signals)
found = detector.predict(X) < 0
print(
    f"found {(found & spoilt).sum()} of {spoilt.sum()} artefacts, {(found & ~spoilt).sum()} false alarms"
)

# %%
# The score of a window is minus what its sparse code over the clean windows leaves unexplained. The dashed line is the
# threshold, below which one in a hundred clean windows falls.

scores, channels = detector.score_samples(X), detector.score_channels(X)
_, ax = plt.subplots(figsize=(7, 2.6), layout="constrained")
ax.plot(scores, ".", color="0.6", markersize=4)
ax.plot(np.flatnonzero(found), scores[found], "k.", markersize=6)
ax.axhline(detector.offset_, color="k", linewidth=0.8, linestyle="--")
ax.set(xlabel="second", ylabel="score", title="windows that are not like clean ones")

# %%
# For each of them, the channels that do not fit the others: a value above 1 is a channel to blame. One that is broken
# makes its neighbours look bad, too. So the worst is taken away, the others are judged without it, and so on: crosses
# are what is left to blame. A blink is in all frontal channels, which fit each other well, so that it may have none.

_, ax = plt.subplots(figsize=(7, 3.4), layout="constrained")
shown = np.flatnonzero(found)
picture = ax.imshow(np.log10(channels[shown].T), aspect="auto", cmap="gray_r", vmin=-1, vmax=2)
blamed = detector.channels_.predict(X[shown])
ax.plot(*np.nonzero(blamed), "rx", markersize=5)
ax.set_yticks(range(N), NAMES, fontsize=7)
ax.set_xticks(range(len(shown)), shown, fontsize=7, rotation=90)
ax.set(xlabel="second", title="channels to blame: log10 of their score, and what is left of them")
ax.figure.colorbar(picture, ax=ax)
for one in detector.channels_.report(X[[125, 182, 140]]):
    print(f"window {one.matrix}: {NAMES[one.channel]}, {one.reason}")

# %%
# The share of such windows among the last thirty tells whether the recording as a whole goes astray.

display = DriftDisplay.from_estimator(detector, X, window=30)
display.ax_.set(xlabel="second", ylim=(-2, 50))
plt.show()
