"""The sparse coder: the codes of the solver over its atoms, whichever they are."""

from __future__ import annotations

import numpy as np
import pytest

from _matrices import random_spd
from spdatoms import (
    DivergenceKernel,
    SPDDictionaryLearning,
    SPDSparseCoder,
    pairwise_divergence,
    sparse_code,
)
from spdatoms.divergences import get_divergence
from spdatoms.divergences.registry import divergence_classes

SYMMETRIC = [cls.name for cls in divergence_classes() if cls.symmetric]


@pytest.mark.filterwarnings("ignore::spdatoms.exceptions.IndefiniteKernelWarning")
@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("metric", ["stein", "jeffrey", "logeuclid", "riemann", "euclid"])
def test_codes_are_those_of_the_solver(metric, positive) -> None:
    D, X = random_spd(12, 3, seed=1), random_spd(20, 3, seed=2)
    kernel = DivergenceKernel(metric).fit(D)
    coder = SPDSparseCoder(D, metric, kernel.beta_, alpha=0.01, positive=positive).fit(X)
    expected = sparse_code(kernel.gram_, kernel.cross(X), 0.01, positive=positive)
    np.testing.assert_array_equal(coder.transform(X), expected)
    assert (coder.transform(X) >= 0).all() == positive


def test_without_a_dictionary_the_training_matrices_are_the_atoms() -> None:
    D, X = random_spd(12, 3, seed=1), random_spd(20, 3, seed=2)
    own, given = SPDSparseCoder(alpha=0.05).fit(D), SPDSparseCoder(D, alpha=0.05).fit(X)
    np.testing.assert_array_equal(own.atoms_, D)
    np.testing.assert_array_equal(given.atoms_, D)
    np.testing.assert_array_equal(own.transform(X), given.transform(X))
    assert own.kernel_.beta_ == pytest.approx(0.2 * DivergenceKernel().fit(D).beta_)


def test_an_atom_is_represented_by_itself() -> None:
    D = random_spd(12, 3)
    codes = SPDSparseCoder(alpha=0.1).fit(D).transform(D)
    np.testing.assert_array_equal(abs(codes).argmax(axis=1), np.arange(12))


@pytest.mark.parametrize("metric", SYMMETRIC)
@pytest.mark.filterwarnings("ignore::spdatoms.exceptions.IndefiniteKernelWarning")
def test_automatic_parameters_are_those_of_the_centred_kernel(metric) -> None:
    D, X = random_spd(12, 3, seed=1), random_spd(21, 3, seed=2)
    d = pairwise_divergence(D, metric=metric)
    pairs = ~np.eye(12, dtype=bool)
    factor = 0.2 if get_divergence(metric).kernel_is_guaranteed(np.inf, 3) else 2.0
    coder = SPDSparseCoder(D, metric).fit(X)
    assert coder.kernel_.beta_ == pytest.approx(factor / np.median(d[pairs]))
    # A twentieth of the variance of φ(D): the trace of the centred Gram matrix, with m − 1 in the denominator.
    H = np.eye(12) - 1 / 12
    variance = np.trace(H @ coder.kernel_.gram_ @ H) / 11
    assert coder.alpha_ == pytest.approx(0.05 * variance)
    own = SPDSparseCoder(metric=metric).fit(D)
    assert (own.alpha_, own.kernel_.beta_) == (coder.alpha_, coder.kernel_.beta_)


@pytest.mark.parametrize(
    "make", [SPDSparseCoder, lambda **options: SPDDictionaryLearning(5, random_state=0, **options)]
)
def test_codes_of_norm_one(make) -> None:
    D, X = random_spd(12, 3, seed=1), random_spd(20, 3, seed=2)
    X[4] *= 1e9  # far from all atoms: its code is zero
    plain, normed = (
        make(beta=1.0, alpha=0.05, normalise=on).fit(D).transform(X) for on in (False, True)
    )
    assert not plain[4].any()
    norms = np.linalg.norm(plain, axis=1, keepdims=True)
    np.testing.assert_allclose(norms * normed, plain, rtol=1e-14)
    np.testing.assert_allclose(np.linalg.norm(np.delete(normed, 4, axis=0), axis=1), 1.0)


def test_matrices_without_a_difference_have_an_automatic_alpha() -> None:
    for count in (1, 3):
        assert SPDSparseCoder().fit(np.tile(np.eye(3), (count, 1, 1))).alpha_ == pytest.approx(0.05)
    assert SPDSparseCoder(alpha=0.3).fit(np.eye(3)[None]).alpha_ == 0.3


def test_the_dictionary_is_checked_by_its_name() -> None:
    D, X = random_spd(5, 3), random_spd(4, 3, seed=1)
    D[2] *= -1.0
    with pytest.raises(ValueError, match=r"^dictionary\[2\] is not positive definite"):
        SPDSparseCoder(dictionary=D).fit(X)
    with pytest.raises(ValueError, match="dictionary holds 4×4 matrices"):
        SPDSparseCoder(dictionary=random_spd(5, 4)).fit(X)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"beta": -1.0}, "beta must be"),
        ({"alpha": -0.1}, "alpha must be"),
        ({"alpha": "small"}, "alpha must be"),
        ({"metric": "burg"}, "not symmetric"),
        ({"correction": "hope"}, "correction must be 'clip', 'flip'"),
    ],
)
def test_bad_parameters(parameters, message) -> None:
    with pytest.raises(ValueError, match=message):
        SPDSparseCoder(**parameters).fit(random_spd(5, 3))


def test_a_given_dictionary_needs_no_fit():
    D, X = random_spd(6, 3, seed=1), random_spd(4, 3)
    for options in ({"alpha": 0.1, "beta": 1.0}, {}):
        coder = SPDSparseCoder(D, **options)
        codes = coder.transform(X)
        np.testing.assert_array_equal(codes, SPDSparseCoder(**options).fit(D).transform(X))
        assert len(coder.get_feature_names_out()) == 6
        assert not hasattr(coder, "atoms_")
    fixed = SPDSparseCoder(D, alpha=0.1, beta=1.0)
    np.testing.assert_array_equal(fixed.transform(X), fixed.fit(X).transform(X))
