"""Rows of a product are the same to the last bit in any company."""

from __future__ import annotations

import numpy as np
import pytest

from spdatoms._utils.products import row_products


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize(
    ("k", "width"), [(1, 1), (6, 5), (12, 128), (78, 40), (78, 131), (500, 131)]
)
def test_rows_do_not_depend_on_each_other(dtype, order, k, width) -> None:
    rng = np.random.default_rng(0)
    A, B = (
        rng.standard_normal((200, k)).astype(dtype),
        np.asarray(rng.standard_normal((k, width)).astype(dtype), order=order),
    )
    product = row_products(A, B)
    assert product.dtype == dtype
    np.testing.assert_allclose(
        product, A @ B, rtol=1e-4 if dtype == np.float32 else 1e-11, atol=1e-4
    )
    for m in (0, 1, 2, 3, 5, 16, 17, 48, 49, 96, 131):
        np.testing.assert_array_equal(row_products(A[:m], B), product[:m])
    out = np.empty((7, width), dtype)
    assert row_products(A[:7], B, out) is out
    np.testing.assert_array_equal(out, product[:7])
