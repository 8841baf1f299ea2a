"""Numba code, and nothing else: no other module of the package is decorated with ``njit``."""
