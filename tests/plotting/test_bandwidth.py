"""The display of sparsity over β and α."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
import pytest

from _matrices import random_spd
from spdatoms import DivergenceKernel, SPDDictionaryLearning, SPDSparseCoder, sparse_code
from spdatoms.plotting import BandwidthPenaltyDisplay

mpl.use("Agg")


@pytest.mark.parametrize(
    "model",
    [SPDSparseCoder(), SPDDictionaryLearning(5, "logeuclid", max_iter=2, random_state=0)],
    ids=["coder", "learner"],
)
def test_cells_are_the_non_zeros_of_the_codes(model) -> None:
    X, queries = random_spd(12, 3, seed=1), random_spd(9, 3, seed=2)
    model.fit(X)
    factors = [0.5, 1.0, 4.0]
    display = BandwidthPenaltyDisplay.from_estimator(
        model, queries, beta_factors=factors, alpha_factors=factors
    )
    for i, f in enumerate(factors):
        kernel = DivergenceKernel(model.metric, f * model.kernel_.beta_).fit(model.atoms_)
        for j, g in enumerate(factors):
            codes = sparse_code(kernel.gram_, kernel.cross(queries), g * model.alpha_)
            assert display.nonzeros[i, j] == np.count_nonzero(codes, axis=1).mean()
    assert display.mark_.get_xydata().tolist() == [[1.0, 1.0]]


def test_the_mark_is_there_only_if_the_grid_has_it() -> None:
    display = BandwidthPenaltyDisplay([0.1, 0.2], [1.0], [[3.0], [2.0]]).plot()
    assert display.mark_ is None
    with pytest.raises(ValueError, match=r"nonzeros must have the shape \(2, 1\)"):
        BandwidthPenaltyDisplay([0.1, 0.2], [1.0], [[3.0, 2.0]])


def test_an_estimator_without_codes_is_refused() -> None:
    X = random_spd(6, 3)
    with pytest.raises(TypeError, match="must have atoms with a kernel"):
        BandwidthPenaltyDisplay.from_estimator(DivergenceKernel().fit(X), X)
