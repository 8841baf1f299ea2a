"""What every registered divergence must do: right values and gradients, symmetry, zeros, stationary centres.

What is registered later is tried here by itself, as soon as `_divergence_oracles` has its definition.
"""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse

from _divergence_oracles import DEFINITIONS, exact_derivative, exact_value, relative_error
from _laws import KINDS, NAMES, along, divergence_of, pair, slope_bound, value_bound
from _matrices import random_spd
from spdatoms import mean, pairwise_divergence
from spdatoms.divergences import Divergence, get_divergence
from spdatoms.geometry.hermitian import real_form

pytestmark = pytest.mark.slow

every = pytest.mark.parametrize("name", NAMES)
real_and_complex = pytest.mark.parametrize("complex_", [False, True], ids=["real", "complex"])
#: The divergences that have a mean.
WITH_MEAN = [name for name in NAMES if name != "thompson"]


def test_every_divergence_has_a_definition_in_many_digits() -> None:
    assert set(NAMES) <= set(DEFINITIONS)


# --- values --------------------------------------------------------------------------------------------


@real_and_complex
@pytest.mark.parametrize("kind", KINDS)
@every
def test_values(name, kind, complex_) -> None:
    A, B = pair(kind, complex_)
    exact, bound = value_bound(name, A, B)
    actual = pairwise_divergence(A[None], B[None], name)[0, 0]
    assert abs(actual - exact) <= bound


@pytest.mark.parametrize("exponent", [-996, -500, 500, 996])
@every
def test_values_at_any_scale(name, exponent) -> None:
    """Where the value is in the range it is right, and else there is an error."""
    A, B = (np.ldexp(Z, exponent) for Z in pair("condition 1e1", False))
    exact = exact_value(name, A, B, 30)
    limits = np.finfo(np.float64)
    if limits.tiny <= exact <= limits.max:
        actual = pairwise_divergence(A[None], B[None], name)[0, 0]
        assert relative_error(actual, exact) < 1e-11
    else:
        with pytest.raises(OverflowError, match=r"beyond the range|too small for float64"):
            pairwise_divergence(A[None], B[None], name)


@every
def test_values_of_near_pairs_among_far_ones(name) -> None:
    """In absolute terms they are as small as they should be; squared distances of entries have all digits."""
    near = pair("condition 1e1", False)[0]
    X = np.stack([near, near * (1.0 + 2.0**-20), 1e3 * near])
    exact = exact_value(name, X[0], X[1], 30)
    actual = pairwise_divergence(X, metric=name)[0, 1]
    assert abs(actual - exact) < 1e-14 * max(1.0, float(np.trace(near)))
    if name in ("euclid", "chol", "wasserstein", "poweuclid", "harmonic"):
        assert relative_error(actual, exact) < 1e-8


# --- symmetry and zeros --------------------------------------------------------------------------------


def several(complex_: bool) -> np.ndarray:
    return np.stack([Z for seed in range(10) for Z in pair("condition 1e6", complex_, 4, seed)])


@real_and_complex
@every
def test_symmetric_within_a_set_to_the_last_bit(name, complex_) -> None:
    values = pairwise_divergence(several(complex_), metric=name)
    if get_divergence(name).symmetric:
        np.testing.assert_array_equal(values, values.T)
    np.testing.assert_array_equal(np.diagonal(values), 0.0)
    assert (values[~np.eye(len(values), dtype=bool)] > 0).all()


@real_and_complex
@every
def test_within_a_set_and_between_two_sets_alike(name, complex_) -> None:
    X = several(complex_)
    between = pairwise_divergence(X, X.copy(), name)
    np.testing.assert_allclose(between, pairwise_divergence(X, metric=name), rtol=1e-8, atol=1e-7)


@every
def test_complex_matrices_are_their_real_forms(name) -> None:
    divergence = get_divergence(name)
    if divergence.native_complex:
        return  # the factor of a real form is no real form
    A, B = pair("condition 1e1", True)
    real = pairwise_divergence(real_form(A)[None], real_form(B)[None], name)
    expected = real / divergence.real_form_factor
    np.testing.assert_allclose(pairwise_divergence(A[None], B[None], name), expected, rtol=1e-13)


# --- gradients -----------------------------------------------------------------------------------------


def gradient_error(name, A, B, gradient) -> tuple[float, float]:
    """Return by how much, relative to the length of the gradient, its slope is wrong, and may be."""
    L, H = along(A)
    exact, bound = slope_bound(name, A, B, H)
    length = max(np.linalg.norm(L.conj().T @ gradient @ L), abs(float(exact)))
    error = abs(np.trace(gradient @ H).real - exact)
    return float(error / length), float(bound / length)


@real_and_complex
@pytest.mark.parametrize("kind", KINDS)
@every
def test_gradients(name, kind, complex_) -> None:
    A, B = pair(kind, complex_)
    G = divergence_of(name, A).gradient(A[None], B[None])[0]
    np.testing.assert_allclose(G, G.conj().T, rtol=1e-9, atol=1e-9 * np.abs(G).max())
    error, bound = gradient_error(name, A, B, G)
    assert error <= 1e-11 + bound


@pytest.mark.parametrize("exponent", [-900, -450, 450, 900])
@every
def test_gradients_at_any_scale(name, exponent) -> None:
    A, B = (np.ldexp(Z, exponent) for Z in pair("condition 1e1", False))
    exact = exact_derivative(name, A, B, A, 30)
    if not all(1e-290 < size < 1e290 for size in (abs(exact), abs(exact) / float(np.trace(A)))):
        return  # the gradient is out of range
    G = divergence_of(name, A).gradient(A[None], B[None])[0]
    assert np.isfinite(G).all()
    L, _ = along(A)
    M = L.T @ G @ L
    unit = np.abs(M).max() * np.linalg.norm(M / np.abs(M).max())  # squares would overflow
    assert abs(np.trace(G @ A) - exact) < 1e-11 * max(unit, abs(exact))


@every
def test_gradients_of_nearly_singular_matrices_are_finite(name) -> None:
    G = get_divergence(name).gradient(np.diag([1.0, 1e-17])[None], np.eye(2)[None])[0]
    assert np.isfinite(G).all()
    exact = exact_derivative(name, np.diag([1.0, 1e-17]), np.eye(2), np.diag([0.0, 1e-17]), 30)
    assert G[1, 1] * 1e-17 == pytest.approx(float(exact), rel=1e-11)


@real_and_complex
@every
def test_gradients_by_differences_are_the_same(name, complex_) -> None:
    """What a divergence without a formula has."""
    A, B = pair("condition 1e1", complex_)
    divergence = divergence_of(name, A)
    differences = Divergence.gradient(divergence, A[None], B[None])
    expected = divergence.gradient(A[None], B[None])
    np.testing.assert_allclose(differences, expected, atol=1e-6 * np.abs(expected).max())


@real_and_complex
@every
def test_one_matrix_for_all(name, complex_) -> None:
    A, B = pair("condition 1e1", complex_)
    Y = np.stack([B, 2.0 * B])
    divergence = divergence_of(name, A)
    one, several = divergence.gradient(A, Y), divergence.gradient(np.stack([A, A]), Y)
    np.testing.assert_array_equal(one, several)


@real_and_complex
@pytest.mark.parametrize("name", [name for name in NAMES if get_divergence(name).symmetric])
def test_atoms_move_along_the_gradient(name, complex_) -> None:
    """The path downhill begins along −D G D, which falls fastest in the frame of D, or at least falls."""
    *Z, D = np.stack([pair("condition 1e1", complex_, 3, seed)[0] for seed in range(5)])
    weights = np.array([1.0, 2.0, -0.2, 1.5])
    divergence = divergence_of(name, D)
    prepared, column = divergence.prepare(np.stack(Z)), scipy.sparse.csc_array(weights[:, None])
    sums = divergence.atom_sums(prepared, column, D[None])
    path = divergence.downhill(sums, D[None])
    move = path.points(1e-5)[0] - path.points(-1e-5)[0]
    slopes = [float(exact_derivative(name, D, A, move, 30)) for A in Z]
    G = np.tensordot(weights, divergence.gradient(D, np.stack(Z)), 1)
    L = np.linalg.cholesky(D)
    W = np.linalg.inv(L)
    steepest = np.linalg.norm(L.conj().T @ G @ L) * np.linalg.norm(W @ move @ W.conj().T)
    # The geodesics of "logeuclid" are its own.
    assert weights @ slopes < (-0.5 if name == "logeuclid" else -0.999999) * steepest


# --- centres -------------------------------------------------------------------------------------------


def few(complex_: bool) -> np.ndarray:
    return np.stack([pair("condition 1e1", complex_, 3, seed)[0] for seed in range(4)])


def steps(name, Z, weights, C):
    """Return where steps of `centre` from C lead."""
    divergence = divergence_of(name, Z)
    prepared = divergence.prepare(Z)
    for _ in range(1 if divergence.closed_form else 40):
        C = divergence.centre(prepared, weights, C)
    return C


def slopes(name, Z, C) -> np.ndarray:
    """Return the derivatives of d(Z_i, C) along a direction at C, the second argument."""
    _, H = along(C, seed=3)
    return np.array([float(exact_derivative(name, A, C, H, 30, argument=1)) for A in Z])


@real_and_complex
@pytest.mark.parametrize("name", WITH_MEAN)
def test_means_are_stationary(name, complex_) -> None:
    Z = few(complex_)
    weights = np.array([1.0, 2.0, 0.5, 1.5])
    found = slopes(name, Z, mean(Z, name, weights, tol=1e-12))
    assert abs(weights @ found) < 1e-9 * (weights @ np.abs(found))


@real_and_complex
@pytest.mark.parametrize("name", WITH_MEAN)
def test_centres_with_weights_of_both_signs_are_stationary(name, complex_) -> None:
    Z = few(complex_)
    weights = np.array([1.0, 1.0, 1.0, -0.1])
    found = slopes(name, Z, steps(name, Z, weights, Z[0]))
    assert abs(weights @ found) < 1e-9 * (np.abs(weights) @ np.abs(found))


def test_thompson_alone_has_no_mean() -> None:
    for name in set(NAMES) - set(WITH_MEAN):
        with pytest.raises(ValueError, match="has no unique mean"):
            mean(random_spd(3, 2), name)
