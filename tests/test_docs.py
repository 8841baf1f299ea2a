"""The pages of the documentation: their code runs, their links lead somewhere, nothing is left out."""

from __future__ import annotations

import ast
import doctest
import importlib
import os
import re
import shlex
from pathlib import Path

import numpy as np
import pytest

import spdatoms
from _matrices import random_spd
from spdatoms.divergences import registry
from spdatoms.paper.experiments import EXPERIMENTS, get_experiment
from spdatoms.paper.reporting import Table
from spdatoms.paper.reporting.pages import first_page
from spdatoms.paper.reporting.pages import page as page_of
from spdatoms.paper.reporting.record import read_record
from spdatoms.paper.reporting.sentences import TEXTS, three_sentences

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
FOLDERS = ("guide", "theory", "paper", "paper/results", "develop")
PAGES = [
    path.relative_to(DOCS).as_posix()
    for path in sorted([*DOCS.glob("*.md"), *(p for f in FOLDERS for p in (DOCS / f).glob("*.md"))])
]
MODULES = (
    "geometry",
    "divergences",
    "plotting",
    "descriptors",
    "datasets",
    "paper.baselines",
    "paper.datasets",
    "paper.plotting",
    "storage",
    "scale",
)
EXAMPLES = sorted((ROOT / "examples").rglob("plot_*.py"))

pytestmark = pytest.mark.skipif(not PAGES, reason="needs the folder docs of the checkout")


def python_blocks(page: str) -> str:
    """Return the fenced blocks of Python of a page, one after the other."""
    text = (DOCS / page).read_text(encoding="utf-8")
    return "\n".join(re.findall(r"^```python\n(.*?)^```$", text, flags=re.S | re.M))


def run_page(page: str) -> dict[str, object]:
    names: dict[str, object] = {}
    exec(compile(python_blocks(page), page, "exec"), names)
    return names


@pytest.mark.slow
def test_first_page():
    pytest.importorskip("skimage")
    names = run_page("index.md")
    assert names["codes"].shape == (360, 32)
    assert 0 < (names["codes"] != 0).mean() < 0.5
    classifier, X, y = names["classifier"], names["X"], names["y"]
    assert classifier.score(X[1::2], y[1::2]) > 0.85


def test_divergence_baseline_and_data_set_of_the_page_on_extending(monkeypatch):
    # The page registers a divergence, which is not to outlive this test.
    monkeypatch.setattr(registry, "_DIVERGENCES", dict(registry._DIVERGENCES))
    names = run_page("develop/extending.md")
    X, d, C = names["X"], names["d"], names["C"]
    det = np.linalg.det
    expected = 1 - (det(X[3]) * det(X[40])) ** 0.25 / det(0.5 * (X[3] + X[40])) ** 0.5
    np.testing.assert_allclose(d[3, 40], expected, rtol=1e-9)
    np.testing.assert_allclose(d, d.T, atol=1e-10)
    np.testing.assert_array_equal(names["same"], d)
    # At the mean, no direction is better than another: (1 − d)(C⁻¹ − (½(X + C))⁻¹) adds up to zero.
    near = np.array([(det(A) * det(C)) ** 0.25 / det(0.5 * (A + C)) ** 0.5 for A in X])
    inverses = np.linalg.inv(0.5 * (X + C))
    np.testing.assert_allclose(
        np.average(inverses, axis=0, weights=near), np.linalg.inv(C), rtol=1e-5, atol=1e-7
    )
    assert names["accuracy"] > 0.8
    assert names["lda_accuracy"] > 0.8
    dataset = names["dataset"]
    assert len(dataset) == 40
    assert dataset.target_names == ("left", "right")
    np.testing.assert_array_equal(np.unique(dataset.groups), ["s1", "s2"])


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES)
def test_sessions_in_pages(page):
    text = (DOCS / page).read_text(encoding="utf-8")
    for needed in ("pyriemann", "torch", "jax"):
        if re.search(rf"^>>> (from|import) {needed}", text, flags=re.M):
            pytest.importorskip(needed)
    sessions = "\n\n".join(re.findall(r"^```pycon\n(.*?)^```$", text, flags=re.S | re.M))
    test = doctest.DocTestParser().get_doctest(sessions, {}, page, page, 0)
    assert doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test).failed == 0


@pytest.mark.slow
def test_commands_of_the_page_on_the_command_line(tmp_path, monkeypatch):
    pytest.importorskip("typer.testing")
    from _commands import run

    monkeypatch.chdir(tmp_path)
    X = random_spd(40, 3)
    np.save("X.npy", X)
    np.save("Z.npy", X[::4])
    np.savetxt("y.csv", np.arange(40) % 2, fmt="%d")
    text = (DOCS / "guide" / "command_line.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"^```sh\n(.*?)^```$", text, flags=re.S | re.M)
    split = (shlex.split(line, comments=True) for line in block.splitlines())
    commands = [command for command in split if command]
    assert {command[1] for command in commands} >= {"inspect", "learn", "code", "classify"}
    for command in commands:
        if command[1:3] != ["reproduce", "textures"]:  # which has its own tests, and takes long
            run(*command[1:])
    assert np.load("codes.npy").shape == (40, 8)


@pytest.mark.parametrize("page", PAGES)
def test_links_between_pages_and_to_examples(page):
    text = (DOCS / page).read_text(encoding="utf-8")
    text = re.sub(r"^```.*?^```$", "", text, flags=re.S | re.M)
    for link in re.findall(r"\]\(([^)\s#]+)(?:#[^)\s]*)?\)", text):
        if re.match(r"\w+:", link):
            continue
        target = Path(os.path.relpath((DOCS / page).parent / link, DOCS)).as_posix()
        if target.startswith("api/generated/"):
            continue
        example = re.fullmatch(r"gallery/(.*)", target)
        if example:
            assert example[1] == "index" or (ROOT / "examples" / f"{example[1]}.py").exists(), link
        else:
            candidates = [DOCS / target, DOCS / f"{target}.md", DOCS / f"{target}.rst"]
            assert any(path.is_file() for path in candidates), link


def test_the_rules_of_the_guide_are_those_of_the_results():
    guide = (DOCS / "guide" / "choosing.md").read_text(encoding="utf-8")
    columns = {
        "faces": ("Face recognition, ready covariances", "average"),
        "textures 16c": ("Texture classification: accuracy", "16c"),
        "actions": ("Action recognition from skeletons: accuracy", "as captured"),
    }
    quoted = table_rows(guide.partition("## Which rule")[2])
    for row, cells in list(quoted.items())[2:]:
        data, divergence = row.split(", ")
        title, column = columns[data]
        table = recorded(title)
        found = [table.row(f"RSR-{divergence[0]}{rule}")[column] for rule in ("", " sum", " max")]
        assert [float(cell) for cell in cells] == [float(cell.split(" ±")[0]) for cell in found]


def recorded(title: str, file: str = "*") -> Table:
    """Return the first table of the results whose title begins so."""
    records = map(read_record, sorted((DOCS / "paper" / "results").glob(f"{file}.json")))
    return next(table for record in records if (table := record.table(title)))


def table_rows(text: str) -> dict[str, list[str]]:
    """Return the cells of the rows of the first Markdown table of a text, by their first cell."""
    lines = re.search(r"(?:^\|.*\n)+", text, flags=re.M)
    assert lines
    rows = [
        [cell.strip(" *") for cell in line.strip("|").split("|")] for line in lines[0].splitlines()
    ]
    return {row[0]: row[1:] for row in rows}


def test_accuracies_of_the_guide_are_those_of_the_results():
    guide = (DOCS / "guide" / "choosing.md").read_text(encoding="utf-8")

    def column(title: str, name: str) -> dict[str, str]:
        table = recorded(title)
        return {line.cells[0]: table.row(line.cells[0])[name] for line in table.lines}

    expected = {
        "Against the standards": [column("Classifiers side by side: accuracy", "mean")],
        "What makes it harder": [
            *(column("Training size", size) for size in ("1", "2", "5", "20")),
            column("Mislabelled", "20%"),
            column("Outlier channel", "10"),
            column("Noise", "0.1"),
        ],
    }
    for title, columns in expected.items():
        quoted = table_rows(guide.partition(title)[2])
        methods = list(quoted)[2:]
        assert len(methods) >= 6
        for method in methods:
            for cell, found in zip(quoted[method], columns, strict=False):
                # A run again may move the last digits; the guide is to say the same, not less.
                assert float(cell) == pytest.approx(float(found[method]), abs=0.5)


@pytest.mark.parametrize("experiment", ["actions", "texture-dictionaries", "time"])
def test_figures_of_the_side_claims_are_in_the_results(experiment):
    section = (DOCS / "paper" / "results" / f"{experiment}.md").read_text(encoding="utf-8")
    claims = (DOCS / "paper" / "side_claims.md").read_text(encoding="utf-8")
    command = f"`reproduce {experiment}`"
    measured = [row[1] for row in table_rows(claims).values() if row[2] == command]
    quoted = re.findall(r"\d+\.\d+", " ".join(measured))
    assert quoted
    assert not set(quoted) - set(re.findall(r"\d+\.\d+", section))


def test_pages_of_results_are_those_that_the_command_writes():
    folder = DOCS / "paper" / "results"
    known = [get_experiment(name) for name in EXPERIMENTS]
    files = [folder / f"{name}.json" for name in EXPERIMENTS]
    records = [read_record(file) for file in files if file.exists()]
    assert {record.name for record in records} == {file.stem for file in folder.glob("*.md")}
    for record in records:
        assert (folder / f"{record.name}.md").read_text(encoding="utf-8") == page_of(record)
        assert all((folder / figure).exists() for figure in record.figures)
        assert len(three_sentences(record)) == len(TEXTS["sentences"][record.name])
    text = (DOCS / "paper" / "results.md").read_text(encoding="utf-8")
    assert text == first_page(records, known, "results")


def test_every_public_name_is_in_the_reference():
    text = (DOCS / "api" / "index.rst").read_text(encoding="utf-8")
    listed = set(re.findall(r"^   ([\w.]+)$", text, flags=re.M))
    listed |= {name.rpartition(".")[2] for name in listed}
    missing = [name for name in spdatoms.__all__ if name not in listed]
    for module in MODULES:
        names = importlib.import_module(f"spdatoms.{module}").__all__
        missing += [f"{module}.{name}" for name in names if name not in listed]
    assert not missing


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples_parse_and_use_public_names_only(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    assert ast.get_docstring(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("spdatoms"):
            assert not any(part.startswith("_") for part in node.module.split(".")), node.module
            assert not any(alias.name.startswith("_") for alias in node.names)
