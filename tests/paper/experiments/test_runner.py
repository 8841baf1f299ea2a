"""Runs: they go on where they stopped, refuse other settings, and keep to their time."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import _toy_experiment
from _toy_experiment import Toy, two_kinds
from spdatoms import SPDSparseClassifier
from spdatoms.paper.experiments import (
    LabelledViews,
    Method,
    Setting,
    SettingsError,
    provenance,
    read_results,
    run,
)
from spdatoms.paper.experiments.method import predict_in_time
from spdatoms.paper.experiments.results import ResultsFile
from spdatoms.paper.experiments.runner import fingerprint, seed_of
from spdatoms.paper.reporting import remarks, report_page, tables, to_markdown
from spdatoms.paper.reporting.origin import origin

pytest.importorskip("matplotlib", reason="needs the extra plot")


def test_a_run_goes_on_where_it_stopped(tmp_path):
    Toy.evaluations = 0
    first = run(Toy(), repeats=2, out=tmp_path)
    assert Toy.evaluations == 4
    second = run(Toy(), repeats=3, out=tmp_path)
    assert Toy.evaluations == 6
    assert list(second.rows)[:4] == list(first.rows)
    assert [s.repeats for s in second.summaries()] == [3, 3]
    # Without a file the numbers are the same.
    again = run(Toy(), repeats=3)
    scores = {row.key: row.scores for row in again.rows}
    assert scores == {row.key: row.scores for row in second.rows}


def test_processes_change_nothing_but_the_time(tmp_path, monkeypatch):
    Toy.evaluations = 0
    several = run(Toy(), processes=2, out=tmp_path)
    assert Toy.evaluations == 0  # they were in other processes
    alone = run(Toy())
    assert [(row.key, row.scores) for row in several.rows] == [
        (row.key, row.scores) for row in alone.rows
    ]
    assert read_results(tmp_path / "results.jsonl").rows == several.rows
    # Where time is the result, nothing else runs.
    monkeypatch.setattr(Toy, "timed", True)
    Toy.evaluations = 0
    assert run(Toy(), processes=2).settings["processes"] == 1
    assert Toy.evaluations == 6


def test_rows_have_the_order_of_the_experiment_whichever_ran_first(tmp_path):
    run(Toy(), methods=["RSR-J"], repeats=2, out=tmp_path)
    later = run(Toy(), repeats=2, out=tmp_path)
    expected = [row.key for row in run(Toy(), repeats=2).rows]
    assert [row.key for row in later.rows] == expected
    assert [row.key for row in read_results(tmp_path / "results.jsonl").rows] == expected


def test_elapsed_time_counts_runs_that_were_killed(tmp_path, monkeypatch):
    # Every look at this clock takes a second: one when a run begins, and one per row.
    monkeypatch.setattr("spdatoms.paper.experiments.results.perf_counter", count(0.0).__next__)
    first = run(Toy(), repeats=1, out=tmp_path)
    file = tmp_path / "results.jsonl"
    killed = file.read_bytes().splitlines(keepends=True)[:-1]
    file.write_bytes(b"".join(killed))
    assert first.settings["elapsed"] == 2.0
    assert read_results(file).settings["elapsed"] == 1.0
    second = run(Toy(), repeats=2, out=tmp_path)
    assert second.settings["elapsed"] == 4.0
    assert read_results(file).settings["elapsed"] == 4.0
    assert "4 s from beginning to end with one process" in origin(second)


def test_elapsed_time_of_files_whose_rows_do_not_tell_it_is_unknown(tmp_path):
    run(Toy(), repeats=1, out=tmp_path)
    file = tmp_path / "results.jsonl"
    lines = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    without = [{key: line[key] for key in line if key != "elapsed"} for line in lines]
    file.write_text("".join(json.dumps(line) + "\n" for line in without), encoding="utf-8")
    assert read_results(file).settings["elapsed"] is None
    later = run(Toy(), repeats=2, out=tmp_path)
    assert later.settings["elapsed"] is None
    assert "from beginning to end" not in origin(later)


def test_a_method_that_takes_long_has_fewer_repeats(monkeypatch):
    monkeypatch.setattr(Toy, "few_repeats", {"RSR-J": 2})
    results = run(Toy())
    assert [len(results.of("", name)) for name in ("RSR-S", "RSR-J")] == [3, 2]
    table = tables(Toy(), results)[0]
    assert table.title == "A toy: accuracy (%), 3 repeats"
    assert "RSR-J: 2 of 3 repeats" in remarks(Toy(), results)
    only = tables(Toy(), run(Toy(), methods=["RSR-J"]))[0]
    assert only.title == "A toy: accuracy (%), 2 of 3 repeats"
    assert len(run(Toy(), methods=["RSR-J"], repeats=3).of("", "RSR-J")) == 3


def test_a_part_that_takes_long_has_fewer_repeats(monkeypatch):
    monkeypatch.setattr(Toy, "load", lambda *_: {"small": two_kinds(), "large": two_kinds()})
    monkeypatch.setattr(Toy, "few_repeats", {"large": 1})
    results = run(Toy())
    assert [len(results.of(part, "RSR-S")) for part in ("small", "large")] == [3, 1]
    table = tables(Toy(), results)[0]
    assert table.title == "A toy: accuracy (%), 3 repeats"
    assert "large: 1 of 3 repeats" in remarks(Toy(), results)
    assert len(run(Toy(), parts=["large"], repeats=2).of("large", "RSR-S")) == 2


def test_a_line_that_was_cut_off_is_computed_again(tmp_path):
    whole = run(Toy(), out=tmp_path)
    file = tmp_path / "results.jsonl"
    content = file.read_bytes()
    file.write_bytes(content[:-25])
    Toy.evaluations = 0
    again = run(Toy(), out=tmp_path)
    assert Toy.evaluations == 1
    assert {r.key: r.scores for r in again.rows} == {r.key: r.scores for r in whole.rows}
    assert {r.key: r.scores for r in read_results(file).rows} == {
        r.key: r.scores for r in whole.rows
    }


def test_rows_that_two_runs_computed_at_the_same_time_count_once(tmp_path):
    whole = run(Toy(), out=tmp_path)
    file = tmp_path / "results.jsonl"
    lines = file.read_text().splitlines(keepends=True)
    file.write_text("".join(lines) + "".join(line for line in lines if "fit_seconds" in line))
    assert read_results(file).rows == whole.rows
    assert run(Toy(), out=tmp_path).rows == whole.rows


def test_a_damaged_line_stops_the_run_and_stays(tmp_path):
    run(Toy(), out=tmp_path)
    file = tmp_path / "results.jsonl"
    lines = file.read_text().splitlines(keepends=True)
    assert "settings" in lines[0]
    file.write_text("".join([*lines[:2], "{nonsense\n", *lines[3:]]))
    damaged = file.read_bytes()
    with pytest.raises(SettingsError, match=r"results\.jsonl: line 3 is damaged"):
        run(Toy(), out=tmp_path)
    assert file.read_bytes() == damaged
    run(Toy(), out=tmp_path, fresh=True)
    assert len(run(Toy(), out=tmp_path).rows) == 6


def test_other_settings_are_refused_or_begin_anew(tmp_path):
    run(Toy(), repeats=1, out=tmp_path)
    before = (tmp_path / "results.jsonl").read_bytes()
    with pytest.raises(SettingsError, match=r"other settings \(seed: 0 there, 7 now\)"):
        run(Toy(), repeats=1, out=tmp_path, seed=7)
    with pytest.raises(SettingsError, match=r"fingerprint"):
        run(Toy(), tmp_path, repeats=1, out=tmp_path)
    assert (tmp_path / "results.jsonl").read_bytes() == before
    results = run(Toy(), repeats=1, out=tmp_path, seed=7, fresh=True)
    assert {row.seed for row in results.rows} == {seed_of(7, 0)}


def test_other_parameters_of_a_method_are_refused(tmp_path, monkeypatch):
    run(Toy(), methods=["RSR-S"], repeats=1, out=tmp_path)
    other = {"RSR-S": Method("RSR-S", lambda setting: SPDSparseClassifier("stein", alpha=0.5))}
    monkeypatch.setattr(Toy, "methods", lambda self: other)
    with pytest.raises(SettingsError, match=r"RSR-S with other parameters"):
        run(Toy(), repeats=1, out=tmp_path)


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="SIGKILL is of POSIX")
def test_kill_9_loses_only_the_repeat_under_way(tmp_path):
    script = textwrap.dedent(
        f"""
        import os, signal, sys
        sys.path.insert(0, {str(Path(_toy_experiment.__file__).parent)!r})
        from _toy_experiment import Toy
        from spdatoms.paper.experiments import Experiment, run
        calls = 0
        def evaluate(self, method, task, setting):
            global calls
            calls += 1
            if calls == 4:
                os.kill(os.getpid(), signal.SIGKILL)
            return Experiment.evaluate(self, method, task, setting)
        Toy.evaluate = evaluate
        run(Toy(), out={str(tmp_path)!r})
        """
    )
    killed = subprocess.run([sys.executable, "-c", script], capture_output=True, check=False)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    Toy.evaluations = 0
    results = run(Toy(), out=tmp_path)
    assert Toy.evaluations == 3
    assert {r.key: r.scores for r in results.rows} == {r.key: r.scores for r in run(Toy()).rows}


def test_what_cannot_run_is_noted_and_the_rest_goes_on(monkeypatch, tmp_path):
    def absent(setting: Setting) -> Any:
        raise ImportError("This needs 'moonlight'")

    methods = Toy().methods() | {
        "absent": Method("absent", absent),
        "painter": Method("painter", lambda setting: SPDSparseClassifier(), view="paintings"),
    }
    monkeypatch.setattr(Toy, "methods", lambda self: methods)
    results = run(Toy(), repeats=2, out=tmp_path)
    assert results.problems == [
        "absent: This needs 'moonlight'",
        "painter: these data have no paintings to work on",
    ]
    assert {row.method for row in results.rows} == {"RSR-S", "RSR-J"}
    assert read_results(tmp_path / "results.jsonl").problems == results.problems
    assert "moonlight" in report_page(Toy(), results)


class Slow(SPDSparseClassifier):
    def predict(self, X: Any) -> Any:
        until = time.process_time() + 0.002 * len(X)
        while time.process_time() < until:
            pass
        return super().predict(X)


def test_out_of_time(monkeypatch):
    methods = {"slow": Method("slow", lambda setting: Slow())}
    monkeypatch.setattr(Toy, "methods", lambda self: methods)
    # 20 queries take 0.04 s at least: some of them are asked, and there is time for one repeat.
    results = run(Toy(), repeats=3, time_limit=0.02)
    (row,) = results.rows
    asked = int(row.note.split()[0])
    assert row.note == f"{asked} of 20 queries because time ran out"
    assert 8 <= asked < 20
    assert results.problems == ["slow: 1 of 3 repeats because time ran out"]
    assert "[^" in to_markdown(tables(Toy(), results)[0])
    assert any(row.note in remark for remark in remarks(Toy(), results))


def test_time_enough_means_all_queries():
    data = two_kinds()
    X = data.views["covariances"]
    model = SPDSparseClassifier().fit(X, data.y)
    predicted, asked = predict_in_time(model, X, Setting(seed=0, time_limit=60.0))
    np.testing.assert_array_equal(asked, np.arange(40))
    np.testing.assert_array_equal(predicted, model.predict(X))


def test_wrong_names_and_numbers():
    with pytest.raises(ValueError, match=r"has no method 'guessing'; there are RSR-S, RSR-J"):
        run(Toy(), methods=["guessing"])
    with pytest.raises(ValueError, match=r"no part 'z' in these data; there are ''"):
        run(Toy(), parts=["z"])
    with pytest.raises(
        ValueError, match=r"repeats must be None or an integer from 1 to 1000000, got 0"
    ):
        run(Toy(), repeats=0)


def test_file_refuses_what_is_not_one(tmp_path):
    path = tmp_path / "results.jsonl"
    path.write_text('{"something": 1}\n')
    with pytest.raises(SettingsError, match="other settings"):
        ResultsFile(path, {"seed": 0})
    with pytest.raises(SettingsError, match="not a file of results"):
        read_results(path)
    assert path.read_text() == '{"something": 1}\n'


def test_fingerprint_is_that_of_the_values():
    class Renamed(LabelledViews):
        pass

    data = two_kinds()
    same = Renamed(data.y.copy(), {name: view.copy() for name, view in data.views.items()})
    assert fingerprint({"": data}) == fingerprint({"": same})
    assert fingerprint({"": data}) != fingerprint({"": data.take(slice(1, None))})
    assert fingerprint({"": data}) != fingerprint({"part": data})


def test_problems_stay_until_a_later_run_solves_them(monkeypatch, tmp_path):
    def absent(setting: Setting) -> Any:
        raise ImportError("This needs 'moonlight'")

    there = Toy().methods()
    monkeypatch.setattr(Toy, "methods", lambda self: there | {"painter": Method("painter", absent)})
    run(Toy(), repeats=1, out=tmp_path)
    # A run of other methods says nothing about this one.
    results = run(Toy(), repeats=1, methods=["RSR-S"], out=tmp_path)
    assert results.problems == ["painter: This needs 'moonlight'"]
    painter = Method("painter", lambda setting: SPDSparseClassifier())
    monkeypatch.setattr(Toy, "methods", lambda self: there | {"painter": painter})
    assert run(Toy(), repeats=1, out=tmp_path).problems == []
    assert read_results(tmp_path / "results.jsonl").problems == []


def test_a_problem_stays_if_a_later_row_of_the_same_run_arrives(tmp_path):
    settings, problem = {"experiment": "toy"}, "RSR-S: This needs 'moonlight'"
    row = run(Toy(), repeats=1, methods=["RSR-S"]).rows[0]
    file = ResultsFile(tmp_path / "results.jsonl", settings)
    file.begin({})
    file.add_problem("", "RSR-S", problem)
    file.append(row)  # of another process, which began before
    assert list(file.stopped) == [("", "RSR-S")]
    for found in (file.results(settings), read_results(file.path)):
        assert found.problems == [problem]
        assert found.rows == [row]
    # A run that goes on solves it, and one that does not get so far says nothing about it.
    later = ResultsFile(file.path, settings)
    later.begin({})
    assert not later.stopped
    assert later.results(settings).problems == [problem]
    later.append(replace(row, repeat=1))
    assert later.results(settings).problems == []
    assert read_results(file.path).problems == []


@pytest.mark.parametrize("error", [np.linalg.LinAlgError, ImportError])
def test_errors_of_methods_are_noted_where_an_experiment_says_so(monkeypatch, error):
    def fail(self: Any, X: Any) -> Any:
        raise error("did\nnot converge")

    failing = type("Failing", (SPDSparseClassifier,), {"predict": fail})
    there = Toy().methods() | {"fails": Method("fails", lambda setting: failing())}
    monkeypatch.setattr(Toy, "methods", lambda self: there)
    if error is not ImportError:
        with pytest.raises(error, match="not converge"):
            run(Toy(), repeats=1)
    monkeypatch.setattr(Toy, "errors_are_noted", True)
    results = run(Toy(), repeats=1)
    assert len(results.of("", "RSR-J")) == 1
    if error is ImportError:
        assert results.problems == ["fails: did\nnot converge"]
        return
    (row,) = results.of("", "fails")
    assert not row.scores
    said = "fails: no accuracy in a division (LinAlgError: did not converge)"
    assert said in remarks(Toy(), results)
    assert tables(Toy(), results)[0].row("fails") == {"accuracy (%)": "–"}


def test_rows_say_which_commit_and_how_busy_the_machine_was(monkeypatch, tmp_path):
    monkeypatch.setattr("spdatoms.paper.experiments.cell.commit", lambda: "abc")
    monkeypatch.setattr("spdatoms.paper.experiments.cell.load", lambda: 1.5)
    run(Toy(), repeats=1, out=tmp_path)
    rows = read_results(tmp_path / "results.jsonl").rows
    assert {(row.commit, row.load) for row in rows} == {("abc", 1.5)}


def test_commit_of_a_checkout_or_of_nothing(monkeypatch):
    answers = {"ls-files": "", "status": " M spdatoms/coding.py", "rev-parse": "0123456789"}
    monkeypatch.setattr(provenance, "_git", lambda verb, *rest: answers[verb])
    assert provenance.commit.__wrapped__() == "0123456789+"
    answers["status"] = ""
    assert provenance.commit.__wrapped__() == "0123456789"

    def no_repository(*arguments: str) -> str:
        raise subprocess.CalledProcessError(128, arguments)

    monkeypatch.setattr(provenance, "_git", no_repository)
    assert provenance.commit.__wrapped__() == ""
