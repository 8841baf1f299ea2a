"""Divergences, kernels and sparse codes of JAX arrays, with gradients, also within ``jax.jit``.

The functions have the names and arguments of those of `spdatoms`. They compute by its kernels on the processor, which
JAX calls back (``jax.pure_callback``): arrays on another device are copied there and back. A gradient is symmetric, or
for complex matrices the conjugate of a Hermitian one, as JAX has it. There are no second derivatives, and no
derivatives in forward mode (``jax.jvp``).

>>> import jax
>>> import jax.numpy as jnp
>>> import numpy as np
>>> from spdatoms.interop.jax import pairwise_divergence
>>> gradient = jax.jit(jax.grad(lambda X, Y: pairwise_divergence(X, Y).sum()))
>>> np.asarray(gradient(jnp.eye(2)[None], 4.0 * jnp.eye(2)[None])).round(4)
array([[[-0.3,  0. ],
        [ 0. , -0.3]]], dtype=float32)
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from spdatoms._utils.extras import import_extra
from spdatoms.interop._shared import AllPairs, Coded, Paired, functions

jax = import_extra("jax", "jax")
jnp = import_extra("jax.numpy", "jax")

__all__ = ["divergence", "kernel", "pairwise_divergence", "sparse_code"]


def _called(function: Callable[..., Any], shapes: Any, *arrays: Any) -> Any:
    """Return what a function of NumPy arrays returns, with these shapes and types, when the program runs."""

    def of_arrays(*given: Any) -> Any:
        found = function(*map(np.asarray, given))
        return jax.tree.map(lambda one, like: np.asarray(one, like.dtype), found, shapes)

    return jax.pure_callback(of_arrays, shapes, *arrays, vmap_method="sequential")


def _differentiated(function: Callable[..., Any], shapes: Any, *arrays: Any) -> Any:
    """Return `_called`, whose derivatives are refused."""
    once = jax.custom_jvp(partial(_called, function, shapes))

    def refuse(primals: Any, tangents: Any) -> Any:
        raise RuntimeError(
            "spdatoms.interop.jax has first derivatives only: compute with jax.numpy.linalg what has to be "
            "differentiated twice."
        )

    once.defjvp(refuse)
    return once(*arrays)


def _like(array: Any) -> Any:
    return jax.ShapeDtypeStruct(array.shape, array.dtype)


def _real(shape: tuple[int, ...], *arrays: Any) -> Any:
    """Return the shape of real numbers in the common precision of arrays."""
    return jax.ShapeDtypeStruct(shape, np.finfo(jnp.result_type(*arrays)).dtype)


@partial(jax.custom_vjp, nondiff_argnums=(2, 3))
def _all_pairs(X: Any, Y: Any, metric: Any, n_jobs: int | None) -> Any:
    given = (X,) if Y is None else (X, Y)
    shape = _real((len(X), len(given[-1])), *given)
    return _called(lambda *Z: AllPairs(Z[0], _second(Z), metric, n_jobs).values(), shape, *given)


def _all_pairs_vjp(metric: Any, n_jobs: int | None, given: Any, weights: Any) -> Any:
    X, Y = given
    matrices = (X,) if Y is None else (X, Y)

    def gradients(w: Any, *Z: Any) -> Any:
        found = AllPairs(Z[0], _second(Z), metric, n_jobs).vjp(w)
        return tuple(np.conj(one) for one in found[: len(Z)])

    found = _differentiated(gradients, tuple(map(_like, matrices)), weights, *matrices)
    return found if len(found) == 2 else (*found, None)


_all_pairs.defvjp(lambda X, Y, *options: (_all_pairs(X, Y, *options), (X, Y)), _all_pairs_vjp)


def _second(matrices: Any) -> Any:
    return matrices[1] if len(matrices) > 1 else None


@partial(jax.custom_vjp, nondiff_argnums=(2,))
def _paired(A: Any, B: Any, metric: Any) -> Any:
    shape = _real(jnp.broadcast_shapes(A.shape[:-2], B.shape[:-2]), A, B)
    return _called(lambda *Z: Paired(Z[0], Z[1], metric).values(), shape, A, B)


def _paired_vjp(metric: Any, given: Any, weights: Any) -> Any:
    def gradients(w: Any, *Z: Any) -> Any:
        return tuple(np.conj(one) for one in Paired(Z[0], Z[1], metric).vjp(w))

    return _differentiated(gradients, tuple(map(_like, given)), weights, *given)


_paired.defvjp(lambda A, B, metric: (_paired(A, B, metric), (A, B)), _paired_vjp)


@partial(jax.custom_vjp, nondiff_argnums=(3, 4))
def _coded(gram: Any, cross: Any, alpha: Any, ridge: float, options: Any) -> Any:
    def codes(K: Any, k: Any, alpha: Any) -> Any:
        return Coded(K, k, alpha, ridge, options).values()

    return _called(codes, _real(cross.shape, gram, cross), gram, cross, alpha)


def _coded_vjp(ridge: float, options: Any, given: Any, weights: Any) -> Any:
    *problem, codes = given

    def gradients(y: Any, w: Any, K: Any, k: Any, alpha: Any) -> Any:
        return tuple(Coded(K, k, alpha, ridge, options).vjp(y, w, (True, True, True)))

    return _differentiated(gradients, tuple(map(_like, problem)), codes, weights, *problem)


def _code(gram: Any, cross: Any, alpha: Any, ridge: float, options: Any) -> Any:
    codes = _coded(gram, cross, alpha, ridge, options)
    return codes, (gram, cross, alpha, codes)


_coded.defvjp(_code, _coded_vjp)


def _coded_arrays(gram: Any, cross: Any, alpha: Any, ridge: float, options: Any) -> Any:
    return _coded(gram, cross, jnp.asarray(alpha, cross.dtype), ridge, options)


pairwise_divergence, divergence, kernel, sparse_code = functions(
    __name__, _all_pairs, _paired, _coded_arrays, jnp.exp
)
