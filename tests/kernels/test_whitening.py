"""The kernel of a whitened divergence."""

from __future__ import annotations

import numpy as np

from spdatoms.geometry.semidefinite import is_semidefinite
from spdatoms.kernels.whitening import WhitenedKernel


def test_the_gram_is_semidefinite_if_some_atoms_lie_far_from_all_others():
    """Differences of large squared coordinates leave rounding that is large beside the median."""
    for seed in range(10):
        exponents = np.random.default_rng(seed).uniform(-7.0, 3.0, 27)
        D = 10.0 ** exponents[:, None, None]
        D[20:] = D[:7] * (1.0 + 1e-9)
        kernel = WhitenedKernel("harmonic", shrinkage=1.0)
        gram = kernel.fit_labelled(D, D, np.arange(27) % 3).gram_
        np.testing.assert_array_equal(gram, gram.T)
        assert is_semidefinite(gram)
