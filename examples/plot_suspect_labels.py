"""
Wrong labels, found by the other matrices
=========================================

Whoever labels matrices makes mistakes: a marker of the wrong trial, a slip of a key. `suspect_labels` classifies every
training matrix by all the others, and tells how probable it is that its label is wrong.
"""

# %%
# Four classes of covariances, 40 matrices each. One label in eight is replaced by another one.

import numpy as np
from matplotlib import pyplot as plt

from spdatoms import SPDEnsembleClassifier, suspect_labels

rng = np.random.default_rng(0)
true = np.repeat(np.arange(4), 40)
mixing = np.eye(6) + 0.07 * rng.standard_normal((4, 6, 6))
signals = mixing[true] @ rng.standard_normal((160, 6, 40))
X = signals @ signals.swapaxes(1, 2) / 40
wrong = np.zeros(160, bool)
wrong[rng.choice(160, 20, replace=False)] = True
given = np.where(wrong, (true + rng.integers(1, 4, 160)) % 4, true)

found = suspect_labels(X, given)
print(found)
print(
    f"estimated share of wrong labels: {100 * found.noise:.0f} %, in truth {100 * wrong.mean():.1f} %"
)

# %%
# Bars are labels, the most doubtful first; dark ones are wrong. A label is not suspected because its class is
# hard to tell from another one: the share of wrong labels is estimated from the matrices that are easy.

figure, axis = plt.subplots(figsize=(8, 3.2), layout="constrained")
shown = found.indices[:50]
colours = np.where(wrong[shown], "#1f3b57", "#c3ccd5")
axis.bar(range(len(shown)), found.probabilities[:50], color=colours)
axis.axhline(0.5, color="grey", linestyle=":")
axis.set(
    xlabel="labels, the most doubtful first", ylabel="probability that it is wrong", ylim=(0, 1.05)
)
axis.spines[["top", "right"]].set_visible(False)

# %%
# Look at the suspects first, then decide: what is left out cannot be learned from. Here new matrices are classified
# with all labels, without the suspects, and with the true labels.

new = rng.integers(0, 4, 1000)
signals = mixing[new] @ rng.standard_normal((1000, 6, 40))
queries = signals @ signals.swapaxes(1, 2) / 40
kept = np.delete(np.arange(160), found.above(0.5))
for name, rows, labels in (
    ("all labels", np.arange(160), given),
    ("without suspects", kept, given),
    ("true labels", np.arange(160), true),
):
    score = SPDEnsembleClassifier().fit(X[rows], labels[rows]).score(queries, new)
    print(f"{name:18} {100 * score:.1f} %")
