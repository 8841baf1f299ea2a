"""What the Lasso takes: precisions, layouts, and what it says of bad input."""

import numpy as np
import pytest

from _lasso_problems import gaussian_problem
from spdatoms import sparse_code


def test_float32_in_float32_out_computed_in_float64():
    gram, cross = gaussian_problem(30, 10)
    single = gram.astype(np.float32), cross.astype(np.float32)
    codes = sparse_code(*single, 0.01)
    assert codes.dtype == np.float32
    double = sparse_code(single[0].astype(float), single[1].astype(float), 0.01)
    np.testing.assert_array_equal(codes, double.astype(np.float32))
    assert sparse_code(single[0], cross, 0.01).dtype == np.float64
    assert sparse_code(np.eye(2, dtype=int), [[1, 0]], 1).dtype == np.float64


def test_memory_layouts(tmp_path):
    gram, cross = gaussian_problem(30, 10)
    expected = sparse_code(gram, cross, 0.01)
    wide = np.zeros((60, 60))
    wide[::2, ::2] = gram
    long = np.zeros((20, 90))
    long[::2, ::3] = cross
    mapped = np.memmap(tmp_path / "cross", float, "w+", shape=cross.shape)
    mapped[:] = cross
    frozen = gram.copy(), cross.copy()
    for array in frozen:
        array.flags.writeable = False
    for g, c in [
        (wide[::2, ::2], long[::2, ::3]),
        (np.asfortranarray(gram), np.asfortranarray(cross)),
        (gram, mapped),
        frozen,
        (gram.tolist(), cross.tolist()),
    ]:
        np.testing.assert_array_equal(sparse_code(g, c, 0.01), expected)


def test_inputs_are_not_modified():
    gram, cross = gaussian_problem(30, 10)
    init = sparse_code(gram, cross, 0.1)
    alpha, norm = np.full(10, 0.01), np.ones(10)
    inputs = gram, cross, alpha, norm, init
    before = [array.copy() for array in inputs]
    sparse_code(gram, cross, alpha, query_norm=norm, init=init)
    for array, copy in zip(inputs, before, strict=True):
        np.testing.assert_array_equal(array, copy)


def corrupted(array, value):
    array = array.copy()
    array[2, 1] = value
    return array


GRAM, CROSS = gaussian_problem(5, 4)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"gram": corrupted(GRAM, np.nan)}, "gram contains NaN or infinity, first in row"),
        (
            {"gram": np.where(np.eye(5) == 1, np.inf, GRAM)},
            "gram contains NaN or infinity, first in row",
        ),
        ({"gram": corrupted(GRAM, GRAM[2, 1] + 1e-6)}, "gram must be symmetric"),
        ({"gram": GRAM[:4]}, "gram must be a square matrix"),
        ({"gram": np.empty((0, 0)), "cross": np.empty((4, 0))}, "gram must be a square matrix"),
        ({"gram": np.zeros((5, 5))}, "positive diagonal"),
        ({"gram": -GRAM}, "not positive semidefinite"),
        ({"gram": GRAM[0]}, r"gram must have 2 dimensions, but its shape is \(5,\)\.$"),
        (
            {"gram": np.ones((5, 3, 3))},
            r"gram must .* \(5, 3, 3\): these look like matrices; kernel = DivergenceKernel\(",
        ),
        ({"cross": np.ones((4, 3, 3))}, r"\(4, 3, 3\): .* kernel.cross\(queries\) of them\.$"),
        ({"gram": GRAM + 1j}, "gram must be an array of real numbers"),
        ({"gram": [["a"]]}, "gram must be an array of real numbers"),
        ({"gram": [[1.0], [1.0, 2.0]]}, "gram must be an array of real numbers"),
        ({"cross": corrupted(CROSS, np.inf)}, "cross contains NaN or infinity, first in row 2"),
        ({"cross": CROSS[:, :3]}, "gram has 5 atoms"),
        ({"cross": CROSS[0]}, "cross must have 2 dimensions"),
        ({"alpha": -0.1}, "alpha must be finite and not negative"),
        ({"alpha": np.nan}, "alpha must be finite and not negative"),
        ({"alpha": [0.1, 0.2]}, "there are 4 queries, but 2 entries"),
        ({"alpha": np.ones((4, 1))}, "alpha must have 1 dimension"),
        ({"alpha": "auto"}, "alpha must be an array of real numbers"),
        ({"query_norm": -1.0}, "query_norm must be finite and not negative"),
        ({"init": np.zeros((4, 6))}, "init must have the shape"),
        ({"init": np.full((4, 5), np.nan)}, "init contains NaN"),
        ({"tol": 0.0}, "tol must be a number > 0"),
        ({"tol": np.nan}, "tol must be a number > 0"),
        ({"tol": "x"}, "tol must be a number > 0"),
        ({"max_rounds": -1}, "max_rounds must be an integer from 0"),
        ({"max_rounds": np.nan}, "max_rounds must be an integer from 0"),
        ({"n_jobs": 0}, "n_jobs must be None or an integer other than 0"),
    ],
)
def test_bad_input(arguments, message):
    with pytest.raises(ValueError, match=message):
        sparse_code(**({"gram": GRAM, "cross": CROSS, "alpha": 0.1} | arguments))
