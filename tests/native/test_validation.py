"""What is in doubt about matrices, against their eigenvalues."""

import numpy as np
import pytest

from spdatoms.native import kernel

inspect = kernel("inspect", "DqqddI")
SYMMETRY, EIGENVALUE, NOT_POSITIVE = 1, 2, 4
TOLERANCE, LEAST = 1e-8, 1e-12


def matrices(count, n, least):
    """Return matrices with a unit diagonal that have this least eigenvalue, nearly."""
    A = np.random.default_rng(n).standard_normal((count, n, n))
    _, U = np.linalg.eigh(A + A.transpose(0, 2, 1))
    eigenvalues = np.linspace(1.0, 2.0, n)
    if n > 1:
        eigenvalues[0] = least
    X = (U * eigenvalues) @ U.transpose(0, 2, 1)
    X = 0.5 * (X + X.transpose(0, 2, 1))
    root = np.sqrt(X.diagonal(axis1=1, axis2=2))
    return X / root[:, :, None] / root[:, None, :]


def findings(X):
    found = np.full(len(X) + 2, 77)
    inspect(np.ascontiguousarray(X), *X.shape[:2], TOLERANCE, LEAST, found[1:-1])
    assert found[0] == found[-1] == 77
    return found[1:-1]


def twin(X):
    """Return the definition: what is beyond doubt is far from all limits here."""
    asymmetry = abs(X - X.transpose(0, 2, 1)).sum(axis=(1, 2)) / 2
    root = np.sqrt(abs(X.diagonal(axis1=1, axis2=2)))
    C = X / root[:, :, None] / root[:, None, :]
    least = np.linalg.eigvalsh(C)[:, 0]
    asymmetric = asymmetry > TOLERANCE * X.diagonal(axis1=1, axis2=2).min(axis=1)
    return SYMMETRY * asymmetric + np.where(least < 0, NOT_POSITIVE, EIGENVALUE * (least < LEAST))


@pytest.mark.parametrize("count", [1, 2, 3, 8, 13])
@pytest.mark.parametrize("n", range(1, 41))
def test_every_size_and_scale(n, count):
    for least in (0.5, 1e-3, 1e-7, 1e-9):
        X = matrices(count, n, least)
        for scale in (1e-290, 1.0, 1e290):
            assert not findings(scale * X).any()


@pytest.mark.parametrize("n", range(2, 41))
def test_every_kind_of_doubt_in_every_lane(n):
    X = matrices(19, n, 0.5)
    X[2::9] = matrices(3, n, -1e-3)[: len(X[2::9])]
    X[5::9, n - 1, 0] += 1e-5
    X[7::9] = matrices(3, n, 1e-14)[: len(X[7::9])]
    expected = twin(X)
    assert set(expected) == {0, SYMMETRY, EIGENVALUE, NOT_POSITIVE}
    np.testing.assert_array_equal(findings(X), expected)
    for i in range(len(X)):
        assert findings(X[i : i + 1])[0] == expected[i]


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("n", [1, 2, 3, 4, 7, 12, 23])
def test_numbers_that_are_not_finite(n, value):
    for count in (1, 11):
        for at in ((0, 0), (n - 1, 0), (0, n - 1), (n - 1, n - 1)):
            X = matrices(count, n, 0.5)
            X[-1][at] = value
            np.testing.assert_array_equal(np.flatnonzero(findings(X)), [count - 1])
