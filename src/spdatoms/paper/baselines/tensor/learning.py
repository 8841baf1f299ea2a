"""Dictionaries for tensor sparse coding: atoms D_j for which Σ_i min_y B(Σ_j y_j D_j, X_i) + α‖y‖₁ is small.

R. Sivalingam, D. Boley, V. Morellas, N. Papanikolopoulos: *Positive definite dictionary learning for
region covariances*, ICCV 2011.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY

import numpy as np
from numpy.typing import ArrayLike

from spdatoms._utils import parameters as allow
from spdatoms._utils.sampling import generator
from spdatoms._utils.typing import FloatArray, Floats
from spdatoms.dictionary.initial import INIT, first_atoms
from spdatoms.divergences import get_divergence
from spdatoms.layout import Numbers, holds
from spdatoms.paper.baselines.atoms import AlternatingLearner
from spdatoms.paper.baselines.tensor._maxdet import MaxdetDictionary
from spdatoms.paper.baselines.tensor._updates import UPDATES, TensorData
from spdatoms.paper.baselines.tensor.coding import TensorCoding


@allow.with_parameters
class TensorDictionaryLearning(TensorCoding, AlternatingLearner):
    """Learn a dictionary for tensor sparse coding.

    min_{D,Y≥0} Σ_i B(Σ_j y_ij D_j, X_i) + α‖y_i‖₁ over atoms of one trace, B the Burg divergence.

    Exact coding and updates of the atoms alternate; no half-step raises the objective.

    Parameters
    ----------
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

    Attributes
    ----------
    atoms_, objective_, n_iter_, n_features_in_

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

    _stored = holds(atoms_=Numbers("N n n"))
    n_atoms: int = allow.parameter(allow.integer(1), default=16)
    alpha: float = allow.parameter(allow.real(0), default=0.01)
    _: KW_ONLY
    update: str = allow.parameter(allow.choice(*UPDATES), default="gradient")
    bounded: bool = allow.parameter(allow.BOOLEAN, default=False)
    init: str | ArrayLike = allow.parameter(INIT, default="random")
    max_iter: int = allow.parameter(allow.integer(1), default=30)

    def _iterations(self, X: FloatArray) -> Iterator[tuple[Floats, float, float]]:
        X = np.ascontiguousarray(X, np.float64)
        data = TensorData.of(X, float(self.alpha), bool(self.bounded))
        rng, metric = generator(self.random_state), get_divergence("stein")
        atoms = first_atoms(X, self.init, self.n_atoms, metric, rng, self.n_jobs)
        atoms *= data.trace / np.einsum("jii->j", atoms)[:, None, None]
        step = 1.0
        while True:
            coded = self._code_over(MaxdetDictionary(atoms), X)
            losses = coded.certificate.objective
            atoms = _reseed(atoms, coded.codes, X, losses, data.trace)
            atoms, loss, step = UPDATES[self.update](data, atoms, coded, step)
            yield atoms, float(losses.sum()), loss


def _reseed(atoms: Floats, codes: Floats, X: Floats, losses: Floats, trace: float) -> Floats:
    """Replace atoms that no code uses by the matrices that are represented worst."""
    unused = np.flatnonzero(~codes.any(axis=0))
    worst = np.argsort(-losses, kind="stable")[: len(unused)]
    atoms = atoms.copy()
    seeds = X[worst]
    atoms[unused[: len(worst)]] = seeds * (trace / np.einsum("jii->j", seeds))[:, None, None]
    return atoms
