"""A dictionary that is learned in several places, and must be the same in all of them."""

from __future__ import annotations

import numpy as np

from spdatoms import SPDDictionaryLearning


def learner(**parameters):
    return SPDDictionaryLearning(
        **{
            "n_atoms": 32,
            "alpha": 0.2,
            "init": "random",
            "max_iter": 3,
            "tol": 0.0,
            "random_state": 0,
            **parameters,
        }
    )


def assert_same(fitted, expected) -> None:
    np.testing.assert_allclose(fitted.objective_, expected.objective_, rtol=1e-10)
    np.testing.assert_allclose(fitted.atoms_, expected.atoms_, rtol=1e-8, atol=1e-8)
