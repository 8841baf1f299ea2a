"""`SPDRecentre`: every domain brought to a common centre; and what all transformers of domains share."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Container, Iterator
from contextlib import contextmanager
from dataclasses import KW_ONLY
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from spdatoms._utils import parameters as allow
from spdatoms._utils.checks import check_size
from spdatoms._utils.domains import TARGET, domain_names, rows_of
from spdatoms._utils.typing import Array, FloatArray
from spdatoms.base import SPDEstimator, checked_fit, estimator_call, per_matrix
from spdatoms.divergences import Divergence
from spdatoms.divergences.registry import METRIC
from spdatoms.domains._centre import Centre, centre_of, checked
from spdatoms.geometry.hermitian import in_precision_of
from spdatoms.geometry.validation import check_spd
from spdatoms.layout import Labels, Numbers, holds


class DomainTransformer(OneToOneFeatureMixin, TransformerMixin, SPDEstimator):
    """A transformer of matrices of several domains, some of which its subclass knows."""

    __metadata_request__partial_fit: ClassVar = {"domains": True}
    __metadata_request__transform: ClassVar = {"domains": True}
    adapt: str

    @abstractmethod
    def _known_domains(self) -> Container[str]:
        """Return the names of the domains that were seen."""

    @abstractmethod
    def _brought(self, X: ArrayLike, name: str) -> FloatArray:
        """Return the matrices of a domain that was seen, by what is known of it."""

    @abstractmethod
    def _of_domains(self, X: FloatArray, names: Array, *, adapting: bool) -> FloatArray:
        """Return checked matrices of domains; if ``adapting``, what is not known of these follows from them."""

    @estimator_call
    def transform(self, X: ArrayLike, domains: ArrayLike | None = None) -> FloatArray:
        """Bring matrices to what the domains have in common.

        Parameters
        ----------
        X : array-like of shape (m, n, n)
            Matrices as in ``fit``: of a new domain all at once. For a Dask array whose domain is known the result is a
            Dask array.
        domains : array-like of shape (m,), default=None
            The name of the domain of each matrix, or one for all. None stands for ``"target"``, or for a new domain
            if there was none of that name.

        Returns
        -------
        ndarray of shape (m, n, n)
            Positive definite matrices, in the precision of X.
        """
        check_is_fitted(self)
        names = domain_names(domains, len(X) if np.ndim(domains) else 1)  # type: ignore[arg-type]
        if len(names) == 1 and names[0] in self._known_domains() and self.adapt != "all":
            return self._brought(X, str(names[0]))
        return self._of_domains(self._checked(X), names, adapting=True)

    def _checked(self, X: ArrayLike) -> FloatArray:
        return self._of_its_type(check_size(checked(X), self.n_features_in_))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


@allow.with_parameters
class SPDRecentre(DomainTransformer):
    """Bring every domain (subject, session, site) to a common centre.

    ``Z = M_d^-½ X M_d^-½`` for every matrix X of the domain d, whose mean is M_d. With ``scale=True`` it is
    ``(M_d^-½ X M_d^-½)^(1/s_d)``, where s_d² is the mean of ‖log(M_d^-½ X M_d^-½)‖²_F.

    Labels are not used, so a new domain needs none. Its centre comes from the first of these that is there: a part of
    it given to ``fit`` as ``X_target`` or to ``partial_fit``, or the matrices given to ``transform``. With
    ``partial_fit`` and ``forgetting`` the centre follows a domain that drifts.

    Matrices may lack channels (rows and columns of NaN): they are completed with what is nearest to M_d. The matrices
    of a domain may be singular with a range in common: outside it Z is the identity. So all Z are positive definite.

    Parameters
    ----------
    metric : str or Divergence, default="riemann"
        The divergence whose mean M_d is.
    scale : bool, default=False
        Bring all domains to the same spread, too.
    adapt : {"new", "all", "none"}, default="new"
        Which domains ``transform`` estimates from the matrices that it is given: those not seen before, or all,
        where those seen before count with what was seen. With ``"none"`` a new domain is an error.
    forgetting : float, default=1.0
        The share of its weight that a matrix keeps in ``partial_fit`` when the next one of its domain comes.
        0.98 makes the centre follow the last 50 matrices or so.

    Attributes
    ----------
    domains_ : ndarray of shape (D,)
        The names of the domains, as texts.
    centres_ : ndarray of shape (D, n, n)
        Their means.
    scales_ : ndarray of shape (D,)
        Their scales; 1 without ``scale``.
    ranks_ : ndarray of shape (D,)
        The dimensions of their ranges.
    weights_ : ndarray of shape (D,)
        The number of matrices seen of each, less what was forgotten.
    n_features_in_

    See Also
    --------
    SPDRange : For singular matrices with one range in all domains: smaller matrices are quicker.

    Notes
    -----
    If ``fit`` is given no domains, all matrices are of one, which is called ``"target"``; ``X_target`` is of that, too.
    A matrix whose domain is not said is taken for one of ``"target"`` if that was seen in ``fit``. If not, all matrices
    of the call are one new domain.

    With scikit-learn's metadata routing a pipeline passes ``domains`` and ``X_target`` to this step; other names
    (MOABB's are subjects and X_target_unlabeled) are set by ``set_fit_request`` and ``set_transform_request``.

    Examples
    --------
    >>> import numpy as np
    >>> from spdatoms import SPDRecentre, mean
    >>> rng = np.random.default_rng(0)
    >>> signals = rng.standard_normal((40, 3, 30)) * [[[1.0], [2.0], [3.0]]]
    >>> X = signals @ signals.swapaxes(1, 2) / 30
    >>> X[20:] *= 100.0  # another subject, another amplifier
    >>> recentre = SPDRecentre().fit(X, domains=["ann"] * 20 + ["bob"] * 20)
    >>> Z = recentre.transform(X[20:], domains="bob")
    >>> mean(Z, "riemann").diagonal().round(6)
    array([1., 1., 1.])
    """

    hermitian: ClassVar[bool] = True
    __metadata_request__fit: ClassVar = {"domains": True, "X_target": True}
    __metadata_request__inverse_transform: ClassVar = {"domains": True}
    _stored = holds(
        domains_=Labels("D"),
        centres_=Numbers("D n n", "fc"),
        scales_=Numbers("D", least=0.0),
        ranks_=Numbers("D", "iu", least=1),
        weights_=Numbers("D", least=0.0),
    )
    metric: str | Divergence = allow.parameter(METRIC, default="riemann")
    _: KW_ONLY
    scale: bool = allow.parameter(allow.BOOLEAN, default=False)
    adapt: str = allow.parameter(allow.choice("new", "all", "none"), default="new")
    forgetting: float = allow.parameter(allow.real(above=0, most=1), default=1.0)
    verbose: int = allow.parameter(allow.VERBOSE, default=0)

    @checked_fit
    def fit(
        self,
        X: ArrayLike,
        y: object = None,
        domains: ArrayLike | None = None,
        X_target: ArrayLike | None = None,
    ) -> SPDRecentre:
        """Find the centres of domains.

        Parameters
        ----------
        X : array-like of shape (m, n, n)
            SPD matrices, which may lack channels, or singular matrices. A Dask array is collected in memory.
        domains : array-like of shape (m,), default=None
            The name of the domain of each matrix, a text or a number; or one for all. None stands for ``"target"``.
        X_target : array-like of shape (k, n, n), default=None
            Matrices of the domain ``"target"``: a part of a new domain, for which ``transform`` will be called.
        """
        given = [(X, domains, "X")]
        if X_target is not None:
            given.append((X_target, TARGET, "X_target"))
        self._set({})
        for own, names, name in given:
            self._learn(own, names, name, 1.0)
        return self

    @checked_fit
    def partial_fit(
        self, X: ArrayLike, y: object = None, domains: ArrayLike | None = None
    ) -> SPDRecentre:
        """Move the centres of domains towards more of their matrices, which come in the order of time.

        Parameters
        ----------
        X : array-like of shape (m, n, n)
            Matrices as in ``fit``, one at least.
        domains : array-like of shape (m,), default=None
            The name of the domain of each matrix, or one for all. A new one is added. None stands for ``"target"``.
        """
        if not hasattr(self, "domains_"):
            self._set({})
        self._learn(X, domains, "X", self.forgetting)
        return self

    def fit_transform(
        self,
        X: ArrayLike,
        y: object = None,
        domains: ArrayLike | None = None,
        X_target: ArrayLike | None = None,
    ) -> FloatArray:
        """Find the centres of domains, and bring their matrices there.

        Parameters
        ----------
        X, y, domains, X_target
            As in ``fit``. What is made of X_target is not returned.

        Returns
        -------
        ndarray of shape (m, n, n)
            Positive definite matrices, in the precision of X.
        """
        self.fit(X, y, domains, X_target)
        X = self._checked(X)
        return self._of_domains(X, domain_names(domains, len(X)), adapting=False)

    @estimator_call
    def inverse_transform(self, Z: ArrayLike, domains: ArrayLike | None = None) -> FloatArray:
        """Take matrices from the common centre to domains: ``M_d^½ Z^s_d M_d^½``.

        Parameters
        ----------
        Z : array-like of shape (m, n, n)
            SPD matrices: those of ``transform``, atoms, means.
        domains : array-like of shape (m,), default=None
            The name of the domain of each, or one for all, which must have been seen. None stands for ``"target"``.

        Returns
        -------
        ndarray of shape (m, n, n)
            Matrices in the precision of Z. Channels that a matrix lacked stay completed.
        """
        check_is_fitted(self)
        Z = self._of_its_type(check_size(check_spd(Z, name="Z"), self.n_features_in_, "Z"))
        known = self._known_domains()

        def one(name: str, own: FloatArray) -> FloatArray:
            if name not in known:
                raise ValueError(_unknown(name, known))
            return known[name].take_back(own)

        return self._by_domain(one, Z, domain_names(domains, len(Z)))

    def example_query(self, n: int, dtype: Any) -> FloatArray:
        """Return a matrix (1, n, n) that can be transformed."""
        if n != self.n_features_in_ or (self.ranks_ == n).all():
            return super().example_query(n, dtype)
        M: FloatArray = self.centres_[int((self.domains_ == TARGET).argmax())]
        return (M if np.dtype(dtype).kind == "c" else M.real).astype(dtype)[None]

    def _learn(self, X: Any, domains: Any, name: str, forgetting: float) -> None:
        """Add matrices to what is known of their domains."""
        X = self._of_its_type(checked(X, name))
        if hasattr(self, "n_features_in_"):
            check_size(X, self.n_features_in_, name)
        self.n_features_in_ = X.shape[-1]
        known = self._known_domains()
        for one, rows in rows_of(domain_names(domains, len(X)), len(X)).items():
            with _naming(one):
                known[one] = self._found(X[rows], forgetting, known.get(one))
        self._set(known)

    def _by_domain(
        self, function: Callable[[str, FloatArray], FloatArray], X: FloatArray, names: Array
    ) -> FloatArray:
        """Return ``function(name, matrices)`` of the matrices of each domain, in the order of X."""
        found = np.empty_like(in_precision_of(X, self.centres_[:0]), shape=X.shape)
        for name, rows in rows_of(names, len(X)).items():
            with _naming(name):
                found[rows] = function(name, X[rows])
        return found

    def _found(self, X: FloatArray, forgetting: float, before: Centre | None) -> Centre:
        return centre_of(X, self.metric, scaled=self.scale, forgetting=forgetting, before=before)

    def _adapted(self, name: str, X: FloatArray, before: Centre | None) -> Centre:
        """Return the centre of a domain from the matrices to be transformed."""
        if self.adapt == "none":
            raise ValueError(_unknown(name, self._known_domains()))
        if before is None and len(X) < 2:
            raise ValueError(
                f"Nothing is known of the domain {name!r}, and one matrix has no centre but itself: transform several "
                "matrices at once, or show some of them to partial_fit before."
            )
        return self._found(X, 1.0, before)

    @per_matrix
    def _brought(self, X: ArrayLike, name: str) -> FloatArray:
        return self._known_domains()[name].bring(self._checked(X))

    def _of_domains(self, X: FloatArray, names: Array, *, adapting: bool) -> FloatArray:
        known = self._known_domains()

        def one(name: str, own: FloatArray) -> FloatArray:
            if adapting and (name not in known or self.adapt == "all"):
                return self._adapted(name, own, known.get(name)).bring(own)
            return known[name].bring(own)

        return self._by_domain(one, X, names)

    def _known_domains(self) -> dict[str, Centre]:
        """Return what is known of the domains, by name."""
        each = zip(
            self.domains_.tolist(),
            self.centres_,
            self.ranks_.tolist(),
            self.scales_.tolist(),
            self.weights_.tolist(),
            strict=True,
        )
        return {name: Centre(*rest) for name, *rest in each}

    def _set(self, centres: dict[str, Centre]) -> None:
        """Note what is known of the domains."""
        each = list(centres.values())
        self.domains_: Array = np.array(list(centres), str)
        self.centres_ = np.array([one.matrix for one in each])
        self.ranks_ = np.array([one.rank for one in each], np.intp)
        self.scales_ = np.array([one.scale for one in each], np.float64)
        self.weights_ = np.array([one.weight for one in each], np.float64)


@contextmanager
def _naming(domain: str) -> Iterator[None]:
    """Let errors about matrices of a domain say so: their indices are those within the domain."""
    try:
        yield
    except ValueError as error:
        if domain == TARGET or "domain" in str(error):
            raise
        raise ValueError(f"Among the matrices of the domain {domain!r}: {error}") from error


def _unknown(name: str, known: dict[str, Any]) -> str:
    """Return the error about a domain that was not seen."""
    seen = list(known)
    return (
        f"Nothing is known of the domain {name!r}; those seen are {allow.shown(seen)}. Show some of its matrices to "
        "partial_fit, or to fit as X_target; adapt='new' takes those that are to be transformed."
    )
