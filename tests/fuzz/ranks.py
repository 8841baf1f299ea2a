"""Ranks of fuzzed spectra: the right one, or an error."""

from __future__ import annotations

import numpy as np

from fuzz.campaign import clearly_refused, expect, was_refused
from fuzz.draws import hermitian
from spdatoms import SPDRange, check_spd


def fuzzed_rank(rng: np.random.Generator) -> str:
    """Matrices with a common range of any rank, spectrum, units, scale and precision, some with noise outside."""
    n, m = int(rng.integers(2, 24)), int(rng.integers(1, 12))
    rank, is_complex = int(rng.integers(1, n + 1)), rng.random() < 0.2

    def normal(*shape: int) -> np.ndarray:
        G = rng.standard_normal(shape)
        return G + 1j * rng.standard_normal(shape) if is_complex else G

    whole = np.linalg.qr(normal(n, n))[0]
    B, rest = whole[:, :rank], whole[:, rank:]
    span = 10.0 ** rng.uniform(0, 14)
    V = np.linalg.qr(normal(m, rank, rank))[0]
    F = B @ (V * span ** (-0.5 * rng.random((m, 1, rank))))
    units = 10.0 ** (rng.uniform(-6, 6, n) if rng.random() < 0.3 else np.zeros(n))
    noise = 10.0 ** rng.uniform(-20, -4) if rng.random() < 0.3 and rank < n else 0.0
    X = F @ F.conj().swapaxes(1, 2) + noise * rest @ rest.conj().T
    X = hermitian(units[:, None] * X * units)
    if rng.random() < 0.3:
        X = (X / abs(X).max()).astype(np.complex64 if is_complex else np.float32)
    else:
        X *= 10.0 ** rng.uniform(-100, 100)
    model = clearly_refused(lambda: SPDRange().fit(X))
    if was_refused(model):
        return "refused"
    Z = model.transform(X)
    check_spd(Z)
    eps = float(np.finfo(X.dtype).eps)
    error = abs(model.inverse_transform(Z) - X) / units / units[:, None]
    size = abs(X / units / units[:, None]).max()
    expect(
        error.max() <= 1e5 * n * eps * size, f"{error.max() / size / eps / n:.0f} n·eps are lost"
    )
    # The spectrum before rounding: what rounding hides nobody can know.
    G = np.concatenate(
        list(units[:, None] * F / np.linalg.norm(units[:, None] * F, axis=(1, 2), keepdims=True)), 1
    )
    G /= np.linalg.norm(G, axis=1, keepdims=True)
    hidden = np.linalg.svd(G, compute_uv=False)[rank - 1] ** 2 < 40 * n * eps
    if noise:
        expect(model.rank_ >= rank or hidden, f"rank {model.rank_} in place of {rank}")
        expect(model.rank_ in (rank, n) or hidden, "some of the noise is taken for signal")
        return "law"
    expect(
        model.rank_ == rank or (hidden and model.rank_ < rank),
        f"rank {model.rank_} in place of {rank}",
    )
    return "oracle"
