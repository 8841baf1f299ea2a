"""Regression on SPD matrices: by sparse codes, and by nearest neighbours."""

from spdatoms.regression.neighbors import SPDKNeighborsRegressor
from spdatoms.regression.sparse import SPDSparseRegressor

__all__ = ["SPDKNeighborsRegressor", "SPDSparseRegressor"]
