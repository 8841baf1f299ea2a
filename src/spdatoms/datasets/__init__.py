"""Data for first tries, without a download: `load_textures` has photographs that come with scikit-image.

The data sets of the paper are in `spdatoms.paper.datasets`.
"""

from __future__ import annotations

from spdatoms.datasets.dataset import Dataset, Samples
from spdatoms.datasets.textures import load_textures

__all__ = ["Dataset", "Samples", "load_textures"]
