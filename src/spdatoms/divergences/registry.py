"""Names of divergences, ours and pyRiemann's."""

from __future__ import annotations

from spdatoms.divergences.affine_invariant import AffineInvariant
from spdatoms.divergences.base import Divergence
from spdatoms.divergences.burg import Burg
from spdatoms.divergences.euclidean import Euclidean
from spdatoms.divergences.jeffrey import Jeffrey
from spdatoms.divergences.log_euclidean import LogEuclidean
from spdatoms.divergences.stein import Stein

_DIVERGENCES: dict[str, type[Divergence]] = {
    cls.name: cls for cls in (Stein, Jeffrey, Burg, AffineInvariant, LogEuclidean, Euclidean)
}
#: pyRiemann's names. The values are ours: S, not √S, and squared distances.
_ALIASES = {"logdet": "stein", "kullback_sym": "jeffrey", "kullback": "burg", "airm": "riemann"}


def divergence_names() -> list[str]:
    """Return the names that ``metric`` accepts, aliases last."""
    return [*_DIVERGENCES, *_ALIASES]


def get_divergence(metric: str | Divergence) -> Divergence:
    """Return the divergence of a name.

    Parameters
    ----------
    metric : str or Divergence
        One of `divergence_names`; a divergence is returned as it is.

    Returns
    -------
    Divergence
    """
    if isinstance(metric, Divergence):
        return metric
    cls = _DIVERGENCES.get(_ALIASES.get(metric, metric)) if isinstance(metric, str) else None
    if cls is None:
        raise ValueError(f"metric must be one of {', '.join(divergence_names())}; got {metric!r}.")
    return cls()


def symmetric_divergence(metric: str | Divergence) -> Divergence:
    """Return the divergence, or say why it has no kernel."""
    divergence = get_divergence(metric)
    if not divergence.symmetric:
        raise ValueError(
            f"The {divergence.name} divergence is not symmetric and gives no kernel; jeffrey is its "
            "symmetric form."
        )
    return divergence
