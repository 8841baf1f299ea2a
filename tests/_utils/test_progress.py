"""Progress bars: shown if asked for, silent otherwise."""

from __future__ import annotations

import pytest

from spdatoms._utils.progress import progress_bar


def test_a_progress_bar_goes_on_and_shows_values(capsys):
    pytest.importorskip("tqdm")
    with progress_bar(5, "learning", shown=True, initial=2) as advance:
        advance()
        advance(2, objective="0.25")
    shown = capsys.readouterr().err
    assert "learning" in shown
    assert "5/5" in shown
    assert "objective=0.25" in shown


def test_no_progress_bar(capsys):
    with progress_bar(5, "learning", shown=False) as advance:
        advance()
        advance(2, objective="0.25")
    assert capsys.readouterr().err == ""
