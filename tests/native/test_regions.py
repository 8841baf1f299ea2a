"""Moments and covariances over boxes, against their definition in NumPy."""

import numpy as np
import pytest

from spdatoms.native import kernel

mean_and_variance = kernel("mean_and_variance", "DqqDD")
add_moments = kernel("add_moments", "DqqqDIIDq")
box_covariances = kernel("box_covariances", "DqqqIDDDD")
SIZES = [*range(1, 41)]


def guarded(*shape):
    """Return an array of zeros, and a check that what lies around it is untouched."""
    memory = np.full(np.prod(shape) + 16, 7.0)
    inside = memory[8:-8].reshape(shape)
    inside[:] = 0.0

    def check():
        assert (memory[:8] == 7.0).all()
        assert (memory[-8:] == 7.0).all()

    return inside, check


def moments_of(pixels):
    """Return the sums of features, then those of products in the upper triangle."""
    i, j = np.triu_indices(pixels.shape[-1])
    return np.concatenate([pixels, pixels[..., i] * pixels[..., j]], axis=-1)


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("count", [1, 13])
def test_mean_and_variance(n, count):
    samples = np.random.default_rng(n).standard_normal((count, n)) + 5.0
    (mean, check_mean), (variance, check_variance) = guarded(n), guarded(n)
    mean_and_variance(samples, count, n, mean, variance)
    check_mean()
    check_variance()
    np.testing.assert_allclose(mean, samples.mean(axis=0), rtol=1e-14)
    np.testing.assert_allclose(variance, samples.var(axis=0), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("n", SIZES)
def test_add_moments(n):
    rng = np.random.default_rng(n)
    pixels, centre = rng.standard_normal((5, 7, n)), rng.standard_normal(n)
    rows, columns = np.array([0, 0, -1, 1, 1]), np.array([1, 1, 0, -1, 2, 2, 0])
    moments, check = guarded(2, 3, n * (n + 3) // 2)
    add_moments(pixels, *pixels.shape, centre, rows, columns, moments, 3)
    check()
    expected = np.zeros_like(moments)
    every = moments_of(pixels - centre)
    for r, c in np.argwhere((rows[:, None] >= 0) & (columns >= 0)):
        expected[rows[r], columns[c]] += every[r, c]
    np.testing.assert_allclose(moments, expected, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("n", SIZES)
def test_box_covariances(n):
    rng = np.random.default_rng(n)
    boxes = [rng.standard_normal((count, n)) for count in (1, 2, 9)]
    table = np.zeros((6, n * (n + 3) // 2))
    signs, corners = np.array([1.0, -1.0]), np.array([[1, 0], [3, 2], [5, 4]])
    table[::2] = rng.standard_normal((3, 1))
    table[1::2] = [moments_of(box).sum(axis=0) for box in boxes] + table[::2]
    (means, check_means), (covariances, check_covariances) = guarded(3, n), guarded(3, n, n)
    box_covariances(table, n, 3, 2, corners, signs, np.array([1.0, 2.0, 9.0]), means, covariances)
    check_means()
    check_covariances()
    for box, mean, covariance in zip(boxes, means, covariances, strict=True):
        np.testing.assert_allclose(mean, box.mean(axis=0), atol=1e-13)
        centred = box - box.mean(axis=0)
        np.testing.assert_allclose(
            covariance, centred.T @ centred / max(len(box) - 1, 1), atol=1e-12
        )
        assert (np.diagonal(covariance) >= 0.0).all()
        np.testing.assert_array_equal(covariance, covariance.T)
