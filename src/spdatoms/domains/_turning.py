"""Turning a domain onto others: class means, soft labels, and the rotation between two sets of class means."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from spdatoms._utils.products import row_products, squared_distances
from spdatoms._utils.typing import Floats, Indices

#: The kernel is exp(−3d/median), the ridge ρ = 1 − e⁻³, and labelled matrices of the target count three times.
FACTOR, LABELLED = 3.0, 3.0
#: Soft labels are softmax(2·standardised scores).
SHARPNESS = 2.0
#: μ: how much a turn prefers to be none, as a share of the largest singular value of M'G.
INERTIA = 0.3
#: A class of this many matrices counts half.
FEW = 5.0
#: A spread of the class sizes, relative to their mean, at which half of an imbalance is heeded.
UNEVEN = 0.15


@dataclass(frozen=True)
class Turn:
    """z ← (z − m)(I + B R Bᵀ) + g, with an orthogonal I + R: a rotation in the span of B, and a shift.

    Attributes
    ----------
    basis : ndarray of shape (h, r)
        B, padded with zeros.
    rotation : ndarray of shape (r, r)
        R, padded with zeros.
    origin, goal : ndarray of shape (h,)
        m and g.
    """

    basis: Floats
    rotation: Floats
    origin: Floats
    goal: Floats

    @classmethod
    def none(cls, h: int, r: int) -> Turn:
        """Return the identity."""
        return cls(np.zeros((h, r)), np.zeros((r, r)), np.zeros(h), np.zeros(h))

    def __call__(self, Z: Floats) -> Floats:
        own = Z - self.origin
        back = np.ascontiguousarray(self.rotation @ self.basis.T)
        return np.asarray(own + row_products(row_products(own, self.basis), back) + self.goal)


def class_means(Z: Floats, P: Floats) -> Floats:
    """Return the class means of vectors (m, h) with labels or probabilities P (m, C); zero for an empty class."""
    return np.asarray((P / np.maximum(P.sum(axis=0), 1e-12)).T @ Z)


def soft_labels(scores: Floats) -> Floats:
    """Return softmax(2s) of the class scores, standardised for each query."""
    s = scores - scores.mean(axis=1, keepdims=True)
    spread = np.sqrt((s**2).mean(axis=1, keepdims=True))
    P = np.exp(SHARPNESS * s / np.where(spread > 0, spread, 1.0))
    return np.asarray(P / P.sum(axis=1, keepdims=True))


def turn_onto(M: Floats, counts: Floats, G: Floats) -> Turn:
    """Return the turn of class means M, of classes with these sizes, onto the class means G.

    Q is the polar factor of ``Σ_c w_c M_cᵀG_c + μ‖MᵀG‖I`` in the span of M and G, with ``w_c = k_c/(k_c + 5)``: few
    matrices turn little. If the class sizes differ, the centre of the domain is not that of its classes; so M and G
    are measured from λ times their own means over the classes, ``λ = v²/(v² + 0.15²)``, where v is the standard
    deviation of the class sizes over their mean.
    """
    C, h = G.shape
    w = counts / (counts + FEW)
    v2 = float(np.var(counts / max(counts.mean(), 1e-12)))
    share = v2 / (v2 + UNEVEN**2) * w / max(w.sum(), 1e-12)
    m, g = share @ M, share @ G
    M, G = np.where(counts[:, None] > 0, M - m, 0.0), G - g
    B, s, _ = np.linalg.svd(np.concatenate([M, G]).T, full_matrices=False)
    B[:, s <= 1e-10 * max(s[0], 1e-300)] = 0.0
    cross = ((w[:, None] * M) @ B).T @ (G @ B)
    inertia = INERTIA * float(np.linalg.norm((M @ B).T @ (G @ B), 2))
    U, _, Vt = np.linalg.svd(cross + max(inertia, 1e-300) * np.eye(B.shape[1]))
    found = Turn.none(h, 2 * C)
    found.basis[:, : B.shape[1]] = B
    found.rotation[: B.shape[1], : B.shape[1]] = U @ Vt - np.eye(B.shape[1])
    return Turn(found.basis, found.rotation, m, g)


@dataclass(frozen=True)
class Codes:
    """Class scores ``k(z) (K + ρI)⁻¹ H`` over labelled vectors: codes with a ridge, summed over the classes.

    Attributes
    ----------
    vectors : ndarray of shape (N, h)
        The labelled vectors.
    coefficients : ndarray of shape (N, C)
        (K + ρI)⁻¹ H.
    beta : float
        The β of the kernel exp(−β‖z − z'‖²).
    """

    vectors: Floats
    coefficients: Floats
    beta: float

    @classmethod
    def of(cls, Z: Floats, H: Floats, weights: Floats) -> Codes:
        """Return the codes over vectors Z with indicators H (N, C) of their classes, and weights."""
        d = squared_distances(Z, Z)
        others = d[np.triu_indices(len(Z), 1)]
        median = float(np.median(others)) if len(others) else 0.0
        beta = FACTOR / median if median > 0 else 1.0
        K = np.exp(-beta * d)
        K.flat[:: len(K) + 1] += -np.expm1(-FACTOR) / weights
        return cls(Z, np.asarray(cho_solve(cho_factor(K), H)), beta)

    def scores(self, Z: Floats) -> Floats:
        """Return the class scores (m, C) of vectors."""
        return np.asarray(
            np.exp(-self.beta * squared_distances(Z, self.vectors)) @ self.coefficients
        )


def turn_of_labelled(Z: Floats, labels: Indices, G: Floats) -> Turn:
    """Return the turn of a domain whose labels are known."""
    H = np.eye(len(G))[labels]
    return turn_onto(class_means(Z, H), H.sum(axis=0), G)


def turn_of_target(
    Z: Floats, labels: Indices, codes: Codes, sources: Floats, G: Floats, rounds: int
) -> Turn:
    """Return the turn of a domain whose labels are not known (−1), or some are.

    Soft labels come from the codes over the sources, whose indicators are ``sources``; with the turn that they give
    come better ones. Labelled matrices have their labels, and are among the atoms.
    """
    known = labels >= 0
    H = np.eye(len(G))[labels[known]]
    turn = Turn.none(Z.shape[1], 2 * len(G))
    if known.any():
        turn = turn_onto(class_means(Z[known], H), H.sum(axis=0), G)
    for _ in range(rounds):
        if known.any():
            weights = np.repeat([1.0, LABELLED], [len(codes.vectors), len(H)])
            atoms = np.concatenate([codes.vectors, turn(Z[known])])
            scores = Codes.of(atoms, np.concatenate([sources, H]), weights).scores(turn(Z))
        else:
            scores = codes.scores(turn(Z))
        P = soft_labels(scores)
        P[known] = H
        turn = turn_onto(class_means(Z, P), P.sum(axis=0), G)
    return turn
