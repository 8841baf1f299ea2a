"""Sums for atoms: they add up over parts, and give the centre, the gradient and pairs."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse

from _matrices import random_spd
from spdatoms.divergences import get_divergence

METRICS = ["stein", "jeffrey", "logeuclid"]


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("negative", [False, True])
def test_sums_give_the_centre_and_the_gradient(metric, negative) -> None:
    rng = np.random.default_rng(0)
    Z, D = random_spd(30, 4, seed=1), random_spd(3, 4, seed=2)
    W = scipy.sparse.csc_array(rng.random((30, 3)) * (rng.random((30, 3)) < 0.5))
    if negative:
        W.data[::7] *= -0.2
    divergence = get_divergence(metric)
    prepared = divergence.prepare(Z)
    sums = divergence.atom_sums(prepared, W, D)
    parts = [divergence.atom_sums(divergence.prepare(Z[i::2]), W[i::2].tocsc(), D) for i in (0, 1)]
    np.testing.assert_allclose(sums, parts[0] + parts[1], rtol=1e-10)
    t = 1.0 / divergence.relaxation
    centres = divergence.towards_centre(sums, D).points(t)
    for r in range(3):
        expected = divergence.centre(prepared, W.toarray()[:, r], D[r])
        np.testing.assert_allclose(centres[r], expected, rtol=1e-8)

    def weighted(D: np.ndarray) -> np.ndarray:
        return (W.toarray() * divergence.pairwise(prepared, divergence.prepare(D))).sum(axis=0)

    for paths in (divergence.downhill(sums, D), divergence.towards_centre(sums, D)):
        assert (weighted(paths.points(1e-4)) < weighted(D)).all()
    np.testing.assert_allclose(paths.points(0.0), D, rtol=1e-10)
    columns = np.repeat(np.arange(3), np.diff(W.indptr))
    every = divergence.pairwise(prepared, divergence.prepare(D))
    np.testing.assert_allclose(
        divergence.pairs(prepared, W, divergence.prepare(D)), every[W.indices, columns], atol=1e-12
    )


def test_stein_pairs_at_scales_far_apart() -> None:
    divergence = get_divergence("stein")
    Z = random_spd(6, 3) * 10.0 ** np.array([-150, 0, 1, 2, 3, 150])[:, None, None]
    D = random_spd(2, 3, seed=1)
    W = scipy.sparse.csc_array(np.ones((6, 2)))
    every = divergence.pairwise(divergence.prepare(Z), divergence.prepare(D))
    np.testing.assert_allclose(
        divergence.pairs(divergence.prepare(Z), W, divergence.prepare(D)), every.T.ravel()
    )
    assert np.isfinite(divergence.atom_sums(divergence.prepare(Z), W, D)).all()
