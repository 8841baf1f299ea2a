"""Divergences between SPD matrices: one file, one class each, and their names."""

from spdatoms.divergences._base import Divergence
from spdatoms.divergences._registry import divergence_names, get_divergence
from spdatoms.divergences.affine_invariant import AffineInvariant
from spdatoms.divergences.burg import Burg
from spdatoms.divergences.euclidean import Euclidean
from spdatoms.divergences.jeffrey import Jeffrey
from spdatoms.divergences.log_euclidean import LogEuclidean
from spdatoms.divergences.stein import Stein

__all__ = [
    "AffineInvariant",
    "Burg",
    "Divergence",
    "Euclidean",
    "Jeffrey",
    "LogEuclidean",
    "Stein",
    "divergence_names",
    "get_divergence",
]
