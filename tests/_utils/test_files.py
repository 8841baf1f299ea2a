"""Files that are replaced whole."""

from __future__ import annotations

import pytest

from spdatoms._utils.files import replace_file

pytestmark = pytest.mark.filterwarnings("ignore::spdatoms.exceptions.IndefiniteKernelWarning")


def test_a_file_is_replaced_whole(tmp_path) -> None:
    path = tmp_path / "file"
    replace_file(path, memoryview(b"first"))
    replace_file(path, memoryview(b"second"))
    assert path.read_bytes() == b"second"
    assert list(tmp_path.iterdir()) == [path]
