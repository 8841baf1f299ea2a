"""Everything beside all pairs and codes that a user would otherwise call elsewhere: ours ÷ best peer.

    python benchmarks/peers.py [--only paired functions means large] [--json FILE]

Peers are pyRiemann, NumPy and, for few large matrices, torch. All have one thread and take turns in one process. The
least processor time of several runs counts. Ours check their input, theirs do not. The check of Euclidean distances,
means and medians takes longer than the work: for these, neither side checks, and rows that say "checked" are the
default. The exit status is 1 if another cell is below one, that is, if a peer is faster with equal work. The file is
what the plot of the page on performance is drawn from.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import sklearn
from _timing import best_times, machine
from numpy.typing import NDArray
from pyriemann.geometry import base, distance, geodesic, mean, median, tangentspace
from threadpoolctl import threadpool_limits

import spdatoms
from spdatoms import geometry

Floats = NDArray[np.float64]
Cell = tuple[str, int, dict[str, Callable[[], Any]]]

#: Our metrics and pyRiemann's.
METRICS = {
    "stein": "logdet",
    "jeffrey": "kullback_sym",
    "burg": "kullback",
    "riemann": "riemann",
    "logeuclid": "logeuclid",
    "euclid": "euclid",
    "logchol": "logchol",
    "chol": "chol",
    "wasserstein": "wasserstein",
    "harmonic": "harmonic",
    "poweuclid": "poweuclid",
    "thompson": "thompson",
}
#: A metric whose check takes longer than the work, and what the names of rows end with where it is done.
EUCLID, CHECKED = "euclid", ", checked"
SIZES = (3, 8, 22, 64, 128, 256, 512)


def count(n: int) -> int:
    """Return how many matrices of a size are taken: some milliseconds of work."""
    return int(np.clip(40_000 // n**1.5, 4, 4000))


def spd(m: int, n: int, seed: int = 0, *, complex_: bool = False) -> NDArray[Any]:
    """Return covariances of 3n Gaussian samples."""
    rng = np.random.default_rng([m, n, seed])
    G = rng.standard_normal((m, n, 3 * n))
    if complex_:
        G = G + 1j * rng.standard_normal(G.shape)
    return G @ G.conj().swapaxes(1, 2) / (3 * n)


def paired(sizes: tuple[int, ...]) -> Iterator[Cell]:
    """Divergences of pairs."""
    for n in sizes:
        for complex_ in (False, True):
            if complex_ and n > 64:
                continue
            X, Y = (spd(count(n), n, seed, complex_=complex_) for seed in (0, 1))
            for ours, theirs in METRICS.items():
                peer = getattr(distance, f"distance_{theirs}", None)
                if peer is None:
                    continue
                extra = {"p": 0.5} if ours == "poweuclid" else {}
                yield (
                    f"divergence {ours}" + " complex" * complex_,
                    n,
                    {
                        "ours": partial(spdatoms.divergence, X, Y, ours),
                        "pyRiemann": partial(peer, X, Y, **extra),
                    },
                )


def _by_eigenvalues(X: Floats, function: Callable[[Floats], Floats]) -> Floats:
    values, U = np.linalg.eigh(X)
    return np.asarray((U * function(values)[:, None, :]) @ U.swapaxes(1, 2))


def functions(sizes: tuple[int, ...]) -> Iterator[Cell]:
    """Functions of matrices, and maps."""
    one_argument: dict[str, tuple[Any, Any, Callable[[Floats], Floats]]] = {
        "logm": (geometry.logm, base.logm, np.log),
        "expm": (geometry.expm, base.expm, np.exp),
        "sqrtm": (geometry.sqrtm, base.sqrtm, np.sqrt),
        "invsqrtm": (geometry.invsqrtm, base.invsqrtm, lambda x: 1.0 / np.sqrt(x)),
    }
    for n in sizes:
        X, Y = spd(count(n), n), spd(count(n), n, 1)
        P = spd(1, n, 2)[0]
        S, V = geometry.logm(X), geometry.log_map(X, P)
        for name, (ours, theirs, function) in one_argument.items():
            Z = S if name == "expm" else X
            yield (
                name,
                n,
                {
                    "ours": partial(ours, Z),
                    "pyRiemann": partial(theirs, Z),
                    "NumPy": partial(_by_eigenvalues, Z, function),
                },
            )
        maps: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {
            "powm": (partial(geometry.powm, X, 0.3), partial(base.powm, X, 0.3)),
            "log_map": (
                partial(geometry.log_map, X, P),
                partial(tangentspace.log_map_riemann, X, P, C12=True),
            ),
            "exp_map": (
                partial(geometry.exp_map, V, P),
                partial(tangentspace.exp_map_riemann, V, P, Cm12=True),
            ),
            "geodesic": (
                partial(geometry.geodesic, X, Y, 0.3),
                partial(geodesic.geodesic_riemann, X, Y, 0.3),
            ),
            "transport": (
                partial(geometry.parallel_transport, V, P, Y[0]),
                partial(tangentspace.transport, V, P, Y[0], metric="riemann"),
            ),
        }
        for name, (own, other) in maps.items():
            yield name, n, {"ours": own, "pyRiemann": other}


def means(sizes: tuple[int, ...]) -> Iterator[Cell]:
    """Means and medians; both end where the Frobenius norm of a whitened step, ours times √n, is below a tolerance."""
    for n in sizes:
        if n > 256:
            continue
        X = spd(max(10, min(200, 20_000 // n)), n)
        for ours, theirs in METRICS.items():
            peer = getattr(mean, f"mean_{theirs}", None)
            if peer is None or ours in ("burg", "thompson"):
                continue
            extra = {"p": 0.5} if ours == "poweuclid" else {}
            tol = {"tol": 1e-8} if ours in ("stein", "riemann", "wasserstein") else {}
            yield (
                f"mean {ours}",
                n,
                {
                    "ours": partial(spdatoms.mean, X, ours, tol=1e-8 / n**0.5),
                    "pyRiemann": partial(peer, X, **extra, **tol),
                },
            )
        for ours, peer in (("riemann", median.median_riemann), ("euclid", median.median_euclid)):
            yield (
                f"median {ours}",
                n,
                {
                    "ours": partial(spdatoms.median, X, ours, tol=1e-6 / n**0.5),
                    "pyRiemann": partial(peer, X, tol=1e-6, maxiter=500),
                },
            )


def _torch_stein(X: Floats) -> Any:
    """Stein's divergence of all pairs of a set by batched Cholesky factors of torch."""
    import torch

    def logdet(A: Any) -> Any:
        return 2.0 * torch.linalg.cholesky(A).diagonal(dim1=-2, dim2=-1).log().sum(-1)

    Z = torch.from_numpy(X)
    i, j = torch.triu_indices(len(X), len(X), 1)
    own = logdet(Z)
    return logdet((Z[i] + Z[j]) / 2) - (own[i] + own[j]) / 2


def large(sizes: tuple[int, ...]) -> Iterator[Cell]:
    """All pairs of few large matrices."""
    for n in (n for n in sizes if n >= 128):
        for m in (4, 8):
            X = spd(m, n)
            peers: dict[str, dict[str, Callable[[], Any]]] = {
                "stein": {"torch": partial(_torch_stein, X)},
                "riemann": {},
                "logeuclid": {},
            }
            for ours, others in peers.items():
                theirs = partial(distance.pairwise_distance, X, metric=METRICS[ours])
                own = partial(spdatoms.pairwise_divergence, X, metric=ours)
                yield f"all pairs of {m}, {ours}", n, {"ours": own, "pyRiemann": theirs, **others}


def trusted(name: str) -> bool:
    """Return whether the matrices of a row are not checked."""
    return EUCLID in name.split() and not name.endswith(CHECKED)


def with_checked(cells: Iterator[Cell]) -> Iterator[Cell]:
    """Add a row with the check for every one without it."""
    for name, n, methods in cells:
        yield name, n, methods
        if trusted(name):
            yield name + CHECKED, n, methods


GROUPS = {"paired": paired, "functions": functions, "means": means, "large": large}


def _write(path: Path, ratios: dict[str, dict[int, float]]) -> None:
    """Write the table to a file; cells that it has of other runs stay."""
    found = json.loads(path.read_text())["ratios"] if path.exists() else {}
    for row, cells in ratios.items():
        found.setdefault(row, {}).update({str(n): value for n, value in cells.items()})
    path.write_text(json.dumps({"machine": machine(), "ratios": found}, indent=2) + "\n")


def main() -> int:
    """Measure, print the table, and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--only", nargs="+", choices=list(GROUPS), default=list(GROUPS))
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--repeats", type=int, default=5, help="runs of which the best counts")
    parser.add_argument("--json", type=Path, help="write the cells to this file; others of it stay")
    options = parser.parse_args()
    ratios: dict[str, dict[int, float]] = {}
    if "large" in options.only:
        import torch

        torch.set_num_threads(1)
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for group in options.only:
            for name, n, methods in with_checked(GROUPS[group](tuple(options.sizes))):
                with sklearn.config_context(assume_finite=trusted(name)):
                    times = best_times(methods, options.repeats, time.process_time)
                ours = times.pop("ours")
                ratios.setdefault(name, {})[n] = min(times.values()) / ours
    width = max(map(len, ratios))
    print("ours ÷ best peer".ljust(width), *(f"{n:>7}" for n in options.sizes))
    for name, row in ratios.items():
        cells = (f"{row[n]:7.2f}" if n in row else "      ·" for n in options.sizes)
        print(name.ljust(width), *cells)
    below = [
        f"{name} {n}"
        for name, row in ratios.items()
        for n, ratio in row.items()
        if ratio < 1.0 and not name.endswith(CHECKED)
    ]
    print(f"{len(below)} cells below one: {', '.join(below)}" if below else "no cell is below one")
    if options.json:
        _write(options.json, ratios)
    return int(bool(below))


if __name__ == "__main__":
    sys.exit(main())
