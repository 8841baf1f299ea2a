"""Lasso problems with Gaussian kernels, the conditions that their solutions meet, and an interior-point solver."""

import clarabel
import numpy as np
import scipy.sparse


def gaussian_problem(n_atoms, n_queries, seed=0, dimension=6, width=0.1):
    """Gram and cross values of a Gaussian kernel between random points."""
    rng = np.random.default_rng(seed)
    points = rng.standard_normal((n_atoms + n_queries, dimension))
    return gaussian_kernel(points, points, n_atoms, width)


def gaussian_kernel(points, others, n_atoms, width=0.1):
    kernel = np.exp(-width * ((points[:, None] - others[None]) ** 2).sum(-1))
    return kernel[:n_atoms, :n_atoms].copy(), kernel[n_atoms:, :n_atoms].copy()


def kkt_residual(gram, cross, alpha, codes, positive=False):
    """Largest violation of the conditions in the docstring of spdatoms.lasso, per query."""
    alpha = np.broadcast_to(alpha, len(cross))[:, None]
    gradient = 2 * (codes @ gram - cross)
    at_zero = -gradient - alpha if positive else np.abs(gradient) - alpha
    violation = np.where(
        codes != 0, np.abs(gradient + alpha * np.sign(codes)), np.maximum(at_zero, 0)
    )
    return violation.max(axis=1)


def objective(gram, cross, alpha, codes, query_norm=1.0):
    quadratic = np.einsum("ij,jk,ik->i", codes, gram, codes)
    return query_norm - 2 * (codes * cross).sum(1) + quadratic + alpha * np.abs(codes).sum(1)


def assert_optimal(gram, cross, alpha, codes, positive=False, tol=1e-8):
    assert np.isfinite(codes).all()
    if positive:
        assert (codes >= 0).all()
    residual = kkt_residual(gram, cross, alpha, codes, positive)
    # The residual itself is known up to the rounding of the products in it.
    rounding = np.finfo(np.float64).eps * (np.abs(codes) @ np.abs(gram)).max(axis=1)
    assert (residual <= tol * np.abs(cross).max(axis=1) + 4 * rounding + 1e-300).all()


def interior_point(gram, cross, alpha, positive=False):
    """Codes of one query and their objective without ``query_norm``, by the general solver Clarabel.

    With bounds −u ≤ y ≤ u (or 0 ≤ y ≤ u) the problem is quadratic: ½zᵀPz + qᵀz over z = (y, u), Az ≤ 0.
    """
    n = len(gram)
    eye = scipy.sparse.eye_array(n)
    lower = [-eye, 0 * eye] if positive else [-eye, -eye]
    A = scipy.sparse.block_array([[eye, -eye], lower], format="csc")
    P = scipy.sparse.block_diag([np.triu(2.0 * gram), scipy.sparse.csc_array((n, n))], format="csc")
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    solution = clarabel.DefaultSolver(
        P, np.r_[-2.0 * cross, np.full(n, float(alpha))], A, np.zeros(A.shape[0]),
        [clarabel.NonnegativeConeT(A.shape[0])], settings,
    ).solve()  # fmt: skip
    return np.array(solution.x[:n]), solution.obj_val
