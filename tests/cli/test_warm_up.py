"""The command that compiles ahead of the first use."""

from __future__ import annotations

import re

from _commands import run, two_classes
from spdatoms import SPDSparseClassifier
from spdatoms._compiled.compilation import when_compiling


def test_after_warm_up_nothing_is_compiled():
    assert "Compiled for matrices of size 2, 4." in run("warm-up", "2", "4", "2")
    compiled = []
    X, y = two_classes()
    with when_compiling(lambda: compiled.append(True), lambda: None):
        SPDSparseClassifier().fit(X, y).predict(X)
    assert X.shape[-1] == 4
    assert not compiled


def test_sizes_are_positive():
    # The second is how older versions of Typer say it.
    assert re.search("greater than or equal to 1|x>=1", run("warm-up", "0", code=2))
