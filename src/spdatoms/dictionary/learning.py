"""`SPDDictionaryLearning`: atoms that represent SPD matrices sparsely, learned so that the loss only falls."""

from __future__ import annotations

import os
from copy import copy
from dataclasses import KW_ONLY, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
import scipy.sparse
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from spdatoms._utils import parameters as allow
from spdatoms._utils.arrays import in_order
from spdatoms._utils.checks import check_size
from spdatoms._utils.estimator import Threaded
from spdatoms._utils.sampling import generator
from spdatoms._utils.threads import one_blas_thread
from spdatoms._utils.typing import FloatArray, Floats
from spdatoms._utils.weights import check_weights, given_weights, relative_weights
from spdatoms.base import check_streamable, checked_fit, estimator_call, per_matrix
from spdatoms.coding.blocks import for_coded_blocks
from spdatoms.coding.coder import Coder
from spdatoms.dictionary._checkpoint import checkpoint_of, held
from spdatoms.dictionary._loop import Moves, State, iterate
from spdatoms.dictionary._samples import Samples, SomeSamples
from spdatoms.dictionary.initial import INIT, first_atoms
from spdatoms.dictionary.online import Summary
from spdatoms.dictionary.problem import (
    AnyProblem,
    LandmarkProblem,
    Problem,
    common_problem,
    fix_problem,
)
from spdatoms.divergences import Divergence
from spdatoms.divergences.hermitian import over
from spdatoms.divergences.registry import (
    SYMMETRIC_METRIC,
    same_divergence,
    symmetric_divergence,
)
from spdatoms.geometry.channels import Mask, cut
from spdatoms.geometry.hermitian import as_double, is_complex
from spdatoms.geometry.validation import check_spd
from spdatoms.kernels import DivergenceKernel
from spdatoms.kernels.bandwidth import automatic_beta, subsample_divergences
from spdatoms.kernels.base import Kernel
from spdatoms.kernels.preimages import preimages
from spdatoms.layout import Maybe, Part, holds

#: A stream that begins anew has this many times as many iterations as a batch.
_ROUNDS_ANEW = 3

_LANDMARKS = allow.AUTO | allow.NONE | allow.integer(1) | allow.MATRICES


@allow.with_parameters
class SPDDictionaryLearning(Threaded, Coder):
    """Learn a dictionary of SPD matrices, and code matrices over it.

    min_{D,Y} Σ_i 1 − 2 y_iᵀk_i + y_iᵀ(K + μI)y_i + α‖y_i‖₁: atoms D_1 … D_N for SPD matrices X_i.

    K holds the kernel values exp(−β·d) between atoms, k_i those between X_i and the atoms. Exact
    coding and updates of the atoms alternate, and no half-step raises the objective: an atom moves
    along the geodesic to its proposal only as far as the objective falls, else it stays. Atoms that
    no code uses are replaced by the samples that are represented worst.

    Parameters
    ----------
    n_atoms : int, default=64
        The number N of atoms. There may be more than training matrices.
    metric : str or Divergence, default="stein"
        The divergence d, which must be symmetric. For ``"stein"``, ``"jeffrey"`` and ``"logeuclid"`` an
        atom moves by a formula, for any other divergence by gradients, which takes longer.
    beta : float or "auto", default="auto"
        The β of the kernel. ``"auto"`` is 0.2 over the median divergence between two training matrices; 0.5 or 1
        over it where the kernel would need a ridge of more than a quarter of 1 − k̄; 1 over it where the kernel is
        known to be positive definite for no β, as for Jeffrey's divergence.
    alpha : float or "auto", default="auto"
        The penalty of ‖y‖₁ (the paper's λ). ``"auto"`` is 0.05·(1 − k̄), with the mean k̄ of the kernel between two
        training matrices: a twentieth of their variance in the feature space. If codes over the first atoms, each
        without the nearest, then use more than a fifth of them (and more than five), it is as much greater as
        need be, up to 0.5·(1 − k̄).
    landmarks : "auto", int, array-like of shape (L, n, n) or None, default="auto"
        Learn in the span of landmarks: with the kernel φ(X)ᵀφ(Y) of `SPDNystroem`, which is positive
        definite whatever the divergence is. A number takes that many training matrices, evenly; None
        computes with exp(−β·d) itself, with a ridge if need be. ``"auto"`` takes 400 landmarks where
        exp(−β·d) is not known to be positive definite for any β, as for Jeffrey's divergence, and else
        none.
    positive : bool, default=False
        Ask for y ≥ 0, when atoms are learned and when matrices are coded.
    init : {"kmeans", "kmeans-riemann", "random"} or array-like of shape (n_atoms, n, n), default="kmeans"
        The first atoms: the centres of k-means with the same divergence (of 20,000 matrices, evenly
        taken, or 100 per atom if that is more) or with the affine-invariant distance (the paper's
        intrinsic k-means, which takes longer), random training matrices, or given ones.
    update : {"centre", "gradient"}, default="centre"
        What is proposed for an atom: the weighted centre of the divergence (closed form, or a step
        of a fixed point), or a step of Riemannian gradient descent.
    block_size : int, default=None
        How many atoms are updated from the same two passes over the data; None is all of them.
        The first pass finds their proposals, the second how far they may go. 1 is the paper's scheme
        of atom after atom, which is slower and no better.
    forgetting : float, default=1.0
        For `partial_fit`: what remains of the past after a batch, in (0, 1]. Less than 1 follows data that
        change with time.
    batch_iter : int, default=3
        For `partial_fit`: how many times a batch is coded and learned from.
    checkpoint : path-like, default=None
        A file that `fit` writes after every iteration, and goes on from if it exists. Killed at any
        moment and fitted again with the same data, parameters and integer ``random_state``, it ends
        with the same atoms to the last bit. ``max_iter``, ``tol``, ``verbose`` and ``n_jobs`` may
        differ. A file of another problem, or a damaged one, is an error and stays untouched. So is
        one that another process learns with at the same time.
    random_state : int, Generator, RandomState or None, default=None
        The source of randomness for the first atoms; nothing else is random.
    verbose : int, default=0
        1 shows a progress bar with the objective, the non-zeros of a code and the time left.

    Attributes
    ----------
    atoms_
    objective_ : ndarray of shape (2 · n_iter_,)
        The objective after every half-step of `fit`: coding, update, coding, update … It never
        increases but for rounding.
    kernel_ : Kernel
        The kernel over the atoms; its ``gram_`` is K + μI, or φ(D)ᵀφ(D) with landmarks.
    alpha_, beta_
    ridge_ : float
        The μ in use. It is zero with landmarks, and where the kernel is positive definite on all
        sets of matrices (log-Euclidean at every β, Stein at β = ½, 1, … or β ≥ (n−1)/2). Else it is what makes the
        Gram matrix of a subsample and the first atoms positive definite with a margin of 0.001, and
        no atom moves where K + μI would lose half of its margin: the objective is bounded below.
    n_iter_
    batch_losses_ : ndarray of shape (n_batches,)
        The mean loss of every batch given to `partial_fit`, before it was learned from, under the kernel and α
        of the time.
    n_features_in_

    See Also
    --------
    SPDSparseCoder : Codes over a given dictionary.
    class_dictionary : One dictionary per class.

    Notes
    -----
    The memory needed beside the data is O(m·N) at most, for sparse codes, and a few megabytes.

    Examples
    --------
    >>> import numpy as np
    >>> from spdatoms import SPDDictionaryLearning
    >>> G = np.random.default_rng(0).standard_normal((60, 3, 12)) * np.array([[1.0], [2.0], [4.0]])
    >>> X = G @ G.swapaxes(1, 2) / 12
    >>> learner = SPDDictionaryLearning(n_atoms=4, alpha=0.1, random_state=0).fit(X)
    >>> learner.atoms_.shape, learner.transform(X).shape
    ((4, 3, 3), (60, 4))
    >>> bool(np.all(np.diff(learner.objective_) <= 1e-9))
    True
    """

    n_atoms: int = allow.parameter(allow.integer(1), default=64)
    metric: str | Divergence = allow.parameter(SYMMETRIC_METRIC, default="stein")
    beta: float | str = allow.parameter(allow.BETA, default="auto")
    alpha: float | str = allow.parameter(allow.ALPHA, default="auto")
    _: KW_ONLY
    landmarks: str | int | ArrayLike | None = allow.parameter(_LANDMARKS, default="auto")
    positive: bool = allow.parameter(allow.BOOLEAN, default=False)
    init: str | ArrayLike = allow.parameter(INIT, default="kmeans")
    max_iter: int = allow.parameter(allow.integer(1), default=50)
    tol: float = allow.parameter(allow.TOLERANCE, default=1e-4)
    update: str = allow.parameter(allow.choice("centre", "gradient"), default="centre")
    block_size: int | None = allow.parameter(allow.NONE | allow.integer(1), default=None)
    forgetting: float = allow.parameter(allow.real(above=0, most=1), default=1.0)
    batch_iter: int = allow.parameter(allow.integer(1), default=3)
    normalise: bool = allow.parameter(allow.BOOLEAN, default=False)
    checkpoint: str | os.PathLike[str] | None = allow.parameter(
        allow.NONE | allow.PATH, default=None
    )
    random_state: Any = allow.parameter(allow.RANDOM_STATE, default=None)

    hermitian: ClassVar[bool] = True
    _stored = holds(
        "atoms_ alpha_ beta_ ridge_ batch_losses_",
        kernel_=Part(Kernel),
        _problem=Part(Problem, LandmarkProblem),
        _memory=Maybe(Part(Summary)),
    )

    @checked_fit
    def fit(
        self, X: ArrayLike, y: object = None, sample_weight: ArrayLike | None = None
    ) -> SPDDictionaryLearning:
        """Learn the atoms.

        Ctrl-C ends it early with what has been learned by then, and a warning says so.

        Parameters
        ----------
        X : array-like of shape (m, n, n)
            SPD matrices. It may be a Dask array, see `spdatoms.scale`.
        sample_weight : array-like of shape (m,), default=None
            Weights w of the matrices, not negative; only their ratios count. The objective is the sum of
            w_i times the losses, with weights whose mean is 1, so an integer weight is a repetition. A
            matrix of weight 0 has no influence. β and the landmarks do not depend on positive weights.
        """
        samples: Any = check_streamable(X, self.n_jobs)
        with held(self.checkpoint), one_blas_thread():
            state, problem = self._learn(samples, sample_weight)
        self.objective_ = np.array(state.objective)
        self.n_iter_ = state.n_iter
        self._memory: Summary | None = None
        self.batch_losses_ = np.zeros(0)
        self._keep(state.atoms, problem, samples.dtype)
        return self

    @checked_fit
    def partial_fit(
        self, X: ArrayLike, y: object = None, sample_weight: ArrayLike | None = None
    ) -> SPDDictionaryLearning:
        """Learn from one more batch.

        A batch is learned from together with centres that stand for all matrices before it, at most eight
        per atom, so that batches may come in any order. They are fewer than a tenth of a stream from 80
        matrices per atom on; a shorter one is kept to a greater part. Unless `fit` came before, first atoms,
        β, α, and the landmarks or the ridge are found from these, and found anew whenever the stream has
        grown by 5 %, up to 80 matrices per atom: then they are fixed. `score` compares different streams.
        ``n_atoms`` and ``metric`` must stay what they were. If anything is wrong with a batch the
        estimator stays as it was.

        Parameters
        ----------
        X : array-like of shape (m, n, n)
            SPD matrices, in the first batch at least ``n_atoms`` of them, unless ``init``, ``beta`` and
            ``alpha`` are given.
        sample_weight : array-like of shape (m,), default=None
            Weights of the matrices within the batch, as in `fit`.
        """
        X = check_spd(X)
        rows, weights = relative_weights(sample_weight, len(X))
        with one_blas_thread():
            atoms, problem, summary, loss = self._learn_batch(X[rows], weights)
        self._memory = summary  # stored models have this name
        self.batch_losses_ = np.append(getattr(self, "batch_losses_", ()), loss)
        self._keep(atoms, problem, getattr(self, "atoms_", X).dtype)
        return self

    @estimator_call
    def inverse_transform(self, X: ArrayLike) -> FloatArray:
        """Return the matrices that codes describe.

        That of a code y is the C with φ(C) nearest to Σ_j y_j φ(D_j), which maximises Σ_j y_j exp(−β·d(C, D_j)), a
        weighted centre of the atoms. It is a local maximum, found uphill from the best of the atoms.

        Parameters
        ----------
        X : array-like of shape (m, n_atoms)
            Codes, such as `transform` returns. A code of zeros describes nothing, and is an error.

        Returns
        -------
        ndarray of shape (m, n, n)
            SPD matrices.
        """
        check_is_fitted(self)
        codes = in_order(X, np.float64)
        if codes.ndim != 2 or codes.shape[1] != len(self.atoms_) or not np.isfinite(codes).all():
            raise ValueError(
                f"Codes must be finite numbers of shape (m, {len(self.atoms_)}), as transform returns them, "
                f"got the shape {codes.shape}."
            )
        zero = ~codes.any(axis=1)
        if zero.any():
            raise ValueError(
                f"Code {int(zero.argmax())} is zero, so that it describes no matrix: leave it out, or lower "
                "alpha."
            )
        divergence = over(self._divergence(), self.atoms_)
        with one_blas_thread():
            found = preimages(divergence, as_double(self.atoms_), self.beta_, codes)
        return found.astype(self.atoms_.dtype, copy=False)

    @estimator_call
    def score(
        self, X: ArrayLike, y: object = None, sample_weight: ArrayLike | None = None
    ) -> float:
        """Return minus the mean loss under a kernel that X alone fixes: between -1 and 0, greater is better.

        The loss of a matrix is ‖φ(X_i) − Σ_j y_j φ(D_j)‖² + 0.1·‖y‖₁ with its code y. The map φ is that of at most
        400 of the matrices X as landmarks, with β = 1 / median. So it depends on the atoms, but not on the β, α and
        landmarks that they were learned with: scores of the same X compare dictionaries of one metric, whatever
        their parameters, their first atoms, or the order of the stream.

        Parameters
        ----------
        X : array-like of shape (m, n, n)
            SPD matrices. It may be a Dask array, see `spdatoms.scale`.
        sample_weight : array-like of shape (m,), default=None
            Weights of the losses in the mean, not negative. A matrix of weight 0 has no influence.

        Returns
        -------
        float
            Minus the mean loss.
        """
        check_is_fitted(self)
        matrices: Any = check_size(check_streamable(X, self.n_jobs), self.n_features_in_)
        weights = given_weights(sample_weight, len(matrices))
        chosen = matrices if weights.all() else SomeSamples(matrices, np.flatnonzero(weights))
        with one_blas_thread():
            problem = common_problem(chosen, over(self._divergence(), chosen), self.positive)
            kernel = problem.kernel(self.metric, self.n_jobs).fit_checked(self.atoms_)
        losses = np.asarray(self._losses(X, kernel, problem.alpha))
        return -float(losses @ check_weights(weights, len(losses)))

    @per_matrix
    def _losses(self, X: ArrayLike, kernel: Kernel, alpha: float) -> Floats:
        """Return the loss of every matrix over the atoms of a kernel."""
        X = self.check_queries(X)
        return np.concatenate(
            for_coded_blocks(
                lambda block: np.asarray(block.losses), X, kernel, alpha, **self._coding()
            )
        )

    def _cut(self, known: Mask) -> SPDDictionaryLearning:
        model = copy(self)
        model.n_features_in_, model.atoms_ = int(known.sum()), cut(self.atoms_, known)
        if isinstance(self.beta, str):
            # The training matrices are not kept: atoms tell how β changes.
            divergence = over(self._divergence(), self.atoms_)
            before, now = (
                automatic_beta(subsample_divergences(atoms, divergence))
                for atoms in (self.atoms_, model.atoms_)
            )
            model.beta_ = self.beta_ * now / before
        kernel = DivergenceKernel(self.metric, model.beta_, n_jobs=self.n_jobs)
        model.kernel_ = kernel.fit_checked(model.atoms_)
        return model

    def _learn(self, X: Any, sample_weight: ArrayLike | None) -> tuple[State, AnyProblem]:
        """Iterate to the end, or to Ctrl-C, from the checkpoint if there is one."""
        rows, own = relative_weights(sample_weight, len(X))
        weights, chosen = own, X
        if isinstance(X, np.ndarray):
            X = chosen = X[rows]
        elif not isinstance(rows, slice):  # a stream keeps all its rows, some with the weight zero
            chosen = SomeSamples(X, rows)
            weights = np.zeros(len(X))
            weights[rows] = 1.0 if own is None else own
        divergence = over(self._divergence(), X)
        checkpoint = checkpoint_of(self, X, divergence, weights)
        found = checkpoint and checkpoint.read(divergence)
        if found:
            state, codes, problem = found
        else:
            atoms, problem = self._first_atoms(chosen, own)
            state = State(atoms, problem.images(atoms))
            codes = scipy.sparse.csr_array((len(X), len(atoms)))
        save = partial(checkpoint.write, problem) if checkpoint else None
        if save and not found:
            save(state, codes)
        data, moves = self._passes(problem, X, weights)
        data.start_from(codes)
        state = iterate(data, moves, state, max_iter=self.max_iter, tol=self.tol, save=save)
        return state, problem

    def _passes(self, problem: AnyProblem, X: Any, weights: Floats | None) -> tuple[Samples, Moves]:
        data = Samples(problem, X, self.n_atoms, self.n_jobs, weights)
        return data, Moves.of(X, self.update, self.block_size, self.n_jobs)

    def _first_atoms(self, X: Any, weights: Floats | None) -> tuple[Floats, AnyProblem]:
        divergence = over(self._divergence(), X)
        rng = generator(self.random_state)
        atoms = first_atoms(X, self.init, self.n_atoms, divergence, rng, self.n_jobs, weights)
        fixed = self.beta, self.alpha, self.landmarks, self.positive
        return atoms, fix_problem(X, atoms, divergence, *fixed, self.n_jobs)

    def _learn_batch(
        self, X: FloatArray, weights: Floats | None
    ) -> tuple[Floats, AnyProblem, Summary, float]:
        """Return atoms, problem and summary after a batch, and its mean loss before."""
        first = not hasattr(self, "atoms_")
        if first:
            self._check_first_batch(len(X))
            past = replace(Summary.empty(X), started=len(X))
        else:
            self._check_next_batch(X)
            past = self._memory or Summary.empty(self.atoms_)
        summary = past.with_batch(X, weights, self.forgetting)
        matrices, own = summary.centres, summary.weights / summary.weights.mean()
        starts = [] if first else [(as_double(self.atoms_), self.batch_iter)]
        if first or (isinstance(self.init, str) and summary.begins_anew(self.n_atoms)):
            atoms, problem = self._first_atoms(matrices, own)
            starts = [start for start in starts if problem.admits(start[0])]
            starts.append((atoms, _ROUNDS_ANEW * self.batch_iter))
            summary = replace(summary, started=summary.count)
        else:
            problem = self._problem
        data, moves = self._passes(problem, matrices, own)

        def learned(atoms: Floats, rounds: int) -> State:
            state = State(atoms, problem.images(atoms))
            data.start_from(scipy.sparse.csr_array((len(matrices), len(atoms))))
            for _ in range(rounds):
                state = state.next(data, moves)
            return state

        state = min((learned(*start) for start in starts), key=lambda state: state.objective[-1])
        if first:
            loss = state.objective[0] / len(matrices)
        else:
            loss = np.average(self._losses(X, self.kernel_, self.alpha_), weights=weights)
        seed = int(generator(self.random_state).integers(2**31))
        summary = summary.merged(self.n_atoms, problem.divergence, seed, self.n_jobs)
        return state.atoms, problem, summary, float(loss)

    def _keep(self, atoms: Floats, problem: AnyProblem, dtype: np.dtype[Any]) -> None:
        """Set what a fitted estimator needs."""
        self._problem = problem
        self.atoms_: FloatArray = atoms.astype(dtype)
        self.alpha_, self.beta_, self.ridge_ = problem.alpha, problem.beta, problem.ridge
        self.kernel_ = problem.kernel(self.metric, self.n_jobs).fit_checked(self.atoms_)
        self.n_features_in_ = self.atoms_.shape[-1]

    def _check_first_batch(self, count: int) -> None:
        """Refuse a first batch that is too small for what it would have to fix."""
        fixed = isinstance(self.init, str), isinstance(self.beta, str), isinstance(self.alpha, str)
        if count < self.n_atoms and any(fixed):
            raise ValueError(
                f"The first batch holds {count} matrices, fewer than n_atoms={self.n_atoms}, too few to find "
                "the first atoms, beta and alpha from: give them all, or a larger first batch."
            )

    def _check_next_batch(self, X: FloatArray) -> None:
        """Refuse a batch, or parameters, that do not belong to those before."""
        if self.n_atoms != len(self.atoms_):
            raise ValueError(
                f"n_atoms is {self.n_atoms} now, but {len(self.atoms_)} atoms were learned from the data before: call "
                f"fit to begin anew, or set n_atoms={len(self.atoms_)} again to go on."
            )
        learned = self._problem.divergence
        if not same_divergence(self._divergence(), learned):
            raise ValueError(
                f"metric is not the one that the atoms were learned with, {learned.name}, or has other parameters: "
                "call fit to begin anew, or set the metric of before again to go on."
            )
        check_size(X, self.n_features_in_)
        if is_complex(X) and not is_complex(self.atoms_):
            raise ValueError(
                "X is complex, but the batches before it were real: begin anew with complex matrices, "
                "or pass X.real if the imaginary part is rounding."
            )

    def _divergence(self) -> Divergence:
        return symmetric_divergence(self.metric)
