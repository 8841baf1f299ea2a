"""No command writes over what it reads, nor over other files without --force; places are tried first."""

from __future__ import annotations

import os
import sys

import numpy as np
import pytest
import typer

from _commands import run
from spdatoms.cli.outputs import check_outputs

TRAIN = ("--train", "X.npy", "--train-labels", "y.csv")


@pytest.fixture
def here(files, monkeypatch):
    monkeypatch.chdir(files)
    os.symlink("X.npy", "link.npy")
    os.link("X.npy", "second.npy")
    return files


@pytest.mark.slow
@pytest.mark.parametrize("force", [(), ("--force",)])
@pytest.mark.parametrize(
    "command",
    [
        ("learn", "X.npy", "--out", "X.npy"),
        ("learn", "X.npy", "--out", "./link.npy"),
        ("learn", "X.npy", "--out", "second.npy"),
        ("learn", "X.npy", "--checkpoint", "X.npy", "--out", "m.spdatoms"),
        ("learn", "X.npy", "--checkpoint", "m.spdatoms", "--out", "m.spdatoms"),
        ("inspect", "X.npy", "--repaired", "X.npy"),
        ("code", "X.npy", "--atoms", "Z.npy", "--out", "Z.npy"),
        ("code", "X.npy", "--model", "data.npz", "--out", "data.npz"),
        ("classify", *TRAIN, "--test", "Z.npy", "--out", "y.csv"),
        ("classify", *TRAIN, "--test", "Z.npy", "--out", "Z.npy"),
        ("classify", *TRAIN, "--test", "Z.npy", "--test-labels", "data.npz", "--out", "data.npz"),
    ],
)
def test_no_command_writes_over_its_input(here, command, force):
    before = {path.name: path.read_bytes() for path in here.iterdir()}
    said = run(*command, *force, code=2)
    assert "is read by this command" in said
    assert {path.name: path.read_bytes() for path in here.iterdir()} == before


def test_existing_files_need_force(here):
    (here / "atoms.npy").write_text("mine")
    command = ("learn", "X.npy", "--atoms", 2, "--iterations", 1, "--out", "atoms.npy")
    assert "atoms.npy exists: give another name, or --force" in run(*command, code=2)
    assert (here / "atoms.npy").read_text() == "mine"
    run(*command, "--force")
    assert np.load(here / "atoms.npy").shape == (2, 4, 4)
    run("inspect", "X.npy", "--repaired", "r.npy")
    assert "r.npy exists" in run("inspect", "X.npy", "--repaired", "r.npy", code=2)
    assert "y.csv exists" in run("reproduce", "textures", "--markdown", "y.csv", code=2)


def test_two_results_need_two_names(here):
    with pytest.raises(typer.BadParameter, match="given for two results"):
        check_outputs([], [here / "a.npy", None, here / "." / "a.npy"], force=True)


@pytest.mark.skipif(sys.platform != "linux", reason="/proc is of Linux")
@pytest.mark.parametrize("name", ["/proc/m.npy", f"{'long' * 80}.npy", "nowhere/m.npy"])
def test_what_cannot_be_written_is_noticed_before_the_work(here, name):
    before = sorted(os.listdir())
    said = run("learn", "absent.npy", "--out", name, code=2)
    assert "absent.npy" not in said
    assert "cannot be written" in said or "does not exist" in said
    assert sorted(os.listdir()) == before


def test_folder_of_results(here):
    os.mkdir("data")
    said = run("reproduce", "textures", "--data", "data", "--out", "data", code=2)
    assert "data has the data" in said
    assert "files of something else" in run("reproduce", "textures", "--out", ".", code=2)
    if sys.platform == "linux":
        assert "cannot be written" in run("reproduce", "textures", "--out", "/proc/a/b", code=2)


@pytest.mark.skipif(
    os.name != "posix", reason="links need rights elsewhere, and there are no FIFOs"
)
@pytest.mark.parametrize(
    ("option", "name"), [("--out", "m.npy"), ("--checkpoint", "run"), ("--report", "r.html")]
)
@pytest.mark.parametrize(
    ("kind", "said"), [("link", "is a link"), ("FIFO", "a FIFO"), ("read-only", "is read-only")]
)
def test_what_must_not_be_replaced_is_noticed_before_the_work(here, option, name, kind, said):
    path = here / name
    match kind:
        case "link":
            path.symlink_to("elsewhere")
        case "FIFO":
            os.mkfifo(path)
        case "read-only":
            path.touch(mode=0o444)
    places = {"--out": "model.npy", option: name}
    arguments = [text for pair in places.items() for text in pair]
    before = sorted(os.listdir())
    assert said in run("learn", "absent.npy", *arguments, "--force", code=2)
    assert sorted(os.listdir()) == before
