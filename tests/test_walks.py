"""The lists in CONTRIBUTING.md of the files that a call passes through are those of a trace."""

from __future__ import annotations

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.mark.slow
def test_walks_are_those_of_a_trace():
    spec = spec_from_file_location("walks", ROOT / "docs" / "_ext" / "walks.py")
    walks = module_from_spec(spec)
    spec.loader.exec_module(walks)
    page = walks.PAGE.read_text("utf-8")
    assert walks.BEGIN in page
    assert page == walks.renewed(page), "run python docs/_ext/walks.py"
