"""Where results come from: the commit of the code, its versions, and how busy the machine was."""

from __future__ import annotations

import os
import platform
import subprocess
from datetime import UTC, datetime
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

from spdatoms import native
from spdatoms._utils.threads import available_processors

_PACKAGE = Path(__file__).resolve().parent.parent


@cache
def commit() -> str:
    """Return the commit of the checkout that the package runs from, with ``+`` if files were changed since.

    Empty for an installed package.
    """
    try:
        _git("ls-files", "--error-unmatch", __file__)
        changed = _git("status", "--porcelain", "--untracked-files=no", str(_PACKAGE))
        return _git("rev-parse", "--short=10", "HEAD") + ("+" if changed else "")
    except (OSError, subprocess.CalledProcessError):
        return ""


def _git(*arguments: str) -> str:
    command = ["git", "-C", str(_PACKAGE), *arguments]
    found = subprocess.run(command, capture_output=True, text=True, check=True, timeout=30)
    return found.stdout.strip()


def load() -> float | None:
    """Return the mean number of processes that wanted to run in the last minute, where it is known."""
    return round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None


def versions() -> dict[str, Any]:
    """Return the versions that results are computed with, the machine and the date."""
    names = ("numpy", "scipy", "scikit-learn")
    return {
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}, {available_processors()} processors",
        **{name: metadata.version(name) for name in names},
        "instruction set": native.ISA,
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
    }
