"""Kernels exp(−β·divergence) on SPD matrices: β, the Gram matrix, and its corrections.

The names are imported when they are first used: kernels need scikit-learn, β and corrections do not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from spdatoms._utils.lazy_imports import lazy_names

if TYPE_CHECKING:
    from spdatoms.kernels.base import Kernel as Kernel
    from spdatoms.kernels.correction import CorrectedGram as CorrectedGram
    from spdatoms.kernels.correction import correct_gram as correct_gram
    from spdatoms.kernels.kernel import DivergenceKernel as DivergenceKernel
    from spdatoms.kernels.landmarks import SPDNystroem as SPDNystroem

_HOME = {
    "CorrectedGram": "correction",
    "DivergenceKernel": "kernel",
    "Kernel": "base",
    "SPDNystroem": "landmarks",
    "correct_gram": "correction",
}

__all__ = [*_HOME]

__getattr__, __dir__ = lazy_names(__name__, _HOME)
