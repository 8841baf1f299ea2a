"""The sparse coder: the codes of the solver over its atoms, whichever they are."""

from __future__ import annotations

import numpy as np
import pytest

from _matrices import random_spd
from spdatoms import DivergenceKernel, SPDSparseCoder, sparse_code


@pytest.mark.filterwarnings("ignore::spdatoms.exceptions.IndefiniteKernelWarning")
@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("metric", ["stein", "jeffrey", "logeuclid", "riemann", "euclid"])
def test_codes_are_those_of_the_solver(metric, positive) -> None:
    D, X = random_spd(12, 3, seed=1), random_spd(20, 3, seed=2)
    coder = SPDSparseCoder(D, metric, alpha=0.01, positive=positive).fit(X)
    kernel = DivergenceKernel(metric).fit(D)
    expected = sparse_code(kernel.gram_, kernel.cross(X), 0.01, positive=positive)
    np.testing.assert_array_equal(coder.transform(X), expected)
    assert (coder.transform(X) >= 0).all() == positive


def test_without_a_dictionary_the_training_matrices_are_the_atoms() -> None:
    D, X = random_spd(12, 3, seed=1), random_spd(20, 3, seed=2)
    own, given = SPDSparseCoder(alpha=0.05).fit(D), SPDSparseCoder(D, alpha=0.05).fit(X)
    np.testing.assert_array_equal(own.atoms_, D)
    np.testing.assert_array_equal(given.atoms_, D)
    np.testing.assert_array_equal(own.transform(X), given.transform(X))
    assert own.kernel_.beta_ == DivergenceKernel().fit(D).beta_


def test_an_atom_is_represented_by_itself() -> None:
    D = random_spd(12, 3)
    codes = SPDSparseCoder(alpha=0.1).fit(D).transform(D)
    np.testing.assert_array_equal(abs(codes).argmax(axis=1), np.arange(12))


@pytest.mark.filterwarnings("ignore::spdatoms.exceptions.IndefiniteKernelWarning")
@pytest.mark.parametrize("metric", ["stein", "jeffrey"])
def test_automatic_alpha_is_a_twentieth_of_where_codes_become_zero(metric) -> None:
    D, X = random_spd(12, 3, seed=1), random_spd(21, 3, seed=2)
    kernel = DivergenceKernel(metric).fit(D)
    given = SPDSparseCoder(D, metric).fit(X)
    assert given.alpha_ == pytest.approx(0.1 * np.median(kernel.cross(X).max(axis=1)))
    at_the_limit = SPDSparseCoder(D, metric, alpha=20 * given.alpha_).fit(X).transform(X)
    assert np.count_nonzero(at_the_limit.any(axis=1)) == len(X) // 2
    # Training matrices that are the atoms themselves: the nearest of the others counts.
    others = kernel.gram_ - np.diag(np.full(12, np.inf))
    assert SPDSparseCoder(metric=metric).fit(D).alpha_ == pytest.approx(
        0.1 * np.median(others.max(axis=1))
    )


def test_a_single_matrix_has_an_automatic_alpha() -> None:
    assert SPDSparseCoder().fit(np.eye(3)[None]).alpha_ == pytest.approx(0.1)
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
