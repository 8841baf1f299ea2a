"""Classifiers in the tangent space at the affine-invariant mean (pyRiemann)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.utils.extmath import softmax

from spdatoms._utils.typing import Array, FloatArray, Floats
from spdatoms.base import check_labels
from spdatoms.classification import MinimumDistanceToMean

#: Iterations for the mean. After ten it is off by 1e-4 of the median distance between matrices where these are nearly
#: singular (skeletons), and by 2e-9 at most on the other columns of the comparison.
_ITERATIONS = 10


def _tangent_space() -> Any:
    try:
        from pyriemann.geometry.mean import mean_riemann
        from pyriemann.tangentspace import TangentSpace
    except ImportError as error:
        raise ImportError("This needs 'pyriemann': pip install pyriemann") from error
    return TangentSpace({"mean": partial(mean_riemann, maxiter=_ITERATIONS), "map": "riemann"})


class TangentVectors(TransformerMixin, BaseEstimator):
    """The vectors log_M(X), M the mean of the training matrices, of mean square length one.

    Where there are more dimensions than training matrices, the vectors are written in an orthonormal basis
    of the span of the training vectors: inner products among those stay as they are, and linear models are
    fitted in a fraction of the time.
    """

    def fit(self, X: FloatArray, y: object = None) -> TangentVectors:
        """Find the mean, the span and the scale of the training matrices."""
        self.fit_vectors(X)
        return self

    def fit_vectors(self, X: FloatArray) -> Floats:
        """Find the mean, the span and the scale, and return the tangent vectors themselves."""
        self.space_ = _tangent_space().fit(X)
        vectors = np.asarray(self.space_.transform(X))
        self.centre_ = vectors.mean(axis=0)
        centred = vectors - self.centre_
        self.scale_ = np.sqrt((centred**2).sum(axis=1).mean()) or 1.0
        self.basis_ = np.eye(vectors.shape[1])
        if len(vectors) <= vectors.shape[1]:
            _, lengths, basis = np.linalg.svd(centred, full_matrices=False)
            self.basis_ = basis[lengths > 1e-10 * lengths[0]]
        return vectors

    def embed(self, vectors: Floats) -> Floats:
        """Return coordinates of tangent vectors in the span of the training vectors."""
        return np.asarray((vectors - self.centre_) @ self.basis_.T / self.scale_)

    def transform(self, X: FloatArray) -> Floats:
        """Return the coordinates of the tangent vectors of matrices."""
        return self.embed(self.space_.transform(X))


@dataclass(eq=False, repr=False)
class TangentDiscriminant(ClassifierMixin, BaseEstimator):
    """−½ (x − m_c)ᵀ S⁻¹ (x − m_c) + log π_c for tangent vectors x, S shrunk as Ledoit and Wolf do.

    The shrinkage is that of the whole tangent space, although S is written in the span of the training vectors.

    Parameters
    ----------
    pooled : bool, default=True
        Whether S is the shrunk covariance of all residuals from the means m_c, or the mean of the shrunk
        covariances of the classes.
    """

    pooled: bool = True

    def fit(self, X: FloatArray, y: Array) -> TangentDiscriminant:
        """Compute the means of the classes and the covariance of the residuals from them."""
        self.classes_, labels = check_labels(y, len(X))
        self.tangent_ = TangentVectors().fit(X)
        vectors, dimension = self.tangent_.transform(X), self.tangent_.basis_.shape[1]
        members = [labels == c for c in range(len(self.classes_))]
        means = np.stack([vectors[of].mean(axis=0) for of in members])
        residuals = vectors - means[labels]
        priors = np.bincount(labels) / len(labels)
        groups = [residuals] if self.pooled else [residuals[of] for of in members]
        weights = [1.0] if self.pooled else priors
        S = sum(w * shrunk_covariance(R, dimension) for w, R in zip(weights, groups, strict=True))
        if not residuals.any():
            S = np.eye(residuals.shape[1])
        # Two members of each class leave S singular: as scikit-learn does, what has no variance is left out.
        self.coef_ = np.linalg.lstsq(S, means.T)[0].T
        self.intercept_ = np.log(priors) - 0.5 * np.einsum("cj,cj->c", means, self.coef_)
        return self

    def predict(self, X: FloatArray) -> Array:
        """Return the most probable class."""
        labels: Array = self.classes_[self._scores(X).argmax(axis=1)]
        return labels

    def predict_proba(self, X: FloatArray) -> Floats:
        """Return the probabilities of the classes."""
        return np.asarray(softmax(self._scores(X)))

    def _scores(self, X: FloatArray) -> Floats:
        return np.asarray(self.tangent_.transform(X) @ self.coef_.T + self.intercept_)


def shrunk_covariance(R: Floats, dimension: int) -> Floats:
    """Return (1 − δ) RᵀR/m + δν I with Ledoit and Wolf's δ, for centred vectors R of a space with more dimensions.

    ν = tr/p is the mean variance of all p dimensions, in most of which the vectors have no component.
    """
    S = R.T @ R / len(R)
    trace, square = np.trace(S), (S**2).sum()
    spread = square - trace**2 / dimension
    fourth = ((R**2).sum(axis=1) ** 2).mean()
    shrinkage = min(1.0, (fourth - square) / len(R) / spread) if spread > 0 else 1.0
    S *= 1.0 - shrinkage
    S.flat[:: len(S) + 1] += shrinkage * trace / dimension
    return np.asarray(S)


@dataclass(eq=False, repr=False)
class FilteredMeans(ClassifierMixin, BaseEstimator):
    """FgMDM: the nearest mean after a projection on the directions of a linear discriminant.

    Tangent vectors are projected on the span of the discriminant's weights and brought back to the cone,
    where each matrix gets the class of the nearest mean. The discriminant is fitted in the span of the training
    vectors, see `TangentVectors`.

    Parameters
    ----------
    n_jobs : int, default=None
        The number of threads.
    """

    n_jobs: int | None = None

    def fit(self, X: FloatArray, y: Array) -> FilteredMeans:
        """Find the directions, and the means of the projected matrices."""
        self.tangent_ = TangentVectors()
        vectors = self.tangent_.fit_vectors(X)
        discriminant = LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto")
        weights = discriminant.fit(self.tangent_.embed(vectors), y).coef_ @ self.tangent_.basis_
        _, lengths, directions = np.linalg.svd(weights, full_matrices=False)
        self.directions_ = directions[lengths > 1e-10 * lengths[0]]
        self.means_ = MinimumDistanceToMean(n_jobs=self.n_jobs).fit(self._filtered(vectors), y)
        self.classes_ = self.means_.classes_
        return self

    def predict(self, X: FloatArray) -> Array:
        """Return the class of the nearest mean."""
        return np.asarray(self.means_.predict(self._filtered(self.tangent_.space_.transform(X))))

    def predict_proba(self, X: FloatArray) -> Floats:
        """Return the probabilities that distances to the means give."""
        filtered = self._filtered(self.tangent_.space_.transform(X))
        return np.asarray(self.means_.predict_proba(filtered))

    def _filtered(self, vectors: Floats) -> FloatArray:
        projected = (vectors @ self.directions_.T) @ self.directions_
        return np.asarray(self.tangent_.space_.inverse_transform(projected))
