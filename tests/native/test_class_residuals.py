"""How well classes represent queries, against NumPy."""

import numpy as np
import pytest

from spdatoms.native import kernel

class_residuals = kernel("class_residuals", "DDDIqqqqDB")


@pytest.mark.parametrize("n_classes", [1, 3])
@pytest.mark.parametrize("n", range(1, 41))
def test_every_size(n, n_classes):
    rng = np.random.default_rng([n, n_classes])
    codes = rng.standard_normal((7, n)) * (rng.uniform(size=(7, n)) < 0.4)
    gram, cross = rng.standard_normal((n, n)), rng.standard_normal((7, n))
    classes, most = rng.integers(n_classes, size=n), n // 3
    gram += gram.T
    scores, many = np.full((7, n_classes), 4711.0), np.zeros(7, bool)
    class_residuals(codes, gram, cross, classes, 7, n, n_classes, most, scores, many)
    np.testing.assert_array_equal(many, (codes != 0).sum(axis=1) > most)
    for c in range(n_classes):
        y = codes * (classes == c)
        expected = (y * (2 * cross - y @ gram)).sum(axis=1)
        np.testing.assert_allclose(scores[~many, c], expected[~many], rtol=1e-10, atol=1e-12)
    assert (scores[many] == 4711.0).all()
