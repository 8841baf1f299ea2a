"""Sparse codes over a Gram matrix: min_y yᵀKy − 2 yᵀk + α‖y‖₁ + ρ‖y‖², exact and certified."""

from spdatoms.lasso.certificate import Certificate
from spdatoms.lasso.solve import sparse_code, sparse_code_path

__all__ = ["Certificate", "sparse_code", "sparse_code_path"]
