"""Hooks of the build: the README as PyPI shows it, and the kernels in C++."""

from __future__ import annotations

import re
import tempfile
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
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
    """Set the metadata ``readme``: relative links and images point to the repository."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Read README.md and put it into the metadata."""
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        metadata["readme"] = {"content-type": "text/markdown", "text": with_absolute_links(text)}


class NativeHook(BuildHookInterface[Any]):
    """Compile the kernels: beside their sources (editable) or into the wheel."""

    @property
    def native(self) -> ModuleType:
        """The module that compiles; the package cannot be imported yet."""
        path = Path(self.root, "src", "spdatoms", "native", "_build.py")
        spec = spec_from_file_location("spdatoms_native_build", path)
        module = module_from_spec(spec)  # type: ignore[arg-type]
        spec.loader.exec_module(module)  # type: ignore[union-attr]
        return module

    def dependencies(self) -> list[str]:
        """Ask for a compiler from the package index where the machine has none."""
        return [] if self.native.system_compiler() else [self.native.ZIG]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile."""
        self.work = tempfile.TemporaryDirectory()
        native = self.native
        try:
            libraries = native.build(self.work.name)
        except RuntimeError as error:
            self.app.abort(str(error))
        if version == "editable":
            native.install(libraries)
        else:
            places = {str(path): f"spdatoms/native/{path.name}" for path in libraries}
            build_data["force_include"].update(places)
            build_data["tag"] = f"py3-none-{native.PLATFORM}"
            build_data["pure_python"] = False

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Clear away."""
        self.work.cleanup()
