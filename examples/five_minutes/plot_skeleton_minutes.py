"""
Skeletons in five minutes
=========================

From joint positions to actions: the covariance of all joint coordinates over time describes how a person
moves, whatever the length of the sequence.
"""

# %%
# Sixty simulated sequences of fifteen joints: walking, waving and jumping, with different lengths, tempos and
# noise. With your own data, ``sequences`` is a list of arrays (frames, joints, 3).

import numpy as np
from matplotlib import pyplot as plt
from pyriemann.classification import MDM
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

from spdatoms import SPDEnsembleClassifier, SPDKNeighborsClassifier
from spdatoms.descriptors import JointCovariance
from spdatoms.plotting import ExplanationDisplay

rng = np.random.default_rng(0)
at_rest = rng.standard_normal((15, 3))
arms, legs = np.arange(15) < 4, np.arange(15) > 9
names = np.tile(["walk", "wave", "jump"], 20)


def sequence(name):
    """Return joint positions of shape (frames, 15, 3)."""
    frames = rng.integers(40, 90)
    beat = np.sin(np.arange(frames) * rng.uniform(0.2, 0.4) + rng.uniform(0, 6))[:, None]
    moved = 0.15 * rng.standard_normal((frames, 15, 3)) + at_rest
    if name == "walk":
        moved[..., 2] += beat * (0.5 * legs - 0.3 * arms)
    elif name == "wave":
        moved[..., 0] += 0.5 * beat * arms
    else:
        moved[..., 1] += 0.5 * np.abs(beat) * np.where(legs, 0.7, 1.0)
    return moved


sequences = [sequence(name) for name in names]

# %%
# A sequence has fewer frames than its matrix has rows, so its covariance would be singular. The descriptor
# adds a small ridge. Two other classifiers are there for comparison, in the same folds.

model = make_pipeline(JointCovariance(), SPDEnsembleClassifier())
peers = {"MDM": MDM(), "nearest neighbour": SPDKNeighborsClassifier(n_neighbors=1)}
for title, last in {"ensemble": model[-1], **peers}.items():
    scores = cross_val_score(make_pipeline(JointCovariance(), last), sequences, names, cv=5)
    print(f"{title}: {scores.mean():.0%}")

# %%
# The matrices of three sequences, 45×45, and what decides about a new one.

X = model[0].transform(sequences)
classifier = SPDEnsembleClassifier().fit(X[:-1], names[:-1])
figure, axes = plt.subplots(
    1, 4, figsize=(11, 3), width_ratios=(1, 1, 1, 1.8), layout="constrained"
)
for ax, index in zip(axes, range(3), strict=False):
    ax.imshow(X[index], cmap="RdBu_r", vmin=-0.2, vmax=0.2)
    ax.set(title=names[index], xticks=[7, 22, 37], yticks=[])
    ax.set_xticklabels("xyz")
ExplanationDisplay.from_estimator(classifier, X[-1], max_atoms=5, ax=axes[3])
plt.show()
