"""One learner per checkpoint: a second one is refused, one that was killed leaves nothing in the way."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from _matrices import random_spd
from spdatoms import SPDDictionaryLearning

pytestmark = pytest.mark.slow
posix = pytest.mark.skipif(os.name != "posix", reason="a matter of POSIX")
SETTINGS = {"n_atoms": 3, "init": "random", "max_iter": 3, "tol": 0.0, "random_state": 0}
# A learner that says when it is about to write, with the lock and the first atoms, and goes on when it is told to.
SCRIPT = f"""
import sys, warnings
import numpy as np
from spdatoms import SPDDictionaryLearning
from spdatoms.dictionary._checkpoint import Checkpoint
warnings.simplefilter("ignore")
write = Checkpoint.write
def waiting(*arguments):
    write(*arguments)
    print("written", flush=True)
    sys.stdin.readline()
Checkpoint.write = waiting
SPDDictionaryLearning(checkpoint=sys.argv[2], **{SETTINGS!r}).fit(np.load(sys.argv[1]))
"""


@pytest.fixture(name="X")
def matrices() -> np.ndarray:
    return random_spd(20, 2, seed=0)


def learned(X: np.ndarray, checkpoint: Path | None) -> np.ndarray:
    return SPDDictionaryLearning(checkpoint=checkpoint, **SETTINGS).fit(X).atoms_


def test_a_second_learner_is_refused_while_the_first_goes_on(X, tmp_path) -> None:
    data, path = tmp_path / "X.npy", tmp_path / "run"
    np.save(data, X)
    with subprocess.Popen(
        [sys.executable, "-c", SCRIPT, str(data), str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as first:
        assert first.stdout is not None
        assert first.stdout.readline() == b"written\n"
        said = rf"run' is in use: the process {first.pid} learns with this checkpoint\. Wait until"
        with pytest.raises(BlockingIOError, match=said):
            learned(X, path)
        first.communicate(b"\n" * 10)
    assert first.returncode == 0
    assert sorted(os.listdir(tmp_path)) == ["X.npy", "run"]
    np.testing.assert_array_equal(learned(X, path), learned(X, None))
    assert sorted(os.listdir(tmp_path)) == ["X.npy", "run"]


@posix
def test_a_killed_learner_leaves_nothing_in_the_way(X, tmp_path) -> None:
    data, path = tmp_path / "X.npy", tmp_path / "run"
    np.save(data, X)
    script = f"import os\nos.replace = lambda *_: os._exit(9)\n{SCRIPT}"
    command = [sys.executable, "-c", script, str(data), str(path)]
    assert subprocess.run(command).returncode == 9
    left = sorted(os.listdir(tmp_path))
    assert [name.rpartition(".")[2] for name in left] == ["npy", "part", "lock"]
    assert not path.exists()
    np.testing.assert_array_equal(learned(X, path), learned(X, None))
    assert sorted(os.listdir(tmp_path)) == ["X.npy", "run"]


@posix
@pytest.mark.parametrize("name", ["run", "run.part", "run.lock"])
def test_no_link_that_was_planted_is_followed(X, tmp_path, name) -> None:
    target = tmp_path / "target"
    target.write_bytes(b"")
    (tmp_path / name).symlink_to(target)
    if name == "run.part":  # once the name of the part; now it is nobody's
        learned(X, tmp_path / "run")
    else:
        with pytest.raises(FileExistsError, match=rf"{name}' cannot be written: it is a link"):
            learned(X, tmp_path / "run")
    assert target.read_bytes() == b""
    assert (tmp_path / name).is_symlink()


@posix
def test_what_cannot_be_written_is_noticed_before_the_work(X, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(SPDDictionaryLearning, "_learn", None)
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(FileExistsError, match=r"fifo' cannot be written: it is a device, a FIFO"):
        learned(X, tmp_path / "fifo")
    (tmp_path / "run").touch(mode=0o444)
    with pytest.raises(PermissionError, match=r"run' cannot be written: it is read-only"):
        learned(X, tmp_path / "run")
