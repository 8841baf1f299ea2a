"""Seconds to the first result: whole processes.

    python benchmarks/first_result.py --out first_result.json
    taskset -c 1 python benchmarks/first_result.py --repeats 2 --only inspect learn

Every figure is the best of several new processes, with one thread. Next to the seconds on the clock are those of
the processor, which a busy machine changes less. Imports are compared with that of scikit-learn alone, which
estimators need. The bytecode of the package is kept, as that of an installed one is.
"""

from __future__ import annotations

import argparse
import compileall
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from _timing import machine

import spdatoms as package

SIZES = (5, 12, 22)
ESTIMATORS = (
    "SPDSparseClassifier",
    "SPDSparseClassifierCV",
    "SPDSparseCoder",
    "SPDDictionaryLearning",
    "SPDKMeans",
)
#: Programs on matrices X with labels y, and the seconds of the processor that they may take.
PROGRAMS = {
    'SPDSparseClassifier("stein")': ("fit(X, y).predict(X)", 1.6),
    'SPDSparseClassifier("jeffrey")': ("fit(X, y).predict(X)", 1.6),
    "SPDEnsembleClassifier()": ("fit(X, y).predict(X)", 1.6),
    "SPDSparseCoder()": ("fit(X).transform(X)", 1.6),
    "SPDKMeans(random_state=0)": ("fit(X).predict(X)", 1.6),
    "SPDDictionaryLearning(16, random_state=0)": ("fit(X).transform(X)", 2.0),
}
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
#: The bar of an experiment that has at least one result.
FIRST_ROW = re.compile(rb"\| [1-9]\d*/\d+ ")


class Seconds(NamedTuple):
    """On the clock, and of the processor."""

    clock: float
    processor: float


@dataclass(frozen=True)
class Row:
    """A line of the table."""

    what: str
    measured: float
    processor: float
    limit: float | None = None
    unit: str = "s"

    def __str__(self) -> str:
        limit = "" if self.limit is None else f"{self.limit:.1f}"
        return f"| {self.what} | {self.measured:.2f} | {self.processor:.2f} | {limit} |"


Command = list[str]
Measure = Callable[[Command, dict[str, str]], Seconds]


class Stopwatch:
    """Runs from its making on."""

    def __init__(self) -> None:
        self.start, self.processor = time.perf_counter(), _of_children()

    def clock(self) -> float:
        """Return the seconds so far."""
        return time.perf_counter() - self.start

    def read(self, clock: float) -> Seconds:
        """Return these seconds, and those that processes which have ended took of the processor."""
        return Seconds(clock, _of_children() - self.processor)


def _of_children() -> float:
    times = os.times()
    return times.children_user + times.children_system


def whole(command: Command, environment: dict[str, str]) -> Seconds:
    """Run a command to its end."""
    watch = Stopwatch()
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    clock = watch.clock()
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}\n{done.stderr}")
    return watch.read(clock)


def until_first_row(command: Command, environment: dict[str, str]) -> Seconds:
    """Run a command until its bar has a result, then end it."""
    watch, shown = Stopwatch(), b""
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    ) as process:
        assert process.stderr is not None
        while not FIRST_ROW.search(shown):
            part = os.read(process.stderr.fileno(), 4096)
            if not part:
                raise RuntimeError(f"{' '.join(command)}\n{shown.decode()}")
            shown += part
        clock = watch.clock()
        process.kill()
    return watch.read(clock)


class Bench:
    """Measures commands, in a folder of matrices."""

    def __init__(self, folder: Path, repeats: int) -> None:
        self.folder, self.repeats = folder, repeats
        compileall.compile_dir(Path(package.__file__).parent, quiet=1)

    def row(
        self, what: str, command: Command, limit: float | None = None, measure: Measure = whole
    ) -> Row:
        """Return the least seconds of several processes."""
        found = [measure(command, dict(os.environ) | ONE_THREAD) for _ in range(self.repeats)]
        clock, processor = (min(figures) for figures in zip(*found, strict=True))
        return Row(what, clock, processor, limit)

    def matrices(self, n: int) -> Path:
        """Return a file of 200 covariances of two classes."""
        path = self.folder / f"X{n}.npy"
        if not path.exists():
            G = np.random.default_rng(0).standard_normal((200, n, 3 * n))
            G[100:, 0] *= 2.0
            np.save(path, G @ G.swapaxes(1, 2) / (3 * n))
        return path


def python(program: str) -> Command:
    return [sys.executable, "-W", "ignore", "-c", program]


def spdatoms(*arguments: object) -> Command:
    """Return a command of the console script, beside this Python."""
    return [str(Path(sys.executable).with_name("spdatoms")), *map(str, arguments)]


def import_rows(bench: Bench, sizes: list[int]) -> Iterator[Row]:
    """Imports, beside those of what every estimator needs."""
    for module in ("numpy", "sklearn.base", "spdatoms"):
        yield bench.row(f"import {module}", python(f"import {module}"))
    for name in ESTIMATORS:
        yield bench.row(f"import {name}", python(f"from spdatoms import {name}"), 1.5)


def inspect_rows(bench: Bench, sizes: list[int]) -> Iterator[Row]:
    """The command that looks at a file."""
    for n in sizes:
        file = str(bench.matrices(n))
        module = [sys.executable, "-m", "spdatoms", "inspect", file]
        yield bench.row(f"python -m spdatoms inspect, n={n}", module, 0.6)
        yield bench.row(f"spdatoms inspect, n={n}", spdatoms("inspect", file), 0.6)


def estimator_rows(bench: Bench, sizes: list[int]) -> Iterator[Row]:
    """Estimators, from a file of matrices to predictions or codes."""
    for n in sizes:
        for estimator, (calls, limit) in PROGRAMS.items():
            program = python(
                f"import numpy as np; from spdatoms import {estimator.partition('(')[0]}\n"
                f"X, y = np.load({str(bench.matrices(n))!r}), np.arange(200) // 100\n"
                f"{estimator}.{calls}"
            )
            what = (
                f"{estimator.replace(', random_state=0', '').replace('random_state=0', '')}, n={n}"
            )
            yield bench.row(what, program, limit)


def learn_rows(bench: Bench, sizes: list[int]) -> Iterator[Row]:
    """The command that learns."""
    for n in sizes:
        model = bench.folder / "model.spdatoms"
        command = spdatoms("learn", bench.matrices(n), "--atoms", 16, "--force", "--out", model)
        yield bench.row(f"spdatoms learn, n={n}", command, 2.0)


def demo_rows(bench: Bench, sizes: list[int]) -> Iterator[Row]:
    """The demo of the README, until its first result and to its end."""
    command = spdatoms(
        "reproduce", "textures", "--fresh", "--force", "--out", bench.folder / "demo"
    )
    yield bench.row("first result of the demo", command, 4.0, until_first_row)
    yield bench.row("the demo", command)


GROUPS = {
    "import": import_rows,
    "inspect": inspect_rows,
    "estimators": estimator_rows,
    "learn": learn_rows,
    "demo": demo_rows,
}


def main() -> None:
    """Print the table and write the file."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--out", type=Path, help="where to write the figures as JSON")
    parser.add_argument(
        "--repeats", type=int, default=10, help="processes of which the best counts"
    )
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--only", nargs="+", choices=list(GROUPS), default=list(GROUPS))
    options = parser.parse_args()
    rows = []
    print("| | seconds | of the processor | limit |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Path(folder), options.repeats)
        for group in options.only:
            for row in GROUPS[group](bench, options.sizes):
                print(row, flush=True)
                rows.append(asdict(row))
    if options.out:
        figures = {"machine": machine(), "repeats": options.repeats, "rows": rows}
        options.out.write_text(json.dumps(figures, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
