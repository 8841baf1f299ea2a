"""Dictionaries for tensor sparse coding: atoms D_j for which Σ_i min_y B(Σ_j y_j D_j, X_i) + α‖y‖₁ is small.

R. Sivalingam, D. Boley, V. Morellas, N. Papanikolopoulos: *Positive definite dictionary learning for
region covariances*, ICCV 2011.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from spdatoms._utils import parameters as allow
from spdatoms._utils.progress import progress_bar
from spdatoms._utils.sampling import generator
from spdatoms._utils.typing import FloatArray, Floats
from spdatoms.dictionary.initial import INIT, first_atoms
from spdatoms.divergences import get_divergence
from spdatoms.paper.baselines.coders import DictionaryLearner
from spdatoms.paper.baselines.tensor._maxdet import MaxdetDictionary
from spdatoms.paper.baselines.tensor._updates import (
    TensorData,
    atom_by_atom_update,
    gradient_update,
)
from spdatoms.paper.baselines.tensor.coding import TensorCoding


class TensorDictionaryLearning(TensorCoding, DictionaryLearner):
    """Learn a dictionary for tensor sparse coding.

    min_{D,Y≥0} Σ_i B(Σ_j y_ij D_j, X_i) + α‖y_i‖₁ over atoms of one trace, B the Burg divergence.

    Exact coding and updates of the atoms alternate; no half-step raises the objective.

    Parameters
    ----------
    n_atoms : int, default=16
        The number N of atoms.
    alpha : float, default=0.01
        The penalty of ‖y‖₁. Atoms have the mean trace of the training matrices.
    update : {"gradient", "ksvd"}, default="gradient"
        A step of Riemannian gradient descent for all atoms at once, or one atom after the other from
        what the others leave of the matrices that use it; both with a line search.
    bounded : bool, default=False
        Require Σ_j y_j D_j ⪯ X as well.
    init : {"random", "kmeans", "kmeans-riemann"} or array-like of shape (n_atoms, n, n), default="random"
        The first atoms: random training matrices, centres of k-means under the Stein divergence or the
        affine-invariant distance, or given ones.
    max_iter : int, default=30
        The greatest number of iterations, each a coding and an update of all atoms.
    tol : float, default=1e-4
        Learning ends when an iteration lowers the objective by no more than this fraction of it.
    random_state : int, Generator, RandomState or None, default=None
        The source of randomness for the first atoms.
    n_jobs : int, default=None
        The number of threads.
    verbose : int, default=0
        1 shows a progress bar with the objective.

    Attributes
    ----------
    atoms_ : ndarray of shape (n_atoms, n, n)
        The dictionary.
    objective_ : ndarray of shape (2 · n_iter_,)
        The objective after every half-step: coding, update, coding, update …
    n_iter_ : int
        The number of iterations.
    n_features_in_ : int
        The size n of the matrices.

    Examples
    --------
    >>> import numpy as np
    >>> from spdatoms.paper.baselines import TensorDictionaryLearning
    >>> G = np.random.default_rng(0).standard_normal((30, 3, 12)) * np.array([[1.0], [2.0], [4.0]])
    >>> X = G @ G.swapaxes(1, 2) / 12
    >>> learner = TensorDictionaryLearning(n_atoms=4, max_iter=5, random_state=0).fit(X)
    >>> bool(np.all(np.diff(learner.objective_) <= 1e-9))
    True
    """

    _parameters = allow.declare(
        n_atoms=allow.integer(1),
        alpha=allow.real(0),
        update=allow.choice("gradient", "ksvd"),
        bounded=allow.BOOLEAN,
        init=INIT,
        max_iter=allow.integer(1),
        tol=allow.TOLERANCE,
        random_state=allow.RANDOM_STATE,
        n_jobs=allow.N_JOBS,
        verbose=allow.VERBOSE,
    )

    def __init__(
        self,
        n_atoms: int = 16,
        alpha: float = 0.01,
        *,
        update: str = "gradient",
        bounded: bool = False,
        init: str | ArrayLike = "random",
        max_iter: int = 30,
        tol: float = 1e-4,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_atoms = n_atoms
        self.alpha = alpha
        self.update = update
        self.bounded = bounded
        self.init = init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _learn(self, X: Floats) -> Floats:
        data = TensorData.of(X, float(self.alpha), bool(self.bounded))
        rng = generator(self.random_state)
        stein = get_divergence("stein")
        atoms = first_atoms(X, self.init, self.n_atoms, stein, rng, self.n_jobs)
        atoms *= data.trace / np.einsum("jii->j", atoms)[:, None, None]
        objective: list[float] = []
        step = 1.0
        with progress_bar(self.max_iter, "tensor dictionary") as advance:
            for _ in range(self.max_iter):
                coded = MaxdetDictionary(atoms).code(
                    X, data.alpha, bounded=data.bounded, n_jobs=self.n_jobs
                )
                losses = coded.certificate.objective
                objective.append(float(losses.sum()))
                atoms = _reseed(atoms, coded.codes, X, losses, data.trace)
                if self.update == "gradient":
                    atoms, _, loss, step = gradient_update(
                        data, atoms, coded.codes, coded.multipliers, 2.0 * step
                    )
                else:
                    atoms, _, loss = atom_by_atom_update(data, atoms, coded.codes)
                objective.append(loss)
                advance(objective=f"{objective[-1]:.6g}")
                if len(objective) > 2 and objective[-3] - loss <= self.tol * abs(loss):
                    break
        self.objective_ = np.array(objective)
        self.n_iter_ = len(objective) // 2
        return atoms

    def _objectives(self, X: FloatArray) -> Floats:
        """B(Σ_j y_j D_j, X) + α‖y‖₁."""
        return self._code(X).certificate.objective


def _reseed(atoms: Floats, codes: Floats, X: Floats, losses: Floats, trace: float) -> Floats:
    """Replace atoms that no code uses by the matrices that are represented worst."""
    unused = np.flatnonzero(~codes.any(axis=0))
    if len(unused) == 0:
        return atoms
    worst = np.argsort(-losses, kind="stable")[: len(unused)]
    atoms = atoms.copy()
    seeds = X[worst]
    atoms[unused[: len(worst)]] = seeds * (trace / np.einsum("jii->j", seeds))[:, None, None]
    return atoms
