"""Sparse coding in the tangent space of each query, and its dictionaries."""
