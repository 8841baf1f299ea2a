"""Gradients in torch: against differences, and against torch's own of the same formulae by ``torch.linalg``."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from _laws import NAMES
from _matrices import random_spd
from spdatoms import divergence as plain_divergence
from spdatoms import pairwise_divergence as plain_pairs
from spdatoms import sparse_code as plain_codes

torch = pytest.importorskip("torch")
from spdatoms.interop import torch as ours  # noqa: E402

every = pytest.mark.parametrize("name", NAMES)
real_and_complex = pytest.mark.parametrize("dtype", [torch.float64, torch.complex128], ids=str)


def drawn(count, n=3, dtype=torch.float64, seed=0):
    """Return matrices V; `spd` makes SPD matrices of them."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(count, n, n + 3, dtype=dtype, generator=generator).requires_grad_()


def spd(V):
    return V @ V.mH / V.shape[-1]


def check(function, *inputs):
    assert torch.autograd.gradcheck(function, inputs, atol=1e-6, rtol=1e-6, nondet_tol=1e-12)


# --- divergences ---------------------------------------------------------------------------------------


@pytest.mark.slow
@real_and_complex
@every
def test_all_pairs(name, dtype) -> None:
    X, Y = drawn(2, 2, dtype), drawn(3, 2, dtype, seed=1)
    check(lambda X, Y: ours.pairwise_divergence(spd(X), spd(Y), name), X, Y)
    check(lambda X: ours.pairwise_divergence(spd(X), metric=name), X)
    values = ours.pairwise_divergence(spd(X), spd(Y), name)
    expected = plain_pairs(spd(X).detach().numpy(), spd(Y).detach().numpy(), name)
    np.testing.assert_array_equal(values.detach().numpy(), expected)


@pytest.mark.slow
@real_and_complex
@every
def test_pairs_that_belong_together(name, dtype) -> None:
    A, B = drawn(2, 2, dtype), drawn(3, 2, dtype, seed=1)
    check(lambda A, B: ours.divergence(spd(A)[:, None], spd(B), name), A, B)
    A, B = spd(A)[0].detach(), spd(B).detach()
    values = ours.divergence(A, B, name)
    np.testing.assert_array_equal(values.numpy(), plain_divergence(A.numpy(), B.numpy(), name))


def stein(X, Y):
    sums = torch.logdet(0.5 * (X[:, None] + Y))
    return sums - 0.5 * (torch.logdet(X)[:, None] + torch.logdet(Y))


def jeffrey(X, Y):
    traces = torch.einsum("iab,jba->ij", torch.linalg.inv(X), Y)
    return 0.5 * (traces + torch.einsum("iab,jba->ij", X, torch.linalg.inv(Y))) - X.shape[-1]


def riemann(X, Y):
    L = torch.linalg.inv(torch.linalg.cholesky(X))[:, None]
    return torch.linalg.eigvalsh(L @ Y @ L.mT).log().square().sum(-1)


def logeuclid(X, Y):
    def log(Z):
        values, U = torch.linalg.eigh(Z)
        return (U * values.log()[..., None, :]) @ U.mT

    return (log(X)[:, None] - log(Y)).square().sum((-2, -1))


@pytest.mark.parametrize("formula", [stein, jeffrey, riemann, logeuclid])
def test_the_same_formula_by_torch(formula) -> None:
    X, Y = (torch.from_numpy(random_spd(k, 6, seed=k)).requires_grad_() for k in (4, 5))
    weights = torch.randn(4, 5, dtype=X.dtype, generator=torch.Generator().manual_seed(0))
    expected = torch.autograd.grad((weights * formula(X, Y)).sum(), (X, Y))
    values = ours.pairwise_divergence(X, Y, formula.__name__)
    for G, E in zip(torch.autograd.grad((weights * values).sum(), (X, Y)), expected, strict=True):
        E = 0.5 * (E + E.mT)
        torch.testing.assert_close(G, E, rtol=0, atol=1e-10 * float(E.abs().max()))


@every
def test_single_precision(name) -> None:
    X = torch.from_numpy(random_spd(4, 3)).requires_grad_()
    Z = X.detach().float().requires_grad_()
    ours.pairwise_divergence(X, metric=name).sum().backward()
    values = ours.pairwise_divergence(Z, metric=name)
    values.sum().backward()
    assert values.dtype == Z.grad.dtype == torch.float32
    torch.testing.assert_close(
        Z.grad.double(), X.grad, rtol=0, atol=1e-4 * float(X.grad.abs().max())
    )


def test_only_what_is_asked_for() -> None:
    X, Y = (torch.from_numpy(random_spd(k, 3, seed=k)) for k in (3, 4))
    both = torch.autograd.grad(
        ours.pairwise_divergence(X.requires_grad_(), Y.requires_grad_(), "riemann").sum(), (X, Y)
    )
    one = torch.autograd.grad(ours.pairwise_divergence(X, Y.detach(), "riemann").sum(), X)[0]
    other = torch.autograd.grad(ours.pairwise_divergence(X.detach(), Y, "riemann").sum(), Y)[0]
    torch.testing.assert_close((one, other), both, rtol=1e-12, atol=1e-12)


def test_memory_is_shared() -> None:
    X = torch.from_numpy(random_spd(3, 3))
    assert np.shares_memory(ours._array(X), X.numpy())


def test_second_derivatives_are_refused() -> None:
    X = torch.from_numpy(random_spd(3, 3)).requires_grad_()
    (G,) = torch.autograd.grad(ours.pairwise_divergence(X).sum(), X, create_graph=True)
    with pytest.raises(RuntimeError, match="first derivatives only"):
        G.sum().backward()


def test_what_is_changed_before_its_gradient_is_an_error() -> None:
    X = torch.from_numpy(random_spd(3, 3)).requires_grad_()
    Z = 1.0 * X
    total = ours.pairwise_divergence(Z).sum()
    Z.mul_(2.0)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        total.backward()


def test_matrices_that_are_not_definite_are_named() -> None:
    X = torch.from_numpy(random_spd(3, 3)).clone()
    X[1] = -X[1]
    with pytest.raises(ValueError, match=r"X\[1\]"):
        ours.pairwise_divergence(X)


# --- kernels and codes ---------------------------------------------------------------------------------


def test_kernel() -> None:
    X, Y, beta = drawn(3), drawn(2, seed=1), torch.tensor(0.7, dtype=torch.float64)
    check(lambda X, Y, b: ours.kernel(spd(X), spd(Y), b), X, Y, beta.requires_grad_())
    values = ours.kernel(spd(X), beta=0.7).detach().numpy()
    np.testing.assert_allclose(values, np.exp(-0.7 * plain_pairs(spd(X).detach().numpy())))


@pytest.mark.slow
@pytest.mark.parametrize("positive", [False, True])
def test_codes(positive) -> None:
    X, D = drawn(3, 2), drawn(5, 2, seed=1)
    alpha = torch.full((3,), 0.2, dtype=torch.float64).requires_grad_()

    def codes(X, D, alpha):
        gram, cross = ours.kernel(spd(D)), ours.kernel(spd(X), spd(D))
        return ours.sparse_code(gram, cross, alpha, ridge=0.1, positive=positive, tol=1e-13)

    check(codes, X, D, alpha)
    check(lambda X, D: codes(X, D, 0.2), X, D)
    gram, cross = (ours.kernel(spd(Z), spd(D)).detach().numpy() for Z in (D, X))
    expected = plain_codes(gram, cross, 0.2, ridge=0.1, positive=positive, tol=1e-13)
    np.testing.assert_array_equal(codes(X, D, 0.2).detach().numpy(), expected)


# --- networks ------------------------------------------------------------------------------------------


def labelled(count=40, n=3):
    rng = np.random.default_rng(0)
    A = rng.standard_normal((count, n, 12))
    A[count // 2 :, 0] *= 1.7
    return torch.from_numpy(A @ A.swapaxes(1, 2) / 12), torch.arange(count) // (count // 2)


def train(network, X, y, steps=30):
    optimiser = torch.optim.Adam(network.parameters(), lr=0.05)
    losses = []
    for _ in range(steps):
        optimiser.zero_grad()
        loss = torch.nn.functional.cross_entropy(network(X), y)
        loss.backward()
        optimiser.step()
        losses.append(float(loss.detach()))
    return losses


@pytest.mark.slow
def test_a_layer_in_a_sequence_learns() -> None:
    X, y = labelled()
    torch.manual_seed(0)
    layer = ours.SPDSparseCoding(X[::8])
    before = layer.atoms.detach()
    torch.testing.assert_close(before, X[::8])
    losses = train(torch.nn.Sequential(layer, torch.nn.Linear(5, 2, dtype=X.dtype)), X, y)
    assert losses[-1] < 0.8 * losses[0]
    after = layer.atoms.detach()
    assert float((after - before).abs().max()) > 0.05
    assert float(torch.linalg.eigvalsh(after).min()) > 0
    assert layer(X.reshape(4, 10, 3, 3)).shape == (4, 10, 5)


def test_the_scale_of_matrices_does_not_matter() -> None:
    X, y = labelled()
    found = []
    for scale in (1.0, 1e-12):
        torch.manual_seed(0)
        layer = ours.SPDSparseCoding(scale * X[::8])
        found.append(
            train(torch.nn.Sequential(layer, torch.nn.Linear(5, 2, dtype=X.dtype)), scale * X, y, 5)
        )
    np.testing.assert_allclose(found[0], found[1], rtol=1e-8)


def test_a_layer_is_saved_and_loaded() -> None:
    X, _ = labelled()
    layer, other = ours.SPDSparseCoding(X[:5]), ours.SPDSparseCoding(X[20:25])
    other.load_state_dict(layer.state_dict())
    torch.testing.assert_close(other(X), layer(X))


@pytest.mark.slow
def test_within_a_network_of_spd_learn() -> None:
    modules = pytest.importorskip("spd_learn.modules")
    X, y = labelled(40, 6)
    torch.manual_seed(0)
    front = torch.nn.Sequential(modules.BiMap(6, 4, dtype=X.dtype), modules.ReEig())
    layer = ours.SPDSparseCoding(front(X[::8]).detach(), metric="logeuclid")
    network = torch.nn.Sequential(front, layer, torch.nn.Linear(5, 2, dtype=X.dtype))
    losses = train(network, X, y)
    assert all(p.grad is not None and bool(p.grad.abs().max() > 0) for p in network.parameters())
    assert losses[-1] < losses[0]


@pytest.mark.parametrize("name", ["pairwise_divergence", "divergence", "kernel", "sparse_code"])
def test_functions_are_those_of_the_module(name) -> None:
    function = getattr(ours, name)
    assert pickle.loads(pickle.dumps(function)) is function
    assert f"{function.__module__}.{function.__qualname__}" == f"{ours.__name__}.{name}"
