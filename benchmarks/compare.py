"""What got slower between two runs of a benchmark, beyond noise.

    python benchmarks/compare.py old.json new.json
    python benchmarks/compare.py old/ new/ --noise 5

Reads what the benchmarks write. A folder holds repeated runs: the best figure of each side counts, and what differs
by less than the runs of one side do among themselves is noise. So is, with single runs, less than ``--noise``
percent, because the figures of shared machines move by that much. Figures that compare with a peer or with DGEMM in the
same run are steadier than times. The exit status is 1 if something got slower.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

#: The last keys of figures that are better if greater, and if smaller. What is neither is no figure of ours.
GREATER = re.compile(r"ratio\w*|second_thread|direct|faster than \w+")
SMALLER = re.compile(
    r"(float32_)?ns_per_pair|seconds|cold|warm|stein|jeffrey|airm|grid|plain|spdatoms"
    r"|whole|checks|divergences|exponential|correction|codes|scores"
)
#: What is measured, not what tells one measurement from another.
RESULTS = re.compile(r"nonzeros|windows|iterations|inertia.*|first|last|error|overhead|rest|seed")


@dataclass(frozen=True)
class Change:
    """A figure of both sides, as a factor by which the new one is faster, and what of it may be noise."""

    name: str
    old: float
    new: float
    faster: float
    noise: float

    @property
    def matters(self) -> bool:
        """Whether the change is beyond noise."""
        return max(self.faster, 1 / self.faster) > 1 + self.noise

    def __str__(self) -> str:
        percent = 100 * (self.faster - 1)
        return f"{self.name:<60} {self.old:>12.4g} {self.new:>12.4g} {percent:>+7.0f} %"


def figures(node: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, float, bool]]:
    """Yield name, value and whether greater is better for every figure in a file."""
    if isinstance(node, list):
        for number, item in enumerate(node):
            yield from figures(item, (*path, *(_labels(item) or [str(number)])))
    elif isinstance(node, dict) and {"what", "measured", "unit"} <= set(node):
        yield str(node["what"]), float(node["measured"]), node["unit"] in ("%", "×")
        if "processor" in node:
            yield f"{node['what']}, of the processor", float(node["processor"]), False
    elif isinstance(node, dict) and "rates" in node:
        rates = node["rates"]
        for peer in rates.keys() - {"spdatoms"}:
            yield " ".join((*path, peer)), rates["spdatoms"] / rates[peer], True
    elif isinstance(node, dict):
        for key, value in node.items():
            if isinstance(value, dict | list):
                yield from figures(value, path if isinstance(value, list) else (*path, key))
            elif isinstance(value, int | float) and not isinstance(value, bool) and value > 0:
                greater = GREATER.fullmatch(key) is not None
                if greater or SMALLER.fullmatch(key):
                    yield " ".join((*path, key)), float(value), greater


def _labels(item: Any) -> list[str]:
    """Return what tells an item of a list from the others: its words and whole numbers, α and the like."""
    if not isinstance(item, dict):
        return []
    return [
        f"{key}={value}"
        for key, value in item.items()
        if (isinstance(value, str | int) or key == "alpha") and not RESULTS.fullmatch(key)
    ]


def runs(path: Path) -> list[dict[str, tuple[float, bool]]]:
    """Return the figures of a file, or of every file in a folder."""
    files = sorted(path.glob("*.json")) if path.is_dir() else [path]
    if not files:
        raise FileNotFoundError(f"{path} holds no .json file")
    contents = (json.loads(file.read_text(encoding="utf-8")) for file in files)
    return [{name: (value, up) for name, value, up in figures(one)} for one in contents]


def changes(
    old: list[dict[str, tuple[float, bool]]],
    new: list[dict[str, tuple[float, bool]]],
    least_noise: float,
) -> list[Change]:
    """Return the change of every figure that all runs of both sides have."""
    found = []
    for name in old[0]:
        if not all(name in run for run in (*old, *new)):
            continue
        greater = old[0][name][1]
        best, spread = [], [least_noise]
        for side in (old, new):
            values = [run[name][0] for run in side]
            best.append(max(values) if greater else min(values))
            spread.append(max(values) / min(values) - 1)
        faster = best[1] / best[0] if greater else best[0] / best[1]
        found.append(Change(name, best[0], best[1], faster, max(spread)))
    return found


def report(found: list[Change]) -> bool:
    """Print what changed beyond noise, slowest first; return whether anything got slower."""
    slower = sorted((c for c in found if c.matters and c.faster < 1), key=lambda c: c.faster)
    faster = sorted((c for c in found if c.matters and c.faster > 1), key=lambda c: -c.faster)
    for title, some in (("slower", slower), ("faster", faster)):
        if some:
            print(f"{title:<60} {'old':>12} {'new':>12}     speed", *some, sep="\n")
    print(
        f"{len(found)} figures: {len(slower)} slower, {len(faster)} faster, "
        f"{len(found) - len(slower) - len(faster)} as before, within noise."
    )
    return bool(slower)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument(
        "old", type=Path, help="a file of a benchmark, or a folder of repeated runs"
    )
    parser.add_argument("new", type=Path, help="the same, measured later")
    parser.add_argument("--noise", type=float, default=15.0, help="percent that mean nothing")
    options = parser.parse_args(arguments)
    found = changes(runs(options.old), runs(options.new), options.noise / 100)
    if not found:
        parser.error("the two have no figure in common: are they of the same benchmark?")
    return int(report(found))


if __name__ == "__main__":
    sys.exit(main())
