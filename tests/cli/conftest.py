"""Files for the commands."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import scipy.io

from _commands import two_classes


@pytest.fixture
def files(tmp_path) -> Path:
    X, y = two_classes()
    Z, z = two_classes(seed=1)
    np.save(tmp_path / "X.npy", X)
    np.save(tmp_path / "Z.npy", Z)
    (tmp_path / "y.csv").write_text("label\n" + "\n".join(y) + "\n")
    (tmp_path / "z.txt").write_text("\n".join(z))
    np.savez(tmp_path / "data.npz", X=X, y=y, extra=np.arange(3))
    scipy.io.savemat(
        tmp_path / "data.mat", {"X": X.transpose(1, 2, 0), "y": (y == "right").astype(float) + 1}
    )
    return tmp_path
