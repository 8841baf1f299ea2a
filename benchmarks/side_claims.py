"""What the paper says in passing, measured: means, cost, updates of atoms, time against tangent bundles.

    python benchmarks/side_claims.py

Methods that are compared take turns, and the fastest of five runs counts, in processor time of one thread. Prints a
table in Markdown.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

import numpy as np
from _timing import best_times

from spdatoms import SPDDictionaryLearning, mean, pairwise_divergence, sparse_code
from spdatoms._utils.threads import one_blas_thread
from spdatoms.kernels import DivergenceKernel
from spdatoms.paper.baselines import RiemannianDictionaryLearning

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
    of_kernel = _seconds({str(N): _call(kernels[N].cross, queries) for N in sizes})
    of_code = _seconds(
        {
            str(N): _call(sparse_code, kernels[N].gram_, cross[N], 0.01, check_gram=False)
            for N in sizes
        }
    )
    for name, seconds in (("kernel values", of_kernel), ("codes", of_code)):
        slope = np.polyfit(np.log(sizes), np.log(list(seconds.values())), 1)[0]
        figures = ", ".join(f"{1e4 * s:.0f}" for s in seconds.values())
        yield (
            f"{name}, µs per query at N = 250, 500, 1000, 2000 (n = 22)",
            f"{figures}: N^{slope:.2f}",
        )
    codes = [sparse_code(kernels[N].gram_, cross[N], 0.01, check_gram=False) for N in sizes]
    nonzeros = [np.count_nonzero(y, axis=1).mean() for y in codes]
    yield "non-zeros of these codes", ", ".join(f"{count:.0f}" for count in nonzeros)


def updates_of_atoms() -> Iterator[tuple[str, str]]:
    """Closed-form updates are faster than gradient descent."""
    for metric in ("stein", "jeffrey"):
        # In the span of landmarks atoms move towards the centre or downhill, whichever is better: no comparison.
        lower, ratios, gains = 0, [], []
        for seed in range(5):
            X = wishart(600, 5, 10 + seed)
            learners = {
                update: SPDDictionaryLearning(
                    16,
                    metric,
                    alpha=0.05,
                    init=X[:16],
                    max_iter=10,
                    tol=0.0,
                    update=update,
                    landmarks=None,
                )
                for update in ("centre", "gradient")
            }
            seconds = _seconds({name: _call(learner.fit, X) for name, learner in learners.items()})
            final = {name: learner.objective_[-1] for name, learner in learners.items()}
            lower += final["centre"] < final["gradient"]
            ratios.append(seconds["gradient"] / seconds["centre"])
            gains.append(1 - final["centre"] / final["gradient"])
        yield (
            f"closed form against gradient, {metric}",
            f"lower objective after ten iterations in {lower} of 5 starts, by {np.median(gains):.2%}; the gradient "
            f"takes {np.median(ratios):.2f} times as long",
        )


def steps_of_stein() -> Iterator[tuple[str, str]]:
    """The paper's step P⁻¹ for an atom under Stein, and one that goes twice as far where the objective falls."""
    module: Any = import_module("spdatoms.dictionary._kernel_update")
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


def against_tangent_bundles() -> Iterator[tuple[str, str]]:
    """Learning without the tangent bundle is faster and more scalable."""
    for n in (5, 10, 20):
        X = wishart(600, n, 6)
        common: dict[str, Any] = {"max_iter": 5, "tol": 0.0, "random_state": 0}
        learners = {
            "S": SPDDictionaryLearning(16, "stein", alpha=0.05, init="random", **common),
            "Riemannian": RiemannianDictionaryLearning(16, alpha=0.05, **common),
        }
        seconds = _seconds({name: _call(learner.fit, X) for name, learner in learners.items()})
        ratio = seconds["Riemannian"] / seconds["S"]
        figures = ", ".join(f"{name} {s:.3f} s" for name, s in seconds.items())
        yield f"five iterations, 16 atoms, 600 matrices, n = {n}", f"{figures}: {ratio:.0f} times"


def _seconds(calls: dict[str, Callable[[], Any]]) -> dict[str, float]:
    return best_times(calls, _REPEATS, clock=time.process_time)


def _call(function: Callable[..., Any], *arguments: Any, **named: Any) -> Callable[[], Any]:
    return lambda: function(*arguments, **named)


def main() -> None:
    """Measure everything and print the table."""
    warnings.simplefilter("ignore")
    print("| what | measured |\n|---|---|")
    claims = (
        means,
        cost_in_atoms,
        updates_of_atoms,
        steps_of_stein,
        against_tangent_bundles,
    )
    with one_blas_thread():
        for claim in claims:
            for what, measured in claim():
                print(f"| {what} | {measured} |", flush=True)


if __name__ == "__main__":
    main()
