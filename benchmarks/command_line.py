"""Peak memory and processor time of the commands on a file that is larger than the memory they may use.

    python benchmarks/command_line.py                                # 2 million 16×16 in single precision, 2 GB
    python benchmarks/command_line.py --matrices 200000 --formats npy,zarr
    python benchmarks/command_line.py --commands inspect,code --folder data   # keep the files for the next run

Each command is a process of its own. Its memory is the largest resident one of it and of the processes that it
started, pages of mapped files included; its processor time is the sum of theirs.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

SIZE, CLASSES, BLOCK = 16, 10, 50_000


def matrices(count: int, seed: int) -> tuple[Any, Any]:
    """Return covariances of 24 samples each, of ten classes, and their classes."""
    mixing = np.eye(SIZE) + 0.25 * np.random.default_rng(0).standard_normal((CLASSES, SIZE, SIZE))
    rng = np.random.default_rng(1 + seed)
    labels = rng.integers(0, CLASSES, count)
    signals = mixing[labels].astype("f4") @ rng.standard_normal((count, SIZE, 24), dtype="f4")
    return signals @ signals.swapaxes(1, 2) / 24, labels


class Files:
    """The same matrices in files of several formats, and their labels, written block by block."""

    def __init__(self, folder: Path, count: int, formats: list[str]) -> None:
        self.folder, self.shape = folder, (count, SIZE, SIZE)
        labels = np.lib.format.open_memmap(folder / "y.npy", "w+", np.int64, (count,))
        with ExitStack() as open_files:
            writers = [self.writer(name, open_files) for name in formats]
            for start in range(0, count, BLOCK):
                X, y = matrices(min(BLOCK, count - start), start)
                rows = slice(start, start + len(X))
                labels[rows] = y
                for write in writers:
                    write(rows, X)

    def writer(self, name: str, open_files: ExitStack) -> Callable[[slice, Any], object]:
        """Return what writes matrices to the file of a format."""
        path = self.folder / FORMATS[name]
        if name == "npy":
            return np.lib.format.open_memmap(path, "w+", np.float32, self.shape).__setitem__
        if name == "zarr":
            import zarr

            chunked = zarr.create_array(
                str(path), shape=self.shape, chunks=(8192, SIZE, SIZE), dtype="f4"
            )
            return chunked.__setitem__
        if name == "parquet":
            import pyarrow as pa
            import pyarrow.parquet as pq

            schema = pa.schema([("X", pa.list_(pa.float32(), SIZE * SIZE))])
            table = open_files.enter_context(pq.ParquetWriter(path, schema))

            def write(rows: slice, X: Any) -> None:
                values = pa.FixedSizeListArray.from_arrays(pa.array(X.ravel()), SIZE * SIZE)
                table.write_table(pa.table({"X": values}))

            return write
        import h5py

        packed = {"chunks": (4096, SIZE, SIZE), "compression": "gzip"} if name == "h5" else {}
        file = open_files.enter_context(h5py.File(path, "w"))
        found: Callable[[slice, Any], object] = file.create_dataset(
            "X", self.shape, "f4", **packed
        ).__setitem__
        return found


FORMATS = {
    "npy": "X.npy",
    "zarr": "X.zarr",
    "h5": "X.h5",
    "contiguous": "contiguous.h5",
    "parquet": "X.parquet",
}


def write_missing(folder: Path, count: int, formats: list[str]) -> None:
    """Write the files that are not there yet: with as many matrices as the .npy file, which is always one of them."""
    names = [name for name in {"npy", *formats} if not (folder / FORMATS[name]).exists()]
    if not names:
        return
    if "npy" not in names:
        count = len(np.load(folder / FORMATS["npy"], mmap_mode="r"))
    with tempfile.TemporaryDirectory(dir=folder) as unfinished:
        # In a process of its own: those that are started later inherit the peak of the one that starts them.
        given = Path(unfinished), count, names
        writing = multiprocessing.Process(target=Files, args=given)
        writing.start()
        writing.join()
        if writing.exitcode:
            raise RuntimeError(f"Writing the files failed with the status {writing.exitcode}.")
        for file in sorted(Path(unfinished).iterdir(), reverse=True):  # y.npy first
            file.rename(folder / file.name)


def command(name: str, X: Path, folder: Path, out: Path) -> list[Any]:
    """Return the command line; a model for 'code', and training matrices for 'classify', are of few matrices."""
    few = {"atoms": "32", "iterations": "2", "init": "random"}
    options = [f"--{key}={value}" for key, value in few.items()]
    return {
        "inspect": ["inspect", X],
        "learn": ["learn", X, *options, "--out", out / "model.spdatoms"],
        "code": ["code", X, "--model", folder / "model.spdatoms", "--out", out / "codes.npy"],
        "train": [
            *("classify", "--train", X, "--train-labels", folder / "y.npy"),
            *("--save-model", out / "classifier.spdatoms"),
        ],
        "classify": [
            *("classify", "--train", folder / "few.npy", "--train-labels", folder / "few_y.npy"),
            *("--atoms-per-class", 3, "--test", X, "--test-labels", folder / "y.npy"),
            *("--out", out / "predicted.npz"),
        ],
    }[name]


def measured(arguments: list[Any]) -> tuple[float, float, float]:
    """Run a command; return its peak memory in MB, its processor time and its wall-clock time in seconds."""
    began = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "spdatoms", *map(str, arguments), "--force"][
            : None if arguments[0] != "inspect" else -1
        ],
        stdout=subprocess.DEVNULL,
    )
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{arguments} failed")
    return usage.ru_maxrss / 1e3, usage.ru_utime + usage.ru_stime, time.perf_counter() - began


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--matrices", type=int, default=2_000_000)
    parser.add_argument("--formats", default=",".join(FORMATS))
    parser.add_argument("--commands", default="inspect,learn,code,train,classify")
    parser.add_argument("--folder", type=Path, help="where the files are, or are kept")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="spdatoms-command-line-") as out:
        folder = options.folder or Path(out)
        folder.mkdir(exist_ok=True)
        write_missing(folder, options.matrices, options.formats.split(","))
        if not (folder / "model.spdatoms").exists():
            for name, few in (("X", "few"), ("y", "few_y")):
                np.save(
                    folder / f"{few}.npy", np.load(folder / f"{name}.npy", mmap_mode="r")[:20_000]
                )
            measured(command("learn", folder / "few.npy", folder, folder))
        size = (folder / "X.npy").stat().st_size / 1e6
        print(f"{size:.0f} MB of matrices\n\n| command | file | peak MB | processor s | s |")
        print("|---|---|---|---|---|")
        for name in options.commands.split(","):
            for kind in options.formats.split(","):
                line = command(name, folder / FORMATS[kind], folder, Path(out))
                peak, cpu, seconds = measured(line)
                print(f"| {name} | {kind} | {peak:.0f} | {cpu:.1f} | {seconds:.0f} |", flush=True)


if __name__ == "__main__":
    main()
