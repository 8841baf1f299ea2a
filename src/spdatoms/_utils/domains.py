"""Names of domains: which matrix belongs to which."""

from __future__ import annotations

from typing import Any

import numpy as np

from spdatoms._utils.typing import Array

#: The domain of matrices whose domain is not said.
TARGET = "target"


def domain_names(domains: Any, count: int) -> Array:
    """Return the names as texts: one for all matrices, shape (1,), or one for each, shape (count,)."""
    if hasattr(domains, "to_numpy"):
        domains = domains.to_numpy()
    given = np.atleast_1d(np.asarray(TARGET if domains is None else domains))
    if given.ndim > 1 or (np.ndim(domains) > 0 and given.shape != (count,)):
        raise ValueError(
            f"domains must be one name or a list of {count}, one for every matrix, got the shape {given.shape}."
        )
    if given.dtype.kind not in "iubUSfO" or any(one is None or one != one for one in given):
        raise ValueError("domains must be names: texts or numbers, and none may be missing.")
    return np.array([str(one) for one in given.tolist()])


def domain_of_each(domains: Any, count: int) -> Array:
    """Return the name of the domain of each of ``count`` matrices."""
    return np.resize(domain_names(domains, count), count)


def rows_of(names: Array, count: int) -> dict[str, Any]:
    """Return the rows of each domain, in the order in which they come first."""
    if len(names) == 1:
        return {str(names[0]): slice(0, count)}
    return {str(name): np.flatnonzero(names == name) for name in dict.fromkeys(names.tolist())}
