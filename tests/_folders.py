"""Folders of pictures for the tests of loaders and experiments."""

from __future__ import annotations

import io
import re
import warnings
from pathlib import Path

import numpy as np
import pytest

from spdatoms.datasets import Dataset
from spdatoms.paper.datasets import DatasetWarning

Image = pytest.importorskip("PIL.Image", reason="needs the extra vision")


def noise(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, shape, dtype=np.uint8)


def save_image(path: Path, pixels: np.ndarray) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(pixels).save(path)
    return path


def encode(pixels: np.ndarray, kind: str) -> bytes:
    """Return the content of an image file, for many files that hold the same."""
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, kind)
    return buffer.getvalue()


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def all_or_nothing(loader, folder: Path, file: str, words: str, **options) -> Dataset:
    """By default the loader stops and names the file; with "warn" it goes on and names it, too."""
    pattern = f"{re.escape(file)}.*{words}"
    with pytest.raises(ValueError, match=pattern):
        loader(folder, **options)
    with pytest.warns(DatasetWarning, match=pattern):
        loaded = loader(folder, **options, on_error="warn")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        silent = loader(folder, **options, on_error="ignore")
    first, again = (next(iter(d.values())) if isinstance(d, dict) else d for d in (loaded, silent))
    assert first.names == again.names
    return loaded


def skeletons(path: Path) -> Path:
    """Save two takes of two actions by four subjects."""
    rng = np.random.default_rng(0)
    takes = {}
    for subject in ("bd", "bk", "dg", "mm"):
        for i, action in enumerate(("squat1Reps", "sneak2StepsLStart")):
            for take in range(2):
                steps = rng.standard_normal((30, 31, 3)).cumsum(axis=0)
                steps[:, :10] *= 1 + 4 * i
                takes[f"{subject}__{action}__{take:03d}"] = steps
    path.parent.mkdir(exist_ok=True)
    np.savez(path, **takes)
    return path
