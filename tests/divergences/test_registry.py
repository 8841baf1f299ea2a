"""Names of the divergences, and those of pyRiemann for them."""

from __future__ import annotations

import numpy as np
import pytest

from _matrices import random_spd
from spdatoms import pairwise_divergence
from spdatoms.divergences import Burg, Divergence, Stein, divergence_names, get_divergence

METRICS = ["stein", "jeffrey", "burg", "riemann", "logeuclid", "euclid"]


def test_registry():
    assert set(METRICS) <= set(divergence_names())
    for name in divergence_names():
        divergence = get_divergence(name)
        assert isinstance(divergence, Divergence)
        assert get_divergence(divergence) is divergence
    X = random_spd(3, 3)
    for alias, name in (
        ("logdet", "stein"),
        ("kullback_sym", "jeffrey"),
        ("kullback", "burg"),
        ("airm", "riemann"),
    ):
        assert get_divergence(alias).name == name
        np.testing.assert_array_equal(
            pairwise_divergence(X, metric=alias), pairwise_divergence(X, metric=name)
        )
    np.testing.assert_array_equal(pairwise_divergence(X, metric=Stein()), pairwise_divergence(X))
    for bad in ("cosine", None, 3):
        with pytest.raises(ValueError, match="metric must be one of stein, jeffrey"):
            pairwise_divergence(X, metric=bad)
    with pytest.raises(ValueError, match=r"got 'logeuclide'\. Did you mean 'logeuclid'\?"):
        pairwise_divergence(X, metric="logeuclide")
    with pytest.raises(ValueError, match="side"):
        Burg(side="both")
