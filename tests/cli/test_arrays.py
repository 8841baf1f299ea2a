"""Files of matrices and labels: what is read, in which layouts, and what is written."""

from __future__ import annotations

import csv
import re

import numpy as np
import pytest
import scipy.io

from _commands import two_classes
from _matrices import random_spd
from spdatoms.cli.formats.arrays import as_stack
from spdatoms.cli.formats.labels import read_labels
from spdatoms.cli.formats.matrices import read_matrices as read_source
from spdatoms.cli.formats.writing import write_arrays


def read_matrices(path, key=None):
    return read_source(path, key).X


@pytest.mark.slow
@pytest.mark.parametrize("name", ["X.npy", "data.npz", "data.mat"])
def test_read_matrices(files, name):
    np.testing.assert_array_equal(read_matrices(files / name), two_classes()[0])
    if not name.endswith("npy"):
        np.testing.assert_array_equal(read_matrices(files / name, "X"), two_classes()[0])
        with pytest.raises(ValueError, match=r"no array 'W'; it holds X"):
            read_matrices(files / name, "W")


@pytest.mark.parametrize(("m", "n"), [(5, 3), (3, 5), (4, 4), (1, 3)])
def test_both_layouts(m, n):
    X = random_spd(m, n)
    np.testing.assert_array_equal(as_stack(X), X)
    np.testing.assert_array_equal(as_stack(np.ascontiguousarray(X.transpose(1, 2, 0))), X)


def test_other_shapes():
    X = random_spd(3, 4)
    np.testing.assert_array_equal(as_stack(X[0]), X[:1])
    cells = np.empty((1, 3), dtype=object)
    cells[0] = list(X)
    np.testing.assert_array_equal(as_stack(cells), X)
    cells[0, 1] = np.eye(3)
    with pytest.raises(ValueError, match="differ in size"):
        as_stack(cells)
    with pytest.raises(ValueError, match=r"neither \(m, n, n\) nor MATLAB's"):
        as_stack(np.zeros((2, 3, 4)))
    with pytest.raises(ValueError, match="not one of matrices"):
        as_stack(np.zeros(3))


@pytest.mark.slow
def test_matlab_cells_on_disk(tmp_path):
    X = random_spd(3, 4)
    cells = np.empty(3, dtype=object)
    cells[:] = list(X)
    scipy.io.savemat(tmp_path / "c.mat", {"covs": cells})
    np.testing.assert_array_equal(read_matrices(tmp_path / "c.mat"), X)


def test_several_arrays_need_a_key(tmp_path):
    np.savez(tmp_path / "two.npz", A=random_spd(3, 2), B=random_spd(4, 2))
    with pytest.raises(ValueError, match="several arrays can be the matrices"):
        read_matrices(tmp_path / "two.npz")
    assert len(read_matrices(tmp_path / "two.npz", "B")) == 4
    np.savez(tmp_path / "none.npz", A=np.zeros(3))
    with pytest.raises(ValueError, match="no array can be the matrices"):
        read_matrices(tmp_path / "none.npz")


@pytest.mark.parametrize("name", ["y.csv", "z.txt"])
def test_labels_of_text_files(files, name):
    assert read_labels(files / name, None, 40).tolist() == two_classes()[1].tolist()


@pytest.mark.slow
def test_labels_of_other_files(files, tmp_path):
    y = two_classes()[1]
    assert read_labels(files / "data.npz", "y", 40).tolist() == y.tolist()
    assert read_labels(files / "data.npz", None, 40).tolist() == y.tolist()
    assert read_labels(files / "data.mat", "y", 40).tolist() == [1] * 20 + [2] * 20
    names = np.array(["left", "right"], dtype=object)
    scipy.io.savemat(tmp_path / "cell.mat", {"names": names})
    assert read_labels(tmp_path / "cell.mat", "names", 2).tolist() == ["left", "right"]
    table = tmp_path / "table.csv"
    table.write_text("id,label\n1,7\n2,8\n")
    assert read_labels(table, "label", 2).tolist() == [7, 8]
    with pytest.raises(ValueError, match=r"several columns \(id, label\)"):
        read_labels(table, None, 2)
    with pytest.raises(ValueError, match="no column is called 'age'"):
        read_labels(table, "age", 2)
    with pytest.raises(ValueError, match="there are 2 labels for 5 matrices"):
        read_labels(table, "label", 5)
    with pytest.raises(ValueError, match="there are 2 labels for 1 matrix"):
        read_labels(table, "label", 1)
    table.write_text("007\n008\n")
    assert read_labels(table, None, 2).tolist() == ["007", "008"]


def test_one_label_too_many_is_no_header(tmp_path):
    path = tmp_path / "y.txt"
    path.write_text("a\na\nb\n")
    with pytest.raises(ValueError, match="there are 3 labels for 2 matrices"):
        read_labels(path, None, 2)
    path.write_text("class\na\nb\n")
    assert read_labels(path, None, 2).tolist() == ["a", "b"]
    assert read_labels(path, None, 3).tolist() == ["class", "a", "b"]


def test_bad_npy_files(files):
    np.save(files / "objects.npy", np.array([{}, []], dtype=object))
    (files / "broken.npy").write_bytes(b"nothing")
    (files / "empty.npy").write_bytes(b"")
    damaged = "is not an .npy file of numbers, or a damaged one."
    objects = "holds Python objects: save numbers, or text, as y.astype(str)."
    complaints = {"objects.npy": objects, "broken.npy": damaged, "empty.npy": damaged}
    for name, complaint in complaints.items():
        message = f"{files / name}: {complaint}"
        with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
            read_matrices(files / name)
    with pytest.raises(ValueError, match=r"holds one array: leave out --key X\.$"):
        read_matrices(files / "X.npy", "X")


def test_write_arrays(tmp_path):
    arrays = {"a": np.arange(6.0).reshape(3, 2), "b": np.array(["x", "y", "z"]), "c": np.zeros(9)}
    for suffix in (".npy", ".npz", ".csv"):
        write_arrays(tmp_path / f"o{suffix}", arrays)
    np.testing.assert_array_equal(np.load(tmp_path / "o.npy"), arrays["a"])
    assert sorted(np.load(tmp_path / "o.npz")) == ["a", "b", "c"]
    with (tmp_path / "o.csv").open() as file:
        rows = list(csv.reader(file))
    assert rows == [
        ["a_0", "a_1", "b"],
        ["0.0", "1.0", "x"],
        ["2.0", "3.0", "y"],
        ["4.0", "5.0", "z"],
    ]
