"""Codes over their penalty: the path of one query."""

from __future__ import annotations

import numpy as np
import pytest

from _matrices import random_spd

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")

from matplotlib import pyplot as plt  # noqa: E402

from spdatoms import (  # noqa: E402
    DivergenceKernel,
    SPDDictionaryLearning,
    SPDSparseClassifier,
    SPDSparseCoder,
    sparse_code,
)
from spdatoms.plotting import RegularisationPathDisplay  # noqa: E402


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def test_alpha_is_the_transparency_of_lines_where_the_estimator_has_its_own():
    coder = SPDSparseCoder(beta=2.0).fit(random_spd(6, 3))
    display = RegularisationPathDisplay.from_estimator(coder, random_spd(1, 3), alpha=0.5)
    assert display.alpha == coder.alpha_
    assert {line.get_alpha() for line in display.lines_} == {0.5}


def test_path_is_that_of_the_solver():
    coder = SPDSparseCoder(beta=2.0).fit(random_spd(12, 3))
    query = random_spd(1, 3, seed=5)
    display = RegularisationPathDisplay.from_estimator(coder, query[0])
    kernel = coder.kernel_
    for alpha, code in zip(display.alphas[::20], display.codes[::20], strict=True):
        expected = sparse_code(kernel.gram_, kernel.cross(query), alpha)[0]
        np.testing.assert_allclose(code, expected, atol=1e-7)
    for atom, line in enumerate(display.lines_):
        np.testing.assert_array_equal(line.get_ydata(), display.codes[:, atom])
    assert display.alphas[0] == pytest.approx(2 * np.abs(kernel.cross(query)).max())
    assert not display.codes[0].any()
    assert display.codes[-1].any()
    left, right = display.ax_.get_xlim()
    assert left > right


def test_the_largest_atoms_are_named_and_the_others_stand_back():
    codes = np.array([[0.0, 0.0, 0.0, 0.0], [0.1, -0.9, 0.0, 0.3]])
    display = RegularisationPathDisplay([1.0, 0.5], codes, n_labelled=2).plot()
    np.testing.assert_array_equal(display.named_, [1, 3])
    names = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert names == ["atom 1", "atom 3"]
    assert display.lines_[1].get_color() == display.lines_[3].get_color()
    assert display.lines_[0].get_color() != display.lines_[1].get_color()
    assert display.lines_[1].get_linestyle() != display.lines_[3].get_linestyle()


def test_atoms_of_one_class_share_a_style_and_a_name():
    X = random_spd(20, 3)
    classifier = SPDSparseClassifier("stein").fit(X, np.repeat(["a", "b"], 10))
    display = RegularisationPathDisplay.from_estimator(classifier, X[:1] * 1.1)
    names = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert len(names) == len(set(names))
    assert set(names) <= {"a", "b"}
    for name in names:
        styles = {
            display.lines_[atom].get_linestyle()
            for atom in display.named_
            if classifier.atom_labels_[atom] == name
        }
        assert len(styles) == 1


def test_alpha_in_use_is_marked_if_it_is_on_the_path():
    X = random_spd(30, 3)
    learner = SPDDictionaryLearning(n_atoms=4, alpha=0.1, random_state=0, max_iter=2).fit(X)
    display = RegularisationPathDisplay.from_estimator(learner, X[0])
    assert any("0.1" in text.get_text() for text in display.ax_.texts)
    display = RegularisationPathDisplay.from_estimator(learner, X[0], alphas=[0.05, 0.01])
    assert not display.ax_.texts


def test_positive_coders_have_positive_paths():
    X, query = random_spd(30, 3), random_spd(1, 3, seed=5)
    coder = SPDSparseCoder().fit(X)
    assert (RegularisationPathDisplay.from_estimator(coder, query).codes < 0).any()
    coder = SPDSparseCoder(positive=True).fit(X)
    assert (RegularisationPathDisplay.from_estimator(coder, query).codes >= 0).all()


def test_given_axes_and_style_are_used(tmp_path):
    figure, ax = plt.subplots()
    display = RegularisationPathDisplay([1.0, 0.1], np.zeros((2, 3))).plot(ax, linewidth=4.0)
    assert display.ax_ is ax
    assert display.figure_ is figure
    assert ax.get_legend() is None
    assert {line.get_linewidth() for line in display.lines_} == {4.0}
    figure.savefig(tmp_path / "picture.png")


@pytest.mark.parametrize(
    ("alphas", "codes", "options", "message"),
    [
        ([1.0, 0.5], np.zeros((3, 2)), {}, "must have the shapes"),
        ([], np.zeros((0, 2)), {}, "must have the shapes"),
        ([0.5, 1.0], np.zeros((2, 2)), {}, "positive and decrease"),
        ([1.0, 0.0], np.zeros((2, 2)), {}, "positive and decrease"),
        ([1.0, 0.5], np.zeros((2, 2)), {"labels": ["a"]}, r"labels must have the shape \(2,\)"),
    ],
)
def test_wrong_input_is_named(alphas, codes, options, message):
    with pytest.raises(ValueError, match=message):
        RegularisationPathDisplay(alphas, codes, **options)


def test_one_query_is_asked_for():
    X = random_spd(5, 2)
    with pytest.raises(ValueError, match="single matrix, got 5"):
        RegularisationPathDisplay.from_estimator(SPDSparseCoder().fit(X), X)
    far = SPDSparseCoder(beta=1e6).fit(X)
    with pytest.raises(ValueError, match="beta is too large"):
        RegularisationPathDisplay.from_estimator(far, 1e6 * X[0])


def test_an_estimator_without_codes_is_refused() -> None:
    X = random_spd(6, 3)
    with pytest.raises(TypeError, match="must have atoms with a kernel"):
        RegularisationPathDisplay.from_estimator(DivergenceKernel().fit(X), X[0])
