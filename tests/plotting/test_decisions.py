"""Pictures of the channels that decided."""

from __future__ import annotations

import numpy as np
import pytest

from spdatoms.classification import ChannelRelevance

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")

from matplotlib import pyplot as plt  # noqa: E402

from spdatoms import SPDSparseClassifier  # noqa: E402
from spdatoms.plotting import ChannelRelevanceDisplay  # noqa: E402

PAIRS = np.array([[0.5, -0.3], [-0.3, 0.2]])


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def test_a_matrix_of_connections() -> None:
    display = ChannelRelevanceDisplay(ChannelRelevance(PAIRS, PAIRS.sum()), names=["Fz", "Cz"])
    display.plot()
    np.testing.assert_array_equal(display.image_.get_array(), PAIRS)
    assert display.image_.get_clim() == (-0.5, 0.5)
    assert [label.get_text() for label in display.ax_.get_yticklabels()] == ["Fz", "Cz"]
    assert [text.get_text() for text in display.ax_.texts] == ["−", "−"]


def test_of_several_decisions_the_mean() -> None:
    both = np.stack([PAIRS, -0.5 * PAIRS])
    display = ChannelRelevanceDisplay(ChannelRelevance(both, both.sum(axis=(1, 2)))).plot()
    np.testing.assert_allclose(display.image_.get_array(), 0.25 * PAIRS)


def test_of_a_classifier() -> None:
    X = np.eye(2) * np.array([1.0, 2.0, 10.0, 20.0])[:, None, None]
    classifier = SPDSparseClassifier(alpha=0.1).fit(X, [0, 0, 1, 1])
    display = ChannelRelevanceDisplay.from_estimator(classifier, 1.5 * X[:2])
    expected = classifier.explain(1.5 * X[:2]).channels.pairs.mean(axis=0)
    np.testing.assert_allclose(display.image_.get_array(), expected)


def test_names_must_fit() -> None:
    with pytest.raises(ValueError, match="names must have 2 channels, got 3"):
        ChannelRelevanceDisplay(ChannelRelevance(PAIRS, PAIRS.sum()), names=["a", "b", "c"])


@pytest.mark.slow
def test_a_map_of_the_scalp() -> None:
    mne = pytest.importorskip("mne")
    names = ["Fz", "Cz", "Pz", "O1", "O2"]
    info = mne.create_info(names, 250.0, "eeg").set_montage(
        "colin27_1020" if "colin27_1020" in mne.channels.get_builtin_montages() else "standard_1020"
    )
    pairs = np.diag([0.1, 0.5, -0.3, 0.2, 0.0])
    display = ChannelRelevanceDisplay(ChannelRelevance(pairs, pairs.sum()), info=info).plot()
    assert display.image_.get_clim() == (-0.5, 0.5)
