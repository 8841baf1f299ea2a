"""
A stream that drifts
====================

Matrices arrive in batches and slowly change. `partial_fit` learns from each batch once and
forgets the distant past. A dictionary that is learned at the start and then kept becomes worse and worse.
"""

# %%
# Four prototypes move slowly through the cone while 80 batches of 60 matrices arrive.

import numpy as np
from matplotlib import pyplot as plt

from spdatoms import SPDDictionaryLearning
from spdatoms.geometry import exp_map

N, BATCHES = 4, 80
rng = np.random.default_rng(3)
root = rng.standard_normal((4, N, 2 * N))
prototypes = root @ root.swapaxes(1, 2) / (2 * N)
velocity = 0.02 * rng.standard_normal((4, N, N))
velocity = velocity + velocity.swapaxes(1, 2)


def batch(prototypes, size=60):
    """Return covariances of 30 samples each, around the prototypes of the time."""
    L = np.linalg.cholesky(prototypes)[rng.integers(4, size=size)]
    samples = L @ rng.standard_normal((size, N, 30))
    return samples @ samples.swapaxes(1, 2) / 30


# %%
# Three learners: one that stops after the first ten batches, one with a long memory, one with a short.
# Each is tested on every batch before it learns from it.

learners = {
    "stops learning at 10": SPDDictionaryLearning(8, alpha=0.1, random_state=0, forgetting=0.9),
    "forgetting = 0.98": SPDDictionaryLearning(8, alpha=0.1, random_state=0, forgetting=0.98),
    "forgetting = 0.7": SPDDictionaryLearning(8, alpha=0.1, random_state=0, forgetting=0.7),
}
losses = {name: [] for name in learners}
for time in range(BATCHES):
    X = batch(prototypes)
    for name, learner in learners.items():
        if time:
            losses[name].append(-learner.score(X))
        if time < 10 or not name.startswith("stops"):
            learner.partial_fit(X)
    L = np.linalg.cholesky(prototypes)
    prototypes = exp_map(L @ velocity @ L.swapaxes(1, 2), prototypes)
    prototypes = 0.5 * (prototypes + prototypes.swapaxes(1, 2))

# %%
# The learner with the short memory follows the drift; the one with the long memory is too slow, and the
# one that has stopped is the worst.

figure, ax = plt.subplots(figsize=(8, 3.8), layout="constrained")
for (name, values), style in zip(losses.items(), ("k:", "k--", "k-"), strict=True):
    smooth = np.convolve(values, np.ones(5) / 5, mode="valid")
    ax.plot(np.arange(3, 3 + len(smooth)), smooth, style, label=name)
ax.axvline(10, color="0.7", linewidth=0.8)
ax.set(xlabel="batch", ylabel="mean loss of the next batch\n(average of 5)", ylim=(0, None))
ax.spines[["top", "right"]].set_visible(False)
ax.legend(frameon=False)
plt.show()
