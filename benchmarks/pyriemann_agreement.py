"""Run pyRiemann's public functions against ours, and print how many values agree.

The grid is real and complex matrices, several sizes and counts, with and without weights, and all metrics that both
libraries define. ``python benchmarks/pyriemann_agreement.py`` needs pyRiemann; it takes a few seconds.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pyriemann.geometry.base as functions
import pyriemann.geometry.distance as distances
import pyriemann.geometry.geodesic as geodesics
import pyriemann.geometry.mean as means
import pyriemann.geometry.median as medians
import pyriemann.geometry.tangentspace as tangents

from spdatoms import divergence, geometry, mean, median, pairwise_divergence
from spdatoms.divergences import PowerEuclidean


def same(value: Any) -> Any:
    """Return the value as it is."""
    return value


def twice(value: Any) -> Any:
    """Return two times the value."""
    return 2.0 * value


#: Our name of a metric, and our value as a function of pyRiemann's distance.
DISTANCES: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "riemann": ("riemann", np.square),
    "logeuclid": ("logeuclid", np.square),
    "euclid": ("euclid", np.square),
    "logdet": ("stein", np.square),
    "kullback_sym": ("jeffrey", same),
    "kullback": ("burg", twice),
    "logchol": ("logchol", np.square),
    "chol": ("chol", np.square),
    "wasserstein": ("wasserstein", np.square),
    "harmonic": ("harmonic", np.square),
    "thompson": ("thompson", np.square),
}
MEANS = [name for name in DISTANCES if name not in ("kullback", "thompson")]
ITERATIVE = ("riemann", "logdet", "wasserstein")
FUNCTIONS = ("expm", "logm", "sqrtm", "invsqrtm")
TOLERANCE = 1e-6

#: The name, pyRiemann's function, ours, and what becomes of pyRiemann's result on our scale.
Case = tuple[str, Callable[[], Any], Callable[[], Any], Callable[[Any], Any]]


def matrices(m: int, n: int, complex_: bool, seed: int) -> Any:
    """Return m covariances of size n."""
    rng = np.random.default_rng(seed)
    G = rng.standard_normal((m, n, 3 * n)).astype(complex if complex_ else float)
    if complex_:
        G += 1j * rng.standard_normal(G.shape)
    X = G @ G.conj().swapaxes(1, 2) / (3 * n)
    return 0.5 * (X + X.conj().swapaxes(1, 2))


def each(function: Callable[..., Any], X: Any, Y: Any, *args: Any) -> Any:
    """Return the function of every pair of matrices that belong together."""
    return np.array([function(a, b, *args) for a, b in zip(X, Y, strict=True)])


def cases(m: int, n: int, complex_: bool) -> Iterator[Case]:
    """Yield all functions that both libraries have, on some matrices."""
    X, Y = matrices(m, n, complex_, 0), matrices(m, n, complex_, 1)
    for name, (ours, scale) in DISTANCES.items():
        pairs = partial(distances.pairwise_distance, X, Y, metric=name)
        yield f"pairwise {name}", pairs, partial(pairwise_divergence, X, Y, ours), scale
        single = partial(each, getattr(distances, f"distance_{name}"), X, Y)
        yield f"distance {name}", single, partial(divergence, X, Y, ours), scale
    power = partial(each, distances.distance_poweuclid, X, Y, 0.3)
    yield "distance poweuclid", power, partial(divergence, X, Y, PowerEuclidean(0.3)), np.square
    for name, weights in product(MEANS, (None, np.linspace(0.5, 2.0, m))):
        options: dict[str, Any] = {"tol": 1e-12, "maxiter": 1000} if name in ITERATIVE else {}
        theirs = partial(means.gmean, X, metric=name, sample_weight=weights, **options)
        yield f"mean {name}", theirs, partial(mean, X, DISTANCES[name][0], weights), same
    for weights in (None, np.linspace(0.5, 2.0, m)):
        theirs = partial(means.mean_poweuclid, X, 0.3, sample_weight=weights)
        yield "mean poweuclid", theirs, partial(mean, X, PowerEuclidean(0.3), weights), same
    grid = np.stack([X, Y])
    for name, Z in product(FUNCTIONS, (X, grid)):
        yield name, partial(getattr(functions, name), Z), partial(getattr(geometry, name), Z), same
    yield "powm", partial(functions.powm, X, 0.3), partial(geometry.powm, X, 0.3), same
    backwards = partial(each, distances.distance_kullback_right, X, Y)
    yield "distance kullback_right", backwards, partial(divergence, Y, X, "burg"), twice
    yield (
        "leading dimensions",
        partial(distances.distance_riemann, grid, Y),
        partial(divergence, grid, Y, "riemann"),
        np.square,
    )
    for t in (0.0, 0.3, 1.0):
        theirs = partial(geodesics.geodesic_riemann, X, Y, t)
        yield "geodesic", theirs, partial(geometry.geodesic, X, Y, t), same
    yield from median_cases(X)
    yield from tangent_cases(X[0], Y[0], Y)


def median_cases(X: Any) -> Iterator[Case]:
    """Yield medians, where they are unique: of more than two matrices."""
    if len(X) < 3:
        return
    for name, weights in product(("riemann", "euclid"), (None, np.linspace(0.5, 2.0, len(X)))):
        theirs = partial(
            getattr(medians, f"median_{name}"), X, weights=weights, tol=1e-12, maxiter=2000
        )
        yield f"median {name}", theirs, partial(median, X, name, weights), same


def tangent_cases(P: Any, Q: Any, Y: Any) -> Iterator[Case]:
    """Yield the functions of tangent vectors at P, which point to Y."""
    V = geometry.log_map(Y, P)
    # pyRiemann leaves out the factors P^½ unless it is asked for them.
    theirs = partial(tangents.log_map_riemann, Y, P, C12=True)
    yield "log map", theirs, partial(geometry.log_map, Y, P), same
    theirs = partial(tangents.exp_map_riemann, V, P, Cm12=True)
    yield "exp map", theirs, partial(geometry.exp_map, V, P), same
    theirs = partial(tangents.innerproduct_riemann, V, V, P)
    yield "inner product", theirs, partial(geometry.inner_product, V, V, P), same
    yield "norm", partial(tangents.norm, V, P), partial(geometry.norm, V, P), same
    theirs = partial(tangents.transport_riemann, V, P, Q)
    yield "transport", theirs, partial(geometry.parallel_transport, V, P, Q), same


def agrees(expected: Any, found: Any) -> bool:
    """Return whether both are the same numbers."""
    expected, found = np.asarray(expected), np.asarray(found)
    if found.shape != expected.shape:
        return False
    return bool(np.abs(found - expected).max() <= TOLERANCE * np.abs(expected).max())


def main() -> int:
    """Print how many agree, and which do not."""
    agreed, differing, refused = 0, [], []
    for complex_, n, m in product((False, True), (1, 2, 5), (2, 7)):
        for name, theirs, ours, scale in cases(m, n, complex_):
            case = f"{name}: {m} {'complex' if complex_ else 'real'} {n}×{n} matrices"
            try:
                expected = scale(theirs())
            except (ValueError, TypeError):
                refused.append(case)
                continue
            if agrees(expected, ours()):
                agreed += 1
            else:
                differing.append(case)
    print(f"{agreed} of {agreed + len(differing)} agree to {TOLERANCE:g}")
    print(f"{len(refused)} are refused by pyRiemann", *refused, sep="\n  ")
    print(*(f"differs: {case}" for case in differing), sep="\n")
    return int(bool(differing))


if __name__ == "__main__":
    sys.exit(main())
