"""The README as PyPI shows it: relative links and images point to the repository."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

REPOSITORY = "spdatoms/spdatoms"


def with_absolute_links(text: str) -> str:
    """Return Markdown whose relative links lead to the main branch on GitHub."""
    text = re.sub(
        r"(!\[[^\]]*\]\()(?![\w+.-]+:|#)",
        rf"\1https://raw.githubusercontent.com/{REPOSITORY}/main/",
        text,
    )
    return re.sub(r"(\]\()(?![\w+.-]+:|#)", rf"\1https://github.com/{REPOSITORY}/blob/main/", text)


class ReadmeHook(MetadataHookInterface):
    """Set the metadata ``readme``."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Read README.md and put it into the metadata."""
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        metadata["readme"] = {"content-type": "text/markdown", "text": with_absolute_links(text)}
