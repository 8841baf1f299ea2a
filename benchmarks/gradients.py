"""Gradients: the time of a backward pass against that of the values, and against torch and JAX.

    python benchmarks/gradients.py

One thread, double precision, processor time, methods in turn. *Pairs* are Σ w_ij d(X_i, Y_j) of 200 × 200 matrices (50
× 50 for Wasserstein and Thompson) with its gradient in both sets. Torch and JAX compute the same formula by their own
linear algebra (of 100 × 100 matrices for n = 12 and 23; Stein's by Cholesky factors of all sums, in torch by
``cholesky_ex``, which checks nothing; JAX, if it is installed, within ``jax.jit``). *Codes* are those of 500 matrices
over 100 atoms, with gradients in both. The process keeps to one processor: with two, the threads of JAX 0.10 wait for
each other for ever when they factorise many matrices.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
from _timing import best_times

from spdatoms._utils.threads import one_thread
from spdatoms.divergences import divergence_names, get_divergence
from spdatoms.interop.torch import kernel, pairwise_divergence, sparse_code

if hasattr(os, "sched_setaffinity"):  # before JAX is loaded
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
torch: Any = import_module("torch")
jax: Any = import_module("jax") if find_spec("jax") else None
jnp: Any = import_module("jax.numpy") if jax else None

SIZES = (5, 12, 23)
METRICS = [name for name in divergence_names() if get_divergence(name).name == name]


def matrices(count: int, n: int, seed: int) -> Any:
    A = np.random.default_rng([seed, n]).standard_normal((count, n, 2 * n))
    return A @ A.swapaxes(1, 2) / n


def times(methods: dict[str, Callable[[], Any]], repeats: int) -> dict[str, float]:
    return best_times(methods, repeats, time.process_time)


# --- the same formulae by other libraries ---------------------------------------------------------------


def torch_stein(X: Any, Y: Any) -> Any:
    def logdet(Z: Any) -> Any:
        L = torch.linalg.cholesky_ex(Z)[0]
        return 2.0 * L.diagonal(dim1=-2, dim2=-1).log().sum(-1)

    return logdet(0.5 * (X[:, None] + Y)) - 0.5 * (logdet(X)[:, None] + logdet(Y))


def torch_jeffrey(X: Any, Y: Any) -> Any:
    one, other = torch.linalg.inv(X).flatten(1), torch.linalg.inv(Y).flatten(1)
    return 0.5 * (one @ Y.flatten(1).T + X.flatten(1) @ other.T) - X.shape[-1]


def torch_riemann(X: Any, Y: Any) -> Any:
    W = torch.linalg.inv(torch.linalg.cholesky_ex(X)[0])[:, None]
    return torch.linalg.eigvalsh(W @ Y @ W.mT).log().square().sum(-1)


def jax_stein(X: Any, Y: Any) -> Any:
    def logdet(Z: Any) -> Any:
        L = jnp.linalg.cholesky(Z)
        return 2.0 * jnp.log(jnp.diagonal(L, axis1=-2, axis2=-1)).sum(-1)

    return logdet(0.5 * (X[:, None] + Y)) - 0.5 * (logdet(X)[:, None] + logdet(Y))


def jax_jeffrey(X: Any, Y: Any) -> Any:
    one, other = (jnp.linalg.inv(Z).reshape(len(Z), -1) for Z in (X, Y))
    products = one @ Y.reshape(len(Y), -1).T + X.reshape(len(X), -1) @ other.T
    return 0.5 * products - X.shape[-1]


def jax_riemann(X: Any, Y: Any) -> Any:
    W = jnp.linalg.inv(jnp.linalg.cholesky(X))[:, None]
    return (jnp.log(jnp.linalg.eigvalsh(W @ Y @ W.mT)) ** 2).sum(-1)


FORMULAE = {
    "stein": (torch_stein, jax_stein),
    "jeffrey": (torch_jeffrey, jax_jeffrey),
    "riemann": (torch_riemann, jax_riemann),
}


# --- what is measured -----------------------------------------------------------------------------------


def of_pairs(n: int, count: int, repeats: int) -> None:
    X, Y = matrices(count, n, 0), matrices(count, n, 1)
    W = np.random.default_rng(n).standard_normal((count, count))
    for metric in METRICS:
        some = slice(0, count if metric not in ("wasserstein", "thompson") else count // 4)
        divergence = get_divergence(metric)
        first, second = divergence.prepare(X[some]), divergence.prepare(Y[some])

        def values(d: Any = divergence, s: slice = some) -> Any:
            return d.pairwise(d.prepare(X[s]), d.prepare(Y[s]))

        vjp = partial(divergence.vjp, first, second, W[some, some])
        found = times({"values": values, "vjp": vjp}, repeats)
        print(
            f"| {metric} | {n} | {1e3 * found['values']:.2f} | {found['vjp'] / found['values']:.1f} |",
            flush=True,
        )


def against_others(n: int, count: int, repeats: int) -> None:
    X, Y = matrices(count, n, 0), matrices(count, n, 1)
    W = np.random.default_rng(n).standard_normal((count, count))
    weights = torch.from_numpy(W)

    def by_torch(function: Any) -> Callable[[], Any]:
        tensors = [torch.from_numpy(Z.copy()).requires_grad_() for Z in (X, Y)]

        def run() -> Any:
            return torch.autograd.grad((weights * function(*tensors)).sum(), tensors)

        return run

    def by_jax(function: Any) -> Callable[[], Any]:
        program = jax.jit(
            jax.value_and_grad(lambda x, y: (W * function(x, y)).sum(), argnums=(0, 1))
        )
        arrays = jnp.asarray(X), jnp.asarray(Y)
        return lambda: jax.block_until_ready(program(*arrays))

    for metric, (in_torch, in_jax) in FORMULAE.items():
        methods = {
            "spdatoms": by_torch(partial(pairwise_divergence, metric=metric)),
            "torch": by_torch(in_torch),
        } | ({"jax": by_jax(in_jax)} if jax else {})
        ours, gradients = methods["spdatoms"](), {"torch": methods["torch"]()}
        if jax:
            gradients["jax"] = methods["jax"]()[1]
        for name, found_there in gradients.items():
            for G, other in zip(ours, found_there, strict=True):
                E = np.asarray(other)
                E = 0.5 * (E + E.swapaxes(1, 2))
                error = float(np.abs(np.asarray(G) - E).max() / np.abs(E).max())
                assert error < 1e-8, (metric, name, error)
        found = times(methods, repeats)
        ratios = [
            f"{found[name] / found['spdatoms']:.1f}" if name in found else ""
            for name in ("torch", "jax")
        ]
        own = f"{1e3 * found['spdatoms']:.2f}"
        print(f"| {metric} | {n} | {own} | {' | '.join(ratios)} |", flush=True)


def of_codes(n: int, repeats: int) -> None:
    X, D = (torch.from_numpy(matrices(k, n, s)).requires_grad_() for k, s in ((500, 0), (100, 1)))
    beta = 1.0 / float(pairwise_divergence(D.detach()).median())

    def codes() -> Any:
        return sparse_code(kernel(D, beta=beta), kernel(X, D, beta), 0.05, ridge=1e-3)

    weights = torch.randn(500, 100, dtype=X.dtype, generator=torch.Generator().manual_seed(0))
    totals: list[Any] = []

    def forward() -> None:
        totals[:] = [(weights * codes()).sum()]

    def backward() -> None:
        torch.autograd.grad(totals[0], (X, D), retain_graph=True)

    with torch.no_grad():
        used = float((codes() != 0).sum(1).double().mean())
    found = times({"values": forward, "backward": backward}, repeats)
    print(
        f"| {n} | {used:.1f} | {1e3 * found['values']:.2f} | {found['backward'] / found['values']:.2f} |",
        flush=True,
    )


def measure(count: int, repeats: int) -> None:
    print("| pairs | n | values, ms | backward / values |\n|---|---|---|---|")
    for n in SIZES:
        of_pairs(n, count, repeats)
    print("\n| values and gradient | n | spdatoms, ms | torch / spdatoms | jitted JAX / spdatoms |")
    print("|---|---|---|---|---|")
    for n in SIZES:
        against_others(n, count if n < 10 else count // 2, repeats)
    print("\n| codes, n | atoms per code | values, ms | backward / values |\n|---|---|---|---|")
    for n in SIZES:
        of_codes(n, repeats)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--count", type=int, default=200, help="matrices in each set")
    parser.add_argument("--repeats", type=int, default=4)
    options = parser.parse_args()
    torch.set_num_threads(1)
    if jax:
        jax.config.update("jax_enable_x64", True)
    with one_thread():
        measure(options.count, options.repeats)


if __name__ == "__main__":
    main()
