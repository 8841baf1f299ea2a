"""Parameters that make no sense are refused by their own name."""

from __future__ import annotations

import numpy as np
import pytest

from _matrices import random_spd
from spdatoms import SPDDictionaryLearning, SPDKNeighborsClassifier, class_dictionary
from spdatoms._utils.checks import check_choice, check_integer, check_tolerance
from spdatoms._utils.progress import progress_bar


@pytest.mark.parametrize("value", [True, False, 0, -1, 2.0, "3", None, np.bool_(True)])
def test_what_is_no_integer(value):
    with pytest.raises(ValueError, match=r"^count must be an integer ≥ 1 or 'auto', got "):
        check_integer("count", value, 1, " or 'auto'")


def test_what_is_an_integer():
    for value in (1, 5, np.int32(2), np.uint8(1)):
        check_integer("count", value, 1)
    check_integer("count", 0, 0)


@pytest.mark.parametrize("value", [-1e-9, np.nan, np.inf, "0.1", None])
def test_what_is_no_tolerance(value):
    with pytest.raises(ValueError, match=r"^tol must be a number ≥ 0, got "):
        check_tolerance(value)


def test_what_is_a_tolerance():
    for value in (0, 0.0, 1e-4, np.float32(0.5)):
        check_tolerance(value)


def test_choices():
    check_choice("rule", "sum", ("sum", "max"))
    with pytest.raises(ValueError, match=r"^rule must be one of sum, max; got 'mean'\.$"):
        check_choice("rule", "mean", ("sum", "max"))
    with pytest.raises(ValueError, match=r"^init must be one of a, b or an array; got 1\.$"):
        check_choice("init", 1, ("a", "b"), " or an array")


def test_a_boolean_is_no_number_of_atoms():
    X, y = random_spd(20, 3, seed=0), np.arange(20) % 2
    with pytest.raises(ValueError, match=r"^n_atoms must be an integer ≥ 1, got True"):
        SPDDictionaryLearning(n_atoms=True).fit(X)
    with pytest.raises(ValueError, match=r"^n_atoms_per_class must be an integer ≥ 1, got True"):
        class_dictionary(X, y, True)
    for wrong in (True, 0, 1.5):
        with pytest.raises(ValueError, match=r"^n_neighbors must be an integer ≥ 1, got "):
            SPDKNeighborsClassifier(wrong).fit(X, y)
    with pytest.raises(ValueError, match="between 1 and the number of matrices 20, got 21"):
        SPDKNeighborsClassifier(21).fit(X, y)


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
