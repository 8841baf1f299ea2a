"""Sparse coding and K-SVD of matrix logarithms."""
