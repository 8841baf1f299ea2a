"""``python -m tests.fuzz --minutes 10``: hostile input for a while; see docs/develop/fuzzing.md."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from fuzz.campaign import run_campaign
from fuzz.campaigns import CAMPAIGNS


def main() -> int:
    """Run the campaigns in turn; return how many findings there were."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0, help="for all campaigns together")
    parser.add_argument("--cases", type=int, help="the most of each campaign; default: no limit")
    parser.add_argument("--seed", type=int, default=None, help="the first seed; default: the time")
    parser.add_argument("--only", choices=CAMPAIGNS, nargs="*", default=list(CAMPAIGNS))
    options = parser.parse_args()
    first = int(time.time()) * 1000 if options.seed is None else options.seed
    total, found = 0, 0
    end, most = time.monotonic() + 60.0 * options.minutes, options.cases or float("inf")
    for number, name in enumerate(options.only):
        # What a campaign leaves of its time is for those after it.
        seconds = (end - time.monotonic()) / (len(options.only) - number)
        outcomes, findings = run_campaign(name, CAMPAIGNS[name], first, seconds, most)
        total, found = total + outcomes.total(), found + len(findings)
        print(f"{name}, seeds from {first}: {dict(outcomes)}", flush=True)
    print(f"{total} cases, {found} findings")
    return found


if __name__ == "__main__":
    sys.exit(min(main(), 100))
