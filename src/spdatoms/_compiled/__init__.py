"""Numba code, and nothing else: no other module of the package is decorated with ``njit``."""

from spdatoms._compiled._cache import ensure_cache

ensure_cache()
