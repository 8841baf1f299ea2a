"""The demonstration runs, and says something true about the photographs."""

from __future__ import annotations

import re
import struct

import numpy as np
import pytest

from spdatoms import demo

pytest.importorskip("skimage")
pytest.importorskip("matplotlib")


def test_picture_and_table(tmp_path, capsys):
    out = tmp_path / "new" / "folder"
    assert demo.main(["--out", str(out)]) == 0
    printed = capsys.readouterr().out

    picture = (out / "divergences.png").read_bytes()
    assert picture.startswith(b"\x89PNG\r\n\x1a\n")
    width, height = struct.unpack(">II", picture[16:24])
    assert 800 <= width <= 3000
    assert 400 <= height <= 2000
    assert len(picture) > 20_000  # an empty figure of this size takes some 5,000 bytes

    (line,) = (line for line in printed.splitlines() if "accuracy" in line)
    chance, *accuracies = (float(share) for share in re.findall(r"([\d.]+)%", line))
    assert len(accuracies) == len(demo.METRICS)
    assert all(accuracy > 3 * chance for accuracy in accuracies)
    assert "360 covariances of 5×5" in printed
    assert str(out / "divergences.png") in printed


def test_small_blocks_are_still_definite(tmp_path):
    # Some blocks of this size are all of one grey.
    assert demo.main(["--out", str(tmp_path), "--block", "4"]) == 0


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--block", "300"], "error: --block 300 is too large"),
        (["--block", "0"], "error: --block must be at least"),
    ],
)
def test_one_line_errors(arguments, sentence, tmp_path, capsys):
    assert demo.main(["--out", str(tmp_path), *arguments]) == 1
    said = capsys.readouterr().err
    assert said.startswith(sentence)
    assert said.count("\n") == 1


def test_folder_that_is_a_file(tmp_path, capsys):
    (tmp_path / "file").write_text("")
    assert demo.main(["--out", str(tmp_path / "file")]) == 1
    assert capsys.readouterr().err.startswith("error: ")


@pytest.mark.parametrize("module", ["skimage.io", "matplotlib.figure"])
def test_missing_extra_is_named(module, tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(__import__("sys").modules, module, None)
    assert demo.main(["--out", str(tmp_path)]) == 1
    assert "pip install 'spdatoms[demo]'" in capsys.readouterr().err


def test_missing_photograph(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(demo, "PHOTOGRAPHS", ("brick", "no-such-photograph"))
    assert demo.main(["--out", str(tmp_path)]) == 1
    assert "does not contain the photograph no-such-photograph.png" in capsys.readouterr().err


def test_region_covariances_are_numpys():
    image = np.random.default_rng(0).uniform(0, 255, (20, 31))
    covariances = demo.region_covariances(image, 10)
    assert covariances.shape == (6, 5, 5)

    vertical, horizontal = np.gradient(image)
    second_vertical, second_horizontal = (
        np.gradient(vertical, axis=0),
        np.gradient(horizontal, axis=1),
    )
    features = [image, *map(abs, (horizontal, vertical, second_horizontal, second_vertical))]
    window = np.s_[10:20, 20:30]  # second row of blocks, third column
    expected = np.cov([feature[window].ravel() for feature in features]) + np.eye(5) / 12
    np.testing.assert_allclose(covariances[5], expected, rtol=1e-12)
