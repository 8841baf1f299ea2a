"""`spdatoms compare`: the same folds for all, paired intervals, and what is installed."""

from __future__ import annotations

import importlib.util
import json

import numpy as np
import pytest

from _commands import invoke, run, two_classes
from spdatoms import SPDSparseClassifier
from spdatoms.cli import comparison


def test_accuracies_are_those_of_the_same_folds(files):
    model_selection = pytest.importorskip("sklearn.model_selection")
    command = ("compare", files / "X.npy", files / "y.csv", "--cv", "4", "--seed", "3", "--json")
    rows = {row["method"]: row for row in json.loads(invoke(*command).stdout)["methods"]}
    assert {"SPDEnsembleClassifier", "RSR-S", "RSR-J"} < set(rows)
    X, y = two_classes()
    folds = model_selection.RepeatedStratifiedKFold(n_splits=4, n_repeats=1, random_state=3)
    scores = model_selection.cross_val_score(SPDSparseClassifier("stein"), X, y, cv=folds)
    assert rows["RSR-S"]["accuracy"] == pytest.approx(100 * scores.mean())
    ours = rows["SPDEnsembleClassifier"]
    assert (ours["difference"], ours["margin"]) == (0, 0)
    expected = rows["RSR-S"]["accuracy"] - ours["accuracy"]
    assert rows["RSR-S"]["difference"] == pytest.approx(expected)
    assert all(row["seconds"] > 0 for row in rows.values())


def test_the_error_is_that_of_nadeau_and_bengio():
    values = np.array([3.0, 1.0, 2.0, 6.0, 3.0])
    expected = np.sqrt((1 / 5 + 30 / 120) * np.var(values, ddof=1))
    assert comparison.corrected_error(values, 30 / 120) == pytest.approx(expected)


def test_pyriemann_is_compared_if_it_is_there(monkeypatch):
    if importlib.util.find_spec("pyriemann") is not None:
        assert "MDM (pyRiemann)" in comparison.classifiers(None)
    monkeypatch.setattr(comparison, "find_spec", lambda _: None)
    alone = comparison.classifiers(None)
    assert not any("pyRiemann" in name for name in alone)
    X, y = two_classes()
    for name in ("logarithms + LR (scikit-learn)", "logarithms + LDA (scikit-learn)", "MDM"):
        assert alone[name].fit(X, y).score(X, y) > 0.8


def test_the_verdict_names_what_is_certain():
    ours = comparison.Compared(comparison.RECOMMENDED, 90.0, 1.0, 0.0, 0.0, 1.0)
    worse = comparison.Compared("A", 80.0, 1.0, -10.0, 4.0, 1.0)
    alike = comparison.Compared("B", 91.0, 1.0, 1.0, 4.0, 1.0)
    assert "worse than SPDEnsembleClassifier: A." in comparison.verdict([alike, ours, worse])
    assert "No method differs" in comparison.verdict([alike, ours])


def test_the_page_has_the_table(files):
    out = files / "compared.html"
    said = run("compare", files / "X.npy", files / "y.csv", "--cv", "2", "--report", out)
    assert "difference (95 %)" in said
    page = out.read_text("utf-8")
    assert "RSR-J" in page
    assert "95 % intervals" in page


def test_what_is_known_of_single_matrices():
    """Folds, confusions and the matrices that make a difference add up to the accuracies."""
    X, y = two_classes(m=24)
    y[[2, 20]] = ["right", "left"]
    rows = comparison.compared(X, y, cv=3, repeats=2, seed=0, jobs=None, advance=lambda: None)
    ours = next(row for row in rows if row.method == comparison.RECOMMENDED)
    for row in rows:
        assert np.mean(row.folds) == pytest.approx(row.accuracy)
        assert sum(row.confusions.values()) == 2 * len(X)
        right = sum(n for (label, other), n in row.confusions.items() if label == other)
        assert 100 * right / (2 * len(X)) == pytest.approx(row.accuracy)  # the folds are equal
        assert not set(row.gained) & set(row.lost)
        assert (row.gained == row.lost == ()) or row is not ours
        assert "gained" not in row.as_json()


def test_wrong_data(files):
    assert "give the file of labels" in run("compare", files / "X.npy", code=2)
    said = run("compare", files / "X.npy", files / "y.csv", "--cv", "30", code=1)
    assert "--cv 30 needs 30 matrices of every class" in said
