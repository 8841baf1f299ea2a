"""Sparse coding, dictionary learning and classification of SPD matrices."""

from spdatoms.kernel import DivergenceKernel
from spdatoms.means import mean
from spdatoms.pairwise import pairwise_divergence
from spdatoms.repair import nearest_spd
from spdatoms.validation import check_spd

__version__ = "0.1.0.dev0"

__all__ = [
    "DivergenceKernel",
    "check_spd",
    "mean",
    "nearest_spd",
    "pairwise_divergence",
]
