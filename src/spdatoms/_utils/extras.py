"""Optional modules: the error names the extra that brings them."""

from __future__ import annotations

from typing import Any

import scipy.linalg  # noqa: F401  (its BLAS must be loaded before the controller looks for it)


def import_extra(module: str, extra: str) -> Any:
    """Import an optional module, or say which extra of the package brings it."""
    import importlib

    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ImportError(
            f"This needs '{module.partition('.')[0]}', which comes with an optional extra: "
            f"pip install 'spdatoms[{extra}]'"
        ) from error
