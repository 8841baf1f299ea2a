"""Divergences, kernels and sparse codes of torch tensors, with gradients.

The functions have the names and arguments of those of `spdatoms`. They compute by its kernels on the processor:
tensors there are not copied, those on another device are copied there and back. Gradients are symmetric (Hermitian)
matrices G with dd = Re tr(G dX), as those of ``torch.linalg``. There are no second derivatives.

>>> import torch
>>> from spdatoms.interop.torch import pairwise_divergence
>>> X = torch.eye(2, dtype=torch.float64)[None].requires_grad_()
>>> pairwise_divergence(X, 4.0 * X.detach()).sum().backward()
>>> X.grad
tensor([[[-0.3000,  0.0000],
         [ 0.0000, -0.3000]]], dtype=torch.float64)
"""

from __future__ import annotations

from typing import Any

import numpy as np

from spdatoms._utils.extras import import_extra
from spdatoms.divergences import Divergence
from spdatoms.interop._shared import AllPairs, Coded, Paired, functions
from spdatoms.kernels.bandwidth import choose_beta

torch = import_extra("torch", "torch")
_Function: Any = torch.autograd.Function
_Module: Any = torch.nn.Module

__all__ = ["SPDSparseCoding", "divergence", "kernel", "pairwise_divergence", "sparse_code"]


class SPDSparseCoding(_Module):
    """A layer of sparse codes over a dictionary of SPD matrices that learns.

    y(X) = argmin_y yᵀKy − 2 yᵀk + α‖y‖₁ + ρ‖y‖² with K = exp(−β·d(D_i, D_j)) and k = exp(−β·d(X, D_j)).

    The atoms D = c·L Lᴴ are parameters on the cone: the entries of L below the diagonal and the logarithms of those
    on it are free. So every optimiser of torch moves them, and none takes them out of the cone.

    Parameters
    ----------
    atoms : array-like or Tensor of shape (N, n, n)
        The first atoms, such as some training matrices or those that `SPDDictionaryLearning` has learned.
    metric : str or Divergence, default="stein"
        The divergence d, which must be symmetric.
    beta : float or "auto", default="auto"
        The β of the kernel; ``"auto"`` is the reciprocal of the median divergence between the first atoms.
    alpha : float, default=0.05
        The penalty α.
    ridge : float, default=1e-3
        The penalty ρ. It also keeps K + ρI positive definite if atoms approach each other.
    positive : bool, default=False
        Ask for y ≥ 0.
    n_jobs : int, default=None
        The number of threads.

    Attributes
    ----------
    atoms : Tensor of shape (N, n, n)
        The atoms, as they are now.
    beta : Tensor of shape ()
        The β of the kernel.

    Examples
    --------
    >>> import torch
    >>> from spdatoms.interop.torch import SPDSparseCoding
    >>> A = torch.randn(20, 3, 9, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    >>> X = A @ A.mT / 9
    >>> network = torch.nn.Sequential(SPDSparseCoding(X[:5]), torch.nn.Linear(5, 2, dtype=X.dtype))
    >>> network(X).shape
    torch.Size([20, 2])
    """

    def __init__(
        self,
        atoms: Any,
        *,
        metric: str | Divergence = "stein",
        beta: float | str = "auto",
        alpha: float = 0.05,
        ridge: float = 1e-3,
        positive: bool = False,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__()
        atoms = torch.as_tensor(atoms).detach()
        divergences = pairwise_divergence(atoms, metric=metric, n_jobs=n_jobs)
        chosen = choose_beta(beta, divergences.cpu().numpy())
        self.register_buffer("beta", divergences.new_tensor(chosen))
        self.metric, self.alpha, self.ridge = metric, alpha, ridge
        self.positive, self.n_jobs = positive, n_jobs
        self.atoms = torch.nn.Parameter(atoms.clone())
        scale = atoms.diagonal(dim1=-2, dim2=-1).real.mean()
        torch.nn.utils.parametrize.register_parametrization(self, "atoms", _OnTheCone(scale))

    def forward(self, X: Any) -> Any:
        """Return the codes of matrices.

        Parameters
        ----------
        X : Tensor of shape (..., n, n)
            SPD matrices.

        Returns
        -------
        Tensor of shape (..., N)
        """
        D = self.atoms
        options: Any = {"beta": self.beta, "metric": self.metric, "n_jobs": self.n_jobs}
        gram = kernel(D, **options)
        cross = kernel(X.reshape(-1, *X.shape[-2:]), D, **options)
        gram = gram + self.ridge * torch.eye(len(D), dtype=gram.dtype, device=gram.device)
        codes = sparse_code(gram, cross, self.alpha, positive=self.positive, n_jobs=self.n_jobs)
        return codes.reshape(*X.shape[:-2], len(D))


class _OnTheCone(_Module):
    """c·L Lᴴ from the entries of L below the diagonal, and the logarithms of those on it."""

    def __init__(self, scale: Any) -> None:
        super().__init__()
        self.register_buffer("scale", scale)

    def forward(self, V: Any) -> Any:
        """Return the matrices."""
        diagonal = torch.diagonal(V, dim1=-2, dim2=-1).real.exp()
        L = torch.tril(V, -1) + torch.diag_embed(diagonal)
        product = self.scale * (L @ L.mH)
        return 0.5 * (product + product.mH)

    def right_inverse(self, D: Any) -> Any:
        """Return the entries of matrices."""
        L = torch.linalg.cholesky(D / self.scale)
        diagonal = torch.diagonal(L, dim1=-2, dim2=-1).real.log()
        return torch.tril(L, -1) + torch.diag_embed(diagonal)


class _Pairs(_Function):
    """Divergences of two sets of matrices: of all pairs, or of those that belong together."""

    @staticmethod
    def forward(ctx: Any, X: Any, Y: Any, kind: Any, *options: Any) -> Any:
        ctx.save_for_backward(X, Y)  # an error if they are changed before the gradient is asked for
        ctx.pairs = kind(_array(X), None if Y is None else _array(Y), *options)
        return _tensor(ctx.pairs.values(), X)

    @staticmethod
    def backward(ctx: Any, weights: Any) -> Any:
        X, Y = ctx.saved_tensors
        wanted = ctx.needs_input_grad
        found = ctx.pairs.vjp(_array(weights), wanted[:2])
        gradients = (_like(one, Z) for one, Z in zip(found, (X, Y), strict=True))
        return *_first_only(weights, X, Y, gradients), *(None for _ in wanted[2:])


class _Coded(_Function):
    """Sparse codes."""

    @staticmethod
    def forward(ctx: Any, gram: Any, cross: Any, alpha: Any, ridge: float, options: Any) -> Any:
        given = torch.is_tensor(alpha)
        ctx.coded = Coded(
            _array(gram), _array(cross), _array(alpha) if given else alpha, ridge, options
        )
        codes = _tensor(ctx.coded.values(), cross)
        ctx.save_for_backward(gram, cross, codes, alpha if given else None)
        return codes

    @staticmethod
    def backward(ctx: Any, weights: Any) -> Any:
        gram, cross, codes, alpha = ctx.saved_tensors
        found = ctx.coded.vjp(_array(codes), _array(weights), ctx.needs_input_grad[:3])
        pairs = zip(found, (gram, cross, alpha), strict=True)
        gradients = (_like(one, Z) for one, Z in pairs)
        return *_first_only(weights, gram, cross, gradients), None, None


class _FirstOnly(_Function):
    """Gradients as they are, of which there are no derivatives."""

    @staticmethod
    def forward(ctx: Any, gradient: Any, *_sources: Any) -> Any:
        return gradient.view_as(gradient)

    @staticmethod
    def backward(ctx: Any, *_weights: Any) -> Any:
        raise RuntimeError(
            "spdatoms.interop.torch has first derivatives only: do without create_graph=True here, or compute with "
            "torch.linalg what has to be differentiated twice."
        )


def _first_only(weights: Any, one: Any, other: Any, gradients: Any) -> list[Any]:
    """Return gradients; if they may be differentiated in turn, so that this is refused."""
    if not torch.is_grad_enabled():
        return list(gradients)
    return [
        None if gradient is None else _FirstOnly.apply(gradient, weights, one, other)
        for gradient in gradients
    ]


def _array(tensor: Any) -> Any:
    """Return a tensor as an array, which shares its memory if it is on the processor."""
    return tensor.detach().cpu().resolve_conj().resolve_neg().numpy()


def _tensor(array: Any, model: Any) -> Any:
    """Return an array as a tensor on the device of another one."""
    return torch.from_numpy(np.ascontiguousarray(array)).to(model.device)


def _like(array: Any, model: Any) -> Any:
    """Return a gradient as a tensor of the type and device of what it belongs to; None stays None."""
    if array is None or model is None:
        return None
    found = torch.as_tensor(np.asarray(array), device=model.device)
    found = found if model.is_complex() or not found.is_complex() else found.real
    return found.to(model.dtype).reshape(model.shape)


def _all_pairs(X: Any, Y: Any, *options: Any) -> Any:
    return _Pairs.apply(X, Y, AllPairs, *options)


def _paired(A: Any, B: Any, metric: Any) -> Any:
    return _Pairs.apply(A, B, Paired, metric)


pairwise_divergence, divergence, kernel, sparse_code = functions(
    __name__, _all_pairs, _paired, _Coded.apply, torch.exp
)
