"""Speed of the kernel Lasso against SPAMS, LARS, coordinate descent and QP solvers, one thread.

    python benchmarks/coding.py --json coding.json

Queries per second of processor time on a Stein kernel of 12×12 Wishart matrices from ten classes. SPAMS is given the
Gram matrix (Q, q), a full-rank X and L=-1, since it caps the support otherwise; its objective has a
½, so its penalty is α/2. skglm (Anderson-accelerated coordinate descent) gets a root of the Gram
matrix. OSQP and Clarabel solve min yᵀKy − 2yᵀk + αΣt over −t ≤ y ≤ t; OSQP keeps its factorisation from
query to query. They and scikit-learn's LARS get few queries, they are slow, and the QP solvers no
more than 512 atoms. Kernel values, roots and transposed copies are made beforehand, spdatoms leaves out
the check of its Gram matrix as the others do, and the largest violation of the optimality
conditions, in gradient units, is shown for each.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import clarabel
import numpy as np
import osqp
import scipy.sparse
import spams
from _timing import best_times, first_calls, machine
from numpy.typing import NDArray
from skglm.datafits import Quadratic
from skglm.penalties import L1
from skglm.solvers import AndersonCD
from sklearn.linear_model import lars_path_gram
from threadpoolctl import threadpool_limits

from spdatoms import pairwise_divergence, sparse_code

Floats = NDArray[np.float64]

SIZES = (128, 512, 2000)
ALPHAS = (0.1, 0.01, 0.001)
PEERS = ("spams", "lars", "skglm", "osqp", "clarabel")
MOST_ATOMS_OF_QP = 512
RIDGE = 0.01  # of collaborative representation
BETA = 0.5  # of the set for which the Stein kernel is positive definite on all data
N_CLASSES, DIMENSION, DEGREES_OF_FREEDOM, SPREAD = 10, 12, 60, 0.9


@dataclass(frozen=True)
class Cell:
    """One row of the table; rates are queries per second."""

    n_atoms: int
    alpha: float
    nonzeros: float
    rates: dict[str, float]
    violations: dict[str, float]

    def ratio(self, peer: str) -> float:
        return self.rates["spdatoms"] / self.rates.get(peer, math.nan)


def wishart_classes(rng: np.random.Generator, n_matrices: int) -> Floats:
    """Wishart matrices around N_CLASSES random centres."""
    shape = (N_CLASSES, DIMENSION, DIMENSION)
    logarithms = rng.standard_normal(shape) * SPREAD / math.sqrt(DIMENSION)
    values, vectors = np.linalg.eigh((logarithms + logarithms.transpose(0, 2, 1)) / 2)
    roots = (vectors * np.exp(values)[:, None]) @ vectors.transpose(0, 2, 1)
    labels = rng.integers(N_CLASSES, size=n_matrices)
    samples = roots[labels] @ rng.standard_normal((n_matrices, DIMENSION, DEGREES_OF_FREEDOM))
    matrices: Floats = samples @ samples.transpose(0, 2, 1) / DEGREES_OF_FREEDOM
    return matrices


def stein_problem(n_atoms: int, n_queries: int) -> tuple[Floats, Floats]:
    """Gram matrix of the atoms and cross values of the queries."""
    matrices = wishart_classes(np.random.default_rng(0), n_atoms + n_queries)
    atoms, queries = matrices[:n_atoms], matrices[n_atoms:]
    gram = np.exp(-BETA * pairwise_divergence(atoms, metric="stein"))
    return (gram + gram.T) / 2, np.exp(-BETA * pairwise_divergence(queries, atoms, metric="stein"))


def spams_coder(gram: Floats, cross: Floats, alpha: float) -> Callable[[], Any]:
    """SPAMS's LARS, for all queries at once."""
    Q, q = np.asfortranarray(gram), np.asfortranarray(cross.T)
    X = np.asfortranarray(np.random.default_rng(0).standard_normal(q.shape))

    def code() -> Any:
        return spams.lasso(X, Q=Q, q=q, lambda1=alpha / 2, L=-1, mode=2, numThreads=1)

    return code


def lars_coder(gram: Floats, cross: Floats, alpha: float) -> Callable[[], Floats]:
    """scikit-learn's LARS, query by query."""

    def code() -> Floats:
        paths = [
            lars_path_gram(
                k, gram, n_samples=1, alpha_min=alpha / 2, max_iter=5 * len(gram), method="lasso"
            )
            for k in cross
        ]
        return np.array([coefficients[:, -1] for _, _, coefficients in paths])

    return code


def skglm_coder(gram: Floats, cross: Floats, alpha: float) -> Callable[[], Floats]:
    """Coordinate descent of skglm on vectors with this Gram matrix, query by query."""
    n_atoms = len(gram)
    root = np.linalg.cholesky(gram)
    X, targets = np.asfortranarray(root.T), np.linalg.solve(root, cross.T).T.copy()
    # Its objective is ‖·‖²/2N + a‖y‖₁, and its tolerance is in units of that gradient.
    solver = AndersonCD(max_iter=1000, max_epochs=100_000, tol=5e-10 / n_atoms, fit_intercept=False)
    datafit, penalty = Quadratic(), L1(alpha / (2 * n_atoms))

    def code() -> Floats:
        return np.array([solver.solve(X, target, datafit, penalty)[0] for target in targets])

    return code


def epigraph(gram: Floats, alpha: float) -> tuple[Any, Any, Floats]:
    """P, A and the last half of q of ½zᵀPz + qᵀz over Az ≤ 0, where z = (y, t) and |y| ≤ t."""
    n_atoms = len(gram)
    P = scipy.sparse.block_diag(
        [scipy.sparse.csc_matrix(np.triu(2 * gram)), scipy.sparse.csc_matrix((n_atoms, n_atoms))],
        format="csc",
    )
    eye = scipy.sparse.eye(n_atoms)
    A = scipy.sparse.bmat([[eye, -eye], [-eye, -eye]], format="csc")
    return P, A, np.full(n_atoms, alpha)


def without_dust(code: Floats) -> Floats:
    """What a QP solver leaves of a zero is not held against it."""
    return np.where(np.abs(code) > 1e-7 * np.abs(code).max(), code, 0.0)


def osqp_coder(gram: Floats, cross: Floats, alpha: float) -> Callable[[], Floats]:
    """OSQP, query by query, with one factorisation."""
    P, A, last = epigraph(gram, alpha)
    upper, lower = np.zeros(A.shape[0]), np.full(A.shape[0], -np.inf)
    solver = osqp.OSQP()
    solver.setup(
        P, np.r_[-2 * cross[0], last], A, lower, upper, eps_abs=1e-9, eps_rel=1e-9,
        max_iter=200_000, polishing=True, verbose=False,
    )  # fmt: skip

    def code() -> Floats:
        codes = []
        for k in cross:
            solver.update(q=np.r_[-2 * k, last])
            codes.append(without_dust(solver.solve().x[: len(gram)]))
        return np.array(codes)

    return code


def clarabel_coder(gram: Floats, cross: Floats, alpha: float) -> Callable[[], Floats]:
    """Clarabel, query by query."""
    P, A, last = epigraph(gram, alpha)
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.max_threads = 1
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-10
    cones = [clarabel.NonnegativeConeT(A.shape[0])]

    def code() -> Floats:
        codes = []
        for k in cross:
            solver = clarabel.DefaultSolver(
                P, np.r_[-2 * k, last], A, np.zeros(A.shape[0]), cones, settings
            )
            codes.append(without_dust(np.array(solver.solve().x[: len(gram)])))
        return np.array(codes)

    return code


def violation(gram: Floats, cross: Floats, alpha: float, codes: Floats) -> float:
    """Largest violation of the optimality conditions."""
    gradient = 2 * (codes @ gram - cross)
    used = np.abs(gradient + alpha * np.sign(codes))
    return float(np.where(codes != 0, used, np.maximum(np.abs(gradient) - alpha, 0)).max())


def queries_for(n_atoms: int, alpha: float) -> tuple[int, int]:
    """How many queries SPAMS and the slow ones can code in a second or two."""
    work = n_atoms * (0.1 / alpha) ** 0.7
    return int(np.clip(4e5 / work, 32, 1000)), int(np.clip(4e3 / work, 1, 16))


def measure(n_atoms: int, alpha: float, gram: Floats, cross: Floats, repeats: int) -> Cell:
    n_queries, n_few = queries_for(n_atoms, alpha)
    some, few = cross[:n_queries], cross[:n_few]
    coders: dict[str, Callable[[], Any]] = {
        "spdatoms": lambda: sparse_code(gram, some, alpha, check_gram=False),
        "spams": spams_coder(gram, some, alpha),
        "lars": lars_coder(gram, few, alpha),
        "skglm": skglm_coder(gram, few, alpha),
    }
    if n_atoms <= MOST_ATOMS_OF_QP:
        coders["osqp"] = osqp_coder(gram, few[:2], alpha)
        coders["clarabel"] = clarabel_coder(gram, few[:2], alpha)
    answers = {name: code() for name, code in coders.items()}
    answers["spams"] = answers["spams"].toarray().T
    codes = answers["spdatoms"]
    counts = {name: len(answer) for name, answer in answers.items()}
    slow = ("lars", "skglm", "osqp", "clarabel")
    clock = time.process_time
    times = best_times({name: coders[name] for name in coders if name not in slow}, repeats, clock)
    times |= best_times({name: coders[name] for name in coders if name in slow}, 1, clock)
    return Cell(
        n_atoms=n_atoms,
        alpha=alpha,
        nonzeros=float((codes != 0).sum(axis=1).mean()),
        rates={name: counts[name] / seconds for name, seconds in times.items()},
        violations={
            name: violation(gram, cross[: counts[name]], alpha, answer)
            for name, answer in answers.items()
        },
    )


def solver_table(sizes: tuple[int, ...], repeats: int) -> list[Cell]:
    """Measure and print the cells, row by row."""
    print(
        "  atoms  alpha  non-zeros   spdatoms      SPAMS       LARS      skglm       OSQP   Clarabel"
        "   /SPAMS    /LARS   /skglm    /OSQP /Clarabel   violation"
    )
    cells = []
    for n_atoms in sizes:
        gram, cross = stein_problem(n_atoms, 1000)
        for alpha in ALPHAS:
            cell = measure(n_atoms, alpha, gram, cross, repeats)
            cells.append(cell)
            rates = "".join(
                f"{cell.rates.get(name, math.nan):11,.{0 if name == 'spdatoms' else 1}f}"
                for name in ("spdatoms", *PEERS)
            )
            ratios = "".join(f"{cell.ratio(peer):9.{peer == 'spams':d}f}" for peer in PEERS)
            print(
                f"{n_atoms:7d} {alpha:6g} {cell.nonzeros:10.0f} {rates}{ratios}    "
                + " ".join(f"{v:.0e}" for v in cell.violations.values()),
                flush=True,
            )
    for peer in PEERS:
        print(f"geometric mean over {peer}: {geometric_mean(cells, peer):.1f}")
    return cells


def collaborative_table(sizes: tuple[int, ...], repeats: int) -> list[dict[str, float]]:
    """Measure and print collaborative representation (α = 0, a ridge) against feature-sign search.

    The search gets a penalty that is hardly there, so that the answer is the same, and few queries.
    """
    print("  atoms      direct      search    ratio   difference")
    rows, alphas = [], {"direct": 0.0, "search": 1e-12}
    for n_atoms in sizes:
        gram, cross = stein_problem(n_atoms, 1000)
        some = {"direct": cross, "search": cross[: max(2, 6400 // n_atoms)]}

        def coder(name: str, gram: Floats = gram, some: dict[str, Floats] = some) -> Any:
            return lambda: sparse_code(
                gram, some[name], alphas[name], ridge=RIDGE, check_gram=False
            )

        coders = {name: coder(name) for name in some}
        codes = {name: code() for name, code in coders.items()}
        difference = np.abs(codes["direct"][: len(codes["search"])] - codes["search"]).max()
        times = best_times(coders, repeats)
        rates = {name: len(some[name]) / times[name] for name in some}
        rows.append({"n_atoms": n_atoms, **rates})
        print(
            f"{n_atoms:7d} {rates['direct']:11,.0f} {rates['search']:11,.1f} "
            f"{rates['direct'] / rates['search']:8.0f}   {difference:.0e}",
            flush=True,
        )
    return rows


FIRST_CALL = """
import time
import numpy as np
from spdatoms import sparse_code
start = time.perf_counter()
sparse_code(np.eye(5), np.eye(5), 0.1)
print(time.perf_counter() - start)
"""


def start_up() -> dict[str, float]:
    """Measure and print the first call of the solver in a new process."""
    (seconds,) = first_calls(FIRST_CALL, repeats=3)
    print(f"first call: {1e3 * seconds:.1f} ms")
    return {"seconds": seconds}


def geometric_mean(cells: list[Cell], peer: str) -> float:
    """Over the cells that the peer was measured in."""
    ratios = [cell.ratio(peer) for cell in cells if peer in cell.rates]
    return math.exp(sum(math.log(ratio) for ratio in ratios) / max(1, len(ratios)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=5, help="runs of which the best counts")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, help="numbers of atoms")
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    options = parser.parse_args()
    with threadpool_limits(1):
        cells = solver_table(tuple(options.sizes), options.repeats)
        collaborative = collaborative_table(tuple(options.sizes), options.repeats)
    first_call = start_up()
    if options.json:
        figures = {
            "machine": machine(),
            "first_call": first_call,
            "solver": [asdict(cell) for cell in cells],
            "collaborative": collaborative,
            "solver_geometric_mean": {p: geometric_mean(cells, p) for p in PEERS},
        }
        options.json.write_text(json.dumps(figures, indent=2))


if __name__ == "__main__":
    main()
