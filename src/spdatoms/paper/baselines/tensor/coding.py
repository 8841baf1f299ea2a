"""Tensor sparse coding: X ≈ Σ_j y_j D_j with y ≥ 0 under the Burg divergence, a MAXDET problem.

R. Sivalingam, D. Boley, V. Morellas, N. Papanikolopoulos: *Tensor sparse coding for positive definite
matrices*, IEEE TPAMI 36 (3), 2014; *Positive definite dictionary learning for region covariances*, ICCV 2011.
"""

from __future__ import annotations

from dataclasses import KW_ONLY

import numpy as np
from numpy.typing import ArrayLike

from spdatoms._utils import parameters as allow
from spdatoms._utils.estimator import Threaded
from spdatoms._utils.products import row_products
from spdatoms._utils.threads import one_blas_thread
from spdatoms._utils.typing import FloatArray, Floats
from spdatoms.base import estimator_call
from spdatoms.classification.scores import nearest_atom_scores
from spdatoms.geometry.batched import inverse, log_determinant
from spdatoms.lasso.certificate import Certificate
from spdatoms.paper.baselines.atoms import (
    Coding,
    DictionaryCoder,
    LabelledAtomsClassifier,
    penalties,
    ranked,
)
from spdatoms.paper.baselines.tensor._maxdet import MaxdetDictionary, TensorCodes
from spdatoms.paper.baselines.tensor._updates import combine


class TensorCoding(Threaded, Coding):
    """What the estimators of tensor sparse coding share: codes of queries over ``atoms_``."""

    alpha: float
    bounded: bool

    def _code(self, X: FloatArray) -> tuple[Floats, Floats]:
        coded = self._certified(X)
        return coded.codes, coded.certificate.objective

    def _certified(self, X: FloatArray) -> TensorCodes:
        with one_blas_thread():
            return self._code_over(MaxdetDictionary(self.atoms_), X)

    def _code_over(self, dictionary: MaxdetDictionary, X: FloatArray) -> TensorCodes:
        alpha = penalties(self.alpha, self.atom_weights_)
        return dictionary.code(X, alpha, bounded=bool(self.bounded), n_jobs=self.n_jobs)


@allow.with_parameters
class TensorSparseCoder(TensorCoding, DictionaryCoder):
    """Tensor sparse coding: a matrix as a non-negative sum of atoms.

    min_{y≥0} Σ_j y_j (tr(X⁻¹D_j) + α) − logdet(Σ_j y_j D_j): tensor sparse coding.

    Up to a constant it is B(Σ_j y_j D_j, X) + α‖y‖₁ with the Burg divergence B. A code is never zero,
    because the zero matrix is infinitely far from every X.

    Parameters
    ----------
    alpha : float, default=0.01
        The penalty of ‖y‖₁. With atoms of the size of the queries, ‖y‖₁ is about 1.
    bounded : bool, default=False
        Require Σ_j y_j D_j ⪯ X as well, as the original authors do.

    Attributes
    ----------
    atoms_, n_features_in_

    Examples
    --------
    >>> import numpy as np
    >>> from spdatoms.paper.baselines import TensorSparseCoder
    >>> D = np.array([np.diag([1.0, 4.0]), np.diag([4.0, 1.0])])
    >>> TensorSparseCoder(D, alpha=0.0).fit(D).transform(D[:1] + 2 * D[1:]).round(6)
    array([[1., 2.]])
    """

    dictionary: ArrayLike | None = allow.parameter(allow.NONE | allow.MATRICES, default=None)
    alpha: float = allow.parameter(allow.real(0), default=0.01)
    _: KW_ONLY
    bounded: bool = allow.parameter(allow.BOOLEAN, default=False)

    @estimator_call
    def transform_certified(self, X: ArrayLike) -> tuple[FloatArray, Certificate]:
        """Return sparse codes and how good they are.

        Returns
        -------
        codes : ndarray of shape (m, N)
            The codes, one per row.
        certificate : Certificate
            The duality gap and the optimality of each code.
        """
        X = self.check_queries(X)
        coded = self._certified(X)
        dtype = np.result_type(X, self.atoms_)
        return coded.codes.astype(dtype, copy=False), coded.certificate


@allow.with_parameters
class TensorSparseClassifier(TensorCoding, LabelledAtomsClassifier):
    """Classification by tensor sparse codes.

    The class c with the least Burg divergence B(Σ_{j∈c} y_j D_j, X), y the tensor sparse code of X.

    The training matrices are the labelled atoms; if they have weights w, their penalties are αy_j/√w_j. Classes that
    the code does not use come after those that it uses, in the order of the divergence of their best atom.

    Parameters
    ----------
    bounded : bool, default=False
        Require Σ_j y_j D_j ⪯ X as well.

    Attributes
    ----------
    classes_
    atoms_ : ndarray of shape (N, n, n)
        The training matrices, but those of weight zero.
    atom_weights_, n_features_in_

    Examples
    --------
    >>> import numpy as np
    >>> from spdatoms.paper.baselines import TensorSparseClassifier
    >>> X = np.array([np.diag([1.0, 4.0]), np.diag([4.0, 1.0])])
    >>> TensorSparseClassifier().fit(X, ["tall", "wide"]).predict(3.0 * X[::-1])
    array(['wide', 'tall'], dtype='<U4')
    """

    alpha: float = allow.parameter(allow.real(0), default=0.01)
    _: KW_ONLY
    bounded: bool = allow.parameter(allow.BOOLEAN, default=False)

    def _scores(self, X: FloatArray) -> Floats:
        """Return minus the divergences of the classes' parts."""
        with one_blas_thread():
            dictionary = MaxdetDictionary(self.atoms_)
            codes = self._code_over(dictionary, X).codes
            return self._scores_of_codes(dictionary, X, codes)

    def _scores_of_codes(
        self, dictionary: MaxdetDictionary, X: FloatArray, codes: Floats
    ) -> Floats:
        # The frame changes neither log det nor trace, and in it nothing is badly scaled.
        D = dictionary.atoms
        queries = dictionary.in_frame(np.ascontiguousarray(X, np.float64))
        inverses, logdets = inverse(queries), log_determinant(queries)
        traces = row_products(inverses.reshape(len(X), -1), D.reshape(len(D), -1).T)
        n = D.shape[-1]
        best_atom = n * np.log(traces / n) + logdets[:, None] - dictionary.logdets
        residuals = np.full((len(X), len(self.classes_)), np.inf)
        nearest = -nearest_atom_scores(best_atom, self._atom_classes, len(self.classes_))
        for c in range(len(self.classes_)):
            atoms = np.flatnonzero(self._atom_classes == c)
            used = np.flatnonzero(codes[:, atoms].any(axis=1))
            if len(used):
                y = codes[np.ix_(used, atoms)]
                linear = np.einsum("ij,ij->i", y, traces[np.ix_(used, atoms)])
                spread = log_determinant(combine(y, D[atoms])) - logdets[used]
                residuals[used, c] = linear - spread - n
        return ranked(residuals, np.maximum(nearest, 0.0))
