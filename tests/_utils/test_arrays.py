"""Arrays on graphics cards, which only stand-ins of the libraries have here."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from types import SimpleNamespace

import numpy as np
import pytest

from spdatoms.geometry import logm


class Card:
    """An array of CuPy, or a tensor of torch, on a card: its numbers have to be fetched."""

    def __init__(self, values, device="card", requires_grad=False, dtype="float64") -> None:
        self.values, self.device, self.requires_grad = values, device, requires_grad
        self.dtype = dtype

    def get(self):
        return self.values

    def cpu(self):
        return self

    resolve_conj = resolve_neg = cpu

    def numpy(self):
        if self.dtype == "bfloat16":
            raise TypeError("Got unsupported ScalarType BFloat16")
        return self.values

    def __array__(self, *args, **kwargs):
        raise TypeError("Implicit conversion is not allowed")


X = np.array([[[2.0, 1.0], [1.0, 3.0]]])


def test_cupy(monkeypatch) -> None:
    entered = []
    device = nullcontext(entered.append("card"))
    monkeypatch.setitem(sys.modules, "cupy", SimpleNamespace(ndarray=Card, asarray=Card))
    Card.__array_namespace__ = lambda self: sys.modules["cupy"]
    try:
        result = logm(Card(X, device))
    finally:
        del Card.__array_namespace__
    assert isinstance(result, Card)
    np.testing.assert_array_equal(result.values, logm(X))


def test_torch(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(Tensor=Card, asarray=Card))
    result = logm(Card(X, "cuda:1"))
    assert isinstance(result, Card)
    assert result.device == "cuda:1"
    np.testing.assert_array_equal(result.values, logm(X))
    with pytest.raises(TypeError, match=r"gradients are not traced here: pass X\.detach\(\)"):
        logm(Card(X, requires_grad=True))
    with pytest.raises(TypeError, match=r"NumPy has no bfloat16: pass X\.float\(\)"):
        logm(Card(X, dtype="bfloat16"))
