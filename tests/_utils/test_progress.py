"""Progress bars: shown if asked for, silent otherwise."""

from __future__ import annotations

import pytest

from spdatoms._utils.progress import progress_bar, showing_progress


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


def test_a_loop_within_a_loop_has_no_bar_of_its_own(capsys):
    with showing_progress("fit"), progress_bar(3) as advance:
        with progress_bar(2, "inner") as inner:
            inner()
        advance(3)
    assert "inner" not in capsys.readouterr().err
    with showing_progress("fit"), progress_bar(2, "next"):
        pass
    assert "next" in capsys.readouterr().err
