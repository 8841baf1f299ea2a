"""Names of divergences: ours, pyRiemann's, and those that users add; and what tells two of one name apart."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from spdatoms._utils.parameters import Allowed, shown
from spdatoms._utils.text import suggestion
from spdatoms.divergences.affine_invariant import AffineInvariant
from spdatoms.divergences.base import Divergence
from spdatoms.divergences.cholesky import Cholesky, LogCholesky
from spdatoms.divergences.euclidean import Euclidean
from spdatoms.divergences.hermitian import Hermitian
from spdatoms.divergences.jeffrey import Burg, Jeffrey
from spdatoms.divergences.power_euclidean import Harmonic, LogEuclidean, PowerEuclidean
from spdatoms.divergences.stein import Stein
from spdatoms.divergences.thompson import Thompson
from spdatoms.divergences.wasserstein import Wasserstein

Registered = TypeVar("Registered", bound=type[Divergence])

_DIVERGENCES: dict[str, type[Divergence]] = {
    cls.name: cls
    for cls in (
        Stein,
        Jeffrey,
        Burg,
        AffineInvariant,
        LogEuclidean,
        Euclidean,
        LogCholesky,
        Cholesky,
        Wasserstein,
        Harmonic,
        PowerEuclidean,
        Thompson,
    )
}
#: pyRiemann's names. The values are ours: S, not √S, and squared distances.
_ALIASES = {"logdet": "stein", "kullback_sym": "jeffrey", "kullback": "burg", "airm": "riemann"}


def divergence_names() -> list[str]:
    """Return the names that ``metric`` accepts, aliases last."""
    return [*_DIVERGENCES, *_ALIASES]


def divergence_classes() -> list[type[Divergence]]:
    """Return the classes of all divergences that have a name."""
    return list(_DIVERGENCES.values())


def register_divergence(divergence: Registered) -> Registered:
    """Register a divergence, so that ``metric`` accepts its name and `spdatoms.load` finds its class.

    An instance can be used as ``metric`` without registration. A program that loads a model must
    register the divergence first: a file holds no code.

    Parameters
    ----------
    divergence : type
        A subclass of `Divergence` with a ``name``.

    Returns
    -------
    type
        The class itself, so that this can be a decorator.

    Examples
    --------
    >>> from spdatoms.divergences import Stein, register_divergence
    >>> register_divergence(Stein).name
    'stein'
    """
    if not (isinstance(divergence, type) and issubclass(divergence, Divergence)):
        raise TypeError(
            f"A divergence is a subclass of spdatoms.divergences.Divergence; got {divergence!r}."
        )
    name = getattr(divergence, "name", None)
    if not isinstance(name, str) or name in _ALIASES:
        raise ValueError(
            f"{divergence.__name__}.name must be a name that is not taken, got {name!r}."
        )
    # The same class again, as a notebook defines it anew, takes the place of the old one.
    same = (divergence.__module__, divergence.__qualname__)
    others = [c for c in divergence_classes() if (c.__module__, c.__qualname__) != same]
    if any(name == c.name or divergence.__name__ == c.__name__ for c in others):
        raise ValueError(
            f"There is a divergence with the name {name!r}, or a class {divergence.__name__}."
        )
    _DIVERGENCES[name] = divergence
    return divergence


def get_divergence(metric: str | Divergence) -> Divergence:
    """Return the divergence that has a name.

    Parameters
    ----------
    metric : str or Divergence
        One of `divergence_names`; a divergence is returned as it is.

    Returns
    -------
    Divergence
    """
    return _found(metric)


def _found(metric: Any, name: str = "metric") -> Divergence:
    if isinstance(metric, Divergence):
        return metric
    if not _is_metric(metric):
        names = divergence_names()
        meant = suggestion(metric, names) if isinstance(metric, str) else ""
        raise ValueError(f"{name} must be one of {', '.join(names)}; got {shown(metric)}.{meant}")
    return _DIVERGENCES[_ALIASES.get(metric, metric)]()


def symmetric_divergence(metric: Any, name: str = "metric") -> Divergence:
    """Return the divergence, or refuse it if it is not symmetric and so has no kernel."""
    divergence = _found(metric, name)
    if not divergence.symmetric:
        raise ValueError(
            f"{name} must have a kernel, but the {divergence.name} divergence is not symmetric and gives "
            "no kernel; jeffrey is its symmetric form."
        )
    return divergence


def _symmetric_divergences(metrics: Any, name: str) -> list[Divergence]:
    several = isinstance(metrics, list | tuple) and len(metrics) > 0
    return [symmetric_divergence(one, name) for one in (metrics if several else [metrics])]


def _is_metric(value: Any) -> bool:
    if isinstance(value, str):
        return value in _DIVERGENCES or value in _ALIASES
    return isinstance(value, Divergence)


def divergence_parameters(divergence: Divergence) -> dict[str, Any]:
    """Return the parameters of a divergence as JSON can hold them, arrays as digests; none for most.

    They are the arguments of its class, kept under their names, as `spdatoms.save` asks for. If one is not kept so,
    they are all attributes. A `Hermitian` divergence has those of the divergence between real matrices.
    """
    if isinstance(divergence, Hermitian):
        return divergence_parameters(divergence.divergence)
    names = tuple(inspect.signature(type(divergence)).parameters)
    kept = all(hasattr(divergence, name) for name in names)
    values = {name: getattr(divergence, name) for name in names} if kept else vars(divergence)
    return {name: _plain(value) for name, value in values.items()}


def same_divergence(one: Divergence, other: Divergence) -> bool:
    """Return whether two divergences have the same name and the same parameters."""
    return one.name == other.name and divergence_parameters(one) == divergence_parameters(other)


def _plain(value: Any) -> Any:
    """Return JSON that is the same for equal values, and in every process."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.ndarray) and value.dtype != object:  # its repr leaves out the middle
        content = hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()
        return [value.dtype.str, list(value.shape), content]
    if isinstance(value, Divergence):
        return [value.name, divergence_parameters(value)]
    if isinstance(value, Mapping):
        return {str(key): _plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [_plain(part) for part in value]
    if isinstance(value, type) or inspect.isroutine(value):
        return [value.__module__, value.__qualname__]
    state = getattr(value, "__dict__", None)
    # The repr of an object with attributes may be its address.
    return [type(value).__qualname__, _plain(state) if state else repr(value)]


@dataclass(frozen=True)
class _Metric(Allowed):
    """What has a divergence, or is refused by the search for it: users may add names."""

    find: Callable[[Any, str], Any]

    def check(self, name: str, value: Any) -> None:
        self.find(value, name)


METRIC = _Metric(("a divergence",), _is_metric, _found)
SYMMETRIC_METRIC = _Metric(("a symmetric divergence",), _is_metric, symmetric_divergence)
SYMMETRIC_METRICS = _Metric(
    ("a symmetric divergence", "a list of such"), _is_metric, _symmetric_divergences
)
