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
    D, X = random_spd(40, 3, seed=1), random_spd(21, 3, seed=2)
    d = pairwise_divergence(D, metric=metric)
    betas = np.array([0.2, 0.5, 1.0]) / np.median(d[~np.eye(40, dtype=bool)])
    sound = [np.linalg.eigvalsh(np.exp(-beta * d))[0] > -1e-12 for beta in betas]
    sound = sound if get_divergence(metric).kernel_is_guaranteed(np.inf, 3) else [False, False]
    coder = SPDSparseCoder(D, metric).fit(X)
    assert coder.kernel_.beta_ == pytest.approx(betas[np.argmax([*sound[:2], True])])
    # A twentieth of the variance of φ(D): the trace of the centred Gram matrix, with m − 1 in the denominator.
    H = np.eye(40) - 1 / 40
    alpha = 0.05 * np.trace(H @ coder.kernel_.gram_ @ H) / 39
    while _mean_nonzeros(coder, coder.kernel_.cross(X), alpha) > 8:
        alpha *= 1.2
    assert coder.alpha_ == pytest.approx(alpha)


def _mean_nonzeros(coder, cross, alpha, exclude=None) -> float:
    codes = sparse_code(coder.kernel_.gram_, cross, alpha, exclude=exclude)
    return np.count_nonzero(codes) / len(codes)


def test_atoms_that_are_the_training_matrices_are_coded_over_the_others() -> None:
    D = random_spd(60, 8, seed=1)
    coder = SPDSparseCoder(metric="logeuclid").fit(D)
    K, others = coder.kernel_.gram_, np.arange(60)
    assert _mean_nonzeros(coder, K, coder.alpha_, others) <= 12
    assert _mean_nonzeros(coder, K, coder.alpha_ / 1.2, others) > 12


def test_an_automatic_alpha_is_at_most_half_of_the_spread() -> None:
    """Codes over few atoms that are all alike to a matrix never become sparse: α must not grow for ever."""
    signals = np.random.default_rng(0).standard_normal((60, 12, 60))
    X = signals @ signals.swapaxes(1, 2) / 60
    coder = SPDSparseCoder(X[:16]).fit(X[16:])
    K = coder.kernel_.gram_
    assert coder.alpha_ == pytest.approx(0.5 * (1 - (K.sum() - 16) / (16 * 15)))
    assert _mean_nonzeros(coder, coder.kernel_.cross(X[16:]), coder.alpha_) > 5


@pytest.mark.parametrize("n", [2, 5, 12])
def test_defaults_do_not_warn_about_the_kernel(n) -> None:
    """The automatic β is one at which Stein's kernel is sound, or nearly: warnings are errors here."""
    G = np.random.default_rng(n).standard_normal((60, n, 2 * n)) * np.exp(np.arange(n))[:, None]
    X = G @ G.swapaxes(1, 2) * np.exp(np.arange(60) % 7)[:, None, None]
    assert not SPDSparseCoder().fit(X).kernel_.corrected_
    learner = SPDDictionaryLearning(12, max_iter=2, random_state=0).fit(X)
    assert learner.ridge_ <= 0.25


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
