"""What holds the project together: names, docstrings, README, metadata."""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import inspect
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import spdatoms

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"


def readme_blocks(marker: str) -> list[str]:
    """Return the fenced blocks of the README that follow ``<!-- marker -->``."""
    pattern = rf"^<!-- {re.escape(marker)} -->\n```\w*\n(.*?)^```$"
    return re.findall(pattern, README.read_text(encoding="utf-8"), flags=re.S | re.M)


# --- names -------------------------------------------------------------------------------------------


def test_version_is_that_of_the_metadata():
    assert spdatoms.__version__ == importlib.metadata.version("spdatoms")


def test_no_public_name_twice():
    assert len(set(spdatoms.__all__)) == len(spdatoms.__all__)


@pytest.mark.parametrize("name", spdatoms.__all__)
def test_public_name_is_importable_and_documented(name):
    thing = getattr(spdatoms, name)
    assert name in dir(spdatoms)
    assert inspect.getdoc(thing)
    assert thing.__name__ == name


@pytest.mark.slow
def test_public_modules_are_imported_when_they_are_used():
    code = (
        "import sys, spdatoms; assert 'geometry' in dir(spdatoms); "
        "assert spdatoms.geometry.vech and spdatoms.descriptors.TextureCovariance; "
        "assert 'spdatoms.paper' not in sys.modules; assert spdatoms.paper.baselines.LogEuclideanKSVD"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_every_public_module_is_an_attribute():
    found = {
        path.stem for path in (ROOT / "src" / "spdatoms").glob("[!_]*") if path.suffix != ".typed"
    }
    for name in found - {"cli"}:
        assert getattr(spdatoms, name).__name__ == f"spdatoms.{name}"


def test_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = spdatoms.no_such_name


def test_import_is_light():
    heavy = {"sklearn", "matplotlib", "skimage", "tqdm", "pyriemann", "dask"}
    code = "import sys, spdatoms; print(*{name.partition('.')[0] for name in sys.modules})"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert heavy.isdisjoint(loaded.stdout.split())


@pytest.mark.slow
def test_public_names_need_little_of_scikit_learn():
    heavy = {f"sklearn.{name}" for name in ("linear_model", "metrics", "model_selection", "svm")}
    code = "import sys; from spdatoms import *; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    assert "sklearn.base" in loaded
    assert heavy.isdisjoint(loaded)


# --- README ------------------------------------------------------------------------------------------


def test_readme_commands():
    (demo,) = readme_blocks("command: demo")
    (tests,) = readme_blocks("command: tests")
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"][
        "optional-dependencies"
    ]
    for command, extra in ((demo, "paper"), (tests, "test")):
        words = shlex.split(command)
        assert words[:4] == ["python3", "-m", "venv", ".venv"]
        assert f".[{extra}]" in words
        assert extra in extras
    (script,) = importlib.metadata.entry_points(group="console_scripts", name="spdatoms")
    assert callable(script.load())
    assert ".venv/bin/spdatoms reproduce textures" in demo


def packages(extras, table):
    """Return what some extras install, each by its requirement."""
    found = set()
    for requirement in (one for extra in extras.split(",") for one in table[extra]):
        own = re.fullmatch(r"spdatoms\[(.*)\]", requirement)
        found |= packages(own[1], table) if own else {requirement}
    return found


@pytest.mark.parametrize(
    ("page", "needed"), [("newcomer.md", "paper"), ("guide/command_line.md", "vision")]
)
def test_pages_name_the_extras_of_all_formats(page, needed):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    for named in re.findall(r"\[([a-z,]*formats[a-z,]*)\]", text):
        installed = packages(named, project["optional-dependencies"])
        wanted = packages(f"{needed},eeg,mri,hdf5,tables", project["optional-dependencies"])
        assert wanted <= installed


needs_scripts = pytest.mark.skipif(
    os.name != "posix" or not (ROOT / ".ci" / "run").exists() or not shutil.which("bash"),
    reason="needs .ci/run and bash",
)


@needs_scripts
def test_ci_runs_the_command_of_the_readme():
    script = ROOT / ".ci" / "run"
    assert os.access(script, os.X_OK)
    said = subprocess.run(
        ["bash", str(script), "--print-test-command"], capture_output=True, text=True, check=True
    )
    assert said.stdout == readme_blocks("command: tests")[0]


@needs_scripts
@pytest.mark.parametrize("ended", ["by itself", "by SIGTERM", "by SIGKILL"])
def test_busy_loops_end_with_what_they_hinder(ended):
    """The loops hold the end of a pipe open, which can be read to its end only when they are gone."""
    signals = {"by SIGTERM": "kill $PPID;", "by SIGKILL": "kill -9 $PPID;"}
    command = f"echo begun; {signals.get(ended, '')} exit 3"
    script = subprocess.Popen(
        ["bash", str(ROOT / ".ci" / "under_load"), "2", "sh", "-c", command],
        stdout=subprocess.PIPE,
    )
    assert script.wait() == {"by SIGTERM": -15, "by SIGKILL": -9}.get(ended, 3)
    assert script.communicate() == (b"begun\n", None)


def test_examples_in_readme():
    names: dict[str, object] = {}
    for block in readme_blocks("example"):
        exec(compile(block, "README.md", "exec"), names)
    assert names["S"].shape == (200, 200)
    assert names["C"].shape == (8, 8)
    assert names["codes"].shape == (100, 100)
    assert 0 < (names["codes"] != 0).mean() < 0.5
    classifier, X, y = names["classifier"], names["X"], names["y"]
    assert classifier.score(X[1::2], y[1::2]) > 0.8


@pytest.mark.parametrize("page", sorted(path.name for path in ROOT.glob("*.md")))
def test_links_lead_somewhere(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    headings = re.findall(r"^#+ (.*)$", text, flags=re.M)
    anchors = {re.sub(r"[^\w\- ]", "", heading).lower().replace(" ", "-") for heading in headings}
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if target.startswith("#"):
            assert target[1:] in anchors, target
        elif not re.match(r"\w+:", target):
            assert (ROOT / target.partition("#")[0]).exists(), target


# --- metadata ----------------------------------------------------------------------------------------


def test_citation():
    text = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    for key in ("cff-version: 1.2.0", "message:", "title:", "authors:", "references:"):
        assert re.search(rf"^{re.escape(key)}", text, flags=re.M), key
    assert "\t" not in text
    assert "Sparse Coding on Symmetric Positive Definite Manifolds" in text
    yaml = pytest.importorskip("yaml")
    citation = yaml.safe_load(text)
    assert citation["type"] == "software"
    assert citation["version"] == spdatoms.__version__
    (paper,) = citation["references"]
    assert [author["family-names"] for author in paper["authors"]] == [
        "Harandi",
        "Hartley",
        "Lovell",
        "Sanderson",
    ]


@pytest.mark.skipif(not (ROOT / ".github").exists(), reason="needs the workflows of the checkout")
def test_tests_run_on_every_python_of_the_classifiers():
    yaml = pytest.importorskip("yaml")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    stated = re.findall(r"Python :: (3\.\d+)", "\n".join(project["classifiers"]))
    workflow = (ROOT / ".github" / "workflows" / "tests.yml").read_text(encoding="utf-8")
    jobs = yaml.safe_load(workflow)["jobs"]
    assert jobs["test"]["strategy"]["matrix"]["python"] == stated
    assert project["requires-python"] == f">={stated[0]}"
    (python,) = [
        step["with"] for step in jobs["lowest"]["steps"] if "python" in step.get("uses", "")
    ]
    assert python == {"python-version": stated[0]}


def test_package_is_typed():
    assert (Path(spdatoms.__file__).parent / "py.typed").exists()


def test_typed_program_of_a_user_runs():
    """mypy checks the same file, as a part of the project's own check."""
    path = ROOT / "tests" / "typing" / "user_program.py"
    specification = importlib.util.spec_from_file_location("user_program", path)
    program = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(program)
    assert program.main() > 0.9
