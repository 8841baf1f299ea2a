"""The rational approximation of the logarithm, in many digits."""

from __future__ import annotations

import mpmath

from spdatoms.divergences._log_poles import LOG_LEAST, LOG_LIMIT, LOG_POLES


def test_the_error_on_the_whole_interval() -> None:
    t, w = ([mpmath.mpf(float(x)) for x in row] for row in LOG_POLES)
    with mpmath.workdps(30):
        for k in range(300):
            z = mpmath.mpf(LOG_LEAST) ** (mpmath.mpf(k) / 299)
            value = LOG_LIMIT - sum(a / (z + b) for a, b in zip(w, t, strict=True))
            assert abs(value - mpmath.log(z)) < 3e-14


def test_nothing_cancels() -> None:
    assert (LOG_POLES > 0.0).all()
