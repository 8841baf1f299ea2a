"""What coders share: codes of matrices over atoms, and channels that are filled in by what codes describe."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin, clone
from sklearn.utils.validation import check_is_fitted

from spdatoms._utils.notebook import PicturedAtoms
from spdatoms._utils.threads import one_blas_thread
from spdatoms._utils.typing import Array, FloatArray, Floats
from spdatoms.base import SPDEstimator, by_channels, estimator_call, per_matrix
from spdatoms.base.incomplete_queries import warn_of_no_channel
from spdatoms.coding.blocks import (
    CodedBlock,
    code_matrices,
    for_coded_blocks,
    of_norm_one,
    residuals,
)
from spdatoms.divergences import Divergence
from spdatoms.divergences.hermitian import over
from spdatoms.divergences.incomplete import between, completed
from spdatoms.divergences.means import mean
from spdatoms.divergences.registry import symmetric_divergence
from spdatoms.geometry.channels import Mask, find_unfit_channels
from spdatoms.geometry.hermitian import as_double, real_type
from spdatoms.kernels import Kernel
from spdatoms.kernels.preimages import preimages


class Coder(PicturedAtoms, ClassNamePrefixFeaturesOutMixin, TransformerMixin, SPDEstimator):
    """An estimator that codes matrices over atoms, and fills in channels by what codes describe."""

    _seen: ClassVar[str] = "atoms_"
    metric: str | Divergence
    positive: bool
    n_jobs: int | None
    atoms_: FloatArray
    kernel_: Kernel
    alpha_: float
    # For subclasses without these parameters:
    dictionary: Any = None
    ridge: float = 0.0
    normalise: bool = False

    @per_matrix
    def transform(self, X: ArrayLike, *, channels: ArrayLike | None = None) -> FloatArray:
        """Code matrices over the atoms.

        Returns
        -------
        ndarray of shape (m, N)
            The codes, one per row.
        """
        if self.dictionary is not None and not hasattr(self, "atoms_"):
            return np.asarray(self._over_its_dictionary().transform(X))
        X = self.check_queries(X)
        codes = code_matrices(X, self.kernel_, self.alpha_, **self._coding())
        codes = of_norm_one(codes) if self.normalise else codes
        return codes.astype(real_type(X, self.atoms_), copy=False)

    @per_matrix
    def score_samples(self, X: ArrayLike, *, channels: ArrayLike | None = None) -> Floats:
        """Return minus ‖φ(X) − Σ_j y_j φ(D_j)‖²: how well each matrix is represented by its code y.

        Returns
        -------
        ndarray of shape (m,)
            The scores, from 0, if X is represented exactly, to −1, if the code is zero. `SPDNovelty` says which
            are unusually low.
        """
        if self.dictionary is not None and not hasattr(self, "atoms_"):
            return np.asarray(self._over_its_dictionary().score_samples(X))
        X = self.check_queries(X)

        def score(block: CodedBlock) -> Floats:
            return -residuals(block.codes, self.kernel_.gram_, block.cross)

        coding = self._coding() | {"losses": False}
        return np.concatenate(for_coded_blocks(score, X, self.kernel_, self.alpha_, **coding))

    @estimator_call
    def complete(self, X: ArrayLike, *, channels: ArrayLike | None = None) -> FloatArray:
        """Fill in channels that matrices lack, by regression on the matrix that the code describes.

        X_mo = A X_oo and X_mm = A X_oo Aᵀ + R, with A = S_mo S_oo⁻¹ and R = S_mm − A S_om: what is missing (m) follows
        from what is known (o). S is the mean of two matrices, by Jeffrey's divergence: the C with φ(C) nearest to
        Σ_j y_j φ(D_j), y being the code of X_oo over the atoms cut to these channels, and the mean of all atoms, whose
        weight is the loss of the code. Known entries stay what they are, and the result is positive definite.

        Returns
        -------
        ndarray of shape (m, n, n)
            The matrices, complete. One without channels is the mean of the atoms, and there is a warning.
        """
        found = self._with_channels(X, channels)
        if found is None:
            return self.check_queries(X)
        X, known = found
        find_unfit_channels(X, known).raise_if_any("X", X.shape[:1])
        if not hasattr(self, "atoms_"):
            return self._over_its_dictionary().complete(X, channels=known)
        if not hasattr(self.kernel_, "beta_"):
            raise ValueError("complete needs the kernel exp(−β·d) of a divergence.")
        warn_of_no_channel(known, "they are the mean of the atoms")
        atoms = as_double(self.atoms_)
        models = np.tile(mean(atoms, "jeffrey").astype(np.result_type(X, atoms)), (len(X), 1, 1))
        rows = np.flatnonzero(known.any(axis=1) & ~known.all(axis=1))
        if len(rows):
            codes, losses = self._coded(X[rows], channels=known[rows])
            some = codes.any(axis=1)
            rows, codes, losses = rows[some], codes[some], losses[some]
            divergence = over(symmetric_divergence(self.metric), atoms)
            with one_blas_thread():
                described = preimages(divergence, atoms, float(self.kernel_.beta_), codes)
            models[rows] = between(described, models[rows], np.clip(losses, 0, 1)[:, None, None])
        return completed(as_double(X), known, models).astype(X.dtype, copy=False)

    @by_channels
    def _coded(self, X: FloatArray, *, channels: Mask | None = None) -> tuple[Floats, Floats]:
        X = self.check_queries(X)
        found = for_coded_blocks(
            lambda block: (block.codes, block.losses),
            X,
            self.kernel_,
            self.alpha_,
            **self._coding(),
        )
        codes, losses = (np.concatenate(parts) for parts in zip(*found, strict=True))
        return codes, losses

    def _coding(self) -> dict[str, Any]:
        """Return what coding wants to know besides the kernel and α."""
        return {"ridge": self.ridge, "positive": self.positive, "n_jobs": self.n_jobs}

    def _over_its_dictionary(self) -> Self:
        """Return the coder fitted to its dictionary."""
        fitted: Self = clone(self).set_params(dictionary=None).fit(self.dictionary)
        return fitted

    def _answers_to_nothing(self) -> dict[str, Array]:
        return {"transform": np.zeros((1, self._n_features_out), np.float32)}

    @property
    def _n_features_out(self) -> int:
        check_is_fitted(self)
        return len(self.atoms_ if hasattr(self, "atoms_") else self.dictionary)
