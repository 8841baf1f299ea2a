"""Sparse codes of queries over the atoms of a kernel, block by block."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import scipy.sparse

from spdatoms._utils.products import row_products
from spdatoms._utils.threads import block_slices, effective_n_jobs, run_blocks
from spdatoms._utils.typing import FloatArray, Floats
from spdatoms.kernels import Kernel
from spdatoms.kernels.landmarks import LandmarkKernel
from spdatoms.lasso.certificate import ShortCodes
from spdatoms.lasso.gram_coder import GramCoder
from spdatoms.lasso.solve import solve_queries
from spdatoms.lasso.working_sets import code_features

Result = TypeVar("Result")
#: Bytes of matrices, and of their codes, that are computed at a time, so that all on the way stays small and warm.
_BLOCK_BYTES = 8 << 20
#: Work in a block that is worth a thread's while, a millisecond, where that on a query is n³ + this per atom.
_LEAST_BLOCK_WORK, _ATOM_WORK = 1e8, 4500


@dataclass(frozen=True)
class CodedBlock:
    """Consecutive queries with what coding finds out about them.

    Attributes
    ----------
    rows : slice
        Which of the queries they are.
    cross : ndarray of shape (m, N)
        Their kernel values with the atoms.
    codes : ndarray of shape (m, N)
        Their codes.
    losses : ndarray of shape (m,) or None
        k(X, X) − 2 yᵀk + yᵀKy + α‖y‖₁ + ρ‖y‖² of every code y, if they are wanted.
    """

    rows: slice
    cross: FloatArray
    codes: FloatArray
    losses: Floats | None


@dataclass(frozen=True)
class AtomLengths:
    """Atoms with weights w are √w_j φ(D_j): the code z over them is y_j = √w_j z_j over the φ(D_j).

    So its penalties α‖z‖₁ + ρ‖z‖² are α|y_j|/√w_j and ρy_j²/w_j. With α = 0 an integer weight is that many
    copies of an atom.
    """

    weights: Floats | None

    def lengthened(self, columns: Any) -> Any:
        """Return an array, dense or CSR, with one column per atom: each multiplied by √w_j."""
        if self.weights is None:
            return columns
        lengths = np.sqrt(self.weights)
        if scipy.sparse.issparse(columns):
            return columns.multiply(lengths).tocsr()
        return np.ascontiguousarray(columns * lengths)

    def lengthened_gram(self, gram: FloatArray) -> FloatArray:
        """Return √w_i K_ij √w_j for K (…, N, N), K itself without weights."""
        if self.weights is None:
            return gram
        lengths = np.sqrt(self.weights)
        return np.ascontiguousarray(lengths[:, None] * (gram * lengths))


def for_coded_blocks(
    use: Callable[[CodedBlock], Result],
    X: FloatArray,
    kernel: Kernel,
    alpha: float,
    *,
    ridge: float = 0.0,
    positive: bool = False,
    weights: Floats | None = None,
    losses: bool = True,
    n_jobs: int | None = None,
) -> list[Result]:
    """Return what ``use`` makes of the codes of checked matrices X over the atoms of a fitted kernel, block by block.

    Several threads call it at the same time, and for blocks in any order. For atoms with weights w the
    penalties are Σ_j α|y_j|/√w_j and Σ_j ρy_j²/w_j.
    """
    atoms = AtomLengths(weights)
    gram = atoms.lengthened_gram(kernel.gram_)
    jobs, short = effective_n_jobs(n_jobs), ShortCodes()
    coder = None if losses or positive or jobs > 1 else GramCoder(gram, alpha, ridge)
    found: dict[int, Result] = {}

    def code(rows: slice) -> None:
        cross, norms = kernel.cross_and_norms(X[rows])
        quick = None if coder is None else coder.quickly(atoms.lengthened(cross))
        if quick is not None:
            found[rows.start] = use(CodedBlock(rows, cross, atoms.lengthened(quick), None))
            return
        codes, certificate = solve_queries(
            gram,
            atoms.lengthened(cross),
            alpha,
            first=rows.start,
            short=short,
            ridge=ridge,
            query_norm=norms,
            positive=positive,
            n_jobs=n_jobs,
        )
        block = CodedBlock(rows, cross, atoms.lengthened(codes), certificate.objective)
        found[rows.start] = use(block)

    # Threads share whole blocks: divergences, exponentials, codes and what they are used for.
    run_blocks(code, len(X), _shared_block(X, len(gram), jobs), jobs, uses_blas=jobs > 1)
    short.warn()
    return [found[start] for start in sorted(found)]


def coded_feature_blocks(
    X: FloatArray,
    kernel: LandmarkKernel,
    alpha: float,
    *,
    ridge: float = 0.0,
    weights: Floats | None = None,
    n_jobs: int | None = None,
) -> Iterator[tuple[Floats, scipy.sparse.csr_array]]:
    """Yield features (m, r) and codes (m, N) of checked matrices X, block by block.

    The codes are found with the Gram matrix of the atoms, or by working sets if the kernel has none.
    Weights of the atoms do what they do in `for_coded_blocks`.
    """
    atoms = AtomLengths(weights)
    vectors = atoms.lengthened(kernel.features_.T).T
    gram = atoms.lengthened_gram(kernel.gram_) if hasattr(kernel, "gram_") else None
    short = ShortCodes()
    for rows in block_slices(len(X), _block(X, len(vectors))):
        features = kernel.space.features(X[rows], n_jobs)
        block: Any = {"ridge": ridge, "n_jobs": n_jobs, "first": rows.start, "short": short}
        if gram is None:
            codes, _ = code_features(vectors, features, alpha, **block)
        else:
            codes, _ = solve_queries(
                gram,
                row_products(features, vectors.T),
                alpha,
                query_norm=np.einsum("ij,ij->i", features, features),
                sparse=True,
                **block,
            )
        yield features, atoms.lengthened(codes)
    short.warn()


def _block(X: FloatArray, n_atoms: int) -> int:
    """Return how many queries to code at a time."""
    each: int = max(X.itemsize * X.shape[-1] ** 2, 8 * n_atoms)
    return max(1, _BLOCK_BYTES // each)


def _shared_block(X: FloatArray, n_atoms: int, jobs: int) -> int:
    """Return the number of queries in a block, so that threads have some blocks each."""
    block = _block(X, n_atoms)
    least = int(_LEAST_BLOCK_WORK / (n_atoms * (_ATOM_WORK + X.shape[-1] ** 3)))
    if jobs == 1 or len(X) < max(4 * jobs, 2 * least):
        return block  # of few queries threads share the work on each
    return min(block, max(-(-len(X) // (4 * jobs)), least))


def code_matrices(X: FloatArray, kernel: Kernel, alpha: float, **coding: Any) -> FloatArray:
    """Return the codes of checked matrices X over the atoms of a fitted kernel, one per row."""
    codes = np.empty((len(X), len(kernel.gram_)))

    def keep(block: CodedBlock) -> None:
        codes[block.rows] = block.codes

    for_coded_blocks(keep, X, kernel, alpha, losses=False, **coding)
    return codes


def residuals(codes: Floats, gram: FloatArray, cross: FloatArray) -> Floats:
    """Return 1 − 2 yᵀk + yᵀKy of codes y (m, N), given kernel values k between queries and atoms."""
    return np.asarray(1.0 - np.einsum("ij,ij->i", codes, 2.0 * cross - row_products(codes, gram)))


def of_norm_one(codes: FloatArray) -> FloatArray:
    """Return every code divided by its norm; zeros stay zeros."""
    norms = np.linalg.norm(codes, axis=1, keepdims=True)
    return np.asarray(codes / np.where(norms > 0, norms, 1.0))
