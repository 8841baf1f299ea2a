"""Sparse codes of SPD matrices over a dictionary."""

from spdatoms.coding.sparse import LogEuclideanSparseCoder, SPDSparseCoder

__all__ = ["LogEuclideanSparseCoder", "SPDSparseCoder"]
