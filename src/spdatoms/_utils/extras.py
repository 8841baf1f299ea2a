"""Import optional dependencies; the error names the extra to install."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from spdatoms._utils.lazy_imports import whole_import


def import_extra(module: str, extra: str) -> Any:
    """Import an optional module, or raise an error that names the extra to install."""
    try:
        with whole_import():
            return import_module(module)
    except ImportError as error:
        raise ImportError(
            f"This needs '{module.partition('.')[0]}', which comes with an optional extra: "
            f"pip install 'spdatoms[{extra}]'"
        ) from error
