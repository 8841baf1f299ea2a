"""Sparse coding in the tangent space of each query, with affine-invariant distances, and dictionaries for it."""
