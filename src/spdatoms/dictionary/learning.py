"""`SPDDictionaryLearning`: atoms that represent SPD matrices sparsely, learned so that the loss only falls."""

from __future__ import annotations

import hashlib
import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from spdatoms._utils.checks import check_alpha, check_beta, check_integer, check_size
from spdatoms._utils.extras import import_extra
from spdatoms._utils.sampling import generator
from spdatoms._utils.threads import block_slices, one_blas_thread
from spdatoms._utils.typing import FloatArray, Floats
from spdatoms.base import SPDEstimator, check_streamable, per_matrix
from spdatoms.dictionary._checkpoint import Checkpoint, fingerprint
from spdatoms.dictionary._coded_data import CodedData
from spdatoms.dictionary._iterations import CodingPasses, State, first_state, iterations
from spdatoms.dictionary._update import UpdateRule
from spdatoms.dictionary.initial import first_atoms
from spdatoms.dictionary.online import Memory, learn_batch
from spdatoms.dictionary.problem import Problem, settle
from spdatoms.divergences import Divergence
from spdatoms.divergences.atom_sums import atom_sums
from spdatoms.divergences.registry import symmetric_divergence
from spdatoms.geometry.validation import check_spd
from spdatoms.kernels.kernel import RidgeKernel
from spdatoms.lasso.solve import sparse_code

_INITS = ("kmeans", "random")
_UPDATES = ("centre", "gradient")
#: Bytes of matrices that are coded at a time, so that what is computed on the way stays small and warm.
_CODING_BYTES = 16 << 20
#: With a checkpoint, codes come home every so many iterations and start anew from there: what is lost
#: with a worker then need not be computed again from the beginning.
_FRESH_START = 10


class SPDDictionaryLearning(ClassNamePrefixFeaturesOutMixin, TransformerMixin, SPDEstimator):
    """min_{D,Y} Σ_i 1 − 2 y_iᵀk_i + y_iᵀ(K + μI)y_i + α‖y_i‖₁: atoms D_1 … D_N for SPD matrices X_i.

    K holds the kernel values exp(−β·d) between atoms, k_i those between X_i and the atoms. Exact
    coding and updates of the atoms alternate, and no half-step raises the objective: an atom moves
    along the geodesic to its proposal only as far as the objective falls, else it stays. Atoms that
    no code uses are replaced by the samples that are represented worst.

    Parameters
    ----------
    n_atoms : int
        The number N of atoms.
    metric : {"stein", "jeffrey", "logeuclid"} or Divergence
        The divergence d.
    beta : float or "auto"
        ``"auto"`` is the reciprocal of the median divergence between two training matrices.
    alpha : float or "auto"
        The price of ‖y‖₁ (the paper's λ). ``"auto"`` is 0.01, or 0.05 if the kernel is indefinite
        on the training matrices.
    init : {"kmeans", "random"} or array-like of shape (n_atoms, n, n)
        The first atoms: the centres of k-means with the same divergence (of 20,000 matrices, evenly
        taken, or 100 for every atom if that is more), random training matrices, or given ones.
    max_iter : int
        The most iterations, each of a coding and an update of all atoms.
    tol : float
        Learning ends when an iteration lowers the objective by no more than this fraction of it.
    random_state : int, Generator, RandomState or None
        The source of randomness for the first atoms; nothing else is random.
    checkpoint : path-like, optional
        A file that `fit` writes after every iteration, and goes on from if it exists. Killed at any
        moment and fitted again with the same data, parameters and integer ``random_state``, it ends
        with the same atoms to the last bit. ``max_iter``, ``tol``, ``verbose`` and ``n_jobs`` may
        differ. A file of another problem, or a damaged one, is an error and stays untouched.
    verbose : int
        1 shows a progress bar with the objective, the non-zeros of a code and the time left.
    n_jobs : int, optional
        The number of threads, one if not given, all processors for -1. It does not change the
        result.
    update : {"centre", "gradient"}
        What is proposed for an atom: the weighted centre of the divergence (closed form, or a step
        of a fixed point), or a step of Riemannian gradient descent.
    block_size : int, optional
        How many atoms are updated from the same two passes over the data, all of them if not given.
        The first pass finds their proposals, the second how far they may go. 1 is the paper's scheme
        of atom after atom, which is slower and no better.
    forgetting : float
        For `partial_fit`: what remains of the past after a batch, in (0, 1].
    batch_iter : int
        For `partial_fit`: how many times a batch is coded and learned from.

    Attributes
    ----------
    atoms_ : ndarray of shape (n_atoms, n, n)
        The dictionary.
    objective_ : ndarray of shape (2 · n_iter_,)
        The objective after every half-step of `fit`: coding, update, coding, update … It never
        increases but for rounding.
    kernel_ : RidgeKernel
        The kernel over the atoms; its ``gram_`` is K + μI.
    alpha_ : float
        The α in use.
    beta_ : float
        The β in use.
    ridge_ : float
        The μ in use. It is zero where the kernel is positive definite on all sets of matrices
        (log-Euclidean at every β, Stein at β = ½, 1, … or β ≥ (n−1)/2). Else it is what makes the
        Gram matrix of a subsample and the first atoms positive definite with a margin of 0.001, and
        no atom moves where K + μI would lose half of its margin: the objective is bounded below.
    n_iter_ : int
        The number of iterations of `fit`.
    batch_losses_ : ndarray of shape (n_batches,)
        The mean loss of every batch given to `partial_fit`, before it was learned from.
    n_features_in_ : int
        The size n of the matrices.

    See Also
    --------
    SPDSparseCoder : Codes over a given dictionary.
    class_dictionary : One dictionary a class.

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

    def __init__(
        self,
        n_atoms: int = 64,
        metric: str | Divergence = "stein",
        beta: float | str = "auto",
        alpha: float | str = "auto",
        init: str | ArrayLike = "kmeans",
        max_iter: int = 50,
        tol: float = 1e-4,
        random_state: Any = None,
        checkpoint: str | os.PathLike[str] | None = None,
        verbose: int = 0,
        n_jobs: int | None = None,
        *,
        update: str = "centre",
        block_size: int | None = None,
        forgetting: float = 0.9,
        batch_iter: int = 3,
    ) -> None:
        self.n_atoms = n_atoms
        self.metric = metric
        self.beta = beta
        self.alpha = alpha
        self.init = init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.checkpoint = checkpoint
        self.verbose = verbose
        self.n_jobs = n_jobs
        self.update = update
        self.block_size = block_size
        self.forgetting = forgetting
        self.batch_iter = batch_iter

    def fit(self, X: ArrayLike, y: object = None) -> SPDDictionaryLearning:
        """Learn the atoms from X (m, n, n), which may be a Dask array: see `spdatoms.scale`.

        Ctrl-C ends it early with what has been learned by then, and a warning says so.
        """
        self._check_parameters()
        samples: Any = check_streamable(X, self.n_jobs)
        self._check_number_of_samples(samples)
        with one_blas_thread():
            state, problem = self._learn(samples)
        self.objective_ = np.array(state.objective)
        self.n_iter_ = state.n_iter
        self._memory: Memory | None = None
        self.batch_losses_ = np.zeros(0)
        self._keep(state.atoms, problem, samples.dtype)
        return self

    def partial_fit(self, X: ArrayLike, y: object = None) -> SPDDictionaryLearning:
        """Learn from one more batch X (m, n, n).

        The first batch, unless `fit` came before, settles the first atoms, β, α and the ridge, so it
        must hold at least ``n_atoms`` matrices. If anything is wrong with a batch the estimator
        stays as it was.
        """
        self._check_parameters()
        X = check_spd(X)
        with one_blas_thread():
            atoms, problem, memory, loss = self._learn_batch(X)
        self._memory = memory
        self.batch_losses_ = np.append(getattr(self, "batch_losses_", ()), loss)
        self._keep(atoms, problem, getattr(self, "atoms_", X).dtype)
        return self

    @per_matrix
    def transform(self, X: ArrayLike) -> FloatArray:
        """Return the codes of X (m, n, n), one a row, shape (m, n_atoms)."""
        X = self.check_queries(X)
        at_once = max(1, _CODING_BYTES // (X.itemsize * X.shape[-1] ** 2))
        codes = [self._code(X[rows]) for rows in block_slices(len(X), at_once)]
        return codes[0] if len(codes) == 1 else np.concatenate(codes)

    def score(self, X: ArrayLike, y: object = None) -> float:
        """Return minus the mean loss of X (m, n, n), so that greater is better.

        The loss of a matrix is its share of the objective, 1 − 2 yᵀk + yᵀ(K + μI)y + α‖y‖₁ with its
        code y: between 0 and 1 where the kernel is positive definite.
        """
        return -float(self._losses(X).mean())

    @per_matrix
    def _losses(self, X: ArrayLike) -> Floats:
        """Return the loss of every matrix."""
        _, certificate = self._code(self.check_queries(X), sparse=True, return_certificate=True)
        return np.asarray(certificate.objective)

    def _code(self, X: FloatArray, **options: Any) -> Any:
        gram, cross = self.kernel_.gram_, self.kernel_.cross_checked(X)
        return sparse_code(
            gram, cross, self.alpha_, check_gram=False, n_jobs=self.n_jobs, **options
        )

    def _learn(self, X: Any) -> tuple[State, Problem]:
        """Iterate to the end, or to Ctrl-C, from the checkpoint if there is one."""
        checkpoint = self._checkpoint_of(X)
        found = checkpoint and checkpoint.read(self._divergence())
        state, problem = found or self._start(X)
        if checkpoint and not found:
            checkpoint.write(state, problem)
        data, rule = self._passes(X, problem)
        steps = iterations(data, problem, rule, state)
        try:
            with self._progress(state) as report:
                while state.n_iter < self.max_iter and not state.converged(self.tol):
                    state = next(steps)
                    if checkpoint:
                        checkpoint.write(state, problem)
                        if state.n_iter % _FRESH_START == 0:
                            data.start_from(state.codes)
                    report(state)
        except KeyboardInterrupt:
            warnings.warn(
                f"Learning was interrupted: the atoms are those after {state.n_iter} iterations of "
                f"at most {self.max_iter}.",
                stacklevel=3,
            )
        return state, problem

    def _start(self, X: Any) -> tuple[State, Problem]:
        atoms, problem = self._first_atoms(X)
        return first_state(problem, atoms, len(X)), problem

    def _first_atoms(self, X: FloatArray) -> tuple[Floats, Problem]:
        divergence = self._divergence()
        rng = generator(self.random_state)
        atoms = first_atoms(X, self.init, self.n_atoms, divergence, rng, self.n_jobs)
        return atoms, settle(X, atoms, divergence, self.beta, self.alpha)

    def _learn_batch(self, X: FloatArray) -> tuple[Floats, Problem, Memory, float]:
        """Return atoms, problem and memory after a batch, and its mean loss before."""
        if hasattr(self, "atoms_"):
            check_size(X, self.n_features_in_)
            atoms, problem = self.atoms_.astype(np.float64), self._problem
        else:
            self._check_number_of_samples(X)
            atoms, problem = self._first_atoms(X)
        rule = problem.rule(self.update, self.block_size, X)
        learned, memory, loss = learn_batch(
            self._coded_data(X, problem),
            problem,
            rule,
            atoms,
            getattr(self, "_memory", None),
            self.forgetting,
            self.batch_iter,
        )
        return learned, problem, memory, loss

    def _keep(self, atoms: Floats, problem: Problem, dtype: np.dtype[Any]) -> None:
        """Set what a fitted estimator needs."""
        self._problem = problem
        self.atoms_: FloatArray = atoms.astype(dtype)
        self.alpha_, self.beta_, self.ridge_ = problem.alpha, problem.beta, problem.ridge
        kernel = RidgeKernel(self.metric, self.beta_, self.ridge_, self.n_jobs)
        self.kernel_ = kernel.fit_checked(self.atoms_)
        self.n_features_in_ = self.atoms_.shape[-1]

    def _passes(self, X: Any, problem: Problem) -> tuple[CodingPasses, UpdateRule]:
        """Return the samples, in memory or in a stream, and how atoms move."""
        rule = problem.rule(self.update, self.block_size, X)
        if isinstance(X, np.ndarray):
            return self._coded_data(X, problem), rule
        from spdatoms.dictionary._streamed import StreamedCodedData

        data = StreamedCodedData(X, rule.sums, problem.beta, self.n_atoms)
        # To read everything again costs about as much as to try this many candidates.
        return data, replace(
            rule, trials_at_once=len(rule.trials), most_candidates=self.n_atoms // 2
        )

    def _coded_data(self, X: FloatArray, problem: Problem) -> CodedData:
        sums = atom_sums(problem.divergence)
        return CodedData(X, sums, problem.beta, self.n_atoms, self.n_jobs)

    def _divergence(self) -> Divergence:
        return atom_sums(symmetric_divergence(self.metric)).divergence

    def _checkpoint_of(self, X: Any) -> Checkpoint | None:
        if self.checkpoint is None:
            return None
        init = self.init
        if not isinstance(init, str):
            init = hashlib.sha256(np.asarray(init, np.float64).tobytes()).hexdigest()
        seed = self.random_state
        parameters = {
            "n_atoms": int(self.n_atoms),
            "metric": self._divergence().name,
            "beta": str(self.beta),
            "alpha": str(self.alpha),
            "init": init,
            "random_state": int(seed) if isinstance(seed, Integral) else type(seed).__name__,
            "update": self.update,
            "block_size": self.block_size and int(self.block_size),
        }
        return Checkpoint(self.checkpoint, fingerprint(X, parameters))

    @contextmanager
    def _progress(self, state: State) -> Iterator[Callable[[State], None]]:
        if not self.verbose:
            yield lambda state: None
            return
        tqdm = import_extra("tqdm.auto", extra="progress").tqdm
        with tqdm(total=self.max_iter, initial=state.n_iter, desc="dictionary") as bar:

            def report(state: State) -> None:
                objective, nonzeros = f"{state.objective[-1]:.6g}", f"{state.nonzeros:.1f}"
                bar.set_postfix(objective=objective, nonzeros=nonzeros, refresh=False)
                bar.update()

            yield report

    def _check_parameters(self) -> None:
        check_integer("n_atoms", self.n_atoms, 1)
        check_integer("max_iter", self.max_iter, 1)
        check_integer("batch_iter", self.batch_iter, 1)
        if self.block_size is not None:
            check_integer("block_size", self.block_size, 1)
        if not self.tol >= 0:
            raise ValueError(f"tol must be a number ≥ 0, got {self.tol!r}.")
        if not 0 < self.forgetting <= 1:
            raise ValueError(f"forgetting must be in (0, 1], got {self.forgetting!r}.")
        if self.update not in _UPDATES:
            raise ValueError(f"update must be one of {', '.join(_UPDATES)}; got {self.update!r}.")
        if isinstance(self.init, str) and self.init not in _INITS:
            raise ValueError(
                f"init must be one of {', '.join(_INITS)} or an array of atoms; got {self.init!r}."
            )
        check_beta(self.beta)
        check_alpha(self.alpha)
        self._divergence()

    def _check_number_of_samples(self, X: FloatArray) -> None:
        if len(X) < self.n_atoms:
            raise ValueError(
                f"X holds {len(X)} matrices, fewer than n_atoms={self.n_atoms}: lower n_atoms, or "
                "use the matrices themselves as the dictionary of an SPDSparseCoder."
            )

    @property
    def _n_features_out(self) -> Any:
        check_is_fitted(self)
        return len(self.atoms_)
