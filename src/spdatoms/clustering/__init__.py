"""k-means of SPD matrices under any divergence."""

from spdatoms.clustering.kmeans import SPDKMeans

__all__ = ["SPDKMeans"]
