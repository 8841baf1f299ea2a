"""What is said when an extra is missing."""

from __future__ import annotations

import sys

import pytest

from spdatoms._utils.extras import import_extra
from spdatoms._utils.threads import run_blocks


def test_missing_extra_is_named(monkeypatch):
    with pytest.raises(
        ImportError, match=r"needs 'no_such_module'.*pip install 'spdatoms\[plot\]'"
    ):
        import_extra("no_such_module.inside", extra="plot")
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    with pytest.raises(ImportError, match=r"pip install 'spdatoms\[progress\]'"):
        run_blocks(lambda part: None, 10, 3, progress=True)
    assert import_extra("json", extra="plot").dumps(1) == "1"
