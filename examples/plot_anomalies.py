r"""
Anomalies by reconstruction
===========================

A dictionary learned on what is normal represents normal matrices well and all others badly. So the loss of
a matrix is an anomaly score, and no labels are needed. Here a wall of bricks is normal.
"""

# %%
# The photograph of bricks that comes with scikit-image. We paint three flaws into its lower half: a patch
# of other texture, a blurred patch and a crack.

import numpy as np
from matplotlib import pyplot as plt
from numpy.lib.stride_tricks import sliding_window_view
from scipy.ndimage import gaussian_filter
from skimage import data
from sklearn.metrics import roc_auc_score

from spdatoms import SPDDictionaryLearning, sparse_code
from spdatoms.descriptors import TextureCovariance

wall = data.brick().astype(float)
normal, tested = wall[:256], wall[256:].copy()
flaw = np.zeros(tested.shape, dtype=bool)
flaw[40:110, 60:140] = True
tested[40:110, 60:140] = data.gravel()[40:110, 60:140]
flaw[130:210, 220:310] = True
tested[130:210, 220:310] = gaussian_filter(tested[130:210, 220:310], 2.5)
crack = (100 + 0.35 * np.arange(120) + 6 * np.sin(np.arange(120) / 6)).astype(int)
for offset in range(5):
    tested[crack + offset, np.arange(370, 490)] = 35
    flaw[crack + offset, np.arange(370, 490)] = True

# %%
# The covariance of grey value and derivatives in windows of 24×24 pixels around every fourth pixel.

WINDOW, STEP = 24, 4
describe = TextureCovariance(block=WINDOW, step=STEP)
X = describe.transform([normal])
learner = SPDDictionaryLearning(n_atoms=48, alpha=0.05, random_state=0).fit(X)

# %%
# The loss of one matrix is
# :math:`1 - 2y^\top k + y^\top (K + \mu I) y + \alpha\lVert y \rVert_1`. `score` gives its mean with the
# opposite sign; for a map we need it window by window, and :func:`~spdatoms.sparse_code` returns it
# with the certificate.

queries = describe.transform([tested])
_, certificate = sparse_code(
    learner.kernel_.gram_,
    learner.kernel_.cross(queries),
    learner.alpha_,
    return_certificate=True,
)
share = sliding_window_view(flaw, (WINDOW, WINDOW))[::STEP, ::STEP].mean(axis=(2, 3))
loss = certificate.objective.reshape(share.shape)
print(f"area under the ROC curve: {roc_auc_score(share.ravel() > 0.1, loss.ravel()):.3f}")

# %%
# The loss is small (dark) where the wall is normal, and large (bright) at the flaws.

figure, axes = plt.subplots(1, 2, figsize=(11, 3.1), layout="constrained")
extent = (0, tested.shape[1], tested.shape[0], 0)
axes[0].imshow(tested, cmap="gray", extent=extent)
axes[0].set_title("the wall with three flaws", fontsize=10)
# Every loss belongs to the middle of its window.
start, (rows, columns) = (WINDOW - STEP) / 2, loss.shape
place = (start, start + STEP * columns, start + STEP * rows, start)
axes[1].imshow(tested, cmap="gray", extent=extent)
shown = axes[1].imshow(loss, cmap="magma", vmin=0, vmax=1, extent=place)
axes[1].set(xlim=(0, 512), ylim=(256, 0))
axes[1].contour(flaw, levels=[0.5], colors="white", linewidths=0.7, extent=(0, 512, 0, 256))
axes[1].set_title("loss", fontsize=10)
figure.colorbar(shown, ax=axes, shrink=0.9)
for ax in axes:
    ax.set_axis_off()
plt.show()
