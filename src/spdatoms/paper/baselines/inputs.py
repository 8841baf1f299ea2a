"""The dictionary that several baselines are given."""

from __future__ import annotations

from numpy.typing import ArrayLike

from spdatoms._utils.checks import check_size
from spdatoms._utils.typing import FloatArray
from spdatoms.geometry.validation import check_spd


def given_dictionary(dictionary: ArrayLike | None, X: FloatArray) -> FloatArray:
    """Return the dictionary, checked, or the training matrices if there is none."""
    if dictionary is None:
        return X
    atoms = check_spd(dictionary, name="dictionary")
    return check_size(atoms, X.shape[-1], name="dictionary")
