"""Hostile files of matrices and labels, as the command line reads them: every format, every kind of damage."""

from __future__ import annotations

import csv
import io
import pickle
import tempfile
import zipfile
from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import scipy.io
from typer.testing import CliRunner

from _matrices import three_classes
from fuzz.campaign import clearly_refused, expect, expect_no_command, was_refused
from fuzz.files import altered_bytes
from spdatoms import check_spd
from spdatoms._utils.array_files import read_all_apart
from spdatoms.cli import app
from spdatoms.cli.formats.labels import read_labels
from spdatoms.cli.formats.matrices import complaints_about, read_matrices

#: Labels that nobody expects: markup, escapes, formulas, other scripts, nothing at all.
TEXTS = [
    "a",
    "b",
    "",
    " ",
    "[red]",
    "[/b]",
    "\\",
    "\x00",
    "\ufeff",
    "é",
    "日本",
    "\u202e",
    '"',
    "'",
]
TEXTS += ["\x1b[31mred", "\x9b2J", "\x07", "\u2066"]
TEXTS += [",", ";", "\t", "\n", "\r", "=1+1", "nan", "1e999", "007", "-0", "1_000", "a" * 5000]
ENCODINGS = ["utf-8", "utf-8-sig", "utf-16", "utf-32", "latin-1", "cp1252", "utf-7", "ascii"]
HEADERS = [
    "{'descr': '<f8', 'fortran_order': False, 'shape': (%s,), }",
    "{'descr': '<f8', 'fortran_order': False, 'shape': (3, %s, 3), }",
    "{'descr': '<U%s', 'fortran_order': False, 'shape': (3, 3, 3), }",
    "{'descr': '|V%s', 'fortran_order': True, 'shape': (3, 3, 3), }",
    "{'descr': ('<f8', (%s,)), 'fortran_order': False, 'shape': (3, 3, 3), }",
    "{'descr': [('x', '<f8', %s)], 'fortran_order': False, 'shape': (3, 3, 3), }",
    "{'descr': '<f8', 'fortran_order': False, 'shape': (3, 3, 3), 'more': %s}",
    "{'descr': '<M8[%ss]', 'fortran_order': False, 'shape': (3, 3, 3), }",
    "{'descr': '<f8', 'fortran_order': False, 'shape': %s, }",
    "%s",
]
NUMBERS = [
    "0",
    "-1",
    "1",
    "3",
    "2**40",
    "10**18",
    "10**40",
    "None",
    "()",
    "'3'",
    "3.0",
    "[3]",
    "True",
]
NUMBERS += ["1000000000000", "9223372036854775807", "99999999999999999999", "(3, 3)", "{", "('''"]


def hostile_header(rng: np.random.Generator, content: bytes) -> bytes:
    """Return an .npy file whose header does not belong to what follows it."""
    text = HEADERS[rng.integers(len(HEADERS))] % NUMBERS[rng.integers(len(NUMBERS))]
    header = text.encode("latin-1").ljust(int(rng.integers(0, 200))) + b"\n"
    version = int(rng.choice([1, 1, 1, 2, 3, 9]))
    length = len(header) if rng.random() < 0.8 else int(rng.integers(65536))
    size = length.to_bytes(2 if version == 1 else 4, "little")
    return b"\x93NUMPY" + bytes([version, 0]) + size + header + content


def saved(save: Callable[..., Any], *args: Any, **kwargs: Any) -> bytes:
    stream = io.BytesIO()
    save(stream, *args, **kwargs)
    return stream.getvalue()


@cache
def whole() -> dict[str, bytes]:
    """Return a sound file of every kind."""
    X, y = three_classes()
    return {
        ".npy": saved(np.save, X),
        ".npz": saved(np.savez_compressed, X=X, y=y),
        ".mat": saved(scipy.io.savemat, {"X": X[:2], "y": list(y[:3])}, do_compression=False),
        ".csv": "\n".join(",".join(map(str, row)) for row in X.reshape(len(X), -1)).encode(),
        ".txt": "\n".join(y).encode(),
    }


def packed(rng: np.random.Generator, member: bytes) -> bytes:
    """Return an .npz file with this member, perhaps with a bomb, a folder or a twin beside it."""
    stream = io.BytesIO()
    method = zipfile.ZIP_DEFLATED if rng.random() < 0.5 else zipfile.ZIP_STORED
    with zipfile.ZipFile(stream, "w", method) as archive:
        for name in rng.choice(["X.npy", "y.npy", "X", "../X.npy", "X.npy/"], size=2):
            archive.writestr(str(name), member)
    return stream.getvalue()


def table(rng: np.random.Generator) -> bytes:
    """Return a table of labels in an odd dialect and encoding."""
    stream = io.StringIO(newline="")
    writer = csv.writer(
        stream,
        delimiter=str(rng.choice([",", ";", "\t", "|"])),
        quoting=csv.QUOTE_ALL if rng.random() < 0.3 else csv.QUOTE_MINIMAL,
        lineterminator=str(rng.choice(["\n", "\r\n", "\r"])),
    )
    writer.writerow(["id", "label"])
    columns = int(rng.choice([1, 2, 2, 2, 7]))
    for _ in range(24 + int(rng.integers(-1, 2))):
        writer.writerow([TEXTS[rng.integers(len(TEXTS))] for _ in range(columns)])
    return stream.getvalue().encode(str(rng.choice(ENCODINGS)), "replace")


def hostile_file(rng: np.random.Generator) -> tuple[str, bytes]:
    """Return an ending, and what is in the file."""
    suffix = str(rng.choice([".npy", ".npy", ".npz", ".csv", ".txt", ".tsv"]))
    content = whole().get(suffix, whole()[".csv"])
    kind = rng.integers(6)
    if kind == 0:
        return suffix, altered_bytes(rng, content)
    if kind == 1:
        numbers = content[128 : 128 + int(rng.integers(4000))]
        header = hostile_header(rng, numbers)
        return (".npz", packed(rng, header)) if rng.random() < 0.5 else (".npy", header)
    if kind == 2:
        pickled = np.array([{"a": 1}, print], dtype=object)
        file = saved(np.save, pickled, allow_pickle=True) if rng.random() < 0.5 else pickle.dumps(1)
        return (".npz", packed(rng, file)) if rng.random() < 0.5 else (".npy", file)
    if kind == 3:
        return suffix if suffix in (".csv", ".tsv", ".txt") else ".csv", table(rng)
    if kind == 4:
        other = list(whole().values())
        return suffix, other[rng.integers(len(other))]  # the ending of another format
    return suffix, rng.bytes(int(rng.integers(300)))


def checked_matrices(path: Path, key: str | None) -> Any:
    """Read a file as commands do: an error about a matrix names the file."""
    with complaints_about(path):
        return check_spd(read_matrices(path, key).X)


def read_or_refuse(suffix: str, content: bytes, key: str | None) -> str:
    """Read a file as matrices and as labels: each is an array of the right shape, or a clear error with the name."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"file{suffix}")
        path.write_bytes(content)
        X = clearly_refused(lambda: checked_matrices(path, key))
        labels = clearly_refused(lambda: read_labels(path, key, 24))
        for result in (X, labels):
            if was_refused(result):
                expect(path.name in str(result), f"a refusal without the file: {result}")
        if not was_refused(X):
            expect(X.ndim == 3 and np.isfinite(X).all(), "these are no matrices")
            del X
        if not was_refused(labels):
            expect(labels.shape == (24,), "there are not as many labels as asked for")
            return "answered"
    return "refused"


def hostile_files(rng: np.random.Generator) -> str:
    """Files with damage, misleading headers, pickles, odd encodings, or of another format than their name says."""
    suffix, content = hostile_file(rng)
    key = None if rng.random() < 0.6 else str(rng.choice(["X", "label", "[red]", ""]))
    return read_or_refuse(suffix, content, key)


@cache
def training_file() -> bytes:
    return saved(np.save, three_classes()[0])


def hostile_labels(rng: np.random.Generator) -> str:
    """Labels that nobody expects, in the command line: a terminal obeys nothing of what is printed."""
    names = [
        str(text) for text in rng.choice([t for t in TEXTS if t.strip()], size=3, replace=False)
    ]
    suffix = str(rng.choice([".csv", ".txt", ".npy"]))
    with tempfile.TemporaryDirectory() as folder:
        X, labels = Path(folder, "X.npy"), Path(folder, f"y{suffix}")
        X.write_bytes(training_file())
        y = [names[i % 3] for i in range(24)]
        if suffix == ".npy":
            np.save(labels, np.array(y))
        else:
            with labels.open("w", newline="", encoding="utf-8") as file:
                csv.writer(file).writerows([["label"], *([label] for label in y)])
        train = ("--train", X, "--train-labels", labels, "--test", X)
        more = ("--test-labels", labels) if rng.random() < 0.5 else ()
        arguments = [str(word) for word in ("classify", *train, *more, "--metric", "stein")]
        result = CliRunner().invoke(app, arguments)
    expect_no_command(result.output)
    expect(result.exit_code in (0, 1, 2), f"the command ends with {result.exit_code}")
    expect(
        isinstance(result.exception, SystemExit | None), f"the command ends in {result.exception!r}"
    )
    return "refused" if result.exit_code else "answered"


def altered_mat(rng: np.random.Generator) -> Counter[str]:
    """Twenty MATLAB files with damage, which a child process reads: arrays, or a clear error for each."""
    refused = 0
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder, f"{number}.mat") for number in range(20)]
        for path in paths:
            content = bytearray(altered_bytes(rng, whole()[".mat"]))
            # The tags at the start of a file say how long everything is.
            if content and rng.random() < 0.5:
                for _ in range(int(rng.integers(1, 6))):
                    content[int(rng.integers(min(len(content), 260)))] = int(rng.integers(256))
            path.write_bytes(content)
        for found in read_all_apart(paths):
            if isinstance(found, ValueError):
                refused += was_refused(clearly_refused(lambda error=found: _raise(error)))
            else:
                expect(all(isinstance(a, np.ndarray) for a in found.values()), "no arrays")
    return Counter(refused=refused, answered=20 - refused)


def _raise(error: ValueError) -> None:
    raise error
