"""Which classes a file may name, and how their objects are taken apart, put together and checked.

What classes hold is checked as ``fit`` checks it, because compiled code trusts what an estimator holds: parameters,
positive definite matrices, finite numbers, and all that belongs together of one size. Prediction with others could
read beyond an array, or iterate without an end.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from spdatoms._utils.estimator import StackEstimator
from spdatoms.divergences import Divergence, get_divergence
from spdatoms.divergences.hermitian import over
from spdatoms.divergences.registry import divergence_classes
from spdatoms.layout import PARTS, PreparedFrom, Sizes, check_stack, held_by, missing
from spdatoms.storage._scikit_learn import of_scikit_learn

#: Every estimator in the ``__all__`` of one of these can be stored. They are imported when a file or a class asks for
#: a name that those before lack: the library does not need ``paper``.
_PUBLIC = ("spdatoms", "spdatoms.descriptors", "spdatoms.paper.baselines")
#: What classes declare of themselves, and objects do not have of their own.
_DECLARED = ("_parameters", "_stored")
#: Attributes in which a number may be missing: combinations of parameters that were not tried.
_WITH_GAPS = ("cv_scores_", "cv_results_")
#: Functions in the ``__all__`` of one of these can be the features of a descriptor.
_FEATURES = ("spdatoms.descriptors",)


@dataclass(frozen=True)
class Prepared:
    """``metric.prepare(matrices)``, to be computed again: its layout may depend on the processor.

    Attributes
    ----------
    metric : str or Divergence
        The divergence.
    matrices : ndarray of shape (m, n, n)
        The matrices.
    """

    metric: str | Divergence
    matrices: Any


@dataclass(frozen=True)
class StoredClass:
    """A class whose objects are kept as the arguments of its constructor and attributes set later.

    Attributes
    ----------
    name : str
        What a file calls it.
    cls : type
        The class.
    """

    name: str
    cls: type

    def state(self, value: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the arguments, and the attributes beyond them (only estimators have such)."""
        parameters = {name: getattr(value, name) for name in inspect.signature(self.cls).parameters}
        if not isinstance(value, BaseEstimator):
            return parameters, {}
        attributes = {k: v for k, v in vars(value).items() if k not in parameters}
        prepared = {
            name: Prepared(value.metric, attributes[source])
            for name, source in _sources(self.cls).items()
            if name in attributes and source in attributes
        }
        return parameters, attributes | prepared

    def make(self, parameters: dict[str, Any], attributes: dict[str, Any]) -> Any:
        """Return the object; ValueError if it could not have come from `state`."""
        signature = inspect.signature(self.cls).parameters
        unknown = set(parameters) - set(signature)
        unknown |= {name for name in attributes if not self._may_set(name)}
        if unknown:
            raise ValueError(f"{self.name} has no {', '.join(sorted(unknown))}")
        needed = {name for name, one in signature.items() if one.default is one.empty}
        if lacking := needed - set(parameters):
            raise ValueError(f"{self.name} lacks {', '.join(sorted(lacking))}")
        if not issubclass(self.cls, BaseEstimator):
            _check_parts(self.cls, parameters)
            for name, value in parameters.items():
                _check_numbers(name, value)
            return self.cls(**parameters)
        value = self.cls(**parameters)
        vars(value).update(attributes)
        _prepare(value)
        _check_estimator(value)
        return value

    @property
    def of_another_library(self) -> bool:
        """Whether the attributes are what scikit-learn, and its version, make them."""
        return self.name.startswith("sklearn.") and issubclass(self.cls, BaseEstimator)

    def _may_set(self, name: str) -> bool:
        """Return whether it is the name of data, and not that of a method or a property."""
        inherited = getattr(self.cls, name, None)
        return (
            issubclass(self.cls, BaseEstimator)
            and name.isidentifier()
            and not name.startswith("__")
            and name not in _DECLARED
            and not callable(inherited)
            and not hasattr(inherited, "__get__")
        )


def _sources(cls: type) -> dict[str, str]:
    """Return the attributes that a divergence prepares, and what it prepares them from."""
    return {k: held.source for k, held in held_by(cls).items() if isinstance(held, PreparedFrom)}


def _prepare(value: Any) -> None:
    """Put what a divergence prepares in the place of each `Prepared`."""
    for name, part in list(vars(value).items()):
        if isinstance(part, Prepared):
            source = vars(value).get(_sources(type(value)).get(name, ""))
            if source is not part.matrices:
                raise ValueError(f"{name} is not prepared from the matrices of the model")
            matrices = check_stack(name, part.matrices)
            divergence = over(get_divergence(value.metric), matrices)
            setattr(value, name, divergence.prepare(matrices))


def stored_class(cls: type) -> StoredClass | None:
    """Return how the objects of a class are stored, None if they are not."""
    parts = {part: name for name, part in _parts().items()}
    name = parts.get(cls, cls.__name__)
    if cls.__module__.startswith("sklearn."):
        name = f"sklearn.{name}"
    try:
        stored = class_named(name)
    except ValueError:
        return None
    return stored if stored.cls is cls else None


def class_named(name: str) -> StoredClass:
    """Return the class that a file calls so; ValueError if it is none of those listed here."""
    divergences = {cls.__name__: cls for cls in divergence_classes()}
    cls = _parts().get(name) or divergences.get(name) or of_scikit_learn(name)
    if cls is None:
        cls = _public(name, _PUBLIC)
        if not (inspect.isclass(cls) and issubclass(cls, BaseEstimator)):
            raise ValueError(
                f"spdatoms stores no class {name!r} (one of your own divergences is found once "
                "spdatoms.divergences.register_divergence has seen it)"
            )
    return StoredClass(name, cls)


@cache
def _parts() -> dict[str, type]:
    """Return what estimators are made of besides divergences: known as soon as the library is imported."""
    library = import_module(_PUBLIC[0])
    for name in library.__all__:
        getattr(library, name)
    return PARTS


def function_named(name: str) -> Any:
    """Return the function of features that a file calls so; ValueError if there is none."""
    function = _public(name, _FEATURES)
    if not inspect.isfunction(function):
        raise ValueError(f"spdatoms stores no function {name!r}")
    return function


def is_stored_function(value: Any) -> bool:
    """Return whether `function_named` gives this very function."""
    return inspect.isfunction(value) and _public(value.__name__, _FEATURES) is value


def _public(name: str, modules: tuple[str, ...]) -> Any:
    """Return what one of the package's own modules has in its ``__all__`` under this name, or None."""
    for module in modules:
        if find_spec(module) is not None and name in import_module(module).__all__:
            return getattr(import_module(module), name)
    return None


def _check_estimator(value: BaseEstimator) -> None:
    """Refuse an estimator whose attributes are not what a fit leaves behind."""
    if not any(name.endswith("_") for name in vars(value)):
        return  # not fitted: what its parameters are ``fit`` will see
    if lacking := missing(type(value), vars(value)):
        raise ValueError(f"{type(value).__name__} lacks {', '.join(lacking)}")
    if isinstance(value, StackEstimator):
        value.check_parameters()
    _check_parts(type(value), vars(value))
    of_the_user = value.get_params(deep=False)
    for name, part in vars(value).items():
        if name not in of_the_user and name not in _WITH_GAPS:
            _check_numbers(name, part)


def _check_parts(cls: type, values: Mapping[str, Any]) -> None:
    held, sizes = held_by(cls), Sizes()
    # In the order of the layout: what is said of sizes then does not depend on the file.
    for name in held:
        if name in values:
            held[name].check(name, values[name], sizes, True)


def _check_numbers(name: str, part: Any) -> None:
    if isinstance(part, tuple):
        for one in part:
            _check_numbers(name, one)
    is_number = isinstance(part, float | np.ndarray | np.floating)
    if is_number and np.asarray(part).dtype.kind in "fc" and not np.isfinite(part).all():
        raise ValueError(f"{name} is not finite")
