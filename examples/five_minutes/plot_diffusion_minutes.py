"""
Diffusion MRI in five minutes
=============================

From a tensor volume to a map of tissue: every voxel is a 3×3 matrix, a dictionary finds a few typical
tensors, and the codes show where each of them is used.
"""

# %%
# A small scan that comes with `dipy <https://dipy.org>`_. With your own tensors in a NIfTI file use
# ``nibabel.load("tensors.nii.gz").get_fdata()`` and :func:`~spdatoms.geometry.unvech`, which knows the orders
# of dipy, FSL and MRtrix.

import numpy as np
from dipy.core.gradients import gradient_table
from dipy.data import get_fnames
from dipy.io.image import load_nifti_data
from dipy.reconst.dti import TensorModel
from matplotlib import pyplot as plt

from spdatoms import SPDDictionaryLearning, nearest_spd
from spdatoms.geometry import is_spd
from spdatoms.plotting import AtomsDisplay

image, b_values, directions = get_fnames(name="small_64D")
gradients = gradient_table(np.loadtxt(b_values), bvecs=np.nan_to_num(np.loadtxt(directions)))
signal = load_nifti_data(image)
tensors = TensorModel(gradients).fit(signal).quadratic_form
print(tensors.shape)

# %%
# The background of a volume is zero or noise. :func:`~spdatoms.geometry.is_spd` is the mask of the matrices
# that can be used, and a threshold leaves out the rest. With a floor of 5 % no direction is nearly closed,
# which would be noise.

mask = is_spd(tensors) & (signal[..., 0] > 80)
X = nearest_spd(tensors[mask], floor=0.05)
learner = SPDDictionaryLearning(n_atoms=4, random_state=0).fit(X)
codes = learner.transform(X)
print(f"{mask.sum()} of {mask.size} voxels, {(codes != 0).sum(axis=1).mean():.1f} atoms per voxel")

# %%
# The atoms as ellipses, seen along the three axes, and where they are used in one slice. Free water is a
# large circle, fibres are long ellipses.

usage = np.zeros((*mask.shape, 4))
usage[mask] = np.abs(codes)

figure = plt.figure(figsize=(9, 4.6), layout="constrained")
above, below = figure.subfigures(2, 1, height_ratios=(1.25, 1))
AtomsDisplay(learner.atoms_, n_columns=4).plot(above.subplots())
for atom, ax in enumerate(below.subplots(1, 4)):
    shown = ax.imshow(usage[:, :, 5, atom].T, origin="lower", cmap="cividis", vmin=0, vmax=1)
    ax.set_axis_off()
below.colorbar(shown, ax=below.axes, label="|weight|")
plt.show()
