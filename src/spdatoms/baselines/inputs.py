"""Checks of parameters that several baselines share."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from spdatoms._utils.checks import check_size
from spdatoms._utils.typing import FloatArray
from spdatoms.geometry.validation import check_spd


def check_penalty(alpha: Any) -> None:
    """Refuse an α that is not a number ≥ 0."""
    if isinstance(alpha, str) or not (np.isfinite(alpha) and alpha >= 0):
        raise ValueError(f"alpha must be a number ≥ 0, got {alpha!r}.")


def given_dictionary(dictionary: ArrayLike | None, X: FloatArray) -> FloatArray:
    """Return the dictionary, checked, or the training matrices if there is none."""
    if dictionary is None:
        return X
    atoms = check_spd(dictionary, name="dictionary")
    return check_size(atoms, X.shape[-1], name="dictionary")
