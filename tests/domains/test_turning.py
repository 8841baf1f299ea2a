"""The formulas of a turn, against SciPy and definitions."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import orthogonal_procrustes
from sklearn.kernel_ridge import KernelRidge

from spdatoms.domains import _turning
from spdatoms.domains._turning import Codes, class_means, soft_labels, turn_of_target, turn_onto


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def test_a_turn_is_a_rotation_and_leaves_the_rest(rng: np.random.Generator) -> None:
    M, G = rng.standard_normal((2, 3, 10))
    Z = rng.standard_normal((20, 10))
    turned = turn_onto(M, np.full(3, 50.0), G)(Z)
    np.testing.assert_allclose(np.linalg.norm(turned, axis=1), np.linalg.norm(Z, axis=1))
    B = np.linalg.svd(np.concatenate([M, G]))[2][6:]  # outside the span of M and G
    np.testing.assert_allclose(turned @ B.T, Z @ B.T)


def test_without_inertia_it_is_procrustes(monkeypatch, rng: np.random.Generator) -> None:
    monkeypatch.setattr(_turning, "INERTIA", 0.0)
    monkeypatch.setattr(_turning, "FEW", 0.0)
    M, G = rng.standard_normal((2, 6, 4))
    Q, _ = orthogonal_procrustes(M, G)
    Z = rng.standard_normal((5, 4))
    np.testing.assert_allclose(turn_onto(M, np.full(6, 9.0), G)(Z), Z @ Q, rtol=1e-9)


def test_inertia_is_polar(monkeypatch, rng: np.random.Generator) -> None:
    """Q maximises tr(QᵀC) with C = Σ w_c M_cᵀG_c + μ‖MᵀG‖I, so QᵀC is symmetric and semidefinite."""
    M, G = rng.standard_normal((2, 6, 4))
    turn = turn_onto(M, np.full(6, 15.0), G)
    Q = turn(np.eye(4))
    C = 0.75 * M.T @ G + _turning.INERTIA * np.linalg.norm(M.T @ G, 2) * np.eye(4)
    S = Q.T @ C
    np.testing.assert_allclose(S, S.T, atol=1e-9)
    assert (np.linalg.eigvalsh(S) >= 0).all()


def test_few_matrices_turn_little_and_nothing_not_at_all(rng: np.random.Generator) -> None:
    M, G = rng.standard_normal((2, 3, 10))
    Z = rng.standard_normal((20, 10))
    moved = [np.linalg.norm(turn_onto(M, np.full(3, k), G)(Z) - Z) for k in (100.0, 5.0, 0.5)]
    assert moved[0] > moved[1] > moved[2]
    np.testing.assert_allclose(turn_onto(0 * M, np.zeros(3), G)(Z), Z)
    np.testing.assert_allclose(turn_onto(G, np.full(3, 9.0), G)(Z), Z, atol=1e-12)


def test_uneven_classes_are_measured_from_their_own_centre(rng: np.random.Generator) -> None:
    """If the domain is centred at the mean of few classes, its class means are shifted, and the turn undoes that."""
    G = rng.standard_normal((4, 10))
    G -= G.mean(axis=0)
    counts = np.array([40.0, 40.0, 5.0, 5.0])
    shift = counts @ G / counts.sum()
    turned = turn_onto(G - shift, counts, G)(G - shift)
    assert np.linalg.norm(turned - G) < 0.2 * np.linalg.norm(shift)
    even = turn_onto(G - shift, np.full(4, 20.0), G)
    np.testing.assert_array_equal(even.origin, 0.0)


def test_codes_are_kernel_ridge_regression(rng: np.random.Generator) -> None:
    Z, Y = rng.standard_normal((15, 4)), rng.standard_normal((6, 4))
    H = np.eye(3)[np.arange(15) % 3]
    weights = rng.uniform(0.5, 2.0, 15)
    codes = Codes.of(Z, H, weights)
    d = ((Z[:, None] - Z) ** 2).sum(axis=2)[np.triu_indices(15, 1)]
    assert codes.beta == pytest.approx(3.0 / np.median(d))
    ridge = 1.0 - np.exp(-3.0)
    model = KernelRidge(alpha=ridge, kernel="rbf", gamma=codes.beta).fit(
        Z, H, sample_weight=weights
    )
    np.testing.assert_allclose(codes.scores(Y), model.predict(Y), rtol=1e-9)


def test_soft_labels_and_means(rng: np.random.Generator) -> None:
    scores = rng.standard_normal((5, 3))
    P = soft_labels(scores)
    np.testing.assert_allclose(P.sum(axis=1), 1.0)
    np.testing.assert_allclose(P, soft_labels(7.0 * scores + 1.0))
    np.testing.assert_array_equal(soft_labels(np.ones((1, 4))), 0.25)
    Z = rng.standard_normal((5, 2))
    np.testing.assert_allclose(class_means(Z, P)[1], np.average(Z, axis=0, weights=P[:, 1]))


def test_a_target_is_turned_by_guesses_and_better_by_labels(rng: np.random.Generator) -> None:
    H = np.eye(3)[np.arange(60) % 3]
    G = 3.0 * np.eye(3, 8)
    A = H @ G + 0.5 * rng.standard_normal((60, 8))
    angle = 0.7
    Q = np.eye(8)
    Q[np.ix_([0, 5], [0, 5])] = [[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]
    B = (H @ G + 0.5 * rng.standard_normal((60, 8))) @ Q
    codes = Codes.of(A, H, np.ones(60))
    G = class_means(A, H)

    def gap(labels: np.ndarray) -> float:
        turn = turn_of_target(B, labels, codes, H, G, 3)
        return float(np.linalg.norm(class_means(turn(B), H) - G))

    nothing = np.linalg.norm(class_means(B, H) - G)
    unknown = np.full(60, -1)
    all_known = H.argmax(axis=1)
    assert gap(all_known) <= gap(unknown) + 1e-9
    assert gap(unknown) < 0.6 * nothing
