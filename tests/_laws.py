"""Cases for the laws of divergences: pairs of matrices of any condition, grading and scale, real and complex."""

from __future__ import annotations

import mpmath
import numpy as np

from _divergence_oracles import exact_derivative, exact_value
from spdatoms.divergences import Divergence, get_divergence
from spdatoms.divergences.hermitian import over
from spdatoms.divergences.registry import divergence_classes

NAMES = [cls.name for cls in divergence_classes()]
EPS = float(np.finfo(np.float64).eps)
#: How many times the change that rounding of the input makes a result may be wrong by, and relative to itself.
ROUNDINGS, RELATIVE = 100.0, 1e-12


def divergence_of(name: str, X: np.ndarray) -> Divergence:
    return over(get_divergence(name), X)


def hermitian(rng: np.random.Generator, n: int, complex_: bool) -> np.ndarray:
    """Return a random symmetric or Hermitian matrix."""
    G = rng.standard_normal((n, n)) + (1j * rng.standard_normal((n, n)) if complex_ else 0.0)
    return G + G.conj().T


def by_eigenvalues(rng: np.random.Generator, eigenvalues: np.ndarray, complex_: bool) -> np.ndarray:
    """Return a matrix that has these eigenvalues, but for rounding, and random eigenvectors."""
    U = np.linalg.eigh(hermitian(rng, len(eigenvalues), complex_))[1]
    return symmetric((U * eigenvalues) @ U.conj().T)


def graded(rng: np.random.Generator, condition: float, n: int, complex_: bool) -> np.ndarray:
    """Return a matrix whose variables are in so different units."""
    units = np.sqrt(condition ** rng.permutation(np.linspace(-0.5, 0.5, n)))
    C = by_eigenvalues(rng, np.linspace(1.0, 4.0, n), complex_)
    return symmetric(units[:, None] * C * units)


def symmetric(X: np.ndarray) -> np.ndarray:
    return 0.5 * X + 0.5 * X.conj().T


def pair(kind: str, complex_: bool, n: int = 3, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return two matrices of one of the `KINDS`."""
    rng = np.random.default_rng([seed, n, complex_])
    what, _, number = kind.partition(" ")
    if what == "equal":  # eigenvalues of A nearly equal
        A = by_eigenvalues(rng, 1.0 + float(number) * rng.uniform(-1, 1, n), complex_)
        return A, by_eigenvalues(rng, np.linspace(0.5, 3.0, n), complex_)
    condition = float(number)
    if what == "graded":
        return graded(rng, condition, n, complex_), graded(rng, condition, n, complex_)
    spectrum = condition ** np.linspace(-0.5, 0.5, n)
    A, B = (by_eigenvalues(rng, spectrum, complex_) for _ in range(2))
    return A, 1.5 * B


KINDS = [
    "condition 1e1",
    "condition 1e6",
    "condition 1e10",
    "condition 1e14",
    "graded 1e14",
    "equal 0",
    "equal 1e-9",
]


def roundings(A: np.ndarray, count: int = 2) -> list[np.ndarray]:
    """Return A with all entries moved by half a unit of the last place: it might as well be one of these."""
    rng = np.random.default_rng(1)
    signs = [np.sign(hermitian(rng, len(A), False)) for _ in range(count)]
    return [A * (1.0 + 0.5 * EPS * S) for S in signs]


def value_bound(name: str, A: np.ndarray, B: np.ndarray) -> tuple[mpmath.mpf, mpmath.mpf]:
    """Return d(A, B), and how wrong a computation with rounded numbers may be about it."""
    exact = exact_value(name, A, B, 30)
    moved = zip(roundings(A), roundings(B)[::-1], strict=True)
    change = max(abs(exact_value(name, C, D, 30) - exact) for C, D in moved)
    return exact, ROUNDINGS * change + RELATIVE * exact


def slope_bound(
    name: str, A: np.ndarray, B: np.ndarray, H: np.ndarray
) -> tuple[mpmath.mpf, mpmath.mpf]:
    """Return the derivative of d(A, B) along H, and what of it depends on the rounding of A and B."""
    exact = exact_derivative(name, A, B, H, 30)
    (C,), (D,) = roundings(A, 1), roundings(B, 1)
    return exact, ROUNDINGS * abs(exact_derivative(name, C, D, H, 30) - exact)


def along(A: np.ndarray, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return a factor L of A = L Lᴴ, and a direction L S Lᴴ, which changes all of A by as much as there is of it."""
    rng = np.random.default_rng(seed)
    L = np.linalg.cholesky(A)
    S = hermitian(rng, len(A), np.iscomplexobj(A))
    return L, symmetric(L @ (S / np.linalg.norm(S)) @ L.conj().T)
