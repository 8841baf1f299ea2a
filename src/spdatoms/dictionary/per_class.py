"""One dictionary per class: a few labelled atoms instead of many labelled matrices."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from spdatoms._utils import parameters as allow
from spdatoms._utils.arrays import same_kind
from spdatoms._utils.progress import progress_bar
from spdatoms._utils.sampling import distinct_samples, generator
from spdatoms._utils.typing import Array, FloatArray
from spdatoms._utils.warning import warnings_of
from spdatoms._utils.weights import labelled_weights, part_of
from spdatoms.base import check_labels
from spdatoms.dictionary.initial import INIT_NAMES
from spdatoms.dictionary.learning import SPDDictionaryLearning
from spdatoms.divergences import Divergence
from spdatoms.divergences.hermitian import over
from spdatoms.divergences.registry import symmetric_divergence
from spdatoms.geometry.validation import check_spd
from spdatoms.kernels.bandwidth import subsample_beta

#: The automatic α: the few atoms of a class should each stand for many of its matrices.
_ALPHA = 0.1
#: Parameters that are those of the dictionary of each class.
_OF_EACH = ("metric", "beta", "alpha", "max_iter", "tol", "random_state", "n_jobs", "landmarks")


@same_kind
@allow.checks(
    **{name: SPDDictionaryLearning._parameters[name] for name in _OF_EACH},
    n_atoms_per_class=allow.integer(1),
    init=allow.choice(*INIT_NAMES),
    verbose=allow.VERBOSE,
)
def class_dictionary(
    X: ArrayLike,
    y: ArrayLike,
    n_atoms_per_class: int,
    *,
    metric: str | Divergence = "stein",
    beta: float | str = "auto",
    alpha: float | str = "auto",
    init: str = "kmeans",
    max_iter: int = 50,
    tol: float = 1e-4,
    random_state: Any = None,
    n_jobs: int | None = None,
    landmarks: str | int | ArrayLike | None = "auto",
    verbose: int = 0,
    sample_weight: ArrayLike | None = None,
) -> tuple[FloatArray, Array]:
    """Learn a dictionary for each class from its matrices alone.

    The result is [D⁽¹⁾, D⁽²⁾, …], with the labels of the atoms.

    Parameters
    ----------
    X : array-like of shape (m, n, n)
        SPD matrices.
    y : array-like of shape (m,)
        Their labels.
    n_atoms_per_class : int
        The number of atoms for every class. A class with no more different matrices than that keeps
        them all.
    metric : str or Divergence, default="stein"
        As in `SPDDictionaryLearning`.
    beta : float or "auto", default="auto"
        The β of the kernel, one for all classes; ``"auto"`` is the reciprocal of the median
        divergence between two matrices of X.
    alpha : float or "auto", default="auto"
        The penalty of ‖y‖₁; ``"auto"`` is 0.1.
    init : {"kmeans", "kmeans-riemann", "random"}, default="kmeans"
        The first atoms, as in `SPDDictionaryLearning`.
    max_iter : int, default=50
        The most iterations per class.
    tol : float, default=1e-4
        As in `SPDDictionaryLearning`.
    random_state : int, Generator, RandomState or None, default=None
        The source of randomness for the first atoms.
    n_jobs : int, default=None
        The number of threads; None is 1, -1 all processors.
    landmarks : "auto", int, array-like of shape (L, n, n) or None, default="auto"
        As in `SPDDictionaryLearning`; a number is that of the landmarks of each class.
    verbose : int, default=0
        1 shows a progress bar over the classes (needs tqdm).
    sample_weight : array-like of shape (m,), default=None
        Weights of the matrices, as in `SPDDictionaryLearning.fit`. A matrix of weight 0 is left out.

    Returns
    -------
    atoms : ndarray of shape (N, n, n)
        The atoms, class after class.
    labels : ndarray of shape (N,)
        The label of every atom.

    Examples
    --------
    >>> import numpy as np
    >>> from spdatoms import class_dictionary
    >>> G = np.random.default_rng(0).standard_normal((60, 3, 12))
    >>> G[:30, 0] *= 5.0
    >>> atoms, labels = class_dictionary(
    ...     G @ G.swapaxes(1, 2), ["wide"] * 30 + ["round"] * 30, 2, alpha=0.1, random_state=0
    ... )
    >>> atoms.shape, labels.tolist()
    ((4, 3, 3), ['round', 'round', 'wide', 'wide'])
    """
    X = check_spd(X)
    classes, of = check_labels(y, len(X))
    rows, weights = labelled_weights(of, classes, sample_weight)
    X, of = X[rows], of[rows]
    learner = SPDDictionaryLearning(
        n_atoms_per_class,
        metric,
        beta=subsample_beta(X, over(symmetric_divergence(metric), X), beta),
        alpha=_ALPHA if isinstance(alpha, str) else alpha,
        init=init,
        max_iter=max_iter,
        tol=tol,
        random_state=generator(random_state),
        n_jobs=n_jobs,
        landmarks=landmarks,
    )
    atoms = []
    shown = bool(verbose) or None
    with (
        warnings_of(learner),  # once, not for every class
        progress_bar(len(classes), "class dictionaries", shown) as advance,
    ):
        for c in range(len(classes)):
            own = np.flatnonzero(of == c)
            members = X[own]
            few = distinct_samples(members, range(len(members)), n_atoms_per_class + 1)
            enough = len(few) > n_atoms_per_class
            if enough:
                learner.fit(members, sample_weight=part_of(weights, own))
            atoms.append(learner.atoms_ if enough else members[few])
            advance()
    return np.concatenate(atoms), np.repeat(classes, [len(part) for part in atoms])
