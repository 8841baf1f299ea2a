"""The atoms' half-step in the span of landmarks: F is what it says, and falls."""

from __future__ import annotations

import numpy as np
import pytest

from _matrices import wishart_classes
from spdatoms.dictionary._landmark_update import LandmarkUpdate
from spdatoms.dictionary._loop import Moves
from spdatoms.dictionary._samples import Samples
from spdatoms.dictionary.problem import LandmarkProblem
from spdatoms.divergences import get_divergence
from spdatoms.kernels.landmarks import LandmarkSpace

METRICS = ["stein", "jeffrey", "logeuclid", "riemann"]


class Setting:
    """Samples with codes, and atoms that are not where they should be."""

    def __init__(self, metric: str) -> None:
        X, _ = wishart_classes(6, 20)
        self.space = LandmarkSpace.of(get_divergence(metric), X[:40], "auto", 1e-3)
        self.atoms = X[40:46].copy()
        self.features = self.space.features(self.atoms)
        self.data = Samples(LandmarkProblem(self.space, 0.05), X, 6)
        self.coded, (self.code_gram, self.products) = self.data.code(self.features, self.atoms)
        self.codes = self.data.codes().toarray()
        self.samples = self.space.features(X).astype(np.float32).astype(np.float64)

    def update(self, *sums: np.ndarray, **options) -> LandmarkUpdate:
        sums = sums or (self.code_gram, self.products)
        return LandmarkUpdate(self.data, Moves(**options), self.atoms, self.features, *sums)

    def objective(self, features: np.ndarray) -> float:
        """F of atoms with these features, by its definition."""
        residuals = self.samples - self.codes @ features
        return float((residuals**2).sum() + 0.05 * abs(self.codes).sum())


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("options", [{}, {"gradient": True}, {"block_size": 2}])
def test_f_falls_by_what_is_said(metric, options) -> None:
    setting = Setting(metric)
    assert setting.coded == pytest.approx(setting.objective(setting.features), rel=1e-9)
    update = setting.update(**options)
    update.run()
    assert update.change < 0
    after = setting.objective(setting.space.features(update.atoms))
    assert after == pytest.approx(setting.coded + update.change, rel=1e-9)


@pytest.mark.parametrize("metric", METRICS)
def test_the_direction_is_downhill(metric) -> None:
    """The geodesics start where finite differences of F over all entries of an atom say."""
    setting = Setting(metric)
    A, B = setting.code_gram, setting.products
    pull = (B - A @ setting.features) @ setting.space.roots.T
    slopes = 2.0 * setting.space.beta * setting.space.kernel(setting.atoms) * pull
    update = setting.update()
    update.begin()
    curves = update.geodesics(setting.atoms, slopes)
    used = np.flatnonzero(A.diagonal() > 0)
    for r in used[:3]:
        falls = []
        for curve in curves:
            moved = setting.features.copy()
            moved[r] = setting.space.features(curve.points(1e-5)[r : r + 1])[0]
            falls.append(setting.objective(moved) - setting.coded)
        assert min(falls) < 0


def test_atoms_at_their_goal_stay() -> None:
    """Where every sample is an atom and its code one, F cannot fall."""
    setting = Setting("stein")
    update = setting.update(np.eye(6), setting.features.copy())
    update.run()
    assert abs(update.change) < 1e-12
    np.testing.assert_allclose(update.atoms, setting.atoms, rtol=1e-5)


def test_unused_atoms_are_replaced_by_what_is_represented_worst() -> None:
    setting = Setting("stein")
    A, B = setting.code_gram.copy(), setting.products.copy()
    A[2], A[:, 2], B[2] = 0.0, 0.0, 0.0
    update = setting.update(A, B)
    update.run()
    (worst,) = setting.data.samples(setting.data.worst_represented(1))
    np.testing.assert_array_equal(update.atoms[2], worst)
