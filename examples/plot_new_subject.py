"""
Three subjects, one new
=======================

Electrodes never sit at the same place, and no two arms or heads are alike. So a classifier that was trained on
some people can fail on the next one. :class:`~spdatoms.SPDRecentre` removes most of the difference without labels:
every subject is brought to a common centre. :class:`~spdatoms.SPDAlign` also turns subjects onto each other by
their class means, the new one by predictions of its own matrices. The signals are simulated.
"""

# %%
# Four gestures, eight channels of muscle activity. Every subject mixes the muscles in another way, has another gain,
# and the muscles of a gesture are not quite the same.

import numpy as np
from matplotlib import pyplot as plt
from sklearn.decomposition import PCA

from spdatoms import SPDAlign, SPDEnsembleClassifier, SPDRecentre
from spdatoms.geometry import logm, vech

CHANNELS, GESTURES, EACH = 8, ("fist", "open", "left", "right"), 30
rng = np.random.default_rng(4)
muscles = 1.2 * rng.standard_normal((len(GESTURES), CHANNELS))
mixing = rng.standard_normal((CHANNELS, CHANNELS)) / 2 + np.eye(CHANNELS)


def record(difference):
    """Return covariances of one subject and the gestures."""
    y = np.repeat(np.arange(len(GESTURES)), EACH)
    own = muscles + difference * rng.standard_normal(muscles.shape)
    log_power = own[y] + 0.6 * rng.standard_normal((len(y), CHANNELS))
    signals = np.exp(log_power / 2)[:, :, None] * rng.standard_normal((len(y), CHANNELS, 60))
    turn = mixing + difference * rng.standard_normal(mixing.shape) / 2
    signals = rng.uniform(0.2, 5.0) * turn @ signals
    return signals @ signals.swapaxes(1, 2) / 60, np.array(GESTURES)[y]


recordings = [record(0.55) for _ in range(4)]
X = np.concatenate([X for X, _ in recordings[:3]])
y = np.concatenate([y for _, y in recordings[:3]])
subjects = np.repeat(["ann", "bob", "eve"], len(X) // 3)
X_new, y_new = recordings[3]

# %%
# The same classifier three times: on the matrices as they are, after re-centring, and after alignment. The new subject
# has no labels in any of these. ``domains`` tells the ensemble to leave out whole subjects where it calibrates
# itself.

found = {"as they are": (X, X_new)}
for name, step in (("re-centred", SPDRecentre(scale=True)), ("turned, too", SPDAlign())):
    found[name] = step.fit_transform(X, y, domains=subjects), step.transform(X_new)
scores = {}
for name, (train, test) in found.items():
    model = SPDEnsembleClassifier().fit(train, y, domains=subjects)
    scores[name] = model.score(test, y_new)
    print(f"{name:12s} {100 * scores[name]:.0f} %")

# %%
# A decision is a sum over training matrices, so it is also a sum over subjects:

why = model.explain(test[40:41])[0]
print(why.headline)
for name, share in why.domain_shares.items():
    print(f"{name}: {100 * share:.0f} % of the margin")

# %%
# The matrices of all four subjects in the plane that shows the gestures of the known ones best. Colours are gestures,
# circles are the new subject.

figure, axes = plt.subplots(1, 3, figsize=(10, 3.6), layout="constrained")
inks = dict(zip(GESTURES, ("#1f3b57", "#b5651d", "#3a7d44", "#8c3b6e"), strict=True))
for ax, (name, (train, test)) in zip(axes, found.items(), strict=True):
    vectors = [vech(logm(Z), weighted=True) for Z in (train, test)]
    plane = PCA(2).fit(np.array([vectors[0][y == gesture].mean(axis=0) for gesture in GESTURES]))
    known, new = (plane.transform(v) for v in vectors)
    for gesture, ink in inks.items():
        ax.plot(*known[y == gesture].T, ".", color=ink, alpha=0.35, markersize=4, label=gesture)
        ax.plot(*new[y_new == gesture].T, "o", color=ink, markerfacecolor="none", markersize=5)
    ax.set(title=f"{name}: {100 * scores[name]:.0f} %", xticks=[], yticks=[])
    ax.spines[:].set_visible(False)
axes[0].legend(frameon=False, fontsize=8)
plt.show()
