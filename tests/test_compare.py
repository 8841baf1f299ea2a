"""`benchmarks/compare.py`: what it calls slower, and what noise."""

from __future__ import annotations

import json
import runpy
from pathlib import Path
from typing import Any

import pytest

SCRIPT = Path(__file__).resolve().parents[1] / "benchmarks" / "compare.py"
main = runpy.run_path(str(SCRIPT))["main"]


def pairwise(share: float, seconds: float = 0.5) -> dict[str, Any]:
    rows = [
        {"what": "Stein n=3", "measured": share, "unit": "%", "note": ""},
        {"what": "first call", "measured": seconds, "unit": "s", "note": ""},
    ]
    return {"machine": {"cpus": 2}, "rows": rows}


def coding(ours: float, peer: float) -> dict[str, Any]:
    cell = {"n_atoms": 128, "alpha": 0.1, "nonzeros": ours / 3}
    return {"solver": [cell | {"rates": {"spdatoms": ours, "spams": peer}}]}


def pipeline(codes: float) -> dict[str, Any]:
    found = {"codes": codes, "rest": codes - 3, "overhead": 0.1}
    return {"cells": [{"metric": "stein", "n": 3, "N": 128, "transform": found}]}


def first_result(clock: float, processor: float) -> dict[str, Any]:
    row = {"what": "inspect, warm", "measured": clock, "processor": processor, "limit": 1.0}
    return {"rows": [row | {"unit": "s"}]}


def compared(tmp_path: Path, old: list[Any], new: list[Any], *options: str) -> int:
    for side, contents in (("old", old), ("new", new)):
        (tmp_path / side).mkdir()
        for number, one in enumerate(contents):
            (tmp_path / side / f"{number}.json").write_text(json.dumps(one))
    return int(main([str(tmp_path / "old"), str(tmp_path / "new"), *options]))


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (pairwise(20), pairwise(10), "Stein n=3"),  # a share of DGEMM: greater is better
        (pairwise(20, 0.5), pairwise(20, 1.0), "first call"),
        # Twice the rate, but the peer's is three times what it was: the machine was busy before.
        (coding(100, 20), coding(200, 60), "n_atoms=128 alpha=0.1 spams"),
        (pipeline(4.0), pipeline(5.0), "metric=stein n=3 N=128 transform codes"),
        (first_result(1.0, 0.6), first_result(1.0, 0.8), "inspect, warm, of the processor"),
    ],
)
def test_what_got_slower_is_named(tmp_path, capsys, old, new, words):
    assert compared(tmp_path, [old], [new]) == 1
    said = capsys.readouterr().out
    assert said.startswith("slower")
    assert words in said
    assert "1 slower, 0 faster" in said


def test_the_other_way_round_it_got_faster(tmp_path, capsys):
    assert compared(tmp_path, [pipeline(5.0)], [pipeline(4.0)]) == 0
    assert "0 slower, 1 faster" in capsys.readouterr().out


def test_small_changes_are_noise(tmp_path):
    assert compared(tmp_path, [pairwise(20)], [pairwise(18)]) == 0


def test_less_noise_can_be_asked_for(tmp_path):
    assert compared(tmp_path, [pairwise(20)], [pairwise(18)], "--noise", "5") == 1


def test_what_differs_between_runs_of_one_side_is_noise(tmp_path):
    """The best of three is 21 % slower, but one of the old runs was slower still."""
    old, new = [pairwise(20), pairwise(12), pairwise(19)], [pairwise(16.5), pairwise(16)]
    assert compared(tmp_path, old, new) == 0


def test_repeated_runs_that_agree_leave_less_noise(tmp_path):
    old, new = [pairwise(20), pairwise(19.8)], [pairwise(18), pairwise(18.1)]
    assert compared(tmp_path, old, new, "--noise", "3") == 1


def test_files_of_different_benchmarks(tmp_path, capsys):
    with pytest.raises(SystemExit):
        compared(tmp_path, [pairwise(20)], [pipeline(3.0)])
    assert "no figure in common" in capsys.readouterr().err


def test_an_empty_folder(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"holds no \.json file"):
        compared(tmp_path, [], [pairwise(20)])
