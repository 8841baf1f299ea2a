"""Data for first tries, without a download, and your own from folders.

`load_textures` has photographs that come with scikit-image; `load_folder` reads images and skeletons from a folder per
class.

The data sets of the paper are in `spdatoms.paper.datasets`.
"""

from __future__ import annotations

from spdatoms.datasets.dataset import Dataset, Samples
from spdatoms.datasets.folders import load_folder
from spdatoms.datasets.textures import load_textures

__all__ = ["Dataset", "Samples", "load_folder", "load_textures"]
