"""
Atoms of diffusion tensors
==========================

Every voxel of a diffusion scan holds a tensor, a 3×3 SPD matrix that describes how fast water moves in each
direction. A dictionary of a few tensors sums up the volume, and where each atom is used makes a map:
free water and bundles of fibres of several directions are separated without any threshold.
"""

# %%
# A small scan that comes with dipy: 10×10×10 voxels, 64 directions. Water moves along :math:`g` so that
# :math:`\log S = \log S_0 - b\, g^\top D g`, which is linear in the tensor :math:`D`. Least squares
# ignore the cone, and where the signal is weak some tensors have negative eigenvalues.

import numpy as np
from dipy.core.gradients import gradient_table
from dipy.data import get_fnames
from dipy.io.image import load_nifti_data
from dipy.reconst.dti import design_matrix
from matplotlib import pyplot as plt

from spdatoms import SPDDictionaryLearning, nearest_spd
from spdatoms.geometry import unvech

image, b_values, directions = get_fnames(name="small_64D")
signal = load_nifti_data(image).astype(float)
gradients = gradient_table(np.loadtxt(b_values), bvecs=np.nan_to_num(np.loadtxt(directions)))

mask = signal[..., 0] > 80  # where there is tissue or water, and not noise alone
coefficients = np.linalg.pinv(design_matrix(gradients)) @ np.log(np.maximum(signal[mask], 1)).T
tensors = unvech(coefficients[:6].T, order="dipy")
outside = np.linalg.eigvalsh(tensors)[:, 0] <= 0
print(f"{len(tensors)} voxels, {outside.sum()} tensors outside of the cone")

# %%
# :func:`~spdatoms.nearest_spd` projects them onto the cone. The floor, 5 % of the largest eigenvalue, is used
# because an eigenvalue of nearly zero is noise, and would dominate every divergence.

X = nearest_spd(tensors, floor=0.05)
learner = SPDDictionaryLearning(n_atoms=6, alpha=0.1, random_state=0).fit(X)
codes = learner.transform(X)
print(f"{(codes != 0).sum(axis=1).mean():.1f} atoms per voxel, mean loss {-learner.score(X):.3f}")

# %%
# The atoms as ellipsoids, the directions of fastest diffusion in colour (red left–right, green
# front–back, blue up–down, as in any diffusion viewer), and below them how much of every voxel of a
# slice they explain.

order = np.argsort(-np.linalg.eigvalsh(learner.atoms_)[:, -1])
atoms, usage = learner.atoms_[order], np.full((*mask.shape, 6), np.nan)
usage[mask] = np.abs(codes[:, order])
SLICE = 4

angle, height = np.linspace(0, 2 * np.pi, 41), np.cos(np.linspace(0, np.pi, 31))
radius = np.sqrt(1 - height**2)
sphere = np.stack([np.outer(np.cos(angle), radius), np.outer(np.sin(angle), radius),
                   np.outer(np.ones_like(angle), height)], axis=-1)  # fmt: skip

figure = plt.figure(figsize=(12, 4.6), layout="constrained")
for k, atom in enumerate(atoms):
    eigenvalues, vectors = np.linalg.eigh(atom)
    anisotropy = 1 - eigenvalues[0] / eigenvalues[-1]
    colour = 0.75 * (1 - anisotropy) + anisotropy * np.abs(vectors[:, -1])
    surface = sphere @ (vectors * eigenvalues / eigenvalues[-1]).T
    ax = figure.add_subplot(2, 6, k + 1, projection="3d")
    ax.plot_surface(*np.moveaxis(surface, -1, 0), color=colour, rstride=1, cstride=1, linewidth=0)
    ax.set(xlim=(-1, 1), ylim=(-1, 1), zlim=(-1, 1))
    ax.set_box_aspect((1, 1, 1), zoom=1.5)
    ax.set_axis_off()
    ax.set_title(f"{1e3 * eigenvalues[-1]:.1f}, {1e3 * eigenvalues[0]:.1f} µm²/ms", fontsize=9)
    ax = figure.add_subplot(2, 6, 6 + k + 1)
    shown = ax.imshow(usage[:, :, SLICE, k].T, origin="lower", cmap="magma", vmin=0, vmax=0.8)
    ax.set_axis_off()
figure.colorbar(shown, ax=figure.axes[1::2], label="weight in the code", extend="max")
figure.suptitle("six atoms: largest and least diffusivity, and where they are used")
plt.show()
