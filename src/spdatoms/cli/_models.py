"""Estimators from model files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any


def load_model(path: Path, abilities: Sequence[str], purpose: str, n_jobs: int | None) -> Any:
    """Return the estimator of a model file, or refuse it if a method or attribute is missing."""
    from spdatoms.storage import load

    if not path.is_file():
        raise FileNotFoundError(f"{path}: there is no such file.")
    model = load(path)
    if not all(hasattr(model, ability) for ability in abilities):
        raise ValueError(f"{path} holds a {type(model).__name__}, which cannot {purpose}.")
    return model if n_jobs is None else model.set_params(n_jobs=n_jobs)
