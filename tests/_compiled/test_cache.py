"""Kernels can be compiled where nothing can be written, and by many processes with an empty cache."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import spdatoms._compiled

pytestmark = pytest.mark.slow

#: Folders are read-only unless their names begin as given: root may write everywhere else.
READ_ONLY = """
import numba.core.caching as caching
original = caching._CacheLocator.ensure_cache_path

def ensure_cache_path(self):
    if not self.get_cache_path().startswith({writable!r}):
        raise PermissionError(13, "read-only")
    original(self)

caching._CacheLocator.ensure_cache_path = ensure_cache_path
"""


def start(program: str, *arguments: str, **environment: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", program, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **environment},
    )


def ended(process: subprocess.Popen[str]) -> tuple[str, str]:
    out, err = process.communicate()
    assert process.returncode == 0, err
    return out, err


#: It compiles a small kernel, and shows its result and where the code is kept.
COMPILE = """
import os, sys
import numpy as np
from spdatoms._compiled.regions import mean_and_variance

samples, mean, variance = np.arange(6.0).reshape(3, 2), np.empty(2), np.empty(2)
mean_and_variance(*(array.astype(sys.argv[1]) for array in (samples, mean)), variance)
print(variance.round(4), os.environ["NUMBA_CACHE_DIR"])
"""
RESULT = "[2.6667 2.6667]"


def test_a_temporary_folder_takes_the_place_of_read_only_ones(tmp_path):
    program = READ_ONLY.format(writable=str(tmp_path)) + COMPILE
    environment = {"TMPDIR": str(tmp_path), "NUMBA_CACHE_DIR": ""}
    out, err = ended(start(program, "float64", **environment))
    (folder,) = tmp_path.iterdir()
    assert out == f"{RESULT} {folder}\n"
    assert err.count(f"Compiled code is kept in {folder} for now. Set NUMBA_CACHE_DIR") == 1


@pytest.mark.skipif(os.name != "posix", reason="folders of other users are told by their mode")
def test_without_any_folder_nothing_is_kept(tmp_path):
    foreign = tmp_path / f"spdatoms-numba-{os.getuid()}"
    foreign.mkdir()
    foreign.chmod(0o777)  # another user could have put something there
    program = READ_ONLY.format(writable=str(tmp_path)) + COMPILE
    out, err = ended(start(program, "float64", TMPDIR=str(tmp_path), NUMBA_CACHE_DIR=""))
    assert out == f"{RESULT} \n"
    assert err.count("every run compiles it anew. Set NUMBA_CACHE_DIR") == 1
    assert not any(foreign.iterdir())


@pytest.fixture
def copied_room(tmp_path) -> Path:
    """A copy of the compiled room, in a package of its own."""
    package = tmp_path / "package" / "spdatoms"
    source = Path(spdatoms._compiled.__file__).parent
    shutil.copytree(source, package / "_compiled", ignore=lambda *_: ["__pycache__"])
    (package / "__init__.py").touch()
    return package / "_compiled"


#: Several processes at once, one for each argument. Forks share how long numba takes to start.
CROWD = f"""
import contextlib, io, multiprocessing, numba, os, sys

def compile_it(kind):
    sys.argv[1:] = [kind]
    with contextlib.redirect_stdout(io.StringIO()) as output:
        exec({COMPILE!r} + "print(sum(mean_and_variance.stats.cache_hits.values()))", {{}})
    os.write(1, output.getvalue().encode())

numba.njit(lambda x: x + 1)(1)
fork = multiprocessing.get_context("fork")
crowd = [fork.Process(target=compile_it, args=(kind,)) for kind in sys.argv[1:]]
[process.start() for process in crowd]
[process.join() for process in crowd]
assert not any(process.exitcode for process in crowd)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks processes")
def test_eight_processes_share_an_empty_cache_until_an_emitter_is_edited(tmp_path, copied_room):
    environment = {
        "PYTHONPATH": str(copied_room.parents[1]),
        "NUMBA_CACHE_DIR": str(tmp_path / "cache"),
    }

    def hits(*types: str) -> list[str]:
        lines = ended(start(CROWD, *types, **environment))[0].splitlines()
        assert lines[::2] == len(types) * [f"{RESULT} {tmp_path / 'cache'}"]
        return lines[1::2]

    assert set(hits(*["float64", "float32"] * 4)) <= {"0", "1"}
    assert hits("float64", "float32") == ["1", "1"]
    with (copied_room / "lanes.py").open("a") as emitters:
        emitters.write("# other code\n")
    assert hits("float64") == ["0"]
