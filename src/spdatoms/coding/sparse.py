"""`SPDSparseCoder`: SPD matrices in, sparse codes over a dictionary of SPD matrices out. And the same on logarithms."""

from __future__ import annotations

from abc import abstractmethod
from copy import copy
from dataclasses import KW_ONLY
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from spdatoms._utils import parameters as allow
from spdatoms._utils.checks import check_size
from spdatoms._utils.estimator import Threaded
from spdatoms._utils.sampling import evenly_spaced
from spdatoms._utils.typing import FloatArray
from spdatoms.base import checked_fit
from spdatoms.coding.coder import Coder
from spdatoms.divergences import Divergence
from spdatoms.divergences.hermitian import over
from spdatoms.divergences.registry import SYMMETRIC_METRIC, symmetric_divergence
from spdatoms.geometry.channels import Mask, cut
from spdatoms.geometry.validation import check_spd
from spdatoms.kernels import DivergenceKernel, Kernel
from spdatoms.kernels.bandwidth import automatic_beta, coding_beta, subsample_divergences
from spdatoms.kernels.correction import CORRECTION
from spdatoms.kernels.log_cosine import WithLogCosineKernel
from spdatoms.lasso.alpha import coding_alpha, kernel_spread
from spdatoms.layout import Part, holds

#: The automatic α is found from the kernel between this many atoms, and the codes of this many matrices, at most.
_SUBSAMPLE, _CODED = 500, 200


class KernelCoder(Coder):
    """A coder over given atoms, or over the matrices given to ``fit``, with a kernel of its subclass."""

    alpha: float | str
    _stored = holds("atoms_ alpha_", kernel_=Part(Kernel))

    @abstractmethod
    def _kernel(self) -> Kernel:
        """Return the kernel for the atoms."""

    @checked_fit
    def fit(self, X: ArrayLike, y: object = None) -> Self:
        """Compute the Gram matrix of the dictionary.

        Parameters
        ----------
        X : array-like of shape (m, n, n)
            SPD matrices: the atoms, if no dictionary was given.
        """
        X = self.check_training_matrices(X)
        if self.dictionary is None:
            self.atoms_ = X
        else:
            atoms = check_spd(self.dictionary, name="dictionary")
            self.atoms_ = check_size(atoms, self.n_features_in_, name="dictionary")
        self._use_atoms(X)
        return self

    def _use_atoms(self, X: FloatArray) -> None:
        """Set the kernel of the atoms, and α, for matrices X like those to be coded."""
        self.kernel_ = self._kernel().fit_checked(self.atoms_)
        self.alpha_ = self._coding_alpha(X) if isinstance(self.alpha, str) else float(self.alpha)

    def _coding_alpha(self, X: FloatArray) -> float:
        """Return the automatic α, of atoms as codes over the other atoms if X are the atoms."""
        gram = self.kernel_.gram_
        atoms, some = evenly_spaced(len(gram), _SUBSAMPLE), evenly_spaced(len(X), _CODED)
        own = X is self.atoms_
        return coding_alpha(
            kernel_spread(gram[atoms, atoms]),
            gram,
            gram[some] if own else self.kernel_.cross_checked(X[some]),
            ridge=self.ridge,
            positive=self.positive,
            exclude=np.arange(len(gram))[some] if own else None,
        )

    def _cut(self, known: Mask) -> Self:
        if not hasattr(self, "atoms_"):
            return self._over_its_dictionary()._cut(known)
        model = copy(self)
        model.n_features_in_, model.atoms_ = int(known.sum()), cut(self.atoms_, known)
        model._use_atoms(model.atoms_)
        if self.dictionary is not None:  # the matrices that its α is for are not kept
            model.alpha_ = self.alpha_
        return model

    @property
    def _n_channels(self) -> int:
        return self.n_features_in_ if hasattr(self, "atoms_") else np.shape(self.dictionary)[-1]

    def __sklearn_is_fitted__(self) -> bool:
        return self.dictionary is not None or hasattr(self, "atoms_")


@allow.with_parameters
class SPDSparseCoder(Threaded, KernelCoder):
    """Sparse codes of SPD matrices over a dictionary.

    min_y 1 − 2 yᵀk_X + yᵀKy + α‖y‖₁ + ρ‖y‖²: the sparse code of X over atoms D_1 … D_N.

    K holds the kernel values exp(−β·d) between atoms, k_X those between X and the atoms. The code is
    exact: see `sparse_code`.

    Parameters
    ----------
    dictionary : array-like of shape (N, n, n), default=None
        The atoms. Without them the matrices given to `fit` are the atoms. With them `transform` needs no
        `fit`; an automatic α is then that of the atoms, each coded over the others.
    beta : float or "auto", default="auto"
        The β of the kernel. ``"auto"`` is 0.2 over the median divergence between two atoms; 0.5 or 1 over it where the
        Gram matrix of the atoms would be indefinite; 1 over it where the kernel is known to be positive definite for
        no β, as for Jeffrey's divergence.
    alpha : float or "auto", default="auto"
        The penalty of ‖y‖₁ (the paper's λ). ``"auto"`` is 0.05·(1 − k̄), with the mean k̄ of the kernel between two
        atoms: a twentieth of the variance of the atoms in the feature space. If the codes of the matrices given to
        `fit` then use more than a fifth of the atoms (and more than five), it is as much greater as need be, up to
        0.5·(1 − k̄).

    Attributes
    ----------
    atoms_, kernel_, alpha_, n_features_in_

    Notes
    -----
    Over atoms that are the matrices given to `fit`, each of these is its own code, a unit vector: a classifier that
    learns from them meets codes of another kind in its queries. Give it codes over a learned dictionary, or
    leave-one-out codes: ``sparse_code(K, K, alpha, exclude=range(N))``.

    Examples
    --------
    >>> import numpy as np
    >>> from spdatoms import SPDSparseCoder
    >>> D = np.array([[[1.0, 0.0], [0.0, 1.0]], [[9.0, 0.0], [0.0, 1.0]]])
    >>> coder = SPDSparseCoder(dictionary=D, beta=1.0, alpha=0.1).fit(D)
    >>> coder.transform(2.0 * D).round(2)
    array([[ 0.68,  0.27],
           [-0.05,  0.87]])
    """

    hermitian: ClassVar[bool] = True

    dictionary: Any = allow.parameter(allow.NONE | allow.MATRICES, default=None)
    metric: str | Divergence = allow.parameter(SYMMETRIC_METRIC, default="stein")
    beta: float | str = allow.parameter(allow.BETA, default="auto")
    alpha: float | str = allow.parameter(allow.ALPHA, default="auto")
    _: KW_ONLY
    ridge: float = allow.parameter(allow.real(0), default=0.0)
    positive: bool = allow.parameter(allow.BOOLEAN, default=False)
    correction: str = allow.parameter(CORRECTION, default="clip")
    normalise: bool = allow.parameter(allow.BOOLEAN, default=False)

    def _kernel(self) -> Kernel:
        beta = self.beta
        if isinstance(beta, str):
            divergence = over(symmetric_divergence(self.metric), self.atoms_)
            among = subsample_divergences(self.atoms_, divergence)
            beta = coding_beta(automatic_beta(among), among, divergence, self.n_features_in_)
        return DivergenceKernel(self.metric, beta, self.correction, self.n_jobs)


@allow.with_parameters
class LogEuclideanSparseCoder(Threaded, WithLogCosineKernel, KernelCoder):
    """Sparse codes of the logarithms of SPD matrices.

    min_y ‖v − Σ_j y_j d_j‖² + α‖y‖₁: the sparse code of X over atoms D_1 … D_N, on logarithms.

    v is the half-vector of log(X/c), scaled to length one, and d_j that of log(D_j/c); c is the scale
    of the atoms, the geometric mean of all their eigenvalues. The code is exact: see `sparse_code`.

    Parameters
    ----------
    alpha : float or "auto", default="auto"
        The penalty of ‖y‖₁, as in `SPDSparseCoder`, with d_iᵀd_j for the kernel.
    rescale : bool, default=True
        Divide by c, which makes codes independent of the unit of X. The published method [1]_ has
        c = 1, that is ``rescale=False``.

    Attributes
    ----------
    atoms_
    kernel_ : LogCosineKernel
        The inner products of the atoms, ``gram_``, and of anything with them.
    alpha_, n_features_in_

    References
    ----------
    .. [1] K. Guo, P. Ishwar, J. Konrad, Action recognition from video using feature covariance
       matrices, 2013.

    Examples
    --------
    >>> import numpy as np
    >>> from spdatoms import LogEuclideanSparseCoder
    >>> D = np.exp([[1.0, 0.0], [0.0, 1.0]])[:, :, None] * np.eye(2)
    >>> coder = LogEuclideanSparseCoder(dictionary=D, alpha=0.1, rescale=False).fit(D)
    >>> coder.transform(D**3).round(2)
    array([[0.95, 0.  ],
           [0.  , 0.95]])
    """

    dictionary: Any = allow.parameter(allow.NONE | allow.MATRICES, default=None)
    alpha: float | str = allow.parameter(allow.ALPHA, default="auto")
    rescale: bool = allow.parameter(allow.BOOLEAN, default=True)
    _: KW_ONLY
    positive: bool = allow.parameter(allow.BOOLEAN, default=False)
