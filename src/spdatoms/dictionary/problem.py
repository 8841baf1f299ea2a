"""What is fixed before a dictionary is learned: the kernel, β, α, and how an indefinite kernel is made sound.

A `Problem` computes with the kernel itself, a `LandmarkProblem` with its positive definite form in the
span of landmarks. Both know how to look at the data, and how one iteration goes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from spdatoms._utils.sampling import distinct_samples, evenly_spaced
from spdatoms._utils.typing import FloatArray, Floats
from spdatoms._utils.warning import warn_user
from spdatoms.dictionary._coded_data import CodedData, Lasso
from spdatoms.dictionary._gram_margin import has_margin
from spdatoms.dictionary._landmark_update import LandmarkRule, LandmarkUpdate
from spdatoms.dictionary._state import State
from spdatoms.dictionary._streamed import StreamedCodedData
from spdatoms.dictionary._update import AtomUpdate, UpdateRule
from spdatoms.dictionary.features import FeatureData, StreamedFeatureData
from spdatoms.divergences import Divergence
from spdatoms.exceptions import IndefiniteKernelWarning
from spdatoms.geometry.hermitian import as_double
from spdatoms.kernels.bandwidth import choose_beta, coding_beta
from spdatoms.kernels.base import Kernel
from spdatoms.kernels.correction import eigenvalue_tolerance
from spdatoms.kernels.kernel import RidgeKernel
from spdatoms.kernels.landmarks import SHARE, LandmarkKernel, LandmarkSpace, choose_landmarks
from spdatoms.kernels.values import kernel_values
from spdatoms.lasso.alpha import coding_alpha, kernel_spread

#: β and the ridge are found from this many samples at most, α from the codes of this many.
_SUBSAMPLE, _CODED = 500, 200
#: With an automatic β no eigenvalue is below minus this share of the spread of φ(X), if that can be had.
_ALLOWANCE = 0.25
#: K + μI has no eigenvalue below this on the subsample and the first atoms.
_MARGIN = 1e-3
#: The least Schur complement of an atom in K + (μ − ν)I: what rounding cannot reach.
_LEAST_SCHUR = 1e-5
#: The least eigenvalue of an atom in its unit-diagonal scaling.
_LEAST_EIGENVALUE = 1e-10
#: The automatic number of landmarks.
_LANDMARKS = 400
#: The α of scores, where β = 1 / median.
_COMMON_ALPHA = 0.1


@dataclass(frozen=True)
class Problem:
    """The kernel and the objective, fixed from the first step to the last.

    Attributes
    ----------
    divergence : Divergence
        The d of the kernel exp(−β·d).
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

    divergence: Divergence
    beta: float
    alpha: float
    ridge: float
    margin: float | None
    positive: bool = False

    @property
    def lasso(self) -> Lasso:
        """What codes are asked for."""
        return Lasso(self.alpha, self.positive)

    def images(self, atoms: Floats) -> Floats:
        """Return K of a dictionary."""
        divergence = self.divergence
        return kernel_values(divergence.pairwise(divergence.prepare(atoms)), self.beta)

    def admits(self, atoms: Floats) -> bool:
        """Return whether the Gram matrix of a dictionary has its margin, so that it can be learned on from."""
        shift = None if self.margin is None else self.ridge - self.margin
        return shift is None or has_margin(self.images(atoms), shift, _LEAST_SCHUR)

    def ridged(self, gram: Floats) -> Floats:
        """Return K + μI."""
        return gram + self.ridge * np.eye(len(gram))

    def rule(self, update: str, block_size: int | None, X: FloatArray) -> UpdateRule:
        """Return how atoms move, so that they are SPD in the precision of X, too."""
        return UpdateRule(
            self.divergence.atom_sums(),
            self.beta,
            gradient=update == "gradient",
            block_size=block_size,
            shift=None if self.margin is None else self.ridge - self.margin,
            least_schur=_LEAST_SCHUR,
            least_eigenvalue=_least_eigenvalue(X),
        )

    def passes(
        self,
        X: Any,
        n_atoms: int,
        update: str,
        block_size: int | None,
        n_jobs: int | None,
        weights: Floats | None = None,
    ) -> tuple[Any, UpdateRule]:
        """Return the samples X, in memory or in a stream, and how atoms move."""
        rule = replace(self.rule(update, block_size, X), n_jobs=n_jobs)
        if isinstance(X, np.ndarray):
            return CodedData(X, rule.sums, self.beta, n_atoms, n_jobs, weights), rule
        data = StreamedCodedData(X, rule.sums, self.beta, n_atoms, weights)
        # To read everything again costs about as much as to try this many candidates.
        return data, replace(rule, trials_at_once=len(rule.trials), most_candidates=n_atoms // 2)

    def iterated(self, data: Any, rule: UpdateRule, state: State) -> State:
        """Return the state after one more iteration: coding, then the update of the atoms."""
        coded = data.code(self.ridged(state.images), state.atoms, self.lasso)
        update = AtomUpdate(rule, data, state.atoms, state.images)
        update.run()
        objective = (*state.objective, coded, coded + update.change)
        return State(update.atoms, update.gram, data.codes(), objective)

    def kernel(self, metric: str | Divergence, n_jobs: int | None) -> Kernel:
        """Return the kernel that codes other matrices over the atoms."""
        return RidgeKernel(metric, self.beta, self.ridge, n_jobs)


@dataclass(frozen=True)
class LandmarkProblem:
    """The positive definite kernel φ(X)ᵀφ(Y), and the objective.

    Attributes
    ----------
    space : LandmarkSpace
        The map φ.
    alpha : float
        The penalty α of ‖y‖₁.
    positive : bool
        Whether codes are not negative.
    """

    space: LandmarkSpace
    alpha: float
    positive: bool = False

    @property
    def lasso(self) -> Lasso:
        """What codes are asked for."""
        return Lasso(self.alpha, self.positive)

    @property
    def divergence(self) -> Divergence:
        """The d of the kernel that φ(X)ᵀφ(Y) approximates."""
        return self.space.divergence

    @property
    def beta(self) -> float:
        """The β of the kernel that φ(X)ᵀφ(Y) approximates."""
        return self.space.beta

    @property
    def ridge(self) -> float:
        """Zero: the kernel is positive definite."""
        return 0.0

    def images(self, atoms: Floats) -> Floats:
        """Return φ of a dictionary."""
        return self.space.features(atoms)

    def admits(self, atoms: Floats) -> bool:
        """Return True: every Gram matrix is positive semi-definite."""
        return True

    def rule(self, update: str, block_size: int | None, X: FloatArray) -> LandmarkRule:
        """Return how atoms move, so that they are SPD in the precision of X, too."""
        return LandmarkRule(self.space, update == "gradient", block_size, _least_eigenvalue(X))

    def passes(
        self,
        X: Any,
        n_atoms: int,
        update: str,
        block_size: int | None,
        n_jobs: int | None,
        weights: Floats | None = None,
    ) -> tuple[Any, LandmarkRule]:
        """Return the samples X, in memory or in a stream, and how atoms move."""
        rule = self.rule(update, block_size, X)
        if isinstance(X, np.ndarray):
            return FeatureData(X, self.space, n_atoms, n_jobs, weights), rule
        return StreamedFeatureData(X, self.space, n_atoms, weights), rule

    def iterated(self, data: Any, rule: LandmarkRule, state: State) -> State:
        """Return the state after one more iteration: coding, then the update of the atoms."""
        coded = data.code(state.images, self.lasso)
        update = LandmarkUpdate(rule, data.statistics, state.atoms, state.images)
        update.run(data)
        objective = (*state.objective, coded, coded + update.change)
        return State(update.atoms, update.features, data.codes(), objective)

    def kernel(self, metric: str | Divergence, n_jobs: int | None) -> Kernel:
        """Return the kernel that codes other matrices over the atoms."""
        return LandmarkKernel(self.space, n_jobs)


AnyProblem: TypeAlias = Problem | LandmarkProblem


def _least_eigenvalue(X: FloatArray) -> float:
    eps = float(np.finfo(X.dtype).eps)
    return max(_LEAST_EIGENVALUE, 4.0 * int(X.shape[-1]) * eps)


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
        problem, remedy = LandmarkProblem(space, 0.0, positive), _in_the_span(space)
    else:
        ridge, margin = (0.0, None) if guaranteed else _ridge_and_margin(least, gram[m:, m:])
        problem = Problem(divergence, beta, 0.0, ridge, margin, positive)
        remedy = (
            f"a ridge of {ridge:.3g} times the squared norm of the codes is added to the objective"
        )
    if indefinite and not expected:
        _warn(divergence, beta, eigenvalues, remedy)
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


def _in_the_span(space: LandmarkSpace) -> str:
    return (
        f"the dictionary is learned in the span of {len(space.landmarks)} landmarks, where it is "
        "positive definite"
    )


def _warn(divergence: Divergence, beta: float, eigenvalues: Floats, remedy: str) -> None:
    warn_user(
        f"The {divergence.name} kernel at beta={beta:.3g} is indefinite on these matrices (least "
        f"eigenvalue {eigenvalues[0]:.3g}, greatest {eigenvalues[-1]:.3g}): {remedy}.",
        IndefiniteKernelWarning,
    )
