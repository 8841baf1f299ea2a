"""Standard input, JSON on standard output, and readers that stop early."""

from __future__ import annotations

import io
import json
import subprocess
import sys

import numpy as np
import pytest
from typer.testing import CliRunner

from _commands import invoke, run, two_classes
from spdatoms.cli import app


def piped(content: bytes, *arguments: object):
    return CliRunner().invoke(app, [str(a) for a in arguments], input=content)


def test_standard_input_is_a_file(tmp_path):
    X, y = two_classes()
    content = io.BytesIO()
    np.save(content, X)
    result = piped(content.getvalue(), "inspect", "-", "--json")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["read"][0]["shape"] == [40, 4, 4]
    np.save(tmp_path / "X.npy", X)
    labels = ("--train-labels", "-", "--cv", "2")
    result = piped("\n".join(y).encode(), "classify", "--train", tmp_path / "X.npy", *labels)
    assert result.exit_code == 0, result.output


def test_standard_input_is_read_once(files):
    result = piped(b"", "inspect", "-")
    assert result.exit_code == 1
    assert "standard input is empty" in result.output


def test_results_as_json(files):
    model, codes = files / "m.spdatoms", files / "c.npy"
    learned = json.loads(invoke("learn", files / "X.npy", "-n", 4, "--out", model, "--json").stdout)
    assert learned["atoms"] == 4
    assert len(learned["objective"]) > 1
    coded = json.loads(
        invoke("code", files / "Z.npy", "--model", model, "--out", codes, "--json").stdout
    )
    assert coded["nonzeros_per_code"] == np.count_nonzero(np.load(codes)) / 40
    labels = ("--train-labels", files / "y.csv", "--test-labels", files / "z.txt")
    command = ("classify", "--train", files / "X.npy", "--test", files / "Z.npy", *labels, "--json")
    classified = json.loads(invoke(*command).stdout)
    truth = (files / "z.txt").read_text().split()
    assert classified["accuracy"] == np.mean(np.array(classified["predicted"]) == truth)


def test_json_of_matrices_that_are_unfit(files):
    X, _ = two_classes()
    X[3] *= -1
    np.save(files / "bad.npy", X)
    result = invoke("inspect", files / "bad.npy", "--json")
    assert result.exit_code == 1
    assert list(json.loads(result.stdout)["unfit"]) == ["3"]


def test_the_next_command_prints_tables_again(files):
    invoke("inspect", files / "X.npy", "--json")
    assert "condition number" in run("inspect", files / "X.npy")


def test_more_atoms_than_matrices_warns(files):
    said = run("learn", files / "X.npy", "-n", 50, "--iterations", 1, "--out", files / "m.spdatoms")
    assert "--atoms 50 is more than the 40 different matrices" in " ".join(said.split())


@pytest.mark.slow
def test_a_reader_that_stops_early_is_no_error(files):
    code = "from spdatoms.cli import main; main()"
    command = [sys.executable, "-c", code, "reproduce", "--list"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    process.stdout.close()
    assert process.stderr.read() == b""
    assert process.wait() == 0


def test_the_list_of_experiments_fits_a_terminal():
    result = CliRunner(env={"COLUMNS": "80"}).invoke(app, ["reproduce", "--list"])
    assert max(map(len, result.stdout.splitlines())) <= 80
    lines = [line.split() for line in result.stdout.splitlines()]
    assert any(line[:1] == ["texture-dictionaries"] for line in lines)
    assert "RLPP" in run("reproduce", "textures", "--list")


@pytest.mark.slow
@pytest.mark.parametrize("command", ["classify", "inspect"])
def test_files_are_written_though_nobody_reads(files, command):
    labels = ("--train-labels", files / "y.csv", "--cv", "2")
    arguments = {
        "classify": ("--train", files / "X.npy", *labels, "--out", files / "out.mat"),
        "inspect": (files / "X.npy", "--repaired", files / "out.mat"),
    }[command]
    code = "from spdatoms.cli import main; main()"
    process = subprocess.Popen(
        [sys.executable, "-c", code, command, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    process.stdout.close()
    assert b"Broken" not in process.stderr.read()
    assert process.wait() == 0
    assert (files / "out.mat").exists()
