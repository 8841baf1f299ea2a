"""
The path of one query
=====================

As α falls, atoms enter the code of a query one after the other. Those of the right class should come
first, and stay.
"""

# %%
# Textures again; the path of a block of gravel over ten blocks of each photograph.

import numpy as np
from matplotlib import pyplot as plt

from spdatoms import SPDSparseClassifier
from spdatoms.datasets import load_textures
from spdatoms.descriptors import TextureCovariance
from spdatoms.plotting import RegularisationPathDisplay

textures = load_textures()
X, labels = TextureCovariance(block=None).transform(textures.data), textures.labels
classifier = SPDSparseClassifier("stein").fit(X[::6], labels[::6])

query = np.flatnonzero(labels == "gravel")[15]
print(labels[query], "is taken for", *classifier.predict(X[query : query + 1]))

# %%
# Dark lines are the atoms with the largest weights, one style per class; the others are pale. At the right
# edge, where the penalty is nearly zero, the code begins to fit small differences by large weights of both
# signs. The α in use is well to the left of that.

figure, ax = plt.subplots(figsize=(8, 4.4), layout="constrained")
RegularisationPathDisplay.from_estimator(classifier, X[query], n_labelled=8, ax=ax)
plt.show()

# %%
# The shares of the classes at the α in use, by the residual rule:

for name, share in zip(
    classifier.classes_, classifier.predict_proba(X[query : query + 1])[0], strict=True
):
    print(f"{name:>8} {share:6.1%}")
