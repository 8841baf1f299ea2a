"""Sentences about results: figures that are looked up in tables, and what counts as a sure difference."""

from __future__ import annotations

import pytest

from spdatoms.paper.reporting import sentences
from spdatoms.paper.reporting.record import Record
from spdatoms.paper.reporting.sentences import OURS, PEER, STURDY
from spdatoms.paper.reporting.table import grid, number, sign


def record(*tables):
    return Record(
        "x", "An X", "Done so. More.", "scores", False, "", {}, tables, {}, (), "", 0.0, None
    )


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        ("+1.8 ± 0.8", 1),
        ("+1.6 ± 0.8", 0),  # two standard errors, not more
        ("-2.7 ± 0.9", -1),
        ("+3.0", 0),  # no error is known
        ("-0.5 (p = 0.04)", -1),
        ("+9.0 (p = 0.05)", 0),
        ("+9.0 (p < 0.001)", 1),
        ("–", 0),
    ],
)
def test_sure_differences(cell, expected):
    assert sign(cell) == expected


def test_numbers_of_cells():
    assert [number(cell) for cell in ("97.2 ± 0.6", "> 10.7", "-0.1", "–", "rank 1")] == [
        97.2,
        10.7,
        -0.1,
        None,
        None,
    ]
    # Half of an interval of 95 % is no standard error.
    assert (sign("+1.0 ± 0.9"), sign("+1.0 ± 0.9", errors=1.0)) == (0, 1)


def test_sentences_are_filled_from_tables_or_left_out(monkeypatch):
    differences = [
        ("RSR-J", "+1.0 ± 0.1", "-1.0 ± 0.2"),
        ("MDM", "-3.0 ± 0.1", "–"),
        ("mean", "", "+9.0 ± 1.0"),
    ]
    shown = record(
        grid("An X: accuracy", ("method", "a"), [("RSR-S", "90.0 ± 1.0")]),
        grid("Difference to RSR-S", ("method", "a", "b"), differences),
    )
    templates = [
        "It has {: accuracy|RSR-S|a} %.",
        "{+Difference} up, {-Difference} down of {#Difference}; of MDM {-Difference|MDM}.",
        "Up: {>Difference}; down: {<Difference}.",
        "There is no {: accuracy|RSR-S|b}.",
        "Nor {another table|RSR-S|a}.",
    ]
    monkeypatch.setitem(sentences.TEXTS["sentences"], "x", templates)
    assert sentences.three_sentences(shown) == [
        "It has 90.0 ± 1.0 %.",
        "2 up, 2 down of 4; of MDM 1.",
        "Up: none; down: RSR-J.",
    ]
    monkeypatch.delitem(sentences.TEXTS["sentences"], "x")
    assert sentences.three_sentences(shown) == ["Done so."]


def test_differences_to_the_peers():
    accuracies = grid(
        "X: accuracy",
        ("method", "a", "mean"),
        [(OURS, "90.0 ± 1.0", "80.0"), (PEER, "89.5", "81.0")],
    )
    assert sentences.to_peer(record(accuracies)) == {
        "a": ("90.0", "89.5", "+0.5"),
        "mean": ("80.0", "81.0", "-1.0"),
    }
    paired = grid(
        f"Difference to {PEER} in points",
        ("method", "a", "mean"),
        [(OURS, "+0.5 ± 0.2", "-1.0 ± 0.4")],
    )
    assert sentences.to_peer(record(accuracies, paired))["mean"] == ("80.0", "81.0", "-1.0 ± 0.4")
    title = "Missing channels, 50%, refitted: accuracy (%)"
    imperfect = record(
        grid(title, ("method", "a", "mean difference"), [(STURDY, "70.0", "-1.8 ± 1.5")])
    )
    assert sentences.differences_to_peer(imperfect) == {"Missing channels, 50%": "+1.8 ± 1.5"}
