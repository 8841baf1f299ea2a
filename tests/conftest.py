"""Fixtures that tests of several folders share."""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

pytest_plugins = ["_conditions"]  # the options --clock and --shuffle

# Their asserts shall say what they compared, as those of the tests do.
pytest.register_assert_rewrite(
    "_commands",
    "_folders",
    "_lasso_problems",
    "_learned",
    "_matrices",
    "_model_files",
    "conformance.estimators",
    "fuzz.campaign",
)

from _matrices import three_classes  # noqa: E402

# Tests do not measure time: neither do the examples that hypothesis makes, on a machine with a high load.
# The same examples in every run: what is new is the business of the fuzz campaign.
settings.register_profile(
    "patient", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("patient")


def pytest_configure(config: pytest.Config) -> None:
    """Let Ctrl-C work in tests, and leave one thread to the BLAS of each worker of -n: more would wait."""
    # A shell lets what it runs in the background ignore Ctrl-C, and so would all processes of the tests.
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if config.getoption("numprocesses", None):
        for library in ("OPENBLAS", "MKL"):
            os.environ.setdefault(f"{library}_NUM_THREADS", "1")


@pytest.fixture(scope="session")
def labelled() -> tuple[np.ndarray, np.ndarray]:
    """Return 24 matrices of size 4 in three classes, and their labels."""
    return three_classes()


@pytest.fixture
def no_collection() -> Iterator[None]:
    """Keep the garbage collector still: Ctrl-C during one of its callbacks is lost."""
    gc.disable()
    yield
    gc.enable()
