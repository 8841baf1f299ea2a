"""Names that are imported when they are first used."""

from __future__ import annotations

import gc
import sys
from types import ModuleType

import pytest

from spdatoms._utils.lazy import lazy_names


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package with a module that notes whether Python looks for garbage, and one that fails."""
    folder = tmp_path / "lazily"
    folder.mkdir()
    (folder / "notes.py").write_text("import gc\nsearched = gc.isenabled()\n", encoding="utf-8")
    (folder / "fails.py").write_text("raise ValueError('no')\n", encoding="utf-8")
    found = ModuleType("lazily")
    found.__path__ = [str(folder)]
    for name in ("lazily", "lazily.notes"):
        monkeypatch.setitem(sys.modules, name, found)
    del sys.modules["lazily.notes"]
    get, _ = lazy_names("lazily", {"searched": "notes", "lost": "fails"}, ("notes", "fails"))
    return get


@pytest.mark.parametrize("on", [True, False])
def test_an_import_is_not_searched_for_garbage_and_leaves_the_search_as_it_was(package, on):
    was_on = gc.isenabled()
    (gc.enable if on else gc.disable)()
    try:
        assert package("searched") is False
        assert gc.isenabled() is on
        for name in ("fails", "lost"):
            with pytest.raises(ValueError, match="no"):
                package(name)
            assert gc.isenabled() is on
    finally:
        (gc.enable if was_on else gc.disable)()


def test_modules_and_names_are_imported_once(package):
    assert package("notes") is sys.modules["lazily.notes"]
    assert package("searched") is sys.modules["lazily.notes"].searched
    assert sys.modules["lazily"].searched is False
