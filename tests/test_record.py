"""`benchmarks/RESULTS.md` and `benchmarks/renew.py`, which renews it: commands that exist, and nothing left out."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

BENCHMARKS = Path(__file__).resolve().parents[1] / "benchmarks"
pytestmark = pytest.mark.skipif(not BENCHMARKS.exists(), reason="needs the folder benchmarks")
#: Scripts without a figure in the record.
WITHOUT = {
    "compare": "compares two files of figures",
    "same_results": "compares results of two versions to the last bit",
    "size": "counts lines of the code",
}


@pytest.fixture(name="renew")
def _renew(monkeypatch):
    monkeypatch.setattr(sys, "path", [str(BENCHMARKS), *sys.path])
    import renew

    return renew


@pytest.fixture(name="runs")
def _runs(renew):
    return renew.runs(renew.RECORD.read_text(encoding="utf-8"))


def test_commands_are_those_of_scripts(runs):
    assert [run.command for run in runs if not (BENCHMARKS / f"{run.script}.py").exists()] == []


def test_options_are_known(runs):
    """They stand in the script."""
    unknown = {
        run.command: word
        for run in runs
        for word in run.command.split()
        if word.startswith("--")
        and f'"{word}"' not in (BENCHMARKS / f"{run.script}.py").read_text(encoding="utf-8")
    }
    assert unknown == {}


def test_every_script_has_a_block(runs):
    scripts = {file.stem for file in BENCHMARKS.glob("[!_]*.py")}
    assert scripts - {run.script for run in runs} == set(WITHOUT)


def test_no_block_is_there_twice(runs):
    commands = [run.command for run in runs]
    assert sorted(set(commands)) == sorted(commands)


def test_blocks_are_closed(renew, runs):
    record = renew.RECORD.read_text(encoding="utf-8")
    marks = re.findall(r"^<!-- (run|accuracy|end)\b", record, re.M)
    assert marks[1::2] == ["end"] * len(runs)
    assert "end" not in marks[::2]


def test_the_figures_of_the_site_are_written(runs):
    """What plots are drawn from is written by commands of the record."""
    drawn = (BENCHMARKS.parent / "docs" / "_ext" / "benchmark_figures.py").read_text("utf-8")
    names = set(re.findall(r'\bresults\("(\w+)"\)', drawn))
    assert names
    assert {f"results/{name}.json" for name in names} <= {
        file for run in runs for file in run.files
    }


RECORD = """# Record
<!-- run: one.py --repeats 3 -->
old
<!-- end -->
Between.
<!-- accuracy: one.py DATA/OUTSIDE OUT --json a.json -->
other
<!-- end -->
"""


def test_runs_are_read(renew):
    first, second = renew.runs(RECORD)
    assert (first.command, first.script, first.timed) == ("one.py --repeats 3", "one", True)
    assert (second.timed, second.text, second.files) == (False, "other\n", {"a.json"})


def test_folders_take_the_place_of_their_names(renew):
    words = renew.runs(RECORD)[1].words({"DATA": Path("/my/OUT"), "OUT": Path("/DATA")})
    assert words == ["one.py", "/my/OUT/OUTSIDE", "/DATA", "--json", "a.json"]


def test_one_block_is_replaced(renew):
    found = renew.replaced(RECORD, "one.py --repeats 3", "new \\1\n")
    assert found == RECORD.replace("old\n", "new \\1\n")
    assert renew.replaced(RECORD, "one.py", "new\n") == RECORD


@pytest.mark.parametrize(
    ("printed", "expected"),
    [
        ("a b\n  1\n", "```text\na b\n  1\n```"),
        ("\n764 of 764 agree\n", "764 of 764 agree"),
        ("| a |\n|---|\n| 1 |\n", "| a |\n|---|\n| 1 |"),
        ("title\n| a |\n|---|\nn = 3\nn = 4\n", "title\n\n| a |\n|---|\n\n```text\nn = 3\nn = 4\n```"),
        ("| a |\n|---|\n\n\n| b |\n|---|\n", "| a |\n|---|\n\n| b |\n|---|"),
    ],
)  # fmt: skip
def test_what_is_printed_becomes_markdown(renew, printed, expected):
    assert renew.as_markdown(printed) == expected


def test_what_reads_a_file_waits_for_what_writes_it(renew):
    writes, other, reads = (
        renew.Run(command, timed=False, text="")
        for command in ("a.py --json x.json", "b.py", "c.py --cells x.json")
    )
    assert list(renew.rounds([writes, other, reads])) == [[writes, other], [reads]]


def test_what_is_of_this_version_is_left(renew, tmp_path, monkeypatch, capsys):
    record = tmp_path / "RESULTS.md"
    record.write_text(RECORD.replace("old", "`one`, today, version abc, 1 s"), encoding="utf-8")
    monkeypatch.setattr(renew, "RECORD", record)
    monkeypatch.setattr(renew, "library_version", lambda: "abc")
    options = SimpleNamespace(scripts=[], accuracy=False, timings=False, data=tmp_path, out=None)
    assert renew.wanted(options) == []
    assert capsys.readouterr().out.endswith("left as it is, without --out\n")
    options.scripts, options.out = ["one"], tmp_path
    assert len(renew.wanted(options)) == 2
    options.timings = True
    assert [run.timed for run in renew.wanted(options)] == [True]


@pytest.mark.parametrize(
    ("script", "went_well"),
    [
        ("print('found')", True),
        ("print('found'); raise SystemExit(1)", True),
        ("print('found'); raise SystemExit(2)", False),
        ("print('found'); 1 / 0", False),
        ("print('found'); raise SystemExit('the command failed')", False),
        ("import os; os.environ['OMP_NUM_THREADS'] == '1' and print('found')", True),
        ("pass", False),
    ],
)
def test_a_block_is_renewed_if_its_script_went_well(
    renew, tmp_path, monkeypatch, script, went_well
):
    (tmp_path / "one.py").write_text(script, encoding="utf-8")
    record = tmp_path / "RESULTS.md"
    record.write_text(RECORD, encoding="utf-8")
    monkeypatch.setattr(renew, "HERE", tmp_path)
    monkeypatch.setattr(renew, "RECORD", record)
    monkeypatch.setattr(renew, "library_version", lambda: "abc")
    monkeypatch.setenv("OMP_NUM_THREADS", "4")
    assert renew.renew(renew.runs(RECORD)[0], {}) is went_well
    text = record.read_text(encoding="utf-8")
    renewed = re.search(r"version abc, \d+ s, load [\d.]+\n\nfound\n<!-- end -->", text)
    assert (renewed is not None) is went_well
    assert (text == RECORD) is not went_well
