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
    parser.add_argument("--seed", type=int, default=None, help="the first seed; default: the time")
    parser.add_argument("--only", choices=CAMPAIGNS, nargs="*", default=list(CAMPAIGNS))
    options = parser.parse_args()
    first = int(time.time()) * 1000 if options.seed is None else options.seed
    total, found = 0, 0
    for name in options.only:
        seconds = 60.0 * options.minutes / len(options.only)
        outcomes, findings = run_campaign(name, CAMPAIGNS[name], first, seconds)
        total, found = total + outcomes.total(), found + len(findings)
        print(f"{name}, seeds from {first}: {dict(outcomes)}", flush=True)
    print(f"{total} cases, {found} findings")
    return found


if __name__ == "__main__":
    sys.exit(min(main(), 100))
