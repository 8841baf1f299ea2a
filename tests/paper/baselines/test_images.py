"""SRC on pixels and on Gabor features: the formulas by other means, and what they can tell apart."""

from __future__ import annotations

import inspect
import re

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Lasso

from spdatoms.descriptors import gabor_magnitudes
from spdatoms.exceptions import ZeroCodeWarning
from spdatoms.paper.baselines.cov3dj import Cov3DJClassifier, cov3dj
from spdatoms.paper.baselines.images import GaborSparseClassifier, PixelSparseClassifier


@pytest.fixture(scope="module")
def faces() -> tuple[np.ndarray, np.ndarray]:
    """Three noisy pictures of each of five smooth scenes."""
    from scipy.ndimage import gaussian_filter

    rng = np.random.default_rng(0)
    scenes = gaussian_filter(rng.random((5, 24, 20)), (0, 2, 2))
    y = np.repeat(np.array(["ann", "bob", "cid", "dee", "eve"]), 6)
    images = np.repeat(scenes, 6, axis=0) + 0.03 * rng.standard_normal((30, 24, 20))
    return images, y


@pytest.mark.slow
@pytest.mark.parametrize("n_components", [None, 6])
def test_pixels_against_scikit_learn(faces, n_components) -> None:
    """PCA, scaling, the Lasso (of scikit-learn) and residuals, written out."""
    X, y = faces
    train, test = X[::2], X[1::2]
    components = PCA(n_components).fit(train.reshape(15, -1)).components_
    A, V = (images.reshape(len(images), -1) @ components.T for images in (train, test))
    A /= np.linalg.norm(A, axis=1, keepdims=True)
    V /= np.linalg.norm(V, axis=1, keepdims=True)
    model = PixelSparseClassifier(n_components, alpha=0.05).fit(train, y[::2])
    scores = model.decision_function(test)
    for v, found in zip(V, scores, strict=True):
        # scikit-learn divides the squares by twice the number of rows.
        lasso = Lasso(alpha=0.05 / (2 * len(v)), fit_intercept=False, tol=1e-8, max_iter=10**6)
        code = lasso.fit(A.T, v).coef_
        residuals = [np.sum((v - code[y[::2] == c] @ A[y[::2] == c]) ** 2) for c in model.classes_]
        np.testing.assert_allclose(found, 1.0 - np.array(residuals), atol=1e-4)
    np.testing.assert_array_equal(model.predict(test), model.classes_[scores.argmax(axis=1)])
    assert model.score(test, y[1::2]) == 1.0


def test_contrast_of_an_image_does_not_matter(faces) -> None:
    X, y = faces
    model = PixelSparseClassifier().fit(X[::2], y[::2])
    np.testing.assert_allclose(
        model.decision_function(1e-9 * X[1::2]), model.decision_function(X[1::2]), rtol=1e-7
    )


@pytest.mark.parametrize("sigma", [np.pi, 2.0])
def test_gabor_features_written_out(faces, sigma) -> None:
    X, y = faces
    model = GaborSparseClassifier(spacing=6, sigma=sigma).fit(X[::2], y[::2])
    vectors = []
    for image in X[::2]:
        values = gabor_magnitudes(image, sigma=sigma)
        pooled = np.array(
            [
                [
                    values[i : i + 6, j : j + 6].mean(axis=(0, 1))
                    for j in range(0, image.shape[1], 6)
                ]
                for i in range(0, image.shape[0], 6)
            ]
        )
        vectors.append((pooled / np.linalg.norm(pooled, axis=(0, 1))).ravel())
    projected = np.array(vectors) @ model.pca_.components_.T
    projected /= np.linalg.norm(projected, axis=1, keepdims=True)
    np.testing.assert_allclose(model.atoms_, projected, atol=1e-10)


def test_gabor_features_of_single_pixels(faces) -> None:
    X, y = faces
    model = GaborSparseClassifier(spacing=6, pooling=False).fit(X[::2], y[::2])
    vectors = []
    for image in X[::2]:
        values = gabor_magnitudes(image)
        values = (values - values.mean(axis=(0, 1))) / values.std(axis=(0, 1))
        vectors.append(values[3::6, 3::6].ravel())
    projected = np.array(vectors) @ model.pca_.components_.T
    projected /= np.linalg.norm(projected, axis=1, keepdims=True)
    np.testing.assert_allclose(model.atoms_, projected, atol=1e-10)


def test_gabor_does_not_see_brightness_and_sign_where_pixels_do(faces) -> None:
    X, y = faces
    for model, blind in ((GaborSparseClassifier(4), True), (PixelSparseClassifier(), False)):
        fitted = model.fit(X[::2], y[::2])
        usual, negative = (fitted.decision_function(Z) for Z in (X[1::2], 5.0 - 3.0 * X[1::2]))
        assert np.allclose(usual, negative, rtol=1e-7, atol=1e-9) == blind


def test_zero_code_goes_to_the_nearest(faces) -> None:
    X, y = faces
    model = PixelSparseClassifier(alpha=3.0).fit(X[::2], y[::2])
    with pytest.warns(ZeroCodeWarning, match="15 of 15 queries"):
        predicted = model.predict(X[1::2])
    A, V = (images.reshape(15, -1) @ model.pca_.components_.T for images in (X[::2], X[1::2]))
    A, V = (v / np.linalg.norm(v, axis=1, keepdims=True) for v in (A, V))
    np.testing.assert_array_equal(predicted, y[::2][(V @ A.T).argmax(axis=1)])


def test_flat_images_do_not_break(faces) -> None:
    X, y = faces
    for model in (PixelSparseClassifier(), GaborSparseClassifier()):
        fitted = model.fit(np.concatenate([X[::2], np.zeros((1, 24, 20))]), [*y[::2], "none"])
        with pytest.warns(ZeroCodeWarning):
            assert np.isfinite(fitted.decision_function(np.zeros((1, 24, 20)))).all()
    with pytest.raises(ValueError, match="cannot be distinguished"):
        GaborSparseClassifier().fit(np.ones((4, 24, 20)), [0, 0, 1, 1])


@pytest.mark.parametrize("model", [PixelSparseClassifier(), GaborSparseClassifier()], ids=repr)
def test_bad_images(model, faces) -> None:
    X, y = faces
    with pytest.raises(NotFittedError):
        clone(model).predict(X)
    with pytest.raises(ValueError, match=r"X\[1\] must be a grey image"):
        model.fit([X[0], np.zeros((24, 20, 3))], [0, 1])
    with pytest.raises(ValueError, match=r"X\[1\] has the size \(20, 20\), but X\[0\] \(24, 20\)"):
        model.fit([X[0], X[1][:20]], [0, 1])
    with pytest.raises(ValueError, match="30 matrices, but y 29 labels"):
        model.fit(X, y[:-1])
    with pytest.raises(ValueError, match="alpha must be"):
        clone(model).set_params(alpha=-1.0).fit(X, y)
    fitted = clone(model).fit(X, y)
    with pytest.raises(ValueError, match="images of 20×20 pixels, but those of fit had 24×20"):
        fitted.predict(X[:, :20])
    with pytest.raises(ValueError, match="spacing must be an integer ≥ 1"):
        GaborSparseClassifier(spacing=0).fit(X, y)


@pytest.mark.parametrize(
    "kind", [PixelSparseClassifier, GaborSparseClassifier, Cov3DJClassifier, cov3dj]
)
def test_docstrings_and_signatures_agree(kind, faces, motions) -> None:
    doc = inspect.getdoc(kind)

    def documented(section: str) -> set[str]:
        body = re.search(
            rf"^{section}\n-+\n(.*?)(?=^\w[^\n]*\n-{{3,}}$|\Z)", doc, flags=re.S | re.M
        )
        return set(re.findall(r"^(\w+) :", body.group(1), flags=re.M))

    assert documented("Parameters") == set(inspect.signature(kind).parameters)
    if inspect.isclass(kind):
        assert kind().get_params().keys() == documented("Parameters")
        model = kind().fit(*(motions if kind is Cov3DJClassifier else faces))
        fitted = {n for n in vars(model) if n.endswith("_") and not n.startswith("_")}
        assert fitted == documented("Attributes")
