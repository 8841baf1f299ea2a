"""Learning of dictionaries in tangent spaces: the gradient, and the objective in every half-step."""

from __future__ import annotations

import numpy as np
import pytest

from _matrices import random_spd
from spdatoms.geometry.spectral import inverse_cholesky
from spdatoms.paper.baselines import RiemannianDictionaryLearning
from spdatoms.paper.baselines.tangent.learning import TangentLoss


def test_gradient_by_finite_differences() -> None:
    X, atoms = random_spd(5, 3, seed=1), random_spd(4, 3, seed=2)
    codes = np.random.default_rng(0).standard_normal((5, 4))
    codes[2, 1] = 0.0
    loss, V, h = TangentLoss(inverse_cholesky(X), codes), random_spd(4, 3, seed=3), 1e-5
    value, G = loss.gradient(atoms)
    assert value == loss.value(atoms)
    change = loss.value(atoms + h * V) - loss.value(atoms - h * V)
    assert change / (2 * h) == pytest.approx(np.sum(G * V), rel=1e-6)


def test_objective_falls_in_every_half_step() -> None:
    X = random_spd(20, 3, seed=5)
    learner = RiemannianDictionaryLearning(3, max_iter=6, tol=0.0, random_state=0).fit(X)
    falls = -np.diff(learner.objective_)
    assert (falls >= -1e-9).all()
    assert falls.sum() > 0.05 * learner.objective_[0]
    assert -learner.score(X) * len(X) <= learner.objective_[-1] + 1e-9


@pytest.mark.parametrize("parameters", [{"alpha": -1.0}, {"n_atoms": 0}, {"max_iter": 0}])
def test_bad_parameters(parameters) -> None:
    (name,) = parameters
    with pytest.raises(ValueError, match=f"{name} must be"):
        RiemannianDictionaryLearning(**parameters).fit(random_spd(20, 3))
