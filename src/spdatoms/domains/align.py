"""`SPDAlign`: domains centred, scaled and turned onto each other by their class means."""

from __future__ import annotations

from copy import copy
from dataclasses import KW_ONLY
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from spdatoms._utils import parameters as allow
from spdatoms._utils.checks import check_size
from spdatoms._utils.domains import TARGET, domain_of_each, rows_of
from spdatoms._utils.typing import Array, FloatArray, Floats, Indices
from spdatoms.base import check_labels, checked_fit, per_matrix
from spdatoms.divergences import Divergence
from spdatoms.divergences.registry import METRIC
from spdatoms.domains._centre import checked
from spdatoms.domains._turning import Codes, Turn, turn_of_labelled, turn_of_target
from spdatoms.domains.recentre import DomainTransformer, SPDRecentre
from spdatoms.geometry.functions import expm, logm
from spdatoms.geometry.half_vectors import unvech, vech
from spdatoms.geometry.hermitian import as_double
from spdatoms.layout import POSITIVE, Classes, Labels, Numbers, Part, holds


@allow.with_parameters
class SPDAlign(DomainTransformer):
    """Bring domains (subjects, sessions, sites) onto each other: centred, scaled and turned by class means.

    ``Z = exp((z − m)Q + g)`` with ``z = log(M^-½ X M^-½)/s`` as a vector, the mean M and the scale s of the domain, and
    the rotation Q that brings its class means nearest to those of all domains, Σ_c w_c‖M_cQ − G_c‖² → min.

    A new domain needs no labels: ``transform`` predicts soft labels of its matrices by codes over the training
    matrices, turns it, and repeats that three times. If some labels are known, give these matrices to ``fit`` with the
    domain ``"target"``, and the others as ``X_target``. Put any classifier behind it.

    Parameters
    ----------
    metric : str or Divergence, default="riemann"
        The divergence whose mean M is.
    adapt : {"new", "all", "none"}, default="new"
        Which domains ``transform`` estimates from the matrices that it is given: those not seen before, or all,
        where those seen before count with what was seen (their turn stays). With ``"none"`` a new domain is an error.
    n_rounds : int, default=3
        How often soft labels of a new domain are predicted, and it is turned by them.
    max_atoms : int, default=1500
        At most this number of training matrices are atoms of the codes, taken evenly from classes and domains.

    Attributes
    ----------
    recentre_ : SPDRecentre
        Centres and scales.
    classes_ : ndarray of shape (C,)
        The labels.
    means_ : ndarray of shape (C, n(n+1)/2)
        The class means G of all labelled matrices, centred and scaled.
    turned_ : ndarray of shape (D,)
        The names of the domains whose turn is known.
    n_features_in_

    See Also
    --------
    SPDRecentre : Centres and scales only, which needs no labels and no classes.

    Notes
    -----
    The soft labels of a new domain are guesses. Classes with few matrices turn it little, and if the class sizes seem
    to differ, the class means are measured from their own centre. On two data sets with half of the classes at a
    quarter, a class missing, or both, it was then not worse than without turning, beyond chance. It cannot be right
    for a domain in which most guesses are wrong. All matrices of a new domain must be given in one call.

    Examples
    --------
    >>> import numpy as np
    >>> from spdatoms import MinimumDistanceToMean, SPDAlign
    >>> rng = np.random.default_rng(0)
    >>> y = np.arange(90) % 3
    >>> signals = rng.standard_normal((90, 3, 40))
    >>> signals[np.arange(90), y] *= 3.0
    >>> domains = np.repeat(["ann", "bob", "eve"], 30)
    >>> for one in ("ann", "bob", "eve"):  # electrodes are never at the same place
    ...     mixing = np.eye(3) + 0.2 * rng.standard_normal((3, 3))
    ...     signals[domains == one] = mixing @ signals[domains == one]
    >>> X = signals @ signals.swapaxes(1, 2) / 40
    >>> align = SPDAlign()
    >>> Z = align.fit_transform(X[:60], y[:60], domains=domains[:60])
    >>> model = MinimumDistanceToMean().fit(Z, y[:60])
    >>> model.score(align.transform(X[60:]), y[60:])  # a new domain, unlabelled
    1.0
    """

    __metadata_request__fit: ClassVar = {"domains": True, "X_target": True, "y_target": True}
    _stored = holds(
        "classes_",
        recentre_=Part(SPDRecentre),
        means_=Numbers("C h"),
        turned_=Labels("turned"),
        _bases=Numbers("turned h turn"),
        _rotations=Numbers("turned turn turn"),
        _origins=Numbers("turned h"),
        _goals=Numbers("turned h"),
        _vectors=Numbers("N h"),
        _vector_classes=Classes("N"),
        _coefficients=Numbers("N C"),
        _beta=POSITIVE,
    )
    metric: str | Divergence = allow.parameter(METRIC, default="riemann")
    _: KW_ONLY
    adapt: str = allow.parameter(allow.choice("new", "all", "none"), default="new")
    n_rounds: int = allow.parameter(allow.integer(0), default=3)
    max_atoms: int = allow.parameter(allow.integer(1), default=1500)
    verbose: int = allow.parameter(allow.VERBOSE, default=0)

    @checked_fit
    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        domains: ArrayLike | None = None,
        X_target: ArrayLike | None = None,
        y_target: ArrayLike | None = None,
    ) -> SPDAlign:
        """Find centre, scale and turn of every domain.

        Parameters
        ----------
        X : array-like of shape (m, n, n)
            Real SPD matrices, which may lack channels, or singular ones. A Dask array is collected in memory.
        domains : array-like of shape (m,), default=None
            The name of the domain of each matrix, a text or a number; or one for all. None stands for ``"target"``.
        X_target : array-like of shape (k, n, n), default=None
            More matrices of the domain ``"target"``, for which ``transform`` will be called.
        y_target : array-like of shape (k,), default=None
            Their labels, if they are known.
        """
        X = self._of_its_type(checked(X))
        self.n_features_in_ = X.shape[-1]
        self.classes_, labels = check_labels(y, len(X))
        names = domain_of_each(domains, len(X))
        if X_target is not None:
            more = self._of_its_type(
                check_size(checked(X_target, "X_target"), X.shape[-1], "X_target")
            )
            X = np.concatenate([X, more])
            names = np.append(names, [TARGET] * len(more))
            labels = np.append(labels, self._target_labels(y_target, len(more)))
        self.recentre_ = SPDRecentre(self.metric, scale=True).fit(X, domains=names)
        Z = self._vectors_of(self.recentre_.transform(X, names))
        self._turn_domains(Z, labels, rows_of(names, len(X)))
        return self

    @checked_fit
    def partial_fit(
        self, X: ArrayLike, y: object = None, domains: ArrayLike | None = None
    ) -> SPDAlign:
        """Move centre and scale of domains towards more of their matrices; their turns stay.

        Parameters
        ----------
        X : array-like of shape (m, n, n)
            Matrices as in ``fit``, in the order of time.
        domains : array-like of shape (m,), default=None
            The name of the domain of each matrix, or one for all. None stands for ``"target"``. A new one is not
            turned.
        """
        check_is_fitted(self)
        self.recentre_ = copy(self.recentre_).partial_fit(X, domains=domains)
        return self

    def fit_transform(
        self,
        X: ArrayLike,
        y: ArrayLike,
        domains: ArrayLike | None = None,
        X_target: ArrayLike | None = None,
        y_target: ArrayLike | None = None,
    ) -> FloatArray:
        """Find centre, scale and turn of every domain, and bring its matrices onto the others.

        Parameters
        ----------
        X, y, domains, X_target, y_target
            As in ``fit``. What is made of X_target is not returned.

        Returns
        -------
        ndarray of shape (m, n, n)
            Positive definite matrices, in the precision of X.
        """
        self.fit(X, y, domains, X_target, y_target)
        X = self._checked(X)
        return self._of_domains(X, domain_of_each(domains, len(X)), adapting=False)

    def example_query(self, n: int, dtype: Any) -> FloatArray:
        """Return a matrix (1, n, n) that can be transformed."""
        return self.recentre_.example_query(n, dtype)

    def _known_domains(self) -> Array:
        return self.recentre_.domains_

    @per_matrix
    def _brought(self, X: ArrayLike, name: str) -> FloatArray:
        return self._of_domains(self._checked(X), np.array([name]), adapting=False)

    def _of_domains(self, X: FloatArray, names: Array, *, adapting: bool) -> FloatArray:
        recentre = self.recentre_
        if adapting:
            recentre = copy(recentre).set_params(adapt=self.adapt)
        Z = self._vectors_of(recentre.transform(X, names if len(names) > 1 else names[0]))
        for name, rows in rows_of(names, len(X)).items():
            turn = self._turn(name)
            if name not in self._known_domains():
                unknown = np.full(len(Z[rows]), -1)
                turn = turn_of_target(Z[rows], unknown, *self._scorer(), self.means_, self.n_rounds)
            Z[rows] = turn(Z[rows])
        return np.asarray(expm(unvech(Z, weighted=True)).astype(X.dtype, copy=False))

    def _target_labels(self, y: Any, count: int) -> Indices:
        """Return the indices of the classes of target matrices, −1 for unknown ones."""
        if y is None:
            return np.full(count, -1)
        classes, labels = check_labels(y, count)
        if not np.isin(classes, self.classes_).all():
            raise ValueError("y_target has a label that y does not have.")
        return np.asarray(np.searchsorted(self.classes_, classes)[labels])

    def _turn_domains(self, Z: Floats, labels: Indices, rows: dict[str, Any]) -> None:
        """Find the class means of the sources, and the turn of each domain onto them; the target comes last."""
        sources = {name: own for name, own in rows.items() if (labels[own] >= 0).all()}
        if len(sources) > 1:
            sources.pop(TARGET, None)
        own = np.concatenate([np.arange(len(Z))[one] for one in sources.values()])
        H = np.eye(len(self.classes_))
        counts = H[labels[own]].sum(axis=0)
        self.means_ = H[labels[own]].T @ Z[own] / np.maximum(counts, 1.0)[:, None]
        turns = {
            name: turn_of_labelled(Z[one], labels[one], self.means_)
            for name, one in sources.items()
        }
        for name, one in sources.items():
            Z[one] = turns[name](Z[one])
        some = own[np.lexsort((own, labels[own]))]
        some = some[np.linspace(0, len(some) - 1, min(self.max_atoms, len(some))).astype(np.intp)]
        self._vectors, self._vector_classes = Z[some], labels[some]
        codes = Codes.of(self._vectors, H[self._vector_classes], np.ones(len(some)))
        self._coefficients, self._beta = codes.coefficients, codes.beta
        for name in rows.keys() - sources.keys():
            one = rows[name]
            turns[name] = turn_of_target(
                Z[one], labels[one], *self._scorer(), self.means_, max(self.n_rounds, 1)
            )
        self.turned_ = np.array(list(turns), str)
        each = list(turns.values())
        self._bases = np.array([one.basis for one in each])
        self._rotations = np.array([one.rotation for one in each])
        self._origins = np.array([one.origin for one in each])
        self._goals = np.array([one.goal for one in each])

    def _scorer(self) -> tuple[Codes, Floats]:
        """Return the codes over the sources, and the indicators of their classes."""
        codes = Codes(self._vectors, self._coefficients, self._beta)
        return codes, np.eye(len(self.classes_))[self._vector_classes]

    def _turn(self, name: str) -> Turn:
        found = np.flatnonzero(self.turned_ == name)
        if not len(found):
            return Turn.none(self.means_.shape[1], 2 * len(self.classes_))
        i = int(found[0])
        return Turn(self._bases[i], self._rotations[i], self._origins[i], self._goals[i])

    def _vectors_of(self, X: FloatArray) -> Floats:
        return np.asarray(vech(logm(as_double(X)), weighted=True))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags
