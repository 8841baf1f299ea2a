"""Other libraries: pyRiemann's estimators with our divergences; gradients for torch and JAX.

`spdatoms.interop.torch` and `spdatoms.interop.jax` are imported by their names: they need these libraries.
"""

from spdatoms.interop.pyriemann import pyriemann_metric

__all__ = ["pyriemann_metric"]
