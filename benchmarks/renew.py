"""Renew the record: run the commands that `RESULTS.md` names, and put what they print in place of what stands there.

    python benchmarks/renew.py --data DIR                         # everything that is not of this version
    python benchmarks/renew.py --data DIR pairwise one_query      # some scripts, in any case
    python benchmarks/renew.py --data DIR --accuracy --processes 2

A block of the record is what stands between ``<!-- run: coding.py --repeats 3 -->`` and ``<!-- end -->``. A script that
measures no time is marked ``accuracy:`` instead of ``run:``: several of these may run side by side, and they run first;
the others run one at a time, with nothing beside them. In commands ``DATA`` is the folder of the data and ``OUT`` that
of ``spdatoms reproduce all --out OUT``; what needs a folder that is not given is left as it is. Paths are relative to
this folder; what names a JSON file that an earlier command names waits for that one. The record is written after every
command, so that an interrupted run goes on where it was. The version of a block is the last commit that changed the
library, with a plus where files of it were changed since.
"""

from __future__ import annotations

import argparse
import datetime
import os
import platform
import re
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from itertools import groupby
from pathlib import Path
from threading import Lock

import numpy  # noqa: F401  its BLAS is what is described
from threadpoolctl import threadpool_info

HERE = Path(__file__).resolve().parent
RECORD = HERE / "RESULTS.md"
BLOCK = re.compile(r"<!-- (run|accuracy): (.+?) -->\n(.*?)<!-- end -->", re.S)
FOLDER = re.compile(r"\b(?:DATA|OUT)\b")
LIBRARIES = ("numpy", "scipy", "scikit-learn", "pyriemann", "torch")
#: Variables that tell OpenBLAS to take other kernels than those for this processor.
BLAS_SETTINGS = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")
_WRITING = Lock()


@dataclass(frozen=True)
class Run:
    """A command of the record, whether it measures time, and what stands in its block."""

    command: str
    timed: bool
    text: str

    @property
    def script(self) -> str:
        """Return the name of the script, without its ending."""
        return self.command.split()[0].removesuffix(".py")

    @property
    def files(self) -> set[str]:
        """Return the JSON files that it writes or reads."""
        return {word for word in shlex.split(self.command) if word.endswith(".json")}

    def words(self, folders: Mapping[str, Path]) -> list[str]:
        """Return the words of the command, with these folders in place of their names."""
        return [
            FOLDER.sub(lambda found: str(folders[found[0]]), word)
            for word in shlex.split(self.command)
        ]


def runs(record: str) -> list[Run]:
    """Return the commands of a record, in its order."""
    return [Run(command, kind == "run", text) for kind, command, text in BLOCK.findall(record)]


def replaced(record: str, command: str, text: str) -> str:
    """Return the record with this text in the block of a command."""

    def block(found: re.Match[str]) -> str:
        kind, this, old = found.groups()
        return f"<!-- {kind}: {this} -->\n{text if this == command else old}<!-- end -->"

    return BLOCK.sub(block, record)


def library_version() -> str:
    """Return the last commit that changed the library, with a plus where files of it were changed since."""

    def git(*words: str) -> str:
        done = subprocess.run(
            ["git", *words, "--", "src"],
            cwd=HERE.parent,
            check=True,
            capture_output=True,
            text=True,
        )
        return done.stdout.strip()

    return git("log", "-1", "--format=%h") + ("+" if git("status", "--porcelain") else "")


def as_markdown(printed: str) -> str:
    """Return what a script printed: Markdown tables and single lines as they are, other lines as they were laid out."""
    parts = []
    for is_table, group in groupby(printed.splitlines(), lambda line: line.startswith("|")):
        lines = list(group)
        if not is_table and (laid_out := "\n".join(lines).strip("\n")):
            lines = [laid_out] if "\n" not in laid_out else ["```text", laid_out, "```"]
        parts.append("\n".join(lines).strip())
    return "\n\n".join(filter(None, parts))


def renew(run: Run, folders: dict[str, Path]) -> bool:
    """Run a command, write its block, and tell whether it went well."""
    measured, started = library_version(), time.perf_counter()
    # One thread of BLAS everywhere, whatever is set for this session: threads that are measured are those of the
    # library, or processes.
    quiet = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore"}
    # BLAS chooses its kernels by the processor.
    given = {name: value for name, value in os.environ.items() if name not in BLAS_SETTINGS}
    done = subprocess.run(
        [sys.executable, *run.words(folders)],
        cwd=HERE,
        env=given | quiet,
        capture_output=True,
        text=True,
    )
    seconds = time.perf_counter() - started
    # A benchmark that has a limit of its own ends with 1 where it is missed; so does an error, which says why.
    missed = done.returncode == 1 and not done.stderr
    if not (done.returncode == 0 or missed) or not done.stdout.strip():
        print(f"{run.command}: failed after {seconds:.0f} s\n{done.stderr[-2000:]}", flush=True)
        return False
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    load = f", load {os.getloadavg()[1]:.1f}" if run.timed else ""
    stamp = f"`python benchmarks/{run.command}`, {today}, version {measured}, {seconds:.0f} s{load}"
    with _WRITING:
        record = RECORD.read_text(encoding="utf-8")
        text = f"{stamp}\n\n{as_markdown(done.stdout)}\n"
        RECORD.write_text(replaced(record, run.command, text), encoding="utf-8")
    print(f"{run.command}: {seconds:.0f} s", flush=True)
    return True


def installed(library: str) -> str:
    """Return a library with its version, or nothing if it is not there."""
    try:
        return f"{library} {version(library)}"
    except PackageNotFoundError:
        return ""


def describe_machine() -> None:
    """Print what figures are measured on."""
    about = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    model = re.search(r"model name\s*: (.+)", about)
    name = model[1] if model else platform.processor()
    wide = ", AVX-512" if "avx512f" in about else ", AVX2" if "avx2" in about else ""
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30
    libraries = ", ".join(filter(None, map(installed, LIBRARIES)))
    print("| machine | |\n|---|---|")
    print(f"| processor | {name}{wide}, {os.cpu_count()} cores of a virtual machine |")
    print(f"| memory | {memory:.0f} GB |")
    print(f"| system | {platform.system()}, Python {platform.python_version()} |")
    print(f"| libraries | {libraries} |")
    blas = next(info for info in threadpool_info() if info["user_api"] == "blas")
    print(
        f"| BLAS | {blas['internal_api']} {blas['version']}, kernels for {blas['architecture']} |"
    )


def wanted(options: argparse.Namespace) -> list[Run]:
    """Return the runs that were asked for and can be done."""
    chosen, now = [], library_version()
    for run in runs(RECORD.read_text(encoding="utf-8")):
        named = run.script in options.scripts or run.command in options.scripts
        if options.scripts and not named:
            continue
        if (options.accuracy and run.timed) or (options.timings and not run.timed):
            continue
        if not options.scripts and f"version {now}," in run.text:
            continue
        missing = [
            f"--{name.lower()}"
            for name in dict.fromkeys(FOLDER.findall(run.command))
            if getattr(options, name.lower()) is None
        ]
        if missing:
            print(f"{run.command}: left as it is, without {missing[0]}", flush=True)
            continue
        chosen.append(run)
    return chosen


def rounds(todo: Sequence[Run]) -> Iterator[list[Run]]:
    """Yield runs that may go side by side: those of a round name no JSON file twice."""
    together: list[Run] = []
    for run in todo:
        if any(run.files & other.files for other in together):
            yield together
            together = []
        together.append(run)
    yield together


def main() -> int:
    """Renew the record."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "scripts", nargs="*", help="names of scripts; all that are not of this version"
    )
    parser.add_argument("--data", type=Path, help="the folder of the data sets")
    parser.add_argument("--out", type=Path, help="the folder of 'spdatoms reproduce all --out'")
    parser.add_argument("--processes", type=int, default=1, help="side by side, for accuracies")
    kinds = parser.add_mutually_exclusive_group()
    kinds.add_argument("--accuracy", action="store_true", help="only what measures no time")
    kinds.add_argument("--timings", action="store_true", help="only what measures time")
    parser.add_argument("--machine", action="store_true", help="print what this machine is")
    options = parser.parse_args()
    if options.machine:
        describe_machine()
        return 0
    folders = {
        name: folder.resolve()
        for name, folder in (("DATA", options.data), ("OUT", options.out))
        if folder is not None
    }
    todo = wanted(options)
    went_well: list[bool] = []
    with ThreadPoolExecutor(options.processes) as side_by_side:
        for together in rounds([run for run in todo if not run.timed]):
            went_well += side_by_side.map(lambda run: renew(run, folders), together)
    went_well += [renew(run, folders) for run in todo if run.timed]
    print(f"{sum(went_well)} of {len(todo)} blocks renewed", flush=True)
    return 0 if all(went_well) else 1


if __name__ == "__main__":
    sys.exit(main())
