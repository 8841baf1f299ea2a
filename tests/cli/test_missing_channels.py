"""Files of queries that lack channels."""

from __future__ import annotations

import numpy as np
import pytest

from _commands import run, two_classes
from spdatoms import SPDSparseClassifier, SPDSparseCoder, check_spd


@pytest.fixture
def incomplete(files) -> np.ndarray:
    Z = two_classes(seed=1)[0][:9].copy()
    Z[2:5, 1] = Z[2:5, :, 1] = np.nan
    np.save(files / "incomplete.npy", Z)
    rows = [",".join(repr(float(x)) for x in one.ravel()) for one in Z]
    (files / "incomplete.csv").write_text("\n".join(rows) + "\n")
    return Z


@pytest.mark.parametrize("name", ["incomplete.npy", "incomplete.csv"])
def test_classify(files, incomplete, name) -> None:
    expected = SPDSparseClassifier().fit(*two_classes()).predict(incomplete)
    train = ("--train", files / "X.npy", "--train-labels", files / "y.csv")
    said = run(
        "classify", *train, "--method", "sparse", "--test", files / name, "-o", files / "p.npz"
    )
    assert "3 of 9 matrices lack channels" in said
    with np.load(files / "p.npz") as arrays:
        assert arrays["predicted"].tolist() == expected.tolist()
    refused = run(
        *(
            "classify",
            "--train",
            files / name,
            "--train-labels",
            files / "y.csv",
            "--test",
            files / "X.npy",
        ),
        code=1,
    )
    assert f"{name}[2] is not finite" in refused
    assert "but not those to learn from: fill them in with spdatoms.SPDImputer in Python" in refused
    assert "--repaired" not in refused


def test_inspect(files, incomplete) -> None:
    incomplete[4, 2] = incomplete[4, :, 2] = incomplete[7, 0, 1] = np.nan
    incomplete[8] = np.nan
    np.save(files / "incomplete.npy", incomplete)
    said = run("inspect", files / "incomplete.npy", code=1)
    assert "2 lacks channel 1" in said
    assert "4 lacks channels 1, 2" in said
    assert "3 lacks channel classify or code it as it is" in said
    assert "1 is not finite leave it out" in said
    assert "1 has no channel leave it out" in said
    with pytest.raises(
        ValueError,
        match=r"NaN; spdatoms.geometry.is_spd gives the mask that leaves it out, or estimate",
    ):
        check_spd(incomplete[8:9])


def test_code(files, incomplete) -> None:
    X = two_classes()[0]
    run(
        "code", files / "incomplete.npy", "--dictionary", files / "X.npy", "-o", files / "codes.npy"
    )
    expected = SPDSparseCoder().fit(X).transform(incomplete)
    np.testing.assert_array_equal(np.load(files / "codes.npy"), expected)
    incomplete[3, 0, 0] = np.nan
    np.save(files / "spoilt.npy", incomplete)
    refused = run(
        *("code", files / "spoilt.npy", "--dictionary", files / "X.npy", "-o", files / "other.npy"),
        code=1,
    )
    assert "spoilt.npy[3] is not finite: its entry (0, 0) is NaN" in refused
