"""
fMRI in five minutes
====================

From time series of brain regions to classes of subjects: `nilearn <https://nilearn.github.io>`_ estimates one
covariance per subject, and the classifier shows which subjects a new one resembles.
"""

# %%
# Sixty simulated subjects with twelve regions in three networks. In patients two of the networks are coupled.
# With your own data, ``series`` is a list of arrays (times, regions), as nilearn's maskers return them.

import numpy as np
from matplotlib import pyplot as plt
from nilearn.connectome import ConnectivityMeasure
from pyriemann.classification import MDM, TSClassifier
from sklearn.model_selection import cross_val_score

from spdatoms import SPDEnsembleClassifier
from spdatoms.plotting import AtomsDisplay, ExplanationDisplay

rng = np.random.default_rng(0)
y = np.tile(["control", "patient"], 30)
series = []
for label in y:
    networks = rng.standard_normal((150, 3))
    if label == "patient":
        networks[:, 2] += 0.5 * networks[:, 1]
    series.append(np.repeat(networks, 4, axis=1) + rng.standard_normal((150, 12)))

# %%
# The default estimator of nilearn is Ledoit and Wolf's, whose covariances are positive definite. Use the kind
# ``"covariance"`` or ``"correlation"``. Two classifiers of pyRiemann are there for comparison, in the same folds.

X = ConnectivityMeasure(kind="covariance", standardize=False).fit_transform(series)
classifier = SPDEnsembleClassifier()
peers = {"MDM": MDM(), "tangent space": TSClassifier()}
for name, model in {"ensemble": classifier, **peers}.items():
    print(f"{name}: {cross_val_score(model, X, y, cv=5).mean():.0%}")

# %%
# The last patient, and the five subjects that decided about it most.

classifier.fit(X[:-1], y[:-1])
(explanation,) = classifier.explain(X[-1:], n_atoms=5)
print(explanation)
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.4), layout="constrained")
shown = X[[-1, *explanation.atoms[:3]]]
titles = ["the query", *(f"{explanation.labels[k]} #{explanation.atoms[k]}" for k in range(3))]
AtomsDisplay(shown, titles=titles, n_columns=2).plot(left)
ExplanationDisplay(explanation).plot(right)
plt.show()
