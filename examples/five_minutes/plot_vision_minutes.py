"""
Images in five minutes
======================

From image files to a map of textures: windows of the images become covariances, and every window of a new
photograph gets a class.
"""

# %%
# Three photographs that come with scikit-image are written as files. With your own photographs, ``files`` is
# a dictionary of names and paths.

import tempfile
from pathlib import Path

import numpy as np
from matplotlib import pyplot as plt
from pyriemann.classification import MDM, TSClassifier
from skimage import data, io

from spdatoms import SPDEnsembleClassifier
from spdatoms.descriptors import TextureCovariance

folder = Path(tempfile.mkdtemp())
files = {name: folder / f"{name}.png" for name in ("brick", "grass", "gravel")}
for name, path in files.items():
    io.imsave(path, getattr(data, name)()[:256])

# %%
# One covariance of grey value and derivatives per window of 32×32 pixels. ``transform_regions`` keeps the
# windows of every image apart.

describe = TextureCovariance(block=32, step=16)
regions = describe.transform_regions(list(files.values()))
X = np.concatenate(regions)
y = np.repeat(list(files), [len(stack) for stack in regions])
classifier = SPDEnsembleClassifier().fit(X[::4], y[::4])  # every fourth window is enough

# %%
# A new image: the lower halves of the three photographs, side by side. Two other classifiers are there for
# comparison.

new = np.hstack([getattr(data, name)()[256:, :192] for name in files])
windows = describe.transform([new])
rows, columns = (side // 16 - 1 for side in new.shape)
truth = np.repeat(list(files), 192)[16 : 16 * columns + 1 : 16]  # in the middle of windows
peers = {"MDM": MDM(), "tangent space": TSClassifier()}
for name, model in {"ensemble": classifier, **peers}.items():
    found = model.fit(X[::4], y[::4]).predict(windows).reshape(rows, columns)
    print(f"{name}: {(found == truth).mean():.0%} of {found.size} windows are right")

# %%
# Every window has its class, and its reasons: here those of the window in the upper left corner.

predicted = classifier.predict(windows)
classes = np.searchsorted(classifier.classes_, predicted).reshape(rows, columns)
print(classifier.explain(windows[:1], n_atoms=5)[0])

figure, ax = plt.subplots(figsize=(8, 3.6), layout="constrained")
ax.imshow(new, cmap="gray")
extent = (8, 8 + 16 * columns, 8 + 16 * rows, 8)
shown = ax.imshow(
    classes, cmap=plt.get_cmap("viridis", 3), alpha=0.45, extent=extent, vmin=-0.5, vmax=2.5
)
ax.set(xlim=(0, new.shape[1]), ylim=(new.shape[0], 0))
ax.set_axis_off()
figure.colorbar(shown, ticks=range(3), shrink=0.8).ax.set_yticklabels(classifier.classes_)
plt.show()
