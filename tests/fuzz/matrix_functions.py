"""Functions of matrices and geodesics, of matrices whose results are known.

Q diag(λ) Qᴴ with a small integer Q, QᴴQ = cI, and powers of two λ is exact in floating-point numbers, and its
eigenvalues are cλ. T diag(a) Tᴴ and T diag(b) Tᴴ with an integer T are exact, too, and T takes both to diagonals.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np

from fuzz import draws
from fuzz.campaign import expect
from spdatoms import geometry

_FACTOR = 60.0
#: Integer matrices with orthogonal columns of one length, by their size.
ROTATIONS: dict[int, list[Any]] = {
    1: [[[1]]],
    2: [[[1, 1], [1, -1]], [[3, 4], [-4, 3]], [[1, 1j], [1j, 1]], [[3, 4j], [4j, 3]]],
    3: [[[1, 2, 2], [2, 1, -2], [2, -2, 1]], [[1, 2j, 2], [2j, -1, -2j], [2, -2j, 1]]],
}


def rotation(rng: np.random.Generator, kind: np.dtype[Any]) -> np.ndarray:
    """Return an integer Q with QᴴQ = cI; of size 1, 2, 3, 4 or 6."""
    sizes = draws.pick(rng, [(1, 1), (2, 1), (3, 1), (2, 2), (3, 2)])
    parts = []
    for size in sizes:
        known = [np.array(Q) for Q in ROTATIONS[size]]
        parts.append(draws.pick(rng, [Q for Q in known if kind.kind == "c" or Q.dtype.kind != "c"]))
    Q = np.kron(*parts)
    return Q[rng.permutation(len(Q))] * rng.choice([-1, 1], len(Q))


class Spectral:
    """Matrices Q diag(λ_i) Qᴴ, and functions of them."""

    def __init__(self, rng: np.random.Generator, *, positive: bool = True) -> None:
        self.kind = draws.dtype(rng)
        self.Q = rotation(rng, self.kind).astype(np.result_type(self.kind, np.longdouble))
        single = np.finfo(self.kind).eps > 1e-10
        m, n = int(rng.integers(1, 5)), len(self.Q)
        self.length = float((self.Q[:, 0] * self.Q[:, 0].conj()).sum().real)
        if positive:
            spread = int(rng.integers(1, 4 if single else 20))
            offset = int(rng.integers(-20, 21) if single else rng.integers(-400, 401))
            values = 2.0 ** (offset + rng.integers(-spread, spread + 1, (m, n)))
        else:
            values = rng.integers(-9, 10, (m, n)) / 2.0 ** np.ceil(np.log2(self.length))
        self.eigenvalues = self.length * values.astype(np.longdouble)
        self.X = self.of(lambda x: x).astype(self.kind)
        expect(self.X.astype(self.Q.dtype) == self.of(lambda x: x), "the generator is not exact")

    def of(self, function: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        """Return f of the matrices in extended precision."""
        values = function(self.eigenvalues) / self.length
        return (self.Q * values[:, None, :]) @ self.Q.conj().T

    def confirm(
        self,
        name: str,
        found: np.ndarray,
        function: Callable[[np.ndarray], np.ndarray],
        slope: Callable[[np.ndarray], np.ndarray],
    ) -> None:
        """Compare with f(X): the error is that of f at matrices that rounding has changed."""
        largest = np.abs(self.eigenvalues).max(axis=1)
        size = largest * np.abs(slope(self.eigenvalues)).max(axis=1)
        size += np.abs(function(self.eigenvalues)).max(axis=1)
        allowed = _FACTOR * len(self.Q) * np.finfo(self.kind).eps * size
        expect(found.dtype == self.kind, f"{name} has the type {found.dtype}, not {self.kind}")
        error = np.abs(found - self.of(function)).max(axis=(1, 2))
        expect(error <= allowed, f"{name} of {self.kind} is off by {np.max(error / allowed):.3g}")


def one_matrix(rng: np.random.Generator, name: str) -> int:
    """Logarithms, exponentials and powers; return how many matrices there were."""
    known = Spectral(rng, positive=name != "expm")
    X = draws.same_laid_out(rng, known.X)
    if name == "logm":
        known.confirm(name, geometry.logm(X), np.log, lambda x: 1.0 / x)
    elif name == "expm":
        known.confirm(name, geometry.expm(X), np.exp, np.exp)
    else:
        p = {"sqrtm": 0.5, "invsqrtm": -0.5}.get(name, float(rng.choice([-1.0, 0.3, 2.0, -0.7])))
        found = geometry.powm(X, p) if name == "powm" else getattr(geometry, name)(X)
        known.confirm(name, found, lambda x: x**p, lambda x: p * x ** (p - 1.0))
    return len(X)


class Congruent:
    """Pairs A = T diag(a) Tᴴ, B = T diag(b) Tᴴ, and tangent vectors T S Tᴴ."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.kind = draws.dtype(rng)
        single = np.finfo(self.kind).eps > 1e-10
        m, n = int(rng.integers(1, 5)), int(rng.integers(1, 5))
        T = np.eye(n) + np.tril(rng.integers(-1, 2, (n, n)), -1)
        if self.kind.kind == "c":
            T = T + 1j * np.tril(rng.integers(-1, 2, (n, n)), -1)
        units = 2.0 ** rng.integers(-3, 4, n) if single else 2.0 ** rng.integers(-30, 31, n)
        self.T = (units[:, None] * T).astype(np.result_type(self.kind, np.longdouble))
        spread = 2 if single else 8
        self.a, self.b = 2.0 ** rng.integers(-spread, spread + 1, (2, m, n)).astype(np.longdouble)
        # T, its columns divided by units, shows how much of a result rounding may change.
        self.condition = float(np.linalg.cond(T) ** 2)
        S = rng.integers(-3, 4, (2, m, n, n)).astype(self.T.dtype)
        S = S + S.conj().swapaxes(-1, -2)
        self.S, self.R = S * np.sqrt(self.a[:, :, None] * self.a[:, None, :])
        self.A, self.B = self.of(diagonals(self.a)), self.of(diagonals(self.b))
        self.V, self.W = self.of(self.S), self.of(self.R)

    def of(self, S: np.ndarray) -> np.ndarray:
        """Return T S Tᴴ."""
        return self.T @ S @ self.T.conj().T

    def given(self, rng: np.random.Generator, Z: np.ndarray) -> np.ndarray:
        """Return matrices in their type, in some layout."""
        return draws.same_laid_out(rng, Z.astype(self.kind))

    def confirm(self, name: str, found: np.ndarray, S: np.ndarray, sizes: np.ndarray) -> None:
        """Compare with T S Tᴴ in the units of T, where entries have these sizes, which errors follow."""
        units = np.abs(self.T).max(axis=1)
        expected = self.of(S)
        error = np.abs(found - expected) / (units[:, None] * units)
        allowed = _FACTOR * len(self.T) ** 2 * np.finfo(self.kind).eps * self.condition * sizes
        error = error.max(axis=(1, 2))
        expect(error <= allowed, f"{name} of {self.kind} is off by {np.max(error / allowed):.3g}")


def diagonals(values: np.ndarray) -> np.ndarray:
    """Return diagonal matrices."""
    return values[:, :, None] * np.eye(values.shape[1])


def spread(*values: np.ndarray) -> np.ndarray:
    """Return, for each row, the largest number times the greatest ratio of two numbers of one array."""
    ratios = [v.max(axis=1) / v.min(axis=1) for v in values]
    return np.max(ratios, axis=0) * np.max([v.max(axis=1) for v in values], axis=0)


def two_matrices(rng: np.random.Generator, name: str) -> int:
    """Geodesics, tangent vectors and their maps; return how many pairs there were."""
    known = Congruent(rng)
    A, B, V, W = (known.given(rng, Z) for Z in (known.A, known.B, known.V, known.W))
    a, b, S = known.a, known.b, known.S
    size = spread(a, b, b / a)
    if name in ("geodesic", "geometric_mean"):
        t = 0.5 if name == "geometric_mean" else float(rng.choice([0.0, 0.25, 0.5, 1.0, 1.5, -0.5]))
        found = geometry.geometric_mean(A, B) if name != "geodesic" else geometry.geodesic(A, B, t)
        points = a ** (1.0 - np.longdouble(t)) * b ** np.longdouble(t)
        known.confirm(name, found, diagonals(points), spread(points, a, b, b / a, a / b))
    elif name == "log_map":
        known.confirm(name, geometry.log_map(B, A), diagonals(a * np.log(b / a)), size)
    elif name == "exp_map":
        k = rng.integers(-3, 4, a.shape)
        found = geometry.exp_map(known.given(rng, known.of(diagonals(a * k))), A)
        points = a * np.exp(k.astype(np.longdouble))
        known.confirm(name, found, diagonals(points), spread(a, points, points / a))
    elif name == "parallel_transport":
        E = np.sqrt(b / a)
        moved = E[:, :, None] * S * E[:, None, :]
        sizes = size * np.abs(S).max(axis=(1, 2)) / a.min(axis=1) * (b / a).max(axis=1)
        known.confirm(name, geometry.parallel_transport(V, A, B), moved, sizes)
    else:
        white, other = (Z / np.sqrt(a[:, :, None] * a[:, None, :]) for Z in (S, known.R))
        if name == "norm":
            other, found = white, geometry.norm(V, A) ** 2
        else:
            found = geometry.inner_product(V, W, A)
        expected = (white * other.conj()).sum(axis=(1, 2)).real
        allowed = np.sqrt(
            (np.abs(white) ** 2).sum(axis=(1, 2)) * (np.abs(other) ** 2).sum(axis=(1, 2))
        )
        allowed *= _FACTOR * len(known.T) ** 2 * np.finfo(known.kind).eps * known.condition**2
        expect(np.abs(found - expected) <= allowed * spread(a) / a.min(axis=1), f"{name} is off")
    return len(A)


def repairs(rng: np.random.Generator, name: str) -> int:
    """Repairs and checks, of matrices that are not all positive definite."""
    known = Spectral(rng, positive=False)
    X, same = draws.same_laid_out(rng, known.X), known.X
    values, vectors = np.linalg.eigh(same.astype(np.result_type(known.kind, np.float64)))
    eps, n = np.finfo(known.kind).eps, X.shape[-1]
    largest = np.abs(values).max(axis=1, keepdims=True)
    if name in ("is_spd", "check_spd"):
        clear = np.abs(values[:, 0]) > 50.0 * n * eps * largest[:, 0]
        accepted = np.array([is_accepted(name, X[i : i + 1]) for i in range(len(X))])
        expect((accepted == (values[:, 0] > 0)) | ~clear, f"{name} is wrong: {values}")
        return int(clear.sum())
    if name == "nearest_spd":
        X, values, vectors = (Z[largest[:, 0] > 0] for Z in (X, values, vectors))
        if not len(X):
            return 0
        floor = max(1e-10, 4.0 * n * float(eps))
        lifted = np.maximum(values, floor * np.abs(values).max(axis=1, keepdims=True))
        found, expected = geometry.nearest_spd(X), draws.with_spectrum(vectors, lifted)
    else:
        share = float(rng.uniform(0.01, 1.0))
        means = np.einsum("mii->m", same).real[:, None, None] / n * np.eye(n)
        keep = 1.0 if name == "regularise" else 1.0 - share
        found, expected = getattr(geometry, name)(X, share), keep * same + share * means
    allowed = _FACTOR * n * eps * np.abs(expected).max(axis=(1, 2), keepdims=True)
    expect(np.abs(found - expected) <= allowed, f"{name} of {known.kind} is off")
    return len(X)


def is_accepted(name: str, X: np.ndarray) -> bool:
    """Return what is_spd says of one matrix, or whether check_spd takes it."""
    if name == "is_spd":
        return bool(geometry.is_spd(X)[0])
    try:
        geometry.check_spd(X)
    except ValueError:
        return False
    return True


def half_vectors(rng: np.random.Generator, name: str) -> int:
    """Half-vectors, entry by entry."""
    known = Spectral(rng)
    X, same = draws.same_laid_out(rng, known.X), known.X
    order, weighted = draws.pick(rng, ["lower", "upper", "diagonal"]), bool(rng.random() < 0.5)
    n, factor = X.shape[-1], np.sqrt(known.X.dtype.type(2.0).real) if weighted else 1.0
    if order == "lower":
        places = [(i, j) for i in range(n) for j in range(i + 1)]
    else:
        places = [(i, j) for i in range(n) for j in range(i, n)]
        if order == "diagonal":
            places.sort(key=lambda place: place[0] != place[1])
    v = np.stack([same[:, i, j] * (1.0 if i == j else factor) for i, j in places], axis=1)
    if name == "vech":
        found, expected = geometry.vech(X, order=order, weighted=weighted), v
    else:
        found, expected = geometry.unvech(v, order=order, weighted=weighted), same
    allowed = 4.0 * np.finfo(known.kind).eps * np.abs(expected)
    expect(np.abs(found - expected) <= allowed, f"{name} is wrong")
    return len(X)


#: What confirms each public function of the geometry.
CONFIRMED: dict[str, Callable[[np.random.Generator, str], int]] = {
    **dict.fromkeys(("logm", "expm", "sqrtm", "invsqrtm", "powm"), one_matrix),
    **dict.fromkeys(("geodesic", "geometric_mean", "log_map", "exp_map"), two_matrices),
    **dict.fromkeys(("parallel_transport", "inner_product", "norm"), two_matrices),
    **dict.fromkeys(("nearest_spd", "regularise", "shrink", "is_spd", "check_spd"), repairs),
    **dict.fromkeys(("vech", "unvech"), half_vectors),
}


def known_functions(rng: np.random.Generator) -> Counter[str]:
    """Public functions of the geometry, of every type and layout, where the result is known."""
    name = draws.pick(rng, list(CONFIRMED))
    return Counter(oracle=CONFIRMED[name](rng, name))
