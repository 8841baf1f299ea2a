"""``python -m spdatoms``."""

from __future__ import annotations

from spdatoms.cli import main

if __name__ == "__main__":
    main()
