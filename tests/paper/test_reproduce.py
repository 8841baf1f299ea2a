"""The command that reproduces experiments: what it prints, writes and refuses."""

from __future__ import annotations

import functools
import json
import os
from typing import Any

import pytest

from _commands import run as run_command
from _folders import skeletons
from _toy_experiment import Toy
from spdatoms.paper.experiments import EXPERIMENTS, run
from spdatoms.paper.protocols._look_alikes import pedestrians

pytest.importorskip("PIL.Image", reason="needs the extra vision")
pytest.importorskip("matplotlib", reason="needs the extra plot")

pytestmark = pytest.mark.slow


command = functools.partial(run_command, "reproduce")


def test_command_prints_the_table_and_writes_everything(tmp_path):
    out, text = tmp_path / "out", tmp_path / "results.md"
    arguments = ("textures", "--methods", "RSR-S, 1-NN Stein", "--repeats", 2)
    printed = command(*arguments, "--out", out, "--markdown", text)
    assert "RSR-S" in printed
    assert "photographs" in printed
    assert {"report.html", "results.json", "results.csv", "accuracy.png"} <= set(os.listdir(out))
    page = tmp_path / "results" / "textures.md"
    assert "| RSR-S |" in page.read_text()
    # Pages are written again from what they show.
    shown = page.read_text()
    page.unlink()
    command("all", "--report-only", "--markdown", text, "--force")
    assert page.read_text() == shown
    saved = json.loads((out / "results.json").read_text())
    assert f"{saved['summaries'][0]['scores']['accuracy']:.1f} ±" in printed
    # A second run has nothing left to do, nor has a report; another seed is refused in one line.
    command(*arguments, "--out", out)
    again = json.loads((out / "results.json").read_text())
    assert again["rows"] == saved["rows"]
    before = (out / "results.jsonl").read_bytes()
    assert "RSR-S" in command("textures", "--out", out, "--report-only")
    assert (out / "results.jsonl").read_bytes() == before
    assert "begin anew with --fresh" in command(*arguments, "--out", out, "--seed", 1, code=1)


def test_command_lists_experiments():
    listed = command("--list")
    for name in EXPERIMENTS:
        assert f" {name} " in listed


def test_command_says_what_is_wrong(tmp_path):
    assert "There is no experiment 'poker'" in command("poker", code=2)
    assert "mean 'textures'?" in command("texture", code=2).replace("│ ", "")
    assert "has no embedded data: give --data FOLDER" in command("faces", code=1)
    missing = tmp_path / "nowhere"
    assert "nowhere" in command("textures", "--data", missing, code=1)
    assert "give it by --out" in command("textures", "--report-only", code=1)
    assert "no method 'guessing'" in command("textures", "--methods", "guessing", code=2)
    assert "no part 'z'" in command("textures", "--parts", "z", code=2)
    assert "There are no results in" in command(
        "textures", "--report-only", "--out", missing, code=1
    )


@pytest.mark.parametrize(
    "options",
    [
        ["--markdown", "nowhere/results.md"],
        ["--markdown", "."],
        ["--on-error", "ignore"],
        ["--time-limit", "-1"],
        ["--repeats", "0"],
        ["--n-jobs", "many"],
        ["--out", __file__],
    ],
)
def test_command_checks_its_options_before_it_computes(options, monkeypatch):
    def compute(*_: Any, **__: Any) -> None:
        raise AssertionError("computed")

    monkeypatch.setattr("spdatoms.paper.experiments.run", compute)
    command("textures", *options, code=2)


def test_report_only_of_another_experiment(tmp_path):
    run(Toy(), repeats=1, out=tmp_path)
    said = command("textures", "--out", tmp_path, "--report-only", code=1)
    assert "holds results of the experiment 'toy', not of 'textures'" in said


def test_command_all_leaves_out_what_has_no_data(tmp_path, monkeypatch):
    def few_pedestrians() -> Any:
        return pedestrians(people=3, images=12)

    monkeypatch.setattr("spdatoms.paper.protocols.reidentification.pedestrians", few_pedestrians)
    skeletons(tmp_path / "hdm05" / "joints.npz")
    text = tmp_path / "results.md"
    options = ("--methods", "logEuc-SC linear", "--repeats", 1, "--out", tmp_path / "out")
    printed = command("all", "--data", tmp_path, *options, "--markdown", text)
    assert "faces: left out. There is no folder 'feret_b'" in printed
    # Drawn pedestrians stand in for those of ETHZ, and the record does not count them as reproduced.
    assert sorted(os.listdir(tmp_path / "out")) == ["actions", "reidentification"]
    written = text.read_text()
    assert "[Action recognition from skeletons](results/actions.md)" in written
    drawn = (tmp_path / "results" / "reidentification.md").read_text()
    assert "These are not the pedestrians of the paper" in drawn
    assert "| Person re-identification, sequence 3 | RSR-S | rank 1 98.7 | The data:" in written
    empty = command("all", "--data", tmp_path / "out", "--methods", "Cov3DJ", code=1)
    assert "no experiment could run on these data" in empty


@pytest.mark.parametrize(
    ("out", "words"), [(True, "goes on with what is in"), (False, "with --out FOLDER")]
)
def test_interrupted_runs_say_how_to_go_on(tmp_path, monkeypatch, out, words):
    def interrupted(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("spdatoms.paper.experiments.run", interrupted)
    options = ("--out", tmp_path / "out") if out else ()
    assert f"interrupted: the same command {words}" in command("textures", *options, code=130)
