"""Displays of results: bars beside published values, curves over ranks and sizes."""

from __future__ import annotations

import pytest

from spdatoms.paper.plotting import AccuracyBySizeDisplay, CMCDisplay, ComparisonDisplay

Figure = pytest.importorskip("matplotlib.figure", reason="needs the extra plot").Figure


def test_comparison_draws_bars_deviations_and_diamonds():
    measured, published = {"RSR-S": 97.0, "1-NN": 93.0}, {"RSR-S": 89.9, "VZ": 23.8}
    figure = Figure()
    display = ComparisonDisplay(measured, {"RSR-S": 1.5}, published, emphasis=["RSR-S"])
    display.plot(figure.subplots())
    assert [bar.get_width() for bar in display.bars_] == [97.0, 93.0, 0.0]
    assert display.bars_[0].get_facecolor() != display.bars_[1].get_facecolor()
    diamonds = [line.get_xdata()[0] for line in display.ax_.lines if line.get_marker() == "D"]
    assert diamonds == [89.9, 23.8]
    assert [text.get_text() for text in display.ax_.texts] == ["97.0", "93.0", "(23.8)"]
    bottom, top = display.ax_.get_ylim()
    assert bottom > top
    with pytest.raises(ValueError, match="at least one method"):
        ComparisonDisplay({})


def test_curves_are_those_given():
    figure = Figure()
    first, second = figure.subplots(1, 2)
    cmc = CMCDisplay({"RSR-S": [80.0, 90.0, 100.0], "1-NN": [70.0, 80.0, 90.0]}, max_rank=2)
    cmc.plot(first)
    assert [line.get_ydata().tolist() for line in cmc.lines_] == [[80.0, 90.0], [70.0, 80.0]]
    assert cmc.lines_[0].get_linestyle() != cmc.lines_[1].get_linestyle()
    sizes = AccuracyBySizeDisplay({"a": [8, 24]}, {"a": [40.0, 50.0]}, {"a": [1.0, 2.0]})
    sizes.plot(second)
    assert [label.get_text() for label in second.get_xticklabels()] == ["8", "24"]
    assert sizes.lines_[0].lines[0].get_ydata().tolist() == [40.0, 50.0]
    with pytest.raises(ValueError, match="the same length"):
        AccuracyBySizeDisplay({"a": [8]}, {"a": [40.0, 50.0]})
    with pytest.raises(ValueError, match="curves must hold"):
        CMCDisplay({"a": []})
