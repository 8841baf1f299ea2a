"""Learning of dictionaries for tensor sparse coding: the gradient, and the objective in every half-step."""

from __future__ import annotations

import numpy as np
import pytest

from _matrices import random_spd
from spdatoms.paper.baselines import TensorDictionaryLearning
from spdatoms.paper.baselines.tensor._updates import TensorData, dictionary_loss, gradient

both_forms = pytest.mark.parametrize("bounded", [False, True], ids=["free", "bounded"])


def test_gradient_by_finite_differences() -> None:
    X, atoms = random_spd(6, 3, seed=1), random_spd(4, 3, seed=2)
    codes = np.abs(np.random.default_rng(0).standard_normal((6, 4)))
    data = TensorData.of(X, 0.2, bounded=False)
    G = gradient(data, atoms, codes, np.zeros_like(X))
    V = random_spd(4, 3, seed=7)
    h = 1e-5
    up, down = (dictionary_loss(data, atoms + s * h * V, codes)[0] for s in (1, -1))
    assert (up - down) / (2 * h) == pytest.approx(np.sum(G * V), rel=1e-7)


@both_forms
@pytest.mark.parametrize("update", ["gradient", "ksvd"])
def test_objective_falls_in_every_half_step(update, bounded) -> None:
    X = random_spd(24, 3, seed=5)
    learner = TensorDictionaryLearning(
        5, 0.05, update=update, bounded=bounded, max_iter=5, tol=0.0, random_state=0
    ).fit(X)
    falls = -np.diff(learner.objective_)
    assert (falls >= -1e-7).all()
    assert falls.sum() > 0.02 * learner.objective_[0]
    assert learner.n_iter_ == 5
    traces = np.einsum("jii->j", learner.atoms_)
    np.testing.assert_allclose(traces, np.einsum("mii->m", X).mean())
    # The codes that the learner gives are those of its last atoms, and cannot be worse.
    assert -learner.score(X) * len(X) <= learner.objective_[-1] + 1e-7


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"alpha": -1.0}, "alpha must be"),
        ({"alpha": "auto"}, "alpha must be"),
        ({"n_atoms": 0}, "n_atoms must be"),
        ({"max_iter": 0}, "max_iter must be"),
        ({"update": "magic"}, "update must be 'gradient' or 'ksvd'"),
    ],
)
def test_bad_parameters(parameters, message) -> None:
    with pytest.raises(ValueError, match=message):
        TensorDictionaryLearning(**parameters).fit(random_spd(20, 3))
