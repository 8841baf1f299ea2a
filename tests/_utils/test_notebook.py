"""What notebooks show of estimators and results."""

from __future__ import annotations

import base64
import io
import re

import numpy as np
import pytest
from sklearn import config_context

from _matrices import random_spd
from spdatoms import SPDDictionaryLearning, SPDKMeans, SPDSparseCoder, suspect_labels
from spdatoms._utils.notebook import matrices_as_html, table_as_html


def pictures_of(page: str) -> list[np.ndarray]:
    """Return the pictures of a page as red, green, blue and alpha."""
    images = pytest.importorskip("PIL.Image")
    found = re.findall(r"data:image/png;base64,([^\"]+)", page)
    return [np.asarray(images.open(io.BytesIO(base64.b64decode(one)))) for one in found]


def test_pictures_have_correlations() -> None:
    """Another decoder finds |correlation| as opacity, orange for positive and blue for negative."""
    X = random_spd(3, 4)
    shown = pictures_of(matrices_as_html(X, "X"))
    deviations = np.sqrt(np.diagonal(X, axis1=1, axis2=2))
    correlations = X / deviations[:, :, None] / deviations[:, None, :]
    for picture, correlation in zip(shown, correlations, strict=True):
        off = ~np.eye(4, dtype=bool)
        alpha = picture[..., 3][off] / 255.0
        np.testing.assert_allclose(alpha, np.abs(correlation[off]), atol=0.5 / 255 + 1e-9)
        orange = picture[..., 0][off] > picture[..., 2][off]
        assert (orange == (correlation[off] > 0)).all()


def test_large_and_many_matrices_stay_small() -> None:
    page = matrices_as_html(random_spd(60, 100), "atoms_")
    shown = pictures_of(page)
    assert len(shown) == 48
    assert "12 more" in page
    assert {picture.shape for picture in shown} == {(64, 64, 4)}


@pytest.mark.parametrize(
    "estimator",
    [
        SPDDictionaryLearning(n_atoms=3, max_iter=2, random_state=0),
        SPDSparseCoder(random_spd(3, 4)),
        SPDKMeans(3, random_state=0),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
@pytest.mark.filterwarnings("ignore")
def test_estimators_show_their_atoms(estimator) -> None:
    assert "<figure" not in estimator._repr_mimebundle_()["text/html"]  # there are none yet
    fitted = estimator.fit(random_spd(12, 4))
    page = fitted._repr_mimebundle_()["text/html"]
    assert page.count("<figure") == 3
    assert type(estimator).__name__ in page  # and what scikit-learn shows
    assert fitted._repr_html_().count("<figure") == 3
    with config_context(display="text"):
        assert "text/html" not in fitted._repr_mimebundle_()


def test_suspect_labels_are_a_table(labelled) -> None:
    X, y = labelled
    wrong = np.array(y).astype("U20")
    wrong[0] = "<b>"
    wrong[1:3] = wrong[-1]
    found = suspect_labels(X, wrong)
    page = found._repr_html_()
    assert page.count("<tr>") == 1 + len(found.above())
    assert "<b>" not in page


def test_tables_escape_text() -> None:
    page = table_as_html("<a>", ("<b>",), [("<c>",)], ["<i></i>"])
    assert re.findall("<[abc]>", page) == []
    assert "<td><i></i></td>" in page
