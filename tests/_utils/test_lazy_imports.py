"""Names that are imported when they are first used."""

from __future__ import annotations

import gc
import signal
import subprocess
import sys
import threading
from types import ModuleType

import pytest

from spdatoms._utils.lazy_imports import lazy_names


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package with a module that notes whether Python looks for garbage, and one that fails."""
    folder = tmp_path / "lazily"
    folder.mkdir()
    (folder / "notes.py").write_text("import gc\nsearched = gc.isenabled()\n", encoding="utf-8")
    (folder / "interrupted.py").write_text(
        "import signal\nsignal.raise_signal(signal.SIGINT)\nimport lazily.notes\n", encoding="utf-8"
    )
    (folder / "fails.py").write_text("raise ValueError('no')\n", encoding="utf-8")
    found = ModuleType("lazily")
    found.__path__ = [str(folder)]
    for name in ("lazily", "lazily.notes", "lazily.interrupted"):
        monkeypatch.setitem(sys.modules, name, found)
    del sys.modules["lazily.notes"], sys.modules["lazily.interrupted"]
    get, _ = lazy_names(
        "lazily", {"searched": "notes", "lost": "fails"}, ("notes", "fails", "interrupted")
    )
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


# Ctrl-C at every module that is looked for while the first public name is imported.
INTERRUPTED = """
import signal, sys
import spdatoms
from spdatoms._utils.extras import import_extra

class Interrupting:
    modules = 0
    def find_spec(self, name, path=None, target=None):
        Interrupting.modules += 1
        signal.raise_signal(signal.SIGINT)

sys.meta_path.insert(0, Interrupting())
for imported in (lambda: spdatoms.SPDSparseClassifier, lambda: import_extra("scipy.io", extra="any")):
    before = Interrupting.modules
    try:
        imported()
    except KeyboardInterrupt:
        print("interrupted")
    assert Interrupting.modules > before + 10
    found = Interrupting.modules
    imported()
    assert Interrupting.modules == found, "something had not been imported"
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
print(spdatoms.SPDSparseClassifier.__name__)
"""


@pytest.mark.slow
def test_an_interrupt_waits_for_the_end_of_an_import():
    """However many come, they are heard as one, after which everything works."""
    command = [sys.executable, "-c", INTERRUPTED]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert said.split() == ["interrupted", "interrupted", "SPDSparseClassifier"]


@pytest.mark.parametrize("own", [True, False])
def test_a_handler_of_somebody_else_is_called_once_and_stays(package, own):
    heard = []

    def handler(number, frame):
        heard.append("notes" in vars(sys.modules["lazily"]))

    before = signal.signal(signal.SIGINT, handler if own else signal.SIG_IGN)
    try:
        package("interrupted")
        assert signal.getsignal(signal.SIGINT) is (handler if own else signal.SIG_IGN)
    finally:
        signal.signal(signal.SIGINT, before)
    assert heard == ([True] if own else [])


def test_another_thread_imports_without_handlers(package):
    found = []
    thread = threading.Thread(target=lambda: found.append(package("searched")))
    thread.start()
    thread.join()
    assert found == [False]
