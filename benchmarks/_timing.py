"""Timing that compares: methods in turn, in one process, the best of several runs of each."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any


def best_times(
    methods: Mapping[str, Callable[[], Any]],
    repeats: int,
    clock: Callable[[], float] = time.perf_counter,
    warm: bool = False,
) -> dict[str, float]:
    """Seconds of the fastest run of each method.

    With ``time.process_time`` as clock they are seconds of processor time, which a busy machine
    changes less; that is fair only if every method has one thread.

    The methods take turns, so that a busy spell of the machine falls on all of them, and each is run
    once before anything is timed, so that none pays for compilation. What the others leave in the caches of the
    processor is what each begins with, unless ``warm``: then each is run once more just before it is timed.
    """
    for run in methods.values():
        run()
    best = dict.fromkeys(methods, float("inf"))
    for _ in range(repeats):
        for name, run in methods.items():
            if warm:
                run()
            start = clock()
            run()
            best[name] = min(best[name], clock() - start)
    return best


def machine() -> dict[str, Any]:
    """What the figures were measured on."""
    return {
        "python": platform.python_version(),
        "processor": platform.processor() or platform.machine(),
        "cpus": os.cpu_count(),
    }


def first_calls(program: str, repeats: int) -> list[float]:
    """Run a program that prints seconds in new processes; the least of several."""

    def run() -> list[float]:
        command = [sys.executable, "-c", program]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        return [float(figure) for figure in done.stdout.split()]

    return [min(figures) for figures in zip(*(run() for _ in range(repeats)), strict=True)]
