"""Values that nobody means by a parameter."""

from __future__ import annotations

import numpy as np

#: What nobody means by a parameter, and what breaks comparisons, lengths, truth values and hashes.
HOSTILE = [
    object(),
    1j,
    complex("nan"),
    np.array(1.0),
    np.array([0.1, 0.2]),
    np.array([]),
    [],
    {},
    set(),
    b"auto",
    "nonsense",
    "",
    np.nan,
    np.inf,
    -np.inf,
    10**400,
    np.datetime64("2020-01-01"),
    np.ma.masked,
    lambda: 0,
    type,
]
