"""What is fixed before a dictionary is learned: the kernel, β, α, and how an indefinite kernel is made sound.

A `Problem` computes with the kernel itself, a `LandmarkProblem` with its positive definite form in the
span of landmarks. Each knows what passes look at of samples, how these are coded, and which update moves its atoms.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, TypeAlias

import numpy as np
import scipy.sparse
from numpy.typing import ArrayLike, NDArray

from spdatoms._utils.sampling import distinct_samples, evenly_spaced
from spdatoms._utils.typing import FloatArray, Floats
from spdatoms._utils.warning import warn_user
from spdatoms.dictionary._kernel_update import (
    LEAST_SCHUR,
    KernelUpdate,
    has_margin,
    times_weights,
)
from spdatoms.dictionary._landmark_update import LandmarkUpdate
from spdatoms.dictionary._samples import Coded
from spdatoms.divergences import Divergence
from spdatoms.divergences.atom_sums import column_sums, columns_of_entries
from spdatoms.exceptions import IndefiniteKernelWarning
from spdatoms.geometry.hermitian import as_double
from spdatoms.geometry.semidefinite import eigenvalue_tolerance
from spdatoms.kernels.bandwidth import choose_beta, coding_beta, kernel_in_place, kernel_values
from spdatoms.kernels.base import Kernel
from spdatoms.kernels.kernel import RidgeKernel
from spdatoms.kernels.landmarks import (
    SHARE,
    LandmarkKernel,
    LandmarkSpace,
    choose_landmarks,
    landmark_gram,
)
from spdatoms.lasso.alpha import coding_alpha, kernel_spread
from spdatoms.lasso.solve import solve_queries
from spdatoms.layout import ANY, BOOLEAN, PENALTY, POSITIVE, Maybe, Part, part
from spdatoms.scale.parts import SumTuple

#: β and the ridge are found from this many samples at most, α from the codes of this many.
_SUBSAMPLE, _CODED = 500, 200
#: With an automatic β no eigenvalue is below minus this share of the spread of φ(X), if that can be had.
_ALLOWANCE = 0.25
#: K + μI has no eigenvalue below this on the subsample and the first atoms.
_MARGIN = 1e-3
#: Share of non-zeros above which YᵀY is faster as a dense product.
_DENSE_CODES = 0.15
#: The automatic number of landmarks.
_LANDMARKS = 400
#: The α of scores, where β = 1 / median.
_COMMON_ALPHA = 0.1


@dataclass(frozen=True)
class Problem:
    """The kernel exp(−β·d) and the objective, fixed from the first step to the last.

    Attributes
    ----------
    divergence : Divergence
        The d of the kernel.
    beta, alpha : float
        β, and the penalty α of ‖y‖₁.
    ridge : float
        The penalty μ of ‖y‖².
    margin : float or None
        The ν that no eigenvalue of K + μI may fall below; None where the kernel is positive definite
        on every set of matrices of this size, and there is nothing to watch.
    positive : bool
        Whether codes are not negative.
    """

    divergence: Annotated[Divergence, Part(Divergence)]
    beta: Annotated[float, POSITIVE]
    alpha: Annotated[float, PENALTY]
    ridge: Annotated[float, PENALTY]
    margin: Annotated[float | None, Maybe(ANY)]
    positive: Annotated[bool, BOOLEAN] = False
    _stored = part()
    #: Matrices of a stream are read and prepared in every pass.
    n_features: ClassVar[int | None] = None
    update: ClassVar[type[KernelUpdate]] = KernelUpdate

    @property
    def shift(self) -> float | None:
        """σ = μ − ν of `GramMargin`, None if there is no margin to keep."""
        return None if self.margin is None else self.ridge - self.margin

    def values(self, C: Floats, D: Floats | None = None, n_jobs: int | None = None) -> Floats:
        """Return k(C_p, D_j), or k(C_p, C_q) without D."""
        prepare = self.divergence.prepare
        other = None if D is None else prepare(D)
        return kernel_values(self.divergence.pairwise(prepare(C), other, n_jobs=n_jobs), self.beta)

    def images(self, atoms: Floats) -> Floats:
        """Return K of a dictionary."""
        return self.values(atoms)

    def has_margin(self, gram: Floats) -> bool:
        """Return whether K has the margin to keep, if there is one."""
        return self.shift is None or has_margin(gram, self.shift, LEAST_SCHUR)

    def admits(self, atoms: Floats) -> bool:
        """Return whether a dictionary can be learned on from."""
        return self.has_margin(self.images(atoms))

    def ridged(self, gram: Floats) -> Floats:
        """Return K + μI."""
        return gram + self.ridge * np.eye(len(gram))

    def kernel(self, metric: str | Divergence, n_jobs: int | None) -> Kernel:
        """Return the kernel that codes other matrices over the atoms."""
        return RidgeKernel(metric, self.beta, self.ridge, n_jobs)

    def prepare(self, X: FloatArray) -> Any:
        """Return what passes look at of samples X."""
        return self.divergence.prepare(X)

    def coding(self, gram: Floats, atoms: Floats) -> tuple[Floats, Any, Floats]:
        """Return what a coding needs of a dictionary: K + μI, and D, prepared and as it is."""
        return self.ridged(gram), self.divergence.prepare(atoms), atoms

    def code(
        self, samples: Any, start: Coded, gram: Floats, prepared: Any, atoms: Floats
    ) -> tuple[Coded, SumTuple]:
        """Code prepared samples, each from its last code.

        The sums are Σ_i w_i f(y_i), the number of non-zeros, A = YᵀWY, and for every atom Σ_i w_i Y_ir k(X_i, D_r)
        and the sums of the divergence with the weights w_i Y_ir k(X_i, D_r).
        """
        cross = kernel_in_place(self.divergence.pairwise(samples, prepared), self.beta)
        rows, losses = _coded(self, gram, cross, start)
        Y = rows.tocsc()
        weighted = times_weights(Y, Y.data * cross[Y.indices, columns_of_entries(Y)], start.weights)
        sums = (
            code_products(times_weights(Y, Y.data, start.weights, 0.5)),
            column_sums(weighted),
            self.divergence.atom_sums(samples, weighted, atoms),
        )
        return Coded(Y, losses, start.weights), SumTuple((float(losses.sum()), Y.nnz, *sums))


@dataclass(frozen=True)
class LandmarkProblem:
    """The positive definite kernel φ(X)ᵀφ(Y) in the span of landmarks, and the objective.

    Matrices are read once, for their features. After that an iteration needs the features alone: coding takes them,
    and of the codes the atoms want to know A = YᵀWY and B = YᵀWΦ. Features are kept in single precision.

    Attributes
    ----------
    space : LandmarkSpace
        The map φ.
    alpha : float
        The penalty α of ‖y‖₁.
    positive : bool
        Whether codes are not negative.
    """

    space: Annotated[LandmarkSpace, Part(LandmarkSpace)]
    alpha: Annotated[float, PENALTY]
    positive: Annotated[bool, BOOLEAN] = False
    _stored = part()
    #: Zero: the kernel is positive definite.
    ridge: ClassVar[float] = 0.0
    update: ClassVar[type[LandmarkUpdate]] = LandmarkUpdate

    @property
    def divergence(self) -> Divergence:
        """The d of the kernel that φ(X)ᵀφ(Y) approximates."""
        return self.space.divergence

    @property
    def beta(self) -> float:
        """The β of the kernel that φ(X)ᵀφ(Y) approximates."""
        return self.space.beta

    @property
    def n_features(self) -> int:
        """The length of φ(X)."""
        return self.space.size

    def images(self, atoms: Floats) -> Floats:
        """Return φ of a dictionary."""
        return self.space.features(atoms)

    def admits(self, atoms: Floats) -> bool:
        """Return True: every Gram matrix is positive semi-definite."""
        return True

    def kernel(self, metric: str | Divergence, n_jobs: int | None) -> Kernel:
        """Return the kernel that codes other matrices over the atoms."""
        return LandmarkKernel(self.space, n_jobs)

    def prepare(self, X: FloatArray) -> NDArray[np.float32]:
        """Return what passes look at of samples X: Φ."""
        return self.space.features(X).astype(np.float32)

    def coding(self, P: Floats, atoms: Floats) -> tuple[Floats, Floats]:
        """Return what a coding needs of a dictionary: the features P of its atoms, and PPᵀ."""
        return landmark_gram(P), P

    def code(self, samples: Any, start: Coded, gram: Floats, P: Floats) -> tuple[Coded, SumTuple]:
        """Code samples with these features, each from its last code.

        The sums are Σ_i w_i f(y_i), the number of non-zeros, A and B.
        """
        features = np.asarray(samples).astype(np.float64)
        norms = np.einsum("ij,ij->i", features, features)
        Y, losses = _coded(self, gram, features @ P.T, start, norms)
        coded = Coded(Y.tocsc(), losses, start.weights)
        if start.weights is not None:  # √w y_i and √w φ(X_i) in the place of y_i and φ(X_i)
            roots = np.sqrt(start.weights)[:, None]
            Y, features = Y.multiply(roots).tocsr(), roots * features
        sums = code_products(Y), np.asarray(Y.T @ features)
        return coded, SumTuple((float(losses.sum()), Y.nnz, *sums))


AnyProblem: TypeAlias = Problem | LandmarkProblem


def _coded(
    problem: AnyProblem, gram: Floats, cross: Floats, start: Coded, norms: Floats | float = 1.0
) -> tuple[scipy.sparse.csr_array, Floats]:
    """Return Y, and w_i f(y_i) of every sample."""
    codes, certificate = solve_queries(
        gram,
        cross,
        problem.alpha,
        positive=problem.positive,
        query_norm=norms,
        init=start.columns().toarray(),
    )
    losses = certificate.objective
    return scipy.sparse.csr_array(
        codes
    ), losses if start.weights is None else start.weights * losses


def code_products(Y: scipy.sparse.sparray) -> Floats:
    """Return YᵀY."""
    if Y.nnz > _DENSE_CODES * Y.shape[0] * Y.shape[1]:
        dense = Y.toarray()
        return np.asarray(dense.T @ dense)
    return np.asarray((Y.T @ Y).toarray())


def fix_problem(
    X: Any,
    atoms: Floats,
    divergence: Divergence,
    beta: float | str,
    alpha: float | str,
    landmarks: str | int | ArrayLike | None = None,
    positive: bool = False,
    n_jobs: int | None = None,
) -> AnyProblem:
    """Choose β and α, and what makes the kernel sound, from a subsample of X and the first atoms.

    With landmarks, or automatically where the kernel is guaranteed to be positive definite for no β,
    the problem is that in the span of landmarks. For such a kernel it is not enough that the
    subsample shows nothing: atoms move to where it is indefinite, and F below zero. Else the kernel
    gets a ridge μ = max(0, 0.001 − λ_min) with the least eigenvalue of the Gram matrix of samples and
    atoms, unless it is guaranteed to be positive definite. On them f(y) ≥ −μ then holds for every y.
    Learning would seek out other matrices where it does not, so the least eigenvalue of K + μI may
    fall to ν, half of what it is for the first atoms, or half of μ if that is less: with N atoms
    f(y) ≥ 1 − N/ν, whatever they are. An automatic β is as small as a small ridge allows.
    """
    samples = as_double(X[evenly_spaced(len(X), _SUBSAMPLE)])
    both = divergence.prepare(np.concatenate([samples, atoms]))
    divergences = divergence.pairwise(both, n_jobs=n_jobs)
    m, n = len(samples), int(X.shape[-1])
    expected = isinstance(beta, str)
    beta = choose_beta(beta, divergences[:m, :m])
    if expected:
        beta = coding_beta(beta, divergences, divergence, n, _ALLOWANCE)
    gram = kernel_values(divergences, beta)
    spread = kernel_spread(gram[:m, :m])
    guaranteed = divergence.kernel_is_guaranteed(beta, n)
    eigenvalues = np.ones(2) if guaranteed else np.linalg.eigvalsh(gram)
    least = float(eigenvalues[0])
    indefinite = least < -eigenvalue_tolerance(gram) * eigenvalues[-1]
    expected &= least >= -_ALLOWANCE * spread
    automatic = isinstance(landmarks, str)
    never_sound = not divergence.kernel_is_guaranteed(np.inf, n)
    wanted = never_sound if automatic else landmarks is not None
    problem: AnyProblem
    if wanted:
        space = _space(X, divergence, beta, _LANDMARKS if automatic else landmarks)
        problem = LandmarkProblem(space, 0.0, positive)
        remedy = (
            f"the dictionary is learned in the span of {len(space.landmarks)} landmarks, where it is "
            "positive definite"
        )
    else:
        ridge, margin = (0.0, None) if guaranteed else _ridge_and_margin(least, gram[m:, m:])
        problem = Problem(divergence, beta, 0.0, ridge, margin, positive)
        remedy = (
            f"a ridge of {ridge:.3g} times the squared norm of the codes is added to the objective"
        )
    if indefinite and not expected:
        warn_user(
            f"The {divergence.name} kernel at beta={beta:.3g} is indefinite on these matrices (least "
            f"eigenvalue {least:.3g}, greatest {eigenvalues[-1]:.3g}): {remedy}.",
            IndefiniteKernelWarning,
        )
    if isinstance(alpha, str):
        kernel = problem.kernel(divergence, n_jobs).fit_checked(atoms)
        cross = kernel.cross_checked(samples[evenly_spaced(m, _CODED)])
        # The nearest atom is often the sample itself, or nearly: without it codes are those of new matrices.
        alpha = coding_alpha(
            spread, kernel.gram_, cross, positive=positive, exclude=cross.argmax(axis=1)
        )
    return replace(problem, alpha=float(alpha))


def common_problem(X: Any, divergence: Divergence, positive: bool) -> LandmarkProblem:
    """Return the problem that matrices X fix alone, whatever was learned, so that losses under it can be compared.

    Equal matrices count once, so that weights of losses are repetitions.
    """
    some = as_double(X[evenly_spaced(len(X), _LANDMARKS)])
    landmarks = some[distinct_samples(some, range(len(some)), len(some))]
    space = LandmarkSpace.of(divergence, landmarks, "auto", SHARE, centred=True)
    return LandmarkProblem(space, _COMMON_ALPHA, positive)


def _ridge_and_margin(least: float, gram: Floats) -> tuple[float, float]:
    """Return μ and ν for the least eigenvalue of samples and atoms, and the Gram matrix of the atoms."""
    ridge = max(0.0, _MARGIN - least)
    own = float(np.linalg.eigvalsh(gram)[0])
    return ridge, 0.5 * min(max(ridge, _MARGIN), own + ridge)


def _space(X: Any, divergence: Divergence, beta: float, landmarks: Any) -> LandmarkSpace:
    """Return the span of given landmarks, or of this number of samples, evenly taken."""
    if np.ndim(landmarks) == 0:
        Z = as_double(X[evenly_spaced(len(X), int(landmarks))])
    else:
        Z, _ = choose_landmarks(X, landmarks, 0, divergence, None, None)
    return LandmarkSpace.of(divergence, Z, beta, SHARE, centred=True).condensed()
