"""Sparse coding, dictionary learning and classification of SPD matrices."""

__version__ = "0.1.0.dev0"
