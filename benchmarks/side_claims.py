"""What the paper says in passing, measured: means, cost, a QP solver, updates of atoms, time against AIRM.

    python benchmarks/side_claims.py

Methods that are compared take turns, and the fastest of several runs counts. Prints a table in Markdown.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

import numpy as np
from _timing import best_times, machine

from spdatoms import (
    SPDDictionaryLearning,
    SPDSparseClassifier,
    mean,
    pairwise_divergence,
    sparse_code,
)
from spdatoms.baselines import riemannian_nearest_neighbour
from spdatoms.kernels import DivergenceKernel

_REPEATS = 5


def wishart(m: int, n: int, seed: int) -> np.ndarray:
    """Return covariances of 2n samples, in three classes with scales of their own."""
    rng = np.random.default_rng(seed)
    G = rng.standard_normal((m, n, 2 * n))
    G *= np.exp(0.7 * rng.standard_normal((3, n)))[np.arange(m) % 3, :, None]
    return G @ G.swapaxes(1, 2) / (2 * n)


def means() -> Iterator[tuple[str, str]]:
    """The mean of two matrices is the same under AIRM, S and J; that of more is not."""
    for count in (2, 10):
        X = wishart(count, 5, 0)
        centres = np.stack([mean(X, metric) for metric in ("riemann", "stein", "jeffrey")])
        apart = np.sqrt(pairwise_divergence(centres[:1], centres[1:], metric="riemann"))[0]
        spread = np.sqrt(
            np.median(pairwise_divergence(X, metric="riemann")[np.triu_indices(count, 1)])
        )
        stein, jeffrey = apart / spread
        yield (
            f"mean of {count} matrices, S and J from AIRM (share of their distance)",
            f"{stein:.1e}, {jeffrey:.1e}",
        )


def cost_in_atoms() -> Iterator[tuple[str, str]]:
    """The cost of a code is linear in the number N of atoms."""
    sizes = (250, 500, 1000, 2000)
    queries = wishart(100, 22, 1)
    kernels = {N: DivergenceKernel("stein").fit(wishart(N, 22, 2)) for N in sizes}
    cross = {N: kernel.cross(queries) for N, kernel in kernels.items()}
    of_kernel = best_times({str(N): _call(kernels[N].cross, queries) for N in sizes}, _REPEATS)
    of_code = best_times(
        {
            str(N): _call(sparse_code, kernels[N].gram_, cross[N], 0.01, check_gram=False)
            for N in sizes
        },
        _REPEATS,
    )
    for name, seconds in (("kernel values", of_kernel), ("codes", of_code)):
        slope = np.polyfit(np.log(sizes), np.log(list(seconds.values())), 1)[0]
        figures = ", ".join(f"{1e4 * s:.0f}" for s in seconds.values())
        yield (
            f"{name}, µs per query at N = 250, 500, 1000, 2000 (n = 22)",
            f"{figures}: N^{slope:.2f}",
        )


def against_qp_solvers() -> Iterator[tuple[str, str]]:
    """Feature-sign search is faster than a generic QP solver."""
    for N in (100, 400):
        kernel = DivergenceKernel("stein").fit(wishart(N, 12, 3))
        K, k = kernel.gram_, kernel.cross(wishart(8, 12, 4))
        solvers = {"feature-sign": _call(sparse_code, K, k, 0.01, check_gram=False)}
        solvers |= {name: _call(_by_qp, name, K, k, 0.01) for name in ("CLARABEL", "OSQP")}
        seconds = best_times(solvers, 2)
        values = {
            name: _objective(K, k, 0.01, np.asarray(solve())) for name, solve in solvers.items()
        }
        figures = ", ".join(f"{name} {1e6 * s / len(k):.0f} µs" for name, s in seconds.items())
        excess = max(values[name] - values["feature-sign"] for name in ("CLARABEL", "OSQP"))
        yield f"one code over {N} atoms", f"{figures}; objectives of QP at most {excess:.0e} above"


def _by_qp(solver: str, K: np.ndarray, k: np.ndarray, alpha: float) -> np.ndarray:
    """Return codes y = p − q by quadratic programming over p, q ≥ 0, the problem set up once."""
    cvxpy: Any = import_module("cvxpy")

    N = len(K)
    z, linear = cvxpy.Variable(2 * N, nonneg=True), cvxpy.Parameter(2 * N)
    # K + a rounding error, as a sum of squares of its factor.
    eigenvalues, U = np.linalg.eigh(K)
    root = np.sqrt(np.maximum(eigenvalues, 0.0))[:, None] * U.T
    loss = cvxpy.sum_squares(np.hstack([root, -root]) @ z) + linear @ z
    problem = cvxpy.Problem(cvxpy.Minimize(loss))
    codes = []
    for cross in k:
        linear.value = np.concatenate([-2 * cross, 2 * cross]) + alpha
        problem.solve(solver=solver)
        codes.append(z.value[:N] - z.value[N:])
    return np.array(codes)


def _objective(K: np.ndarray, k: np.ndarray, alpha: float, codes: np.ndarray) -> float:
    losses = np.einsum("ij,jk,ik->i", codes, K, codes) - 2 * (codes * k).sum(axis=1)
    return float((losses + alpha * np.abs(codes).sum(axis=1)).mean())


def updates_of_atoms() -> Iterator[tuple[str, str]]:
    """Closed-form updates are faster than gradient descent."""
    for metric in ("stein", "jeffrey"):
        lower, ratios = 0, []
        for seed in range(5):
            X = wishart(600, 5, 10 + seed)
            learners = {
                update: SPDDictionaryLearning(
                    16, metric, alpha=0.05, init=X[:16], max_iter=10, tol=0.0, update=update
                )
                for update in ("centre", "gradient")
            }
            seconds = best_times(
                {name: _call(learner.fit, X) for name, learner in learners.items()}, 1
            )
            final = {name: learner.objective_[-1] for name, learner in learners.items()}
            lower += final["centre"] < final["gradient"]
            ratios.append(seconds["gradient"] / seconds["centre"])
        figures = (
            f"lower objective after ten iterations in {lower} of 5 starts; the gradient takes "
        )
        yield (
            f"closed form against gradient, {metric}",
            figures + f"{np.median(ratios):.2f} times as long",
        )


def steps_of_stein() -> Iterator[tuple[str, str]]:
    """The paper's step P⁻¹ for an atom under Stein, and one that goes twice as far where the objective falls."""
    module: Any = import_module("spdatoms.dictionary._update")
    ours = module.STEPS
    lower, ratios, gains = 0, [], []
    for seed in range(5):
        X = wishart(600, 5, 10 + seed)
        objectives = {}
        for name, steps in (("twice", ours), ("paper", tuple(t for t in ours if t <= 0.5))):
            module.STEPS = steps
            learner = SPDDictionaryLearning(
                16, "stein", alpha=0.05, init=X[:16], max_iter=10, tol=0.0
            )
            objectives[name] = learner.fit(X).objective_
        module.STEPS = ours
        lower += objectives["twice"][-1] < objectives["paper"][-1]
        reached = objectives["twice"][1::2] <= objectives["paper"][-1]
        ratios.append(1 + int(np.argmax(reached)) if reached.any() else len(reached) + 1)
        gains.append(1 - objectives["twice"][-1] / objectives["paper"][-1])
    yield (
        "steps of Stein's atoms twice as long as the paper's",
        f"lower objective after ten iterations in {lower} of 5 starts, by {np.median(gains):.1%}; what the paper's "
        f"step reaches in ten iterations is reached in {np.median(ratios):.0f}",
    )


def against_airm() -> Iterator[tuple[str, str]]:
    """Coding 93×93 matrices takes less time than a nearest-neighbour search under AIRM."""
    X, y = wishart(249, 93, 5), np.arange(249) % 3
    train, test = X[:140], X[140:]
    models = {
        "RSR-S": SPDSparseClassifier("stein", beta="auto", alpha="auto", rule="residual"),
        "RSR-J": SPDSparseClassifier("jeffrey", beta="auto", alpha="auto", rule="residual"),
        "1-NN AIRM": riemannian_nearest_neighbour(),
    }
    calls = {name: _call(model.fit(train, y[:140]).predict, test) for name, model in models.items()}
    seconds = best_times(calls, 2)
    figures = ", ".join(f"{name} {s:.2f} s" for name, s in seconds.items())
    ratio = seconds["1-NN AIRM"] / seconds["RSR-S"]
    yield (
        "109 queries, 140 training matrices 93×93",
        f"{figures}: AIRM takes {ratio:.0f} times as long as S",
    )


def _call(function: Callable[..., Any], *arguments: Any, **named: Any) -> Callable[[], Any]:
    return lambda: function(*arguments, **named)


def main() -> None:
    """Measure everything and print the table."""
    warnings.simplefilter("ignore")
    print(machine())
    print("| what | measured |\n|---|---|")
    claims = (
        means,
        cost_in_atoms,
        against_qp_solvers,
        updates_of_atoms,
        steps_of_stein,
        against_airm,
    )
    for claim in claims:
        for what, measured in claim():
            print(f"| {what} | {measured} |", flush=True)


if __name__ == "__main__":
    main()
