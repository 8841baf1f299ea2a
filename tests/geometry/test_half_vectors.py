"""Half-vectors: there and back, in the orders of diffusion tools."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

from _matrices import random_spd, spd_stacks
from spdatoms.geometry import unvech, vech

EPS = np.finfo(np.float64).eps
relaxed = settings(max_examples=40, deadline=None)
ORDERS = ["lower", "upper", "diagonal", "dipy", "fsl", "mrtrix"]


@pytest.mark.slow
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("weighted", [False, True])
@relaxed
@given(X=spd_stacks())
def test_vech_round_trip(X, order, weighted):
    options = {"order": order, "weighted": weighted}
    n = X.shape[-1]
    v = vech(X, **options)
    assert v.shape == (len(X), n * (n + 1) // 2)
    np.testing.assert_allclose(unvech(v, **options), X, rtol=4 * EPS)
    np.testing.assert_array_equal(vech(X[0], **options), v[0])
    if weighted:
        np.testing.assert_allclose(v @ v.T, np.einsum("aij,bji->ab", X, X), rtol=1e-12)


def test_orders_of_diffusion_tools():
    """dipy.reconst.dti.lower_triangular, FSL's dtifit --save_tensor, MRtrix's dwi2tensor."""
    xx, xy, xz, yy, yz, zz = 1.0, 2.0, 3.0, 4.0, 5.0, 6.0
    D = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    assert vech(D, order="dipy").tolist() == [xx, xy, yy, xz, yz, zz]
    assert vech(D, order="fsl").tolist() == [xx, xy, xz, yy, yz, zz]
    assert vech(D, order="mrtrix").tolist() == [xx, yy, zz, xy, xz, yz]


def test_vech_keeps_float32_and_refuses_nonsense():
    X = random_spd(3, 4, dtype=np.float32)
    assert vech(X, weighted=True).dtype == np.float32
    assert unvech(vech(X, weighted=True), weighted=True).dtype == np.float32
    with pytest.raises(ValueError, match="order"):
        vech(X, order="spm")
    with pytest.raises(ValueError, match=r"n\(n\+1\)/2"):
        unvech(np.ones(5))
    with pytest.raises(ValueError, match="square"):
        vech(np.ones((2, 3)))


def test_what_is_not_finite_is_refused():
    X = random_spd(3, 4)
    X[1, 0, 2] = np.nan
    with pytest.raises(ValueError, match=r"^X\[1\] is not finite: its entry \(0, 2\) is NaN"):
        vech(X)
    v = vech(random_spd(3, 4))
    v[2, 5] = np.inf
    with pytest.raises(ValueError, match=r"^v is not finite: its entry \(2, 5\) is inf"):
        unvech(v)
