"""No file ends in a traceback, crashes the command or keeps it waiting; text of users is no markup."""

from __future__ import annotations

import io
import struct
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import scipy.io
from hypothesis import given, settings
from hypothesis import strategies as st

from _commands import run, two_classes
from spdatoms._utils import array_files
from spdatoms._utils.array_files import read_all_apart, read_apart
from spdatoms.cli.formats.labels import read_labels
from spdatoms.cli.formats.matrices import read_matrices


def npy(header: str, content: bytes = b"") -> bytes:
    text = header.encode("latin1") + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + content


@pytest.mark.slow
@pytest.mark.parametrize(
    "header",
    [
        "{'descr': '<f8', 'fortran_order': False, 'shape': (3, 3",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (9999999999, 99999, 99999)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (-3, 3, 3)}",
        "{'descr': '|O', 'fortran_order': False, 'shape': (1, 3, 3)}",
        "{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (1,)}",
        "{'descr': '<f8', 'fortran_order': 5, 'shape': (1, 1, 1)}",
        "{'descr': '<M8[s]', 'fortran_order': False, 'shape': (1, 1, 1)}",
        "{'descr': '<U2', 'fortran_order': False, 'shape': (1, 1, 1)}",
        "('''",
        "\\\x00",
        "[" * 300,
    ],
)
@pytest.mark.parametrize("suffix", [".npy", ".npz"])
def test_misleading_headers(tmp_path, header, suffix):
    path = tmp_path / f"x{suffix}"
    content = npy(header, bytes(64))
    if suffix == ".npz":
        stream = io.BytesIO()
        with zipfile.ZipFile(stream, "w") as archive:
            archive.writestr("X.npy", content)
        content = stream.getvalue()
    path.write_bytes(content)
    for command in (("inspect", path), ("learn", path, "--out", tmp_path / "m.spdatoms")):
        said = run(*command, code=1)
        assert said.startswith(f"error: {path}: ")


def mutated(content: bytes, changes: list[tuple[int, int]], cut: int | None) -> bytes:
    changed = bytearray(content)
    for place, value in changes:
        changed[place % len(changed)] = value
    return bytes(changed[:cut])


def refusal(read: Callable[[], object]) -> str:
    """Return the message of a refusal, or nothing."""
    try:
        read()
    except ValueError as error:
        return str(error)
    return ""


changes = st.lists(st.tuples(st.integers(0, 400), st.integers(0, 255)), min_size=1, max_size=4)
cuts = st.none() | st.integers(0, 300)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole")
    X, y = two_classes(m=4)
    np.save(folder / "X.npy", X)
    np.savez_compressed(folder / "X.npz", X=X, y=y)
    (folder / "y.csv").write_text("id,label\n" + "".join(f"{i},{c}\n" for i, c in enumerate(y)))
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("name", ["X.npy", "X.npz", "y.csv"])
@given(changes=changes, cut=cuts)
@settings(max_examples=150, deadline=None)
def test_mutated_files_are_read_or_refused(whole, name, changes, cut):
    path = whole / f"mutated{name[1:]}"
    path.write_bytes(mutated((whole / name).read_bytes(), changes, cut))
    for read in (lambda: read_matrices(path), lambda: read_labels(path, "label", 4)):
        said = refusal(read)
        assert not said or said.startswith(f"{path}: ")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("trouble", "limits", "words"),
    [
        ("import os, signal; os.kill(os.getpid(), signal.SIGTERM)", {}, "made its reader crash"),
        ("import sys; sys.exit('something')", {}, "made its reader crash"),
        pytest.param(
            "while True: pass",
            {"_PATIENCE": 0.5, "_BUSY": 1000},
            "in 1 seconds of processor time",
            marks=pytest.mark.skipif(sys.platform == "win32", reason="no limit of this kind"),
        ),
        (
            "import time; time.sleep(100)",
            {"_PATIENCE": 0.5, "_BUSY": 1},
            "could not be read in 1 seconds:",
        ),
    ],
)
def test_the_reader_of_matlab_files_may_crash_or_hang(
    tmp_path, monkeypatch, trouble, limits, words
):
    """A busy reader is stopped by its processor time, one that waits for ever by the clock."""
    (tmp_path / "x.mat").write_bytes(b"MATLAB 5.0")
    program = Path(array_files.reading_child.__file__).read_text("utf-8")
    (tmp_path / "child.py").write_text(
        program.replace("    for number", f"    {trouble}\n    for number", 1), "utf-8"
    )
    monkeypatch.setattr(array_files.reading_child, "__file__", str(tmp_path / "child.py"))
    for name, value in limits.items():
        monkeypatch.setattr(array_files, name, value)
    said = run("inspect", tmp_path / "x.mat", code=1)
    assert said.startswith(f"error: {tmp_path / 'x.mat'}: ")
    assert words in said


@pytest.mark.slow
def test_one_reader_of_matlab_files_goes_on_after_a_crash(tmp_path, monkeypatch):
    """What one process reads of several files is kept, and the file that ends it is the only one refused."""
    paths = [tmp_path / f"{name}.mat" for name in "abcd"]
    for number, path in enumerate(paths):
        scipy.io.savemat(path, {"x": np.full((2, 2), float(number))})
    paths[2].write_bytes(b"not MATLAB")
    program = Path(array_files.reading_child.__file__).read_text("utf-8")
    crash = f"if path.endswith({paths[1].name!r}):\n        import os\n        os.abort()\n    try:"
    (tmp_path / "child.py").write_text(program.replace("    try:", f"    {crash}", 1), "utf-8")
    monkeypatch.setattr(array_files.reading_child, "__file__", str(tmp_path / "child.py"))
    a, b, c, d = read_all_apart(paths)
    assert (a["x"] == 0.0).all()
    assert (d["x"] == 3.0).all()
    assert "made its reader crash" in str(b)
    assert "not a MATLAB or HDF5 file" in str(c)


def bomb(shape: tuple[int, ...], content: bytes) -> bytes:
    """Return an .npz file whose header promises an array of this shape."""
    stream = io.BytesIO()
    header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}"
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("X.npy", npy(header, content))
    return stream.getvalue()


def test_zip_bombs_are_refused_before_memory_is_taken(tmp_path, monkeypatch):
    path = tmp_path / "x.npz"
    path.write_bytes(bomb((10**6, 1000, 1000), bytes(10**6)))
    assert "is not an .npz file, or a damaged one" in run("inspect", path, code=1)
    path.write_bytes(bomb((1000, 1000), bytes(8 * 10**6)))
    assert path.stat().st_size < 10**5
    monkeypatch.setattr(array_files.untrusted_files, "memory", lambda: 1e6)
    assert "needs more memory than there is" in run("inspect", path, code=1)


@pytest.mark.slow
def test_matlab_variables_that_are_no_arrays_are_left_out(tmp_path):
    names = np.array(["left", "right"], dtype=object)
    variables = {"s": {"a": 1}, "X": np.eye(2), "names": names, "deep": [[{"b": 2}]]}
    scipy.io.savemat(tmp_path / "x.mat", variables)
    arrays = read_apart(tmp_path / "x.mat")
    assert sorted(arrays) == ["X", "names"]
    assert [cell.item() for cell in arrays["names"].flat] == ["left", "right"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "shown"),
    [
        *((text, text) for text in ("[/b]", "[red]", "[link=x]", "\\[", "[", "](")),
        ("é\u202e", "é\\u202e"),
        ("\x1b[31mred\x1b[0m", "\\x1b[31mred\\x1b[0m"),
        ("\x9b2J\x07", "\\x9b2J\\x07"),
    ],
)
def test_text_of_users_is_no_markup_and_no_command(files, text, shown):
    folder = files / f"of {text.replace('/', ' ')}"
    folder.mkdir()
    labels = folder / "y.csv"
    labels.write_text("\n".join(["label", *[text] * 20, *["other"] * 20]), encoding="utf-8")
    train = ("--train", files / "X.npy", "--train-labels", labels)
    test = ("--test", files / "Z.npy", "--test-labels", labels)
    assert f"{shown} 20 " in run("classify", *train, *test)
    (folder / "X.npy").write_bytes((files / "X.npy").read_bytes())
    said = run("inspect", folder / "X.npy")
    assert "40 of 4×4" in said
    predicted = run("classify", *train, "--test", files / "Z.npy")
    no_place = run("inspect", folder / "X.npy", "--repaired", folder / text / "Y.npy", code=2)
    missing = run("inspect", folder / "Z.npy", code=1)
    for output in (said, predicted, no_place, missing):
        assert not set(output) & set("\x07\x1b\x9b\u202e")
    assert shown in predicted


def test_labels_that_are_no_text(files):
    for content in (b"\xff\xfea\x00\n", b"a\x00b\n", b'"' + b"x" * 200_000):
        (files / "bad.csv").write_bytes(content)
        train = ("--train", files / "X.npy", "--train-labels", files / "bad.csv")
        said = run("classify", *train, "--test", files / "Z.npy", code=1)
        assert f"error: {files / 'bad.csv'}: " in said
