"""
A session that drifts
=====================

Gel dries, electrodes shift, people get tired: during a session the covariance of all channels moves away from
where it was. ``partial_fit`` of :class:`~spdatoms.SPDRecentre` lets the centre follow, window by window and without
labels, while the classifier stays what it is.
"""

# %%
# A recording to train on, and a session of 500 windows. Its windows are moved by a congruence
# :math:`X \leftarrow G_t X G_t^\top` that slowly becomes a random one.

import numpy as np
from matplotlib import pyplot as plt
from scipy.linalg import expm

from spdatoms import SPDEnsembleClassifier, SPDRecentre, divergence

CHANNELS, WINDOWS = 8, 500
rng = np.random.default_rng(0)
kinds = 0.9 * rng.standard_normal((3, CHANNELS))
mixing = rng.standard_normal((CHANNELS, CHANNELS)) / 2 + np.eye(CHANNELS)


def windows(count):
    """Return covariances of windows of three kinds, and the kinds."""
    y = rng.integers(3, size=count)
    log_power = kinds[y] + 0.5 * rng.standard_normal((count, CHANNELS))
    signals = mixing @ (
        np.exp(log_power / 2)[:, :, None] * rng.standard_normal((count, CHANNELS, 60))
    )
    return signals @ signals.swapaxes(1, 2) / 60, y


X, y = windows(150)
session, truth = windows(WINDOWS)
drift = rng.standard_normal((CHANNELS, CHANNELS)) / np.sqrt(CHANNELS)
for t in range(WINDOWS):
    G = expm(drift * t / WINDOWS)
    session[t] = G @ session[t] @ G.T
session = 0.5 * (session + session.swapaxes(1, 2))

# %%
# One window at a time: the centre moves towards the window, then the window is classified. With ``forgetting=0.95`` the
# centre follows the last 20 windows or so. The other recentring keeps the centre of the training recording.

fixed = SPDRecentre(scale=True).fit(X)
moving = SPDRecentre(scale=True, forgetting=0.95).partial_fit(X)
classifier = SPDEnsembleClassifier().fit(fixed.transform(X), y)
centred, distances = [], []
for window in session:
    moving.partial_fit(window[None])
    centred.append(moving.transform(window[None])[0])
    distances.append(divergence(moving.centres_[0], fixed.centres_[0], "riemann"))
hits = {
    "centre of the training recording": classifier.predict(fixed.transform(session)) == truth,
    "centre that follows": classifier.predict(np.array(centred)) == truth,
}
for name, own in hits.items():
    print(
        f"{name:33s} {100 * own[:100].mean():.0f} % at first, {100 * own[-100:].mean():.0f} % at the end"
    )

# %%
# The accuracy of the last 50 windows, and how far the centre has gone.

figure, (top, bottom) = plt.subplots(2, 1, figsize=(8, 5), sharex=True, layout="constrained")
for (name, own), style in zip(hits.items(), ("k:", "k-"), strict=True):
    smooth = np.convolve(own, np.ones(50) / 50, mode="valid")
    top.plot(np.arange(50, WINDOWS + 1), 100 * smooth, style, label=name)
top.axhline(100 / 3, color="0.7", linewidth=0.8)
top.set(ylabel="accuracy of 50 windows (%)", ylim=(0, 103))
top.legend(frameon=False, loc="lower left")
bottom.plot(np.sqrt(distances), "k-")
bottom.set(xlabel="window", ylabel="distance of the centre\nfrom the first one")
for ax in (top, bottom):
    ax.spines[["top", "right"]].set_visible(False)
plt.show()
