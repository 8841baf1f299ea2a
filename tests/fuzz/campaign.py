"""What a campaign is: cases that a generator of random numbers decides, and what may come out of them.

A case is one independent draw. Its outcome says what is known about it:

- ``oracle``: an independent computation has confirmed its numbers;
- ``law``: what must be the same, or must be in a known relation, is so;
- ``refused``: it was refused with a clear error;
- ``answered``: there was an answer that is finite and of the right kind, and no more is known about it.

Anything else is a finding: a wrong number, another exception, a refusal that does not say what is wrong, a
hang, a crash. A finding is repeated by its seed, and the seeds of all findings are kept in ``seeds.json`` and
tried in every test run.
"""

from __future__ import annotations

import faulthandler
import json
import re
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

#: What a seed gives: the outcome of its case, or how many of its cases had each outcome.
Outcome = str | Counter[str]
Case = Callable[[np.random.Generator], Outcome]
OUTCOMES = ("oracle", "law", "refused", "answered")
SEEDS = Path(__file__).with_name("seeds.json")
#: A case that takes longer hangs: the process ends with the stack.
_HANGS = 600.0
#: What Python and NumPy say when nobody has checked.
_UNCLEAR = re.compile(
    "truth value|not supported between|unsupported operand|has no attribute|could not convert|"
    "invalid literal|unpack|out of bounds|out of range for|broadcast|not subscriptable|not iterable|"
    "object is not callable|inhomogeneous|missing 1 required|'NoneType'|object cannot be|"
    "must be str, not|indices must be|unhashable|operands|mismatch in its core|unexpected keyword|"
    "cannot reshape|must be real number|object is not|invalid index|has no len|only integer|"
    "cannot be interpreted|incompatible dimensions|expected a sequence|keyword argument"
)
#: What a terminal obeys, or what hides the text that follows.
_COMMAND = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


class FindingError(AssertionError):
    """A case that neither was right nor was refused with a clear error."""


def clearly_refused(call: Callable[[], Any]) -> Any:
    """Return what the call returns, or the ValueError that refuses it with a clear error.

    Any other exception, and an error without a clear message, is a finding.
    """
    try:
        return call()
    except (ValueError, TypeError) as error:
        text = str(error)
        if _UNCLEAR.search(text) or len(text.split()) < 3:
            raise FindingError(f"unclear refusal: {type(error).__name__}: {text[:200]}") from error
        return error


def expect_no_command(text: str) -> None:
    """Make a finding of text that a terminal would obey."""
    expect(not _COMMAND.search(text), f"a command of the terminal: {text[:200]!r}")


def was_refused(result: Any) -> bool:
    """Return whether `clearly_refused` returned an error."""
    return isinstance(result, ValueError | TypeError)


def expect(holds: Any, what: str) -> None:
    """Make a finding of what does not hold."""
    if not np.all(holds):
        raise FindingError(what)


def known_seeds(name: str) -> list[int]:
    """Return the seeds of earlier findings."""
    return list(json.loads(SEEDS.read_text("utf-8")).get(name, []))


def run_case(name: str, case: Case, seed: int) -> Counter[str]:
    """Run the cases of one seed; return how many had each outcome."""
    rng = np.random.default_rng([seed, *name.encode()])
    faulthandler.dump_traceback_later(_HANGS, exit=True)
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            found = case(rng)
            return Counter([found]) if isinstance(found, str) else found
    except FindingError as finding:
        raise FindingError(f"{name}, seed {seed}: {finding}") from finding
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        raise FindingError(
            f"{name}, seed {seed}: {type(error).__name__}: {str(error)[:200]} "
            f"({Path(where.filename).name}:{where.lineno})"
        ) from error
    finally:
        faulthandler.cancel_dump_traceback_later()


def run_campaign(
    name: str, case: Case, seeds: Iterable[int], seconds: float
) -> tuple[Counter[str], list[str]]:
    """Run cases of these seeds for a while; return how often each outcome came, and the findings."""
    outcomes: Counter[str] = Counter()
    findings: list[str] = []
    end = time.monotonic() + seconds
    for seed in seeds:
        if time.monotonic() > end:
            break
        try:
            outcomes += run_case(name, case, seed)
        except FindingError as finding:
            findings.append(str(finding))
            print(finding, flush=True)
    return outcomes, findings
