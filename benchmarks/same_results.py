"""Are the results the same, to the last bit? Write those of one version, compare those of another.

    python benchmarks/same_results.py --write before.npz
    python benchmarks/same_results.py --against before.npz [--only pairs kmeans]

Everything is seeded, and BLAS is held at one thread. Bits agree on one machine with the same libraries
only: the file holds the versions that it was written with, and those that differ are shown. The exit code
is 1 if a result differs or is missing. A result that the file does not have is shown as new. The largest
difference is relative to the largest entry of the array.
"""

from __future__ import annotations

import argparse
import platform
import sys
import warnings
from collections.abc import Callable, Iterator
from importlib import metadata
from pathlib import Path
from time import perf_counter
from typing import Any

import _core_cases as core
import _other_cases as other
import numpy as np
from _case_data import Array, Results, as_array, inputs, named
from threadpoolctl import threadpool_limits

import spdatoms
from spdatoms import native

GROUPS: dict[str, Callable[[], Results]] = {
    "data": inputs,
    "pairs": core.pairs,
    "mean": core.means,
    "kernel": core.kernels,
    "lasso": core.lasso,
    "coder": core.coders,
    "classifier": core.classifiers,
    "cv": core.choices,
    "neighbours": core.neighbours,
    "kmeans": core.clusters,
    "dictionary": core.dictionaries,
    "batches": core.batches,
    "dask": core.chunks,
    "memmap": core.memory_maps,
    "geometry": core.cone,
    "baselines": other.matrix_baselines,
    "images": other.image_baselines,
    "descriptors": other.images,
    "experiment": other.experiments,
    "storage": other.saved_models,
}
_LIBRARIES = ("numpy", "scipy", "scikit-learn", "dask", "scikit-image")
_VERSIONS = "versions"


def computed(groups: list[str]) -> Iterator[tuple[str, Array]]:
    """Give the results of some groups by name, and say how long each took."""
    for group in groups:
        start = perf_counter()
        for name, value in named(f"{group}:", GROUPS[group]()):
            yield name, as_array(value)
        print(f"{group}: {perf_counter() - start:.1f} s", file=sys.stderr, flush=True)


def collected(groups: list[str]) -> dict[str, Array]:
    """Return the results by name; two of one name are an error."""
    results: dict[str, Array] = {}
    with threadpool_limits(1, user_api="blas"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, array in computed(groups):
            if name in results:
                raise ValueError(f"Two results are called {name!r}.")
            results[name] = array
    return results


def versions() -> Array:
    """Return what the bits depend on besides this package."""
    libraries = [f"{name} {metadata.version(name)}" for name in _LIBRARIES]
    machine = [platform.machine(), f"instruction set {native.ISA}"]
    return np.array([f"Python {platform.python_version()}", *machine, *libraries])


def verdict(before: Array | None, now: Array | None) -> str:
    """Return whether two arrays have the same bits, and how far they are apart if not."""
    if before is None or now is None:
        return "new" if before is None else "MISSING"
    if (before.dtype, before.shape) != (now.dtype, now.shape):
        return f"DIFFERS: was {before.dtype} {before.shape}, is {now.dtype}"
    if before.tobytes() == now.tobytes():
        return "identical"
    if before.dtype.kind not in "fc":
        return f"DIFFERS in {np.count_nonzero(before != now)} of {before.size}"
    if (np.isfinite(before) != np.isfinite(now)).any():
        return "DIFFERS in what is finite"
    finite = np.isfinite(before)
    distance = np.abs(before[finite] - now[finite]).max(initial=0.0)
    return f"DIFFERS by {distance / np.abs(before[finite]).max(initial=1e-300):.1e}"


def compare(before: dict[str, Array], now: dict[str, Array]) -> int:
    """Print the table and return how many results differ or are missing."""
    verdicts = {name: verdict(before.get(name), now.get(name)) for name in {**before, **now}}
    width = max(map(len, verdicts), default=0)
    for name, said in verdicts.items():
        shape = (now[name] if name in now else before[name]).shape
        print(f"{name:{width}}  {'×'.join(map(str, shape)) or 'number':>14}  {said}")
    identical = sum(said == "identical" for said in verdicts.values())
    bad = {name: said for name, said in verdicts.items() if said not in ("identical", "new")}
    print(f"\n{identical} of {len(verdicts)} results are identical, {len(bad)} are not.")
    for name, said in bad.items():
        print(f"  {name}: {said}")
    return len(bad)


def read(path: Path, groups: list[str]) -> dict[str, Array]:
    """Return the results of some groups from a file, and warn of other libraries."""
    with np.load(path, allow_pickle=False) as file:
        for then, today in zip(file[_VERSIONS], versions(), strict=True):
            if then != today:
                print(f"The file was written with {then}, this is {today}.")
        wanted = tuple(f"{group}: " for group in groups)
        return {name: file[name] for name in file.files if name.startswith(wanted)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    mode = parser.add_mutually_exclusive_group(required=True)
    mode.add_argument("--write", type=Path, metavar="FILE.npz", help="write the results")
    mode.add_argument("--against", type=Path, metavar="FILE.npz", help="compare with these")
    parser.add_argument("--only", nargs="+", choices=list(GROUPS), default=list(GROUPS))
    arguments = parser.parse_args()
    print(f"Computing with {Path(spdatoms.__file__).parent}", flush=True)
    results = collected(arguments.only)
    if arguments.write:
        content: dict[str, Any] = {_VERSIONS: versions(), **results}
        np.savez_compressed(arguments.write, **content)
        print(f"{len(results)} results written to {arguments.write}.")
    elif compare(read(arguments.against, arguments.only), results):
        sys.exit(1)


if __name__ == "__main__":
    main()
