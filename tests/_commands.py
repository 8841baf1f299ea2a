"""The command line, run in the process, and matrices for it."""

from __future__ import annotations

import warnings

import numpy as np
from click.testing import Result
from typer.testing import CliRunner

from spdatoms.cli import app


def invoke(*arguments: object) -> Result:
    """Run a command, with warnings that are said and no errors, as in a process of its own."""
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        return CliRunner().invoke(app, [str(argument) for argument in arguments])


def run(*arguments: object, code: int = 0) -> str:
    """Run a command; return what it prints on both streams, with single spaces."""
    result = invoke(*arguments)
    assert result.exit_code == code, result.output
    if code == 1 and result.exception is not None:
        assert isinstance(result.exception, SystemExit), result.exception
    return " ".join(result.output.split())


def two_classes(seed: int = 0, m: int = 40) -> tuple[np.ndarray, np.ndarray]:
    samples = np.random.default_rng(seed).standard_normal((m, 4, 12))
    samples[m // 2 :, :2] *= 3.0
    return 1e-12 * samples @ samples.swapaxes(1, 2) / 12, np.repeat(["left", "right"], m // 2)


def bad_matrices() -> np.ndarray:
    X, _ = two_classes()
    X[3] *= -1
    X[9] = np.outer(X[9][0], X[9][0])
    X[11, 0, 1] *= 1.5
    return X
