"""Names of array types, defined once."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

#: Real numbers in double precision, as all results inside are.
Floats: TypeAlias = NDArray[np.float64]
#: Real numbers as the user gave them: float32 or float64.
FloatArray: TypeAlias = NDArray[Any]
#: Arrays of anything.
Array: TypeAlias = NDArray[Any]
#: Positions in an array.
Indices: TypeAlias = NDArray[np.intp]
