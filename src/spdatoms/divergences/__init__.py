"""Divergences between SPD matrices: one file per family; all pairs, and means."""

from spdatoms.divergences.affine_invariant import AffineInvariant
from spdatoms.divergences.base import Divergence, PreparedSet
from spdatoms.divergences.cholesky import Cholesky, LogCholesky
from spdatoms.divergences.euclidean import Euclidean
from spdatoms.divergences.hermitian import Hermitian
from spdatoms.divergences.jeffrey import Burg, Jeffrey
from spdatoms.divergences.means import mean
from spdatoms.divergences.medians import median
from spdatoms.divergences.paired import divergence
from spdatoms.divergences.pairwise import pairwise_divergence
from spdatoms.divergences.power_euclidean import Harmonic, LogEuclidean, PowerEuclidean
from spdatoms.divergences.registry import divergence_names, get_divergence, register_divergence
from spdatoms.divergences.stein import Stein
from spdatoms.divergences.thompson import Thompson
from spdatoms.divergences.wasserstein import Wasserstein

__all__ = [
    "AffineInvariant",
    "Burg",
    "Cholesky",
    "Divergence",
    "Euclidean",
    "Harmonic",
    "Hermitian",
    "Jeffrey",
    "LogCholesky",
    "LogEuclidean",
    "PowerEuclidean",
    "PreparedSet",
    "Stein",
    "Thompson",
    "Wasserstein",
    "divergence",
    "divergence_names",
    "get_divergence",
    "mean",
    "median",
    "pairwise_divergence",
    "register_divergence",
]
