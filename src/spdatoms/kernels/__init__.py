"""Kernels exp(−β·divergence) on SPD matrices: β, the Gram matrix, and its corrections."""

from spdatoms.kernels.base import Kernel
from spdatoms.kernels.correction import CorrectedGram, correct_gram
from spdatoms.kernels.kernel import DivergenceKernel
from spdatoms.kernels.landmarks import SPDNystroem

__all__ = ["CorrectedGram", "DivergenceKernel", "Kernel", "SPDNystroem", "correct_gram"]
