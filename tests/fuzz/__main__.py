"""``python -m tests.fuzz --minutes 20 --processes 2``: hostile input for a while; see docs/develop/fuzzing.md."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from fuzz.campaigns import CAMPAIGNS, run_part
from fuzz.results import PAGE, markdown, table, write_page


def run_all(names: list[str], first: int, options: argparse.Namespace) -> dict[str, Any]:
    """Run campaigns in turn, each in all processes; return what came of each."""
    results: dict[str, Any] = {}
    processes: int = options.processes
    end, left = time.monotonic() + 60.0 * options.minutes, sum(CAMPAIGNS[n].share for n in names)
    most = None if options.cases is None else -(-options.cases // processes)
    # One pool for all: in a new process the first case waits for imports.
    # Spawned, so that no process begins with threads and open pipes of another.
    with ProcessPoolExecutor(processes, get_context("spawn")) as pool:
        for name in names:
            share = CAMPAIGNS[name].share
            # What a campaign leaves of its time is for those after it.
            seconds, begin = (end - time.monotonic()) * share / left, time.monotonic()
            left -= share
            parts = [
                pool.submit(run_part, name, first + number, processes, most, seconds)
                for number in range(processes)
            ]
            outcomes: Counter[str] = Counter()
            findings: list[str] = []
            for part in parts:
                some, found = part.result()
                outcomes, findings = outcomes + some, findings + found
            took = round(time.monotonic() - begin, 1)
            results[name] = {**outcomes, "findings": findings, "seconds": took}
            print(f"{name}: {dict(outcomes)}, {len(findings)} findings, {took} s", flush=True)
    return results


def main() -> int:
    """Run the campaigns; return how many findings there were."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0, help="for all campaigns together")
    parser.add_argument("--processes", type=int, default=1, help="that share every campaign")
    parser.add_argument("--cases", type=int, help="the most seeds of each; default: no limit")
    parser.add_argument("--seed", type=int, default=None, help="the first seed; default: the time")
    parser.add_argument("--only", choices=CAMPAIGNS, nargs="*", default=list(CAMPAIGNS))
    parser.add_argument("--json", type=Path, help="a file for the results")
    parser.add_argument("--markdown", action="store_true", help=f"write the table of {PAGE.name}")
    options = parser.parse_args()
    first = int(time.time()) * 1000 if options.seed is None else options.seed
    campaigns = run_all(options.only, first, options)
    results = {"seed": first, "minutes": options.minutes, "processes": options.processes}
    results["campaigns"] = campaigns
    print(table(results))
    if options.json is not None:
        options.json.write_text(json.dumps(results, indent=2, ensure_ascii=False), "utf-8")
    if options.markdown:
        write_page(markdown(results))
    return sum(len(one["findings"]) for one in campaigns.values())


if __name__ == "__main__":
    sys.exit(min(main(), 100))
