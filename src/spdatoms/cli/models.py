"""Estimators from model files, and what commands keep with them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

#: The steps of a model on the common range of singular matrices.
_STEPS = ("range", "model")
#: The attribute of a model that has the names of its channels, an array of strings.
_NAMES = "channel_names_"


def load_model(
    path: Path, abilities: Sequence[str], purpose: str, n_jobs: int | None
) -> tuple[Any, Any, tuple[str, ...]]:
    """Return the estimator of a model file, the common range that it works on, or None, and the names of channels.

    It is refused if a method or attribute is missing.
    """
    from spdatoms.storage import load

    if not path.is_file():
        raise FileNotFoundError(f"{path}: there is no such file.")
    model, reach = load(path), None
    if [name for name, _ in getattr(model, "steps", ())] == list(_STEPS):
        reach, model = (step for _, step in model.steps)
    if not all(hasattr(model, ability) for ability in abilities):
        name = type(model).__name__
        article = "an" if name.startswith("SPD") else "a"
        raise ValueError(f"{path} holds {article} {name}, which cannot {purpose}.")
    names = kept_names(model if reach is None else reach, path)
    return (model if n_jobs is None else model.set_params(n_jobs=n_jobs)), reach, names


def save_model(path: Path, model: Any, reach: Any, channels: Sequence[str]) -> None:
    """Write an estimator to a model file, with the common range that it works on and the names of its channels."""
    from spdatoms.storage import save

    keep_names(model if reach is None else reach, channels)
    if reach is not None:
        from sklearn.pipeline import Pipeline

        model = Pipeline(list(zip(_STEPS, (reach, model), strict=True)))
    save(model, path)


def keep_names(model: Any, names: Sequence[str]) -> None:
    """Let a model keep the names of its channels, which then are in its file."""
    if names:
        setattr(model, _NAMES, np.array(names))


def kept_names(model: Any, path: Path) -> tuple[str, ...]:
    """Return the names of channels that a model of a file has kept, as far as there are any."""
    names = vars(model).get(_NAMES, np.array([], str))
    count = getattr(model, "n_features_in_", None)
    fits = isinstance(names, np.ndarray) and names.dtype.kind == "U" and names.ndim == 1
    if not fits or len(names) not in (0, count) or len(np.unique(names)) < len(names):
        raise ValueError(f"{path}: {_NAMES} has not one name for each channel of the model.")
    return tuple(names.tolist())
