"""β: the values that are guaranteed, and the automatic one."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from _matrices import random_spd, spd_stacks
from spdatoms import DivergenceKernel, pairwise_divergence
from spdatoms._utils.sampling import evenly_spaced
from spdatoms.divergences import Stein
from spdatoms.exceptions import IndefiniteKernelWarning
from spdatoms.kernels.bandwidth import automatic_beta

SYMMETRIC = ["stein", "jeffrey", "riemann", "logeuclid", "euclid"]


def test_guaranteed_beta():
    """Positive definite for every set iff β ∈ {½, 1, …, (n−1)/2} or β ≥ (n−1)/2."""
    for n in (1, 2, 3, 4, 7):
        halves = np.arange(1, 2 * n) / 2
        assert all(Stein().kernel_is_guaranteed(beta, n) for beta in halves)
        assert Stein().kernel_is_guaranteed((n - 1) / 2 + 0.01, n)
        for beta in halves[halves < (n - 1) / 2]:
            assert not Stein().kernel_is_guaranteed(beta - 0.01, n)
        assert not Stein().kernel_is_guaranteed(0.0, n)
        assert not Stein().kernel_is_guaranteed(-1.0, n)
    assert Stein().kernel_is_guaranteed(1e-3, 1)
    with pytest.raises(ValueError, match="at least 1"):
        Stein().kernel_is_guaranteed(1.0, 0)


@settings(max_examples=30, deadline=None)
@given(
    X=spd_stacks(max_m=12, max_n=5, max_condition=1e4, log10_scale=(0, 0)),
    halves=st.integers(1, 6),
)
def test_guaranteed_beta_never_needs_a_correction(X, halves):
    with warnings.catch_warnings():
        warnings.simplefilter("error", IndefiniteKernelWarning)
        kernel = DivergenceKernel(beta=halves / 2, correction="none").fit(X)
    assert not kernel.corrected_


def test_stein_is_indefinite_between_the_guaranteed_values():
    """Lines and planes at many angles: n = 3, β below ½."""
    a = np.random.default_rng(0).standard_normal((100, 3))
    a /= np.linalg.norm(a, axis=1, keepdims=True)
    lines = np.einsum("mi,mj->mij", a, a)
    D = np.concatenate([lines + 0.01 * np.eye(3), np.eye(3) - 0.99 * lines])
    assert not Stein().kernel_is_guaranteed(0.25, 3)
    with pytest.warns(IndefiniteKernelWarning, match="stein kernel at beta=0.25"):
        DivergenceKernel(beta=0.25).fit(D)
    DivergenceKernel(beta=0.5, correction="none").fit(D)


@pytest.mark.parametrize("metric", SYMMETRIC)
def test_automatic_beta(metric):
    D = random_spd(12, 4, condition=10.0)
    divergences = pairwise_divergence(D, metric=metric)
    median = np.median(divergences[np.triu_indices(12, 1)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", IndefiniteKernelWarning)
        kernel = DivergenceKernel(metric=metric).fit(D)
    assert kernel.beta_ == pytest.approx(1 / median, rel=1e-12)


def test_automatic_beta_leaves_duplicates_out():
    D = random_spd(8, 3)
    repeated = D[[0, 0, 0, 0, 0, 1, 2, 3]]
    S = pairwise_divergence(repeated)
    off_diagonal = S[np.triu_indices(8, 1)]
    expected = 1 / np.median(off_diagonal[off_diagonal > 0])
    assert DivergenceKernel().fit(repeated).beta_ == pytest.approx(expected, rel=1e-12)
    assert automatic_beta(np.array([[0.0, 0.25], [0.25, 0.0]])) == 4.0


def test_automatic_beta_without_any_distance():
    for D in (random_spd(1, 3), np.repeat(random_spd(1, 3), 5, axis=0)):
        kernel = DivergenceKernel(correction="none").fit(D)
        assert kernel.beta_ == 1.0
        np.testing.assert_array_equal(kernel.gram_, np.ones((len(D), len(D))))


def test_automatic_beta_of_a_large_dictionary_is_a_subsample_of_it():
    D = random_spd(600, 2)
    kernel = DivergenceKernel().fit(D)
    assert DivergenceKernel().fit(D).beta_ == kernel.beta_
    exact = automatic_beta(pairwise_divergence(D))
    assert kernel.beta_ == pytest.approx(exact, rel=0.1)
    assert len(range(600)[evenly_spaced(600, 500)]) == 300


@pytest.mark.parametrize("beta", [0.0, -1.0, np.nan, np.inf, "scale"])
def test_bad_beta(beta):
    with pytest.raises(ValueError, match="beta must be 'auto' or a number > 0"):
        DivergenceKernel(beta=beta).fit(random_spd(3, 2))
