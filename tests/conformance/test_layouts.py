"""Where the numbers of an array lie in memory changes no bit of any result."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import cycle
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from _hermitian import random_hpd
from _matrices import random_spd
from conformance.estimators import every_class, outputs
from conformance.functions import CALLS, call
from conformance.layouts import LAYOUTS, has_layout, plain
from spdatoms import SPDKMeans, pairwise_divergence
from spdatoms.divergences.registry import divergence_classes
from spdatoms.geometry.hermitian import real_form

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::UserWarning")]
TYPES = (np.float64, np.float32, np.complex128, np.complex64)


def _calls() -> Iterator[Any]:
    """Yield functions and arguments with arrays of floats, divergences by every metric.

    What draws returns no numbers.
    """
    for function, arguments in CALLS:
        draws = function.__module__.startswith("spdatoms.plotting")
        if draws or not any(map(has_layout, arguments.values())):
            continue
        yield pytest.param(function, arguments, id=function.__qualname__)
        if function is pairwise_divergence:
            for cls in divergence_classes():
                yield pytest.param(function, arguments | {"metric": cls.name}, id=cls.name)


def _of_type(value: Any, dtype: Any, n: int) -> Any:
    """Return an array in another type; 3×3 matrices in the size n, Hermitian if they are complex."""
    is_complex = np.dtype(dtype).kind == "c"
    if value.shape[-2:] == (3, 3):
        i = np.arange(n)
        skew = 0.01j * (i[:, None] - i) if is_complex else 0.0
        return np.array(value[..., :n, :n] + skew, dtype, order="C")
    return value if is_complex else np.array(value, dtype, order="C")


def _arrays(result: Any) -> list[np.ndarray]:
    """Return the arrays that a result consists of, numbers included."""
    if isinstance(result, np.ndarray | np.generic | float):
        return [np.asarray(result)]
    if isinstance(result, list | tuple):
        return [array for part in result for array in _arrays(part)]
    return _arrays(list(vars(result).values())) if hasattr(result, "__dataclass_fields__") else []


def _outcome(function: Any, arguments: dict[str, Any]) -> list[Any]:
    """Return the bits of what a function returns, or what it says when it refuses."""
    try:
        return _bits(_arrays(call(function, arguments)))
    except (TypeError, ValueError) as refusal:
        return [str(refusal)]


def _bits(arrays: list[np.ndarray]) -> list[Any]:
    return [(array.dtype, array.shape, array.tobytes()) for array in arrays]


@pytest.mark.parametrize(("function", "arguments"), list(_calls()))
@pytest.mark.parametrize("dtype", TYPES, ids=lambda dtype: dtype.__name__)
def test_functions(function, arguments, dtype) -> None:
    given = {name: value for name, value in arguments.items() if has_layout(value)}
    # A view of a 1×1 matrix has strides that no larger one has.
    for n in (3, 1):
        typed = {name: _of_type(value, dtype, n) for name, value in given.items()}
        expected = _outcome(function, arguments | typed)
        for layout, of in LAYOUTS.items():
            views = {name: of(value) for name, value in typed.items()}
            if layout == "broadcast":
                expected = _outcome(function, arguments | {k: plain(v) for k, v in views.items()})
            assert _outcome(function, arguments | views) == expected, layout


@every_class
def test_estimators(estimator, labelled) -> None:
    X, y = labelled
    fitted = clone(estimator).fit(X, y)
    for (layout, of), dtype in zip(LAYOUTS.items(), cycle(TYPES), strict=False):
        queries = of(X[:7].astype(dtype))
        assert _bits(outputs(fitted, queries)) == _bits(outputs(fitted, plain(queries))), layout
    again = clone(estimator).fit(np.asfortranarray(X), y)
    assert _bits(outputs(again, X)) == _bits(outputs(fitted, X))


@pytest.mark.parametrize("metric", [c.name for c in divergence_classes() if c.symmetric])
def test_larger_matrices(metric) -> None:
    """From some size on BLAS sums in another order if matrices are transposed."""
    X = random_spd(12, 20)
    if metric == "thompson":
        pytest.skip("It has no mean.")
    kmeans = SPDKMeans(2, metric=metric, n_init=1, max_iter=2, random_state=0)
    centres = [clone(kmeans).fit(Z).cluster_centers_ for Z in (X, np.asfortranarray(X))]
    assert _bits(centres[:1]) == _bits(centres[1:])


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_real_form_of_any_strides(dtype) -> None:
    for step in range(1, 9):
        X = random_hpd(5 * step, 1, dtype=dtype)[::step]
        np.testing.assert_array_equal(real_form(X), real_form(X.copy()))
