"""Updates of the atoms of tensor sparse coding at fixed codes: the loss never increases.

With M_i = Σ_j y_ij D_j the loss is Σ_i B(M_i, X_i) + α Σ_ij y_ij tr(D_j)/τ, convex in all atoms. The last
term is the penalty of the codes that atoms of trace τ would have, so that atoms do not grow to make the
penalty of their codes small. Afterwards the atoms get that trace, and their codes the factor.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from spdatoms._utils.products import row_products
from spdatoms._utils.typing import Floats, Indices
from spdatoms.geometry.batched import inverse, log_determinant
from spdatoms.geometry.functions import geodesic
from spdatoms.geometry.spectral import inverse_cholesky, symmetric_part, transpose, whitened
from spdatoms.paper.baselines.atoms import lowered, steepest_descent
from spdatoms.paper.baselines.tensor._maxdet import TensorCodes

#: Eigenvalues of a residual X − R relative to X are raised to at least this.
_LEAST_RESIDUAL = 1e-2


@dataclass(frozen=True)
class TensorData:
    """Training matrices, prepared, and the terms of the loss."""

    inverses: Floats
    whitening: Floats
    logdets: Floats
    alpha: float
    trace: float
    bounded: bool

    @classmethod
    def of(cls, X: Floats, alpha: float, bounded: bool) -> TensorData:
        """Prepare X (m, n, n); the atoms will have its mean trace."""
        trace = float(np.einsum("mii->m", X).mean())
        logdets = log_determinant(X)
        return cls(inverse(X), inverse_cholesky(X), logdets, alpha, trace, bounded)

    def part(self, rows: Indices) -> TensorData:
        """Return the same for some of the matrices."""
        each = {name: getattr(self, name)[rows] for name in ("inverses", "whitening", "logdets")}
        return replace(self, **each)

    def losses(self, M: Floats, penalties: Floats) -> tuple[Floats, Floats]:
        """Return B(sM, X) + s·penalty of every matrix, and s: 1, or less where the bound needs it."""
        s = np.ones(len(M))
        if self.bounded:
            eigenvalues = np.linalg.eigvalsh(whitened(self.whitening, M))
            s = np.minimum(1.0, 1.0 / eigenvalues[:, -1])
        n = M.shape[-1]
        linear = np.einsum("mij,mij->m", self.inverses, M) + penalties
        logdets = log_determinant(M) - self.logdets
        return s * linear - logdets - n * np.log(s) - n, s

    def penalties(self, atoms: Floats, codes: Floats) -> Floats:
        """α Σ_j y_ij tr(D_j)/τ."""
        return np.asarray(codes @ (np.einsum("jii->j", atoms) * (self.alpha / self.trace)))


def combine(codes: Floats, atoms: Floats) -> Floats:
    """Return the matrices that tensor codes stand for: M_i = Σ_j y_ij D_j."""
    return np.asarray(row_products(codes, atoms.reshape(len(atoms), -1))).reshape(
        -1, *atoms.shape[1:]
    )


def dictionary_loss(data: TensorData, atoms: Floats, codes: Floats) -> tuple[float, Floats]:
    """Return the loss, and the codes scaled so that they keep the bound."""
    losses, s = data.losses(combine(codes, atoms), data.penalties(atoms, codes))
    return float(losses.sum()), codes * s[:, None]


def normalised(data: TensorData, atoms: Floats, codes: Floats) -> tuple[Floats, Floats]:
    """Give every atom the trace τ and its codes the factor that it had."""
    factors = np.einsum("jii->j", atoms) / data.trace
    return atoms / factors[:, None, None], codes * factors


def gradient(data: TensorData, atoms: Floats, codes: Floats, multipliers: Floats) -> Floats:
    """∂/∂D_j = Σ_i y_ij (X_i⁻¹ − M_i⁻¹ + Z_i + α/τ·I), with the multipliers Z of the bound."""
    used = codes.any(axis=1)
    slopes = data.inverses + multipliers + (data.alpha / data.trace) * np.eye(atoms.shape[-1])
    slopes[used] -= inverse(combine(codes[used], atoms))
    return combine(codes.T, slopes)


def gradient_update(
    data: TensorData, atoms: Floats, coded: TensorCodes, step: float
) -> tuple[Floats, float, float]:
    """Move all atoms along the geodesics of steepest descent; return atoms, loss and step."""
    codes = coded.codes
    # The first-order part of the loss is the natural unit of an atom's gradient.
    weights = np.einsum("jab,jab->j", combine(codes.T, data.inverses), atoms) / atoms.shape[-1]
    curve = steepest_descent(atoms, gradient(data, atoms, codes, coded.multipliers), weights)
    loss, (atoms, _), step = _descend(curve.points, data, atoms, codes, 2.0 * step)
    return atoms, loss, step


def atom_by_atom_update(
    data: TensorData, atoms: Floats, coded: TensorCodes, step: float
) -> tuple[Floats, float, float]:
    """Move one atom after the other towards (Σ_i y_ij E_i⁻¹ / |ω|)⁻¹, as K-SVD does for vectors.

    E_i = X_i − Σ_{k≠j} y_ik D_k is what the other atoms leave of a matrix i ∈ ω that uses atom j. The
    new atom minimises Σ_{i∈ω} B(y_ij D, E_i).
    """
    codes = coded.codes.copy()
    for j in range(len(atoms)):
        users = np.flatnonzero(codes[:, j])
        if len(users):
            atoms, codes[users] = _with_new_atom(data.part(users), atoms, codes[users], j)
    return atoms, dictionary_loss(data, atoms, codes)[0], step


def _with_new_atom(data: TensorData, atoms: Floats, codes: Floats, j: int) -> tuple[Floats, Floats]:
    target = _atom_of_residuals(data, atoms, codes, j)

    def towards(t: float) -> Floats:
        moved = atoms.copy()
        moved[j] = geodesic(atoms[j], target, t)
        return moved

    return _descend(towards, data, atoms, codes, 1.0)[1]


def _atom_of_residuals(data: TensorData, atoms: Floats, codes: Floats, j: int) -> Floats:
    others = codes.copy()
    others[:, j] = 0.0
    W = data.whitening
    eigenvalues, U = np.linalg.eigh(np.eye(atoms.shape[-1]) - whitened(W, combine(others, atoms)))
    F = transpose(U) @ W / np.sqrt(np.maximum(eigenvalues, _LEAST_RESIDUAL))[:, :, None]
    P = np.einsum("m,mab,mac->bc", codes[:, j] / len(codes), F, F)
    return np.asarray(inverse(symmetric_part(P)[None])[0])


def _descend(
    curve: Callable[[float], Floats], data: TensorData, atoms: Floats, codes: Floats, step: float
) -> tuple[float, tuple[Floats, Floats], float]:
    """Follow a curve of atoms as far as the loss falls; return the loss, atoms and codes, and the step."""

    def trial(t: float) -> tuple[float, tuple[Floats, Floats]]:
        moved, y = normalised(data, curve(t), codes)
        loss, y = dictionary_loss(data, moved, y)
        return loss, (moved, y)

    return lowered(trial, (dictionary_loss(data, atoms, codes)[0], (atoms, codes)), step)


UPDATES = {"gradient": gradient_update, "ksvd": atom_by_atom_update}
