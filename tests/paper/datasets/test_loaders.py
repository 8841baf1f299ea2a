"""What all loaders share: missing and empty folders, unknown options."""

from __future__ import annotations

import pytest

from spdatoms.paper.datasets import (
    load_brodatz,
    load_brodatz_mosaics,
    load_covariances,
    load_ethz,
    load_feret,
    load_flickr_materials,
    load_hdm05,
    load_randen,
    load_ucf_sports,
)

pytest.importorskip("PIL.Image", reason="needs the extra vision")

LOADERS = (
    load_brodatz,
    load_brodatz_mosaics,
    load_covariances,
    load_ethz,
    load_feret,
    load_flickr_materials,
    load_hdm05,
    load_randen,
    load_ucf_sports,
)


@pytest.mark.parametrize("loader", LOADERS)
def test_missing_folder(loader, tmp_path):
    with pytest.raises(FileNotFoundError, match=r"does not exist. Give the folder that holds"):
        loader(tmp_path / "nowhere")
    (tmp_path / "file").write_text("")
    with pytest.raises(FileNotFoundError, match="is not a folder"):
        loader(tmp_path / "file")


@pytest.mark.parametrize("loader", LOADERS)
def test_empty_folder(loader, tmp_path):
    for on_error in ("raise", "warn", "ignore"):
        with pytest.raises(ValueError, match="nothing to use") as caught:
            loader(tmp_path, on_error=on_error)
        assert "on_error" not in str(caught.value)
        assert len(str(caught.value)) < 600 + len(str(tmp_path))


@pytest.mark.parametrize("loader", LOADERS)
def test_unknown_on_error(loader, tmp_path):
    with pytest.raises(ValueError, match="on_error must be 'raise', 'warn' or 'ignore'"):
        loader(tmp_path, on_error="explode")
