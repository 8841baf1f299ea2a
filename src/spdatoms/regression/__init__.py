"""Regression on SPD matrices: by several kernels at once, by sparse codes, and by nearest neighbours."""

from spdatoms.regression.ensemble import SPDEnsembleRegressor
from spdatoms.regression.neighbors import SPDKNeighborsRegressor
from spdatoms.regression.regressor import TargetExplanation, TargetExplanations
from spdatoms.regression.sparse import SPDSparseRegressor

__all__ = [
    "SPDEnsembleRegressor",
    "SPDKNeighborsRegressor",
    "SPDSparseRegressor",
    "TargetExplanation",
    "TargetExplanations",
]
