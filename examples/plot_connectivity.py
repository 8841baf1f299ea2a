"""
Functional connectivity
=======================

Which regions of the brain work together is summed up by the covariance of their time series, one matrix
per subject. nilearn estimates it, :class:`~spdatoms.SPDDictionaryLearning` finds the patterns of which the subjects are
made, and the codes tell patients from controls. The time series are simulated.
"""

# %%
# Twelve regions in three networks. In patients the second and third network are coupled, by an amount
# that differs from subject to subject.

import numpy as np
from matplotlib import pyplot as plt
from nilearn.connectome import ConnectivityMeasure
from sklearn.covariance import LedoitWolf
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from spdatoms import SPDDictionaryLearning, SPDSparseClassifier
from spdatoms.plotting import AtomsDisplay, CodesDisplay

rng = np.random.default_rng(0)
network = np.repeat(np.arange(3), 4)
membership = network[:, None] == np.arange(3)


def scan(patient):
    """Return the time series of a subject, (150 times, 12 regions)."""
    shared = rng.standard_normal((150, 3)) * np.exp(0.4 * rng.standard_normal(3))
    if patient:
        shared[:, 2] += rng.uniform(0.3, 1.0) * shared[:, 1]
    return shared @ membership.T + 0.9 * rng.standard_normal((150, 12))


y = np.repeat(["control", "patient"], 40)
series = [scan(label == "patient") for label in y]
measure = ConnectivityMeasure(cov_estimator=LedoitWolf(), kind="covariance", standardize=False)
X = measure.fit_transform(series)
print(X.shape)

# %%
# Three ways to classify: a linear model on the codes over a dictionary of six atoms, sparse
# representation over the training subjects, and for comparison nilearn's tangent space.

learner = SPDDictionaryLearning(n_atoms=6, alpha=0.1, random_state=0, normalise=True)
tangent = ConnectivityMeasure(
    cov_estimator=LedoitWolf(), kind="tangent", vectorize=True, standardize=False
)
scores = {
    "codes of 6 atoms + logistic regression": cross_val_score(
        make_pipeline(learner, StandardScaler(), LogisticRegression()), X, y, cv=5
    ),
    "sparse representation": cross_val_score(SPDSparseClassifier("stein"), X, y, cv=5),
    "tangent space + logistic regression": cross_val_score(
        make_pipeline(tangent, LogisticRegression(max_iter=1000)), series, y, cv=5
    ),
}
for name, values in scores.items():
    print(f"{name:>40}: {values.mean():.1%}")

# %%
# The atoms are connectivity matrices themselves, and can be read as such: blocks on the diagonal are
# networks, blocks off it are networks coupled. Controls and patients use different ones.

learner.fit(X)
figure, (left, right) = plt.subplots(
    1, 2, figsize=(11, 4.2), layout="constrained", width_ratios=(1.5, 1)
)
AtomsDisplay.from_estimator(learner, n_columns=3, ax=left)
left.set_title("six atoms", fontsize=10)
CodesDisplay.from_estimator(learner, X, y=y, ax=right)
plt.show()
