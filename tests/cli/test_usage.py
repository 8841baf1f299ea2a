"""Usage: wrong options, help, errors in one line, and the command as a process of its own."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from _commands import bad_matrices, run
from spdatoms.cli import app
from spdatoms.cli.show import one_line_errors


@pytest.mark.parametrize(
    "arguments",
    [
        ["learn", "X.npy"],
        ["learn", "X.npy", "--out", "m.txt"],
        ["learn", "X.npy", "--out", "nowhere/m.spdatoms"],
        ["learn", "X.npy", "--out", "m.spdatoms", "--beta", "big"],
        ["learn", "X.npy", "--out", "m.spdatoms", "--metric", "burg"],
        ["learn", "X.npy", "--out", "m.spdatoms", "--metric", "riemann"],
        ["code", "X.npy", "--out", "c.npy"],
        ["code", "X.npy", "--out", "c.npy", "--model", "m.spdatoms", "--atoms", "D.npy"],
        ["classify", "--test", "Z.npy"],
        ["classify", "--train", "X.npy", "--test", "Z.npy"],
        ["classify", "--train", "X.npy", "--train-labels", "y.csv"],
        ["classify", "--model", "m.spdatoms", "--save-model", "n.spdatoms", "--out", "p.csv"],
        ["no-such-command"],
    ],
)
def test_wrong_usage_is_2(arguments, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "X.npy").touch()
    said = run(*arguments, code=2)
    assert "Traceback" not in said


@pytest.mark.parametrize(
    ("command", "options"),
    [
        ("code", ["--metric", "stein"]),
        ("code", ["--alpha", "0.1", "--positive"]),
        ("code", ["--dictionary-key", "X"]),
        ("classify", ["--rule", "residual"]),
        ("classify", ["--choose"]),
        ("classify", ["--atoms-per-class", "3", "--beta", "auto"]),
        ("classify", ["--train-labels", "y.csv"]),
        ("classify", ["--seed", "0"]),
    ],
)
def test_a_model_has_its_own_method(files, command, options):
    begin = {"code": ("code", files / "Z.npy"), "classify": ("classify", "--test", files / "Z.npy")}
    model = ("--model", files / "m.spdatoms", "--out", files / "o.npy")
    said = run(*begin[command], *model, *options, code=2)
    names = [option for option in options if option.startswith("--")]
    assert all(name in said for name in names)
    assert f"{'does' if len(names) == 1 else 'do'} not go with --model" in said


@pytest.mark.parametrize(
    ("option", "value", "meant"),
    [("--metric", "stien", "stein"), ("--components", "FSL", "fsl"), ("--init", "none", "")],
)
def test_names_like_those_of_an_option(option, value, meant):
    said = run("learn", "X.npy", option, value, "--out", "m.spdatoms", code=2).replace("│ ", "")
    assert f"Invalid value for '{option}': '{value}' is not one of" in said
    assert ("Did you mean" in said) == bool(meant)
    assert f"Did you mean '{meant}'?" in said or not meant


@pytest.mark.parametrize("command", ["inspect", "learn", "code", "classify"])
def test_help_shows_examples(command):
    said = run(command, "--help")
    assert "Examples:" in said
    assert f"spdatoms {command}" in said
    assert "Files" in said


def spdatoms(*arguments: object, code: int, before: str = "") -> tuple[str, str]:
    """Run the command line in a process of its own."""
    program = f"{before}\nimport runpy; runpy.run_module('spdatoms', run_name='__main__')"
    done = subprocess.run(
        [sys.executable, "-c", program, *map(str, arguments)], capture_output=True, text=True
    )
    assert done.returncode == code, done.stderr
    return done.stdout, done.stderr


@pytest.mark.slow
def test_process(files):
    assert spdatoms("--version", code=0)[0].startswith("spdatoms ")
    np.save(files / "bad.npy", bad_matrices())
    out, err = spdatoms("learn", files / "bad.npy", "--out", files / "m.spdatoms", code=1)
    assert out == ""
    assert "\nerror: bad.npy[3] is not positive definite" in err
    assert err.count("\n") == 2  # what was read, and what is wrong


@pytest.mark.slow
def test_terminal_without_greek(files, monkeypatch):
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")
    assert "suggested ?" in spdatoms("inspect", files / "X.npy", code=0)[0]


@pytest.mark.parametrize(
    ("error", "code", "line"),
    [
        (ValueError("two\n lines"), 1, "error: two lines\n"),
        (TypeError("is complex"), 1, "error: is complex\n"),
        (ImportError("needs x"), 1, "error: needs x\n"),
        (FileNotFoundError(2, "No such file", "x.npy"), 1, "error: x.npy: No such file\n"),
        (KeyboardInterrupt(), 130, "interrupted\n"),
    ],
)
def test_one_line_errors(error, code, line, capsys):
    with pytest.raises(typer.Exit) as ended, one_line_errors():
        raise error
    assert ended.value.exit_code == code
    assert capsys.readouterr().err == line


def test_bugs_keep_their_traceback():
    with pytest.raises(KeyError), one_line_errors():
        raise KeyError("a bug")


@pytest.mark.slow
def test_help_is_light():
    before = "import sys, atexit; atexit.register(lambda: print(*sys.modules))"
    loaded = spdatoms("--help", code=0, before=before)[0].split()
    assert {"sklearn", "scipy", "matplotlib", "skimage"}.isdisjoint(loaded)


@pytest.mark.slow
def test_inspect_is_light(files):
    before = "import sys, atexit; atexit.register(lambda: print(*sys.modules))"
    loaded = spdatoms("inspect", files / "X.npy", code=0, before=before)[0].split()
    assert "spdatoms.divergences.stein" in loaded
    assert {"sklearn", "matplotlib"}.isdisjoint(loaded)


@pytest.mark.parametrize("missing", ["typer", "rich"])
def test_without_the_extra(missing):
    before = f"import sys; sys.modules[{missing!r}] = None"
    out, err = spdatoms("--help", code=1, before=before)
    assert out == ""
    assert f"needs '{missing}'" in err
    assert "pip install 'spdatoms[cli]'" in err
    assert err.count("\n") == 1


@pytest.mark.parametrize("command", [(), ("inspect",), ("compare",), ("reproduce",)])
def test_flags_take_no_value_in_the_help(command):
    said = run(*command, "--help")
    assert "--help -h Show this message" in said
    assert "<bool>" not in said


def test_paragraphs_of_the_help_fill_their_lines():
    lines = CliRunner(env={"COLUMNS": "90"}).invoke(app, ["compare", "--help"]).stdout.splitlines()
    first = next(i for i, line in enumerate(lines) if "All methods see" in line)
    assert all(len(line.rstrip()) > 75 for line in lines[first : first + 4])
