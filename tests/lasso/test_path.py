"""Paths: the solutions for one α after the other."""

import numpy as np
import pytest

from _lasso_problems import assert_optimal, gaussian_problem
from spdatoms import sparse_code, sparse_code_path


@pytest.mark.parametrize("sparse", [False, True])
def test_path_is_the_sequence_of_solutions(sparse):
    gram, cross = gaussian_problem(60, 8)
    alphas = np.geomspace(1.0, 1e-3, 7)
    path, certificates = sparse_code_path(
        gram, cross, alphas, sparse=sparse, return_certificate=True
    )
    assert len(path) == len(certificates) == 7
    for alpha, codes, certificate in zip(alphas, path, certificates, strict=True):
        codes = codes.toarray() if sparse else codes
        np.testing.assert_allclose(codes, sparse_code(gram, cross, alpha), atol=1e-10)
        assert certificate.converged.all()


def test_path_of_positive_codes():
    gram, cross = gaussian_problem(60, 8)
    for alpha, codes in zip(
        [0.5, 0.01], sparse_code_path(gram, cross, [0.5, 0.01], positive=True), strict=True
    ):
        assert_optimal(gram, cross, alpha, codes, positive=True)


def test_path_wants_decreasing_alphas():
    with pytest.raises(ValueError, match="alphas must decrease"):
        sparse_code_path(*gaussian_problem(5, 4), [0.1, 0.2])
