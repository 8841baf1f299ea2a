"""Displays: they draw what they were given, where they were asked to."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator

from _matrices import random_spd

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")

from matplotlib import pyplot as plt  # noqa: E402

from spdatoms import (  # noqa: E402
    SPDEnsembleRegressor,
    SPDKMeans,
    SPDNovelty,
    SPDSparseClassifier,
    SPDSparseCoder,
)
from spdatoms.classification import Explanation  # noqa: E402
from spdatoms.plotting import (  # noqa: E402
    AtomsDisplay,
    AtomUsageDisplay,
    CodesDisplay,
    DriftDisplay,
    ExplanationDisplay,
    LearningCurveDisplay,
)
from spdatoms.plotting.atoms import ellipse  # noqa: E402


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


class Learned(BaseEstimator):
    """A stand-in for a fitted dictionary learner."""

    def __init__(self) -> None:
        self.objective_ = [9.0, 7.0, 6.5, 6.2, 6.1]
        self.atoms_ = random_spd(7, 4)

    def fit(self, X: np.ndarray) -> Learned:
        return self


def codes(m: int = 30, N: int = 12, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.where(rng.random((m, N)) < 0.2, rng.standard_normal((m, N)), 0.0)


def explanation(*contributions: float) -> Explanation:
    count = len(contributions)
    classes = np.array(["a", "b"])
    own = np.arange(count) % 2
    totals = np.bincount(own, contributions, 2)
    added = np.array(contributions)
    return Explanation(classes, totals, 0.0, np.arange(count), added, classes[own], count)


@pytest.mark.slow
@pytest.mark.parametrize(
    "display",
    [
        LearningCurveDisplay([3.0, 2.0, 1.0]),
        AtomsDisplay(random_spd(5, 2)),
        AtomsDisplay(random_spd(5, 3)),
        AtomsDisplay(random_spd(5, 6)),
        CodesDisplay(codes()),
        AtomUsageDisplay([0.1, 0.5, 0.0]),
        DriftDisplay([False, True, True], window=2),
        ExplanationDisplay(explanation(0.6, 0.3, -0.1)),
        ExplanationDisplay(explanation(0.6, 0.3), images=[np.eye(8), np.ones((9, 4, 3))]),
    ],
    ids=lambda display: type(display).__name__,
)
def test_every_display_draws_into_given_or_new_axes(display, tmp_path):
    assert display.plot() is display
    first = display.ax_
    assert display.figure_ is first.figure
    figure, ax = plt.subplots()
    display.plot(ax=ax)
    assert display.ax_ is ax
    assert display.figure_ is figure
    assert ax.has_data()
    figure.savefig(tmp_path / "picture.png")


def test_learning_curve_counts_half_steps():
    display = LearningCurveDisplay.from_estimator(Learned(), color="k")
    np.testing.assert_array_equal(display.line_.get_xdata(), [0.0, 0.5, 1.0, 1.5, 2.0])
    np.testing.assert_array_equal(display.line_.get_ydata(), Learned().objective_)
    assert display.line_.get_color() == "k"
    assert display.ax_.get_ylabel() == "objective"


def test_kmeans_can_be_drawn():
    kmeans = SPDKMeans(3, random_state=0).fit(random_spd(30, 2))
    display = LearningCurveDisplay.from_estimator(kmeans)
    np.testing.assert_array_equal(display.line_.get_ydata(), kmeans.inertia_history_)
    np.testing.assert_array_equal(display.line_.get_xdata(), np.arange(kmeans.n_iter_ + 1))
    assert display.ax_.get_ylabel() == "inertia"
    assert len(AtomsDisplay.from_estimator(kmeans).ax_.lines) == 3


def test_ellipse_lies_on_its_quadric():
    A = random_spd(1, 2, condition=50, scale=1e-12)[0]
    points = ellipse(A)
    np.testing.assert_allclose(np.einsum("ip,ij,jp->p", points, np.linalg.inv(A), points), 1.0)


@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
@pytest.mark.parametrize("common_scale", [True, False])
def test_ellipses_keep_to_their_cells(scale, common_scale):
    atoms = random_spd(7, 2, condition=30, scale=scale)
    atoms[0] *= 100.0
    display = AtomsDisplay(atoms, common_scale=common_scale, n_columns=3).plot()
    for line, column in zip(display.ax_.lines, [0, 1, 2, 0, 1, 2, 0], strict=True):
        x = line.get_xdata()
        assert np.abs(x - column).max() <= 0.45
        if not common_scale:
            assert np.ptp(x) > 0.1


def test_ellipsoids_have_three_outlines_and_a_legend():
    display = AtomsDisplay(random_spd(4, 3)).plot()
    assert len(display.ax_.lines) == 12
    styles = [handle.get_linestyle() for handle in display.ax_.get_legend().get_lines()]
    assert len(set(styles)) == 3


def test_heat_maps_have_titles_and_one_colour_scale():
    display = AtomsDisplay.from_estimator(Learned(), titles=list("abcdefg"))
    assert len(display.ax_.images) == 7
    assert {image.get_clim() for image in display.ax_.images} == {(-1.0, 1.0)}
    assert [text.get_text() for text in display.ax_.texts] == list("abcdefg")


def test_codes_show_every_non_zero_and_nothing_else():
    Y = codes()
    display = CodesDisplay.from_codes(Y)
    shown = display.image_.get_array()
    np.testing.assert_array_equal(np.ma.getmaskarray(shown), Y == 0)
    np.testing.assert_array_equal(shown.compressed(), np.abs(Y[Y != 0]))


def test_codes_are_grouped_by_label_and_thinned_out():
    Y, y = codes(500), np.random.default_rng(1).choice(["dog", "cat", "owl"], 500)
    display = CodesDisplay.from_codes(Y, y=y, max_codes=50)
    labels = y[display.shown_]
    assert len(labels) == 50
    assert (np.sort(labels) == labels).all()
    assert [tick.get_text() for tick in display.ax_.get_yticklabels()] == ["cat", "dog", "owl"]


def test_codes_of_many_labels_have_some_of_their_names():
    y = np.array([f"{i}\x1b" for i in range(500)])
    display = CodesDisplay.from_codes(codes(500), y=y, max_codes=500)
    names = [tick.get_text() for tick in display.ax_.get_yticklabels()]
    assert 20 <= len(names) <= 40
    assert names[0] == "0\\x1b"


@pytest.mark.slow
def test_sparse_codes_are_accepted():
    Y = sparse.csr_matrix(codes())
    assert CodesDisplay.from_codes(Y).codes.shape == (30, 12)
    np.testing.assert_allclose(AtomUsageDisplay.from_codes(Y).usage, (codes() != 0).mean(axis=0))


def test_codes_that_are_all_zero():
    assert CodesDisplay.from_codes(np.zeros((4, 3))).image_ is not None
    assert AtomUsageDisplay.from_codes(np.zeros((4, 3))).ax_.get_title() == "3 atoms, 3 unused"


def test_usage_is_sorted():
    display = AtomUsageDisplay([0.1, 0.5, 0.0, 0.2]).plot()
    np.testing.assert_array_equal(display.order_, [1, 3, 0, 2])
    np.testing.assert_allclose([bar.get_height() for bar in display.bars_], [50, 20, 10, 0])


def test_coder_can_be_drawn():
    X = random_spd(40, 3)
    coder = SPDSparseCoder(dictionary=X[:8], alpha=0.1).fit(X)
    Y = coder.transform(X)
    np.testing.assert_array_equal(CodesDisplay.from_estimator(coder, X).codes, Y)
    np.testing.assert_allclose(
        AtomUsageDisplay.from_estimator(coder, X).usage, (Y != 0).mean(axis=0)
    )
    assert len(AtomsDisplay.from_estimator(coder).ax_.lines) == 24


def test_bad_input():
    with pytest.raises(ValueError, match="objective"):
        LearningCurveDisplay([])
    with pytest.raises(ValueError, match=r"codes must have the shape \(m, N\)"):
        CodesDisplay(np.ones(3))
    with pytest.raises(ValueError, match=r"y must have the shape \(30,\)"):
        CodesDisplay(codes(), y=np.ones(3))
    with pytest.raises(ValueError, match="usage"):
        AtomUsageDisplay(np.ones((2, 2)))
    with pytest.raises(ValueError, match="5 atoms, but 1 titles"):
        AtomsDisplay(random_spd(5, 2), titles=["a"])
    with pytest.raises(ValueError, match=r"atoms\[0\]"):
        AtomsDisplay(-np.eye(2)[None])
    with pytest.raises(TypeError, match="has no attribute objective_"):
        LearningCurveDisplay.from_estimator(SPDSparseCoder().fit(random_spd(5, 2)))


@pytest.mark.slow
def test_matplotlib_is_imported_late():
    check = "import sys, spdatoms.plotting; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", check], check=False).returncode == 0


def test_explanation_shows_the_largest_contributions_and_pales_other_classes():
    display = ExplanationDisplay(explanation(0.5, 0.2, 0.1, 0.05, -0.02), max_atoms=3).plot()
    np.testing.assert_allclose([bar.get_width() for bar in display.bars_], [0.5, 0.2, 0.1])
    colours = [bar.get_facecolor() for bar in display.bars_]
    assert colours[0] == colours[2] != colours[1]
    assert display.ax_.get_title() == "a (0.58) before b (0.25)"
    assert [text.get_text() for text in display.ax_.get_yticklabels()] == [
        "a #0",
        "b #1",
        "a #2",
    ]


def test_explanation_of_a_classifier_and_of_nothing():
    X = random_spd(10, 3)
    classifier = SPDSparseClassifier().fit(X, np.arange(10) % 2)
    display = ExplanationDisplay.from_estimator(classifier, X[4], color="k")
    assert "#4" in display.ax_.get_yticklabels()[0].get_text()
    assert len(ExplanationDisplay(explanation()).plot().bars_) == 0


@pytest.mark.parametrize(
    "image", [np.ones(4), np.ones((3, 3, 2)), np.empty((0, 4)), "a", [[1], [1, 2]]]
)
def test_images_of_an_explanation_that_are_none(image):
    with pytest.raises(
        ValueError, match=r"images\[1\] must be an image \(height, width\) or one with"
    ):
        ExplanationDisplay(explanation(0.6, 0.3), images=[np.eye(8), image])


def test_a_matrix_that_cannot_be_explained_has_the_name_of_the_argument():
    X = random_spd(8, 3, seed=4)
    classifier = SPDSparseClassifier(alpha=0.05).fit(X, np.arange(8) % 2)
    with pytest.raises(ValueError, match=r"^x holds 4×4 matrices, but those seen in fit are 3×3"):
        ExplanationDisplay.from_estimator(classifier, np.eye(4))
    with pytest.raises(ValueError, match=r"^x\b.* not positive definite"):
        ExplanationDisplay.from_estimator(classifier, -X[0])
    with pytest.raises(ValueError, match=r"^x must be .*, got \(1, 3, 3\): use x\[0\], or another"):
        ExplanationDisplay.from_estimator(classifier, X[:1])
    with pytest.raises(ValueError, match=r"^x must be .*, got \(3,\)\.$"):
        ExplanationDisplay.from_estimator(classifier, X[0, 0])


def test_explanation_of_a_number_pales_what_draws_it_to_the_mean():
    """The same display; of several targets one has to be chosen."""
    X, t = random_spd(12, 3), np.arange(12.0)
    regressor = SPDEnsembleRegressor().fit(X, t)
    display = ExplanationDisplay.from_estimator(regressor, X[11], max_atoms=12)
    [found] = regressor.explain(X[11:])
    np.testing.assert_allclose([bar.get_width() for bar in display.bars_], found.contributions)
    away = found.contributions * (found.prediction - t.mean()) > 0
    colours = np.array([bar.get_facecolor() for bar in display.bars_])
    assert len(np.unique(colours[away], axis=0)) == len(np.unique(colours[~away], axis=0)) == 1
    assert display.ax_.get_title() == found.headline
    assert display.ax_.get_xlabel() == "contribution to the prediction"
    [several] = regressor.fit(X, np.stack([t, -t], axis=1)).explain(X[:1])
    with pytest.raises(ValueError, match="of 2 targets"):
        ExplanationDisplay(several)
    assert len(ExplanationDisplay(several.of_target(1)).plot().bars_) == 8


def test_drift_is_the_share_of_novel_matrices_among_the_last() -> None:
    X = random_spd(60, 3)
    detector = SPDNovelty(false_alarms=0.1).fit(X[:40])
    stream = np.concatenate([X[40:], 50.0 * X[40:]])
    display = DriftDisplay.from_estimator(detector, stream, window=8)
    novel = detector.predict(stream) < 0
    expected = [novel[max(0, i - 7) : i + 1].mean() for i in range(40)]
    np.testing.assert_allclose(display.shares_, expected, atol=1e-12)
    np.testing.assert_allclose(display.line_.get_ydata(), 100 * np.array(expected))
    assert display.shares_[-1] == 1.0
    assert display.usual == 0.1
    with pytest.raises(ValueError, match="shape"):
        DriftDisplay(np.zeros((2, 2)))
