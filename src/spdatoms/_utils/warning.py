"""Warnings that point to the line of the user's program."""

from __future__ import annotations

import sys
import warnings

#: Packages whose frames are passed over: the user has called them, and does not look into them.
_INSIDE = ("spdatoms", "sklearn", "contextlib")


def warn_user(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the innermost line outside of this package and of scikit-learn."""
    level, frame = 1, sys._getframe()
    while frame.f_back and frame.f_globals.get("__name__", "").split(".")[0] in _INSIDE:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)
