"""Textons: patches, histograms and distances by other means, and textures that they tell apart."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from spdatoms.paper.baselines import TextonClassifier
from spdatoms.paper.baselines.textons import chi_squared, normalised_patches


def textures(count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    noise = np.random.default_rng(seed).standard_normal((count, 20, 24))
    noise[1::3] = noise[1::3].cumsum(axis=1)
    noise[2::3] = noise[2::3].cumsum(axis=2)
    return noise, np.array(["dots", "columns", "rows"])[np.arange(count) % 3]


def test_patches_have_length_one_whatever_the_light() -> None:
    image = textures(2, 0)[0][1]
    patches = normalised_patches(image, 5)
    assert patches.shape == (16 * 20, 25)
    np.testing.assert_allclose(np.linalg.norm(patches, axis=1), 1.0)
    np.testing.assert_allclose(normalised_patches(3.0 * image + 7.0, 5), patches, atol=1e-10)
    standardised = (image - image.mean()) / image.std()
    corner = standardised[2:7, 3:8].ravel()
    np.testing.assert_allclose(patches[2 * 20 + 3], corner / np.linalg.norm(corner))
    assert not normalised_patches(np.ones((6, 6)), 3).any()


def test_chi_squared_written_out() -> None:
    rng = np.random.default_rng(0)
    H, G = rng.dirichlet(np.ones(5), 4), rng.dirichlet(np.ones(5), 3)
    H[:, 2] = G[:, 2] = 0.0
    expected = [
        [sum((a - b) ** 2 / (a + b) for a, b in zip(h, g, strict=True) if a + b) / 2 for g in G]
        for h in H
    ]
    np.testing.assert_allclose(chi_squared(H, G), expected)


@pytest.mark.slow
def test_histograms_and_nearest_neighbour() -> None:
    X, y = textures(12, 1)
    model = TextonClassifier(5, 4, random_state=0).fit(X, y)
    assert model.textons_.shape == (12, 25)
    nearest = cdist(normalised_patches(X[4], 5), model.textons_).argmin(axis=1)
    expected = [np.mean(nearest == texton) for texton in range(12)]
    np.testing.assert_allclose(model.histograms_[4], expected)
    np.testing.assert_array_equal(model.predict(X), y)
    Q, truth = textures(9, 2)
    distances = chi_squared(model._histograms(model._patches(Q)), model.histograms_)
    for c, label in enumerate(model.classes_):
        np.testing.assert_allclose(
            model.decision_function(Q)[:, c], -distances[:, y == label].min(axis=1)
        )
    assert model.score(Q, truth) == 1.0
    again = clone(model).fit(X, y)
    np.testing.assert_array_equal(again.textons_, model.textons_)


def test_errors() -> None:
    X, y = textures(3, 3)
    with pytest.raises(NotFittedError):
        TextonClassifier().predict(X)
    with pytest.raises(ValueError, match=r"X\[0\] has 20×24 pixels, fewer than a patch of 21×21"):
        TextonClassifier(21).fit(X, y)
    with pytest.raises(ValueError, match="n_textons"):
        TextonClassifier(n_textons=0).fit(X, y)
