"""Gradients of kernels over a dictionary, and of vectors in the span of landmarks, against differences."""

from __future__ import annotations

import numpy as np
import pytest

from _matrices import random_spd
from spdatoms.divergences import get_divergence
from spdatoms.divergences.hermitian import over
from spdatoms.kernels import DivergenceKernel
from spdatoms.kernels.kernel import RidgeKernel
from spdatoms.kernels.landmarks import LandmarkKernel, LandmarkSpace
from spdatoms.kernels.log_cosine import LogCosineKernel
from spdatoms.kernels.whitening import ClassicalScaling, Scatter, WhitenedKernel, Whitening

STEP = 1e-5
D = random_spd(14, 3)
LABELS = np.arange(14) % 2


def space(metric, D, whitened=False):
    divergence = over(get_divergence(metric), D)
    whitening = None
    if whitened:
        d = divergence.pairwise(divergence.prepare(D))
        scaling = ClassicalScaling(d)
        whitening = Whitening(scaling, Scatter.within(scaling.coordinates, LABELS), 6, 0.3)
    return LandmarkSpace.of(divergence, D, "auto", 1e-3, whitening)


KERNELS = {
    "stein": lambda D: DivergenceKernel().fit(D),
    "clipped": lambda D: DivergenceKernel("jeffrey", 0.05, "clip").fit(D),
    "flipped": lambda D: DivergenceKernel("jeffrey", 0.05, "flip").fit(D),
    "ridge": lambda D: RidgeKernel("riemann", 0.3, 0.1).fit(D),
    "whitened": lambda D: WhitenedKernel(shrinkage=0.3).fit_labelled(D, D, LABELS),
    "not whitened": lambda D: WhitenedKernel(shrinkage=1.0).fit_labelled(D, D, LABELS),
    "landmarks": lambda D: LandmarkKernel(space("jeffrey", D)).fit(D[::2]),
    "whitened landmarks": lambda D: LandmarkKernel(space("stein", D, True)).fit(D[::2]),
    "log cosine": lambda D: LogCosineKernel().fit(D),
}


def slopes(kernel, X, H, weights):
    """Return the derivative of Σ w·k along H by differences, and by the gradient."""
    sides = [(weights * kernel.cross_checked(X + t * H)).sum() for t in (STEP, -STEP)]
    G = kernel.vjp(X, weights)
    assert G.dtype == X.dtype
    np.testing.assert_allclose(G, G.conj().swapaxes(1, 2), atol=1e-12 * np.abs(G).max())
    return (sides[0] - sides[1]) / (2 * STEP), np.einsum("mij,mji->", G, H).real


@pytest.mark.filterwarnings("ignore::spdatoms.exceptions.IndefiniteKernelWarning")
@pytest.mark.parametrize("name", KERNELS)
def test_slopes(name) -> None:
    kernel = KERNELS[name](D)
    rng = np.random.default_rng(0)
    X = random_spd(5, 3, seed=1)
    H, weights = X - random_spd(5, 3, seed=2), rng.standard_normal((5, len(kernel.gram_)))
    numerical, found = slopes(kernel, X, H, weights)
    assert found == pytest.approx(numerical, rel=1e-6)


@pytest.mark.parametrize("complex_queries", [False, True])
def test_slopes_beside_complex_atoms(complex_queries) -> None:
    def twisted(Z):
        return Z + 0.2j * (np.triu(Z, 1) - np.tril(Z, -1))

    kernel = KERNELS["stein"](twisted(D))
    X, H = random_spd(5, 3, seed=1), random_spd(5, 3, seed=2) - random_spd(5, 3, seed=3)
    if complex_queries:
        X, H = twisted(X), twisted(H)
    weights = np.random.default_rng(0).standard_normal((5, 14))
    numerical, found = slopes(kernel, X, H, weights)
    assert found == pytest.approx(numerical, rel=1e-6)
