"""Compile all kernels into one shared library per instruction set, with a plain C interface.

They lie beside this file, and in paper/native what only the paper's baselines need.

Taken is the compiler that ``CXX`` names, else one of the system that works, else the one in the package ziglang;
``CXXFLAGS`` are added. ``SPDATOMS_BUILD_ISA`` is a list of instruction sets (``v2,v3,v4``) or ``all``; by default the
best of this machine. ``SPDATOMS_BUILD_PLATFORM``, a key of `ZIG_TARGETS`, compiles for another platform, by ziglang.

The build hook of the package (hatch_build.py) calls `build`. After a change of a kernel, run this file: it compiles in
place, and with a folder as its argument only what has changed.
"""

from __future__ import annotations

import os
import platform
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parent
FOLDERS = (HERE, HERE.parent / "paper" / "native")
ZIG = "ziglang>=0.13,<0.18"
ZIG_TARGETS = {
    "manylinux_2_17_x86_64": "x86_64-linux-gnu.2.17",
    "manylinux_2_17_aarch64": "aarch64-linux-gnu.2.17",
    "musllinux_1_2_x86_64": "x86_64-linux-musl",
    "macosx_11_0_x86_64": "x86_64-macos.11.0",
    "macosx_11_0_arm64": "aarch64-macos.11.0",
    "win_amd64": "x86_64-windows-gnu",
    "win_arm64": "aarch64-windows-gnu",
}
_OWN = (
    sysconfig.get_platform()
    .replace("universal2", platform.machine())
    .replace("-", "_")
    .replace(".", "_")
)
PLATFORM = os.environ.get("SPDATOMS_BUILD_PLATFORM") or _OWN
_X86 = PLATFORM.endswith(("x86_64", "amd64"))
_ALL = ("v2", "v3", "v4") if _X86 else ("arm64",)
#: What the compiler says of its own machine if it has an instruction set.
_MACROS = {
    "v4": ("__AVX512F__", "__AVX512BW__", "__AVX512CD__", "__AVX512DQ__", "__AVX512VL__"),
    "v3": ("__AVX2__", "__FMA__", "__BMI2__", "__LZCNT__"),
}
FLAGS = [
    *("-std=c++17", "-O3", "-fPIC", "-fvisibility=hidden", "-fno-exceptions", "-fno-rtti"),
    # Not -ffast-math: NaNs and infinities are markers.
    *("-ffp-contract=fast", "-fno-math-errno", "-fno-trapping-math"),
    *("-Wall", "-Wextra", "-Wno-psabi"),
]
_TRIAL = """#include <cmath>
typedef double V __attribute__((vector_size(16)));
V f(V x) { return x * std::sqrt(x[0]); }
"""
MISSING = f"""spdatoms needs a C++17 compiler (GCC 11, Clang 12 or later), and none that works was found.
Install one (Debian: apt install g++; macOS: xcode-select --install), or set CXX, or: pip install "{ZIG}"."""


class Compiler(NamedTuple):
    """The commands that make an object file and a shared library."""

    compile: list[str]
    link: list[str]
    prefix: str  # of the names of instruction sets

    def run(self, *command: str, work: str) -> str:
        """Run a command and return what it printed; a failure is a CalledProcessError."""
        caches = {"ZIG_GLOBAL_CACHE_DIR": f"{work}/zig", "ZIG_LOCAL_CACHE_DIR": f"{work}/zig"}
        return subprocess.run(
            command, env=os.environ | caches, check=True, capture_output=True, text=True
        ).stdout

    def own_isa(self, work: str) -> str:
        """Return the best instruction set of this machine."""
        if not _X86:
            return "arm64"
        probe = Path(work, "probe.cpp")
        probe.write_text("")
        macros = self.run(*self.compile, "-march=native", "-dM", "-E", str(probe), work=work)
        return next(
            (isa for isa, names in _MACROS.items() if all(name in macros for name in names)), "v2"
        )

    def march(self, isa: str) -> list[str]:
        """Return the flags of an instruction set."""
        if not _X86:
            return []
        # Every processor takes prefetchw, if only as nothing to do.
        return [f"-march={self.prefix}{isa}", "-mprefer-vector-width=512", "-mprfchw"]

    def build(self, sources: list[Path], isas: tuple[str, ...], work: str) -> list[Path]:
        """Return the libraries, made in a folder for work. Objects there that are newer than all sources stay."""
        extra = shlex.split(os.environ.get("CXXFLAGS", ""))
        headers = [p.stat().st_mtime for folder in FOLDERS for p in folder.glob("*.hpp")]

        def make_object(isa: str, source: Path) -> None:
            target = Path(work, f"{isa}-{source.stem}.o")
            if target.exists() and target.stat().st_mtime > max(source.stat().st_mtime, *headers):
                return
            # isa.cpp tells what a processor can do, so it must run on every one.
            march = self.march(isa) if source.stem != "isa" else []
            flags = [*FLAGS, *march, *extra, f"-I{HERE}", "-c", str(source), "-o", str(target)]
            self.run(*self.compile, *flags, work=work)

        def make_library(isa: str) -> Path:
            # Not .so, which Python would take for a module.
            library = Path(work, f"native-{isa}.shared")
            objects = [f"{work}/{isa}-{source.stem}.o" for source in sources]
            self.run(*self.link, *extra, *objects, "-o", str(library), work=work)
            return library

        with ThreadPoolExecutor(os.cpu_count()) as pool:
            list(pool.map(make_object, *zip(*product(isas, sources), strict=True)))
        return [make_library(isa) for isa in isas]

    def works(self) -> bool:
        """Return whether the compiler is there and able: macOS has a stub, GCC 10 does not know x86-64-v4."""
        with tempfile.TemporaryDirectory() as work:
            trial = Path(work, "trial.cpp")
            trial.write_text(_TRIAL)
            try:
                return bool(self.build([trial], _ALL[-1:], work))
            except (OSError, subprocess.CalledProcessError):
                return False


def system_compiler() -> Compiler | None:
    """Return the compiler that CXX names, or one of this machine that works."""
    named = os.environ.get("CXX")
    # A compiler that is found on Windows makes libraries that need its own ones at run time.
    if "SPDATOMS_BUILD_PLATFORM" in os.environ or (sys.platform == "win32" and not named):
        return None
    # No libstdc++, which is unused.
    link = ["-shared", *(["-Wl,--as-needed"] if sys.platform == "linux" else [])]
    commands = [shlex.split(name) for name in ([named] if named else ["c++", "g++", "clang++"])]
    compilers = (Compiler(command, [*command, *link], "x86-64-") for command in commands)
    return next((compiler for compiler in compilers if named or compiler.works()), None)


def _zig() -> Compiler | None:
    """Return the compiler in ziglang; it links as for C, or it would first compile a C++ library for 50 s."""
    if not (spec := find_spec("ziglang")) or not spec.origin:
        return None
    program = shutil.which("zig", path=os.path.dirname(spec.origin))
    target = ["-target", ZIG_TARGETS[PLATFORM]] if PLATFORM in ZIG_TARGETS else []
    oldest = (
        ["-march=x86_64_v2"] if _X86 else []
    )  # for zig's own routines; its default is this very machine
    return Compiler(
        [str(program), "c++", *target],
        [str(program), "cc", "-shared", "-s", *target, *oldest],
        "x86_64_",
    )


def build(work: str) -> list[Path]:
    """Return the libraries, made in a folder for work; what is missing or wrong is a RuntimeError."""
    if not (compiler := system_compiler() or _zig()):
        raise RuntimeError(MISSING)
    try:
        wanted = os.environ.get("SPDATOMS_BUILD_ISA") or compiler.own_isa(work)
        isas = _ALL if wanted == "all" else tuple(wanted.split(","))
        sources = [path for folder in FOLDERS for path in sorted(folder.glob("*.cpp"))]
        return compiler.build(sources, isas, work)
    except OSError as error:
        raise RuntimeError(f"{MISSING}\n{error}") from error
    except subprocess.CalledProcessError as error:
        raise RuntimeError(f"{shlex.join(error.cmd)}\n{error.stderr}") from error


def install(libraries: list[Path], folder: Path = HERE) -> None:
    """Copy libraries to a folder, each replaced whole: a process that runs keeps the one it has loaded."""
    for old in set(folder.glob("native-*.shared")) - {
        folder / library.name for library in libraries
    }:
        old.unlink()
    for library in libraries:
        os.replace(shutil.copy(library, folder / f"{library.name}.new"), folder / library.name)


if __name__ == "__main__":
    if len(sys.argv) > 1:  # a folder that keeps objects, so that only what has changed is compiled
        os.makedirs(sys.argv[1], exist_ok=True)
        install(build(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as folder:
            install(build(folder))
