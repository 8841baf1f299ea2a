"""
Directions that mean nothing, and probabilities to trust
========================================================

Two classes of covariances differ in one of eight channels. Six other channels vary much more, but in the same way in
both classes: as movements, sweat or the position of a cap do in EEG. A divergence sees all of it.
"""

# %%
# The variance of channel 7 is 1.3² in one class and 1 in the other. That of channels 1 to 6 is anything from a
# tenth to ten, whatever the class.

import numpy as np
from matplotlib import pyplot as plt
from sklearn.calibration import calibration_curve

from spdatoms import (
    MinimumDistanceToMean,
    SPDEnsembleClassifier,
    SPDKNeighborsClassifier,
    SPDSparseClassifier,
)

rng = np.random.default_rng(0)
signals = rng.standard_normal((1100, 8, 60))
signals[:, :6] *= np.exp(rng.standard_normal((1100, 6, 1)))
y = np.arange(1100) % 2
signals[:, 6] *= np.where(y == 1, 1.3, 1.0)[:, None]
X = signals @ signals.swapaxes(1, 2) / 60
train, test = slice(100), slice(100, None)

# %%
# Within-class whitening shrinks the directions in which matrices of one class differ.
# ``SPDEnsembleClassifier()`` averages over whitened and other kernels.

classifiers = {
    "nearest mean": MinimumDistanceToMean(),
    "nearest neighbour": SPDKNeighborsClassifier(),
    "one kernel (RSR-S)": SPDSparseClassifier("stein"),
    "one kernel, whitened": SPDSparseClassifier("stein", whitening=0.1),
    "ensemble": SPDEnsembleClassifier(),
    "ensemble, weights by CV": SPDEnsembleClassifier("cv"),
}
for classifier in classifiers.values():
    classifier.fit(X[train], y[train])
accuracy = {name: 100 * c.score(X[test], y[test]) for name, c in classifiers.items()}
for name, percent in accuracy.items():
    print(f"{name:24} {percent:.1f} %")

# %%
# A reliability diagram: of the matrices with a probability of about p for the second class, a share p should be of
# it. The ensembles are calibrated on left-out training matrices. With one kernel probabilities rank the
# matrices, no more.

figure, (bars, axis) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
bars.barh(list(accuracy), list(accuracy.values()), color=["#bbb"] * 3 + ["#8ab", "#36a", "#147"])
bars.set(xlim=(50, 100), xlabel="accuracy (%)")
bars.invert_yaxis()
axis.plot([0, 1], [0, 1], color="grey", linestyle=":")
styles = {
    "one kernel (RSR-S)": "^--",
    "ensemble": "o-",
    "ensemble, weights by CV": "s-",
}
for name, style in styles.items():
    p = classifiers[name].predict_proba(X[test])[:, 1]
    observed, predicted = calibration_curve(y[test], p, n_bins=8, strategy="quantile")
    axis.plot(predicted, observed, style, label=name)
axis.set(
    xlabel="probability of the second class", ylabel="share of the second class", aspect="equal"
)
axis.legend()
plt.show()
