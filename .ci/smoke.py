"""Does an installed package work? Run it by the environment of a wheel, from a folder without the source.

    python smoke.py VERSION

A classifier is fitted, saved, loaded and explained, and the command line reads a file. Nothing is compiled.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import spdatoms

version = sys.argv[1]
assert spdatoms.__version__ == version, (spdatoms.__version__, version)
assert Path(spdatoms.__file__).is_relative_to(sys.prefix), spdatoms.__file__

rng = np.random.default_rng(0)
signals = rng.standard_normal((80, 4, 60))
signals[40:, 2] += signals[40:, 3]
X, y = signals @ signals.swapaxes(1, 2) / 60, np.repeat(["apart", "coupled"], 40)
classifier = spdatoms.SPDSparseClassifier().fit(X[::2], y[::2])
assert classifier.score(X[1::2], y[1::2]) > 0.9

with tempfile.TemporaryDirectory() as folder:
    model, matrices = Path(folder) / "model.spdatoms", Path(folder) / "X.npy"
    spdatoms.save(classifier, model)
    assert (spdatoms.load(model).predict(X) == classifier.predict(X)).all()
    np.save(matrices, X)
    command = [sys.executable, "-m", "spdatoms", "inspect", str(matrices)]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "80" in said, said
print(f"spdatoms {version} works with Python {sys.version.partition(' ')[0]}")
