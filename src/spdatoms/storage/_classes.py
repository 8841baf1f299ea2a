"""Which classes a file may name, and how their objects are taken apart and put together."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from sklearn.base import BaseEstimator

from spdatoms.classification.average import KernelAverage
from spdatoms.classification.cells import Cell
from spdatoms.classification.references import References
from spdatoms.dictionary.online import PastSums, Statistics, Summary
from spdatoms.dictionary.problem import LandmarkProblem, Problem
from spdatoms.divergences import Divergence, Hermitian, get_divergence
from spdatoms.divergences.hermitian import over
from spdatoms.divergences.registry import divergence_classes
from spdatoms.kernels.correction import CorrectedGram
from spdatoms.kernels.kernel import RidgeKernel
from spdatoms.kernels.landmarks import LandmarkKernel, LandmarkSpace
from spdatoms.kernels.log_cosine import LogCosineKernel
from spdatoms.kernels.whitening import ClassicalScaling, Scatter, WhitenedKernel, Whitening
from spdatoms.regression.average import TargetAverage, TargetCell
from spdatoms.storage._checks import check_arguments, check_estimator
from spdatoms.storage._parts import check_stack

#: Every estimator in the ``__all__`` of one of these can be stored. They are imported when a file or a class asks for
#: a name that those before lack: the library does not need ``paper``.
_PUBLIC = ("spdatoms", "spdatoms.descriptors", "spdatoms.paper.baselines")
#: What they are made of besides divergences, by the names that files call them.
_PARTS: dict[str, type] = {
    "Cell": Cell,
    "ClassicalScaling": ClassicalScaling,
    "CorrectedGram": CorrectedGram,
    "KernelAverage": KernelAverage,
    "Hermitian": Hermitian,
    "LandmarkKernel": LandmarkKernel,
    "LandmarkSpace": LandmarkSpace,
    "LogCosineKernel": LogCosineKernel,
    "Memory": PastSums,
    "Summary": Summary,
    "LandmarkProblem": LandmarkProblem,
    "Problem": Problem,
    "Statistics": Statistics,
    "References": References,
    "RidgeKernel": RidgeKernel,
    "Scatter": Scatter,
    "TargetAverage": TargetAverage,
    "TargetCell": TargetCell,
    "WhitenedKernel": WhitenedKernel,
    "Whitening": Whitening,
}
#: Functions in the ``__all__`` of one of these can be the features of a descriptor.
_FEATURES = ("spdatoms.descriptors",)
#: Of scikit-learn: what stands after features in a pipeline and consists of arrays that NumPy alone
#: computes with, and splitters. (A support vector machine with a kernel hands its arrays to C code that
#: trusts their lengths.)
_SCIKIT_LEARN = {
    "sklearn.decomposition": ("PCA",),
    "sklearn.discriminant_analysis": ("LinearDiscriminantAnalysis",),
    "sklearn.linear_model": ("LogisticRegression",),
    "sklearn.model_selection": (
        "GroupKFold",
        "GroupShuffleSplit",
        "KFold",
        "LeaveOneGroupOut",
        "LeaveOneOut",
        "ShuffleSplit",
        "StratifiedGroupKFold",
        "StratifiedKFold",
        "StratifiedShuffleSplit",
    ),
    "sklearn.pipeline": ("Pipeline",),
    "sklearn.preprocessing": ("StandardScaler",),
    "sklearn.svm": ("LinearSVC",),
}
#: Attributes that an estimator's divergence has prepared from another attribute.
_PREPARED = {"_atoms": "_dictionary", "_prepared": "_matrices"}


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
        parameters = {name: getattr(value, name) for name in self._parameters()}
        if not isinstance(value, BaseEstimator):
            return parameters, {}
        attributes = {k: v for k, v in vars(value).items() if k not in parameters}
        for name, source in _PREPARED.items():
            if name in attributes and source in attributes:
                attributes[name] = Prepared(value.metric, attributes[source])
        return parameters, attributes

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
            check_arguments(self.cls, parameters)
            return self.cls(**parameters)
        value = self.cls(**parameters)
        vars(value).update(attributes)
        _prepare(value)
        check_estimator(value)
        return value

    @property
    def of_another_library(self) -> bool:
        """Whether the attributes are what scikit-learn, and its version, make them."""
        return self.name.startswith("sklearn.") and issubclass(self.cls, BaseEstimator)

    def _parameters(self) -> tuple[str, ...]:
        return tuple(inspect.signature(self.cls).parameters)

    def _may_set(self, name: str) -> bool:
        """Return whether it is the name of data, and not that of a method or a property."""
        estimator = issubclass(self.cls, BaseEstimator)
        inherited = getattr(self.cls, name, None)
        return (
            estimator
            and name.isidentifier()
            and not name.startswith("__")
            and not callable(inherited)
            and not hasattr(inherited, "__get__")
        )


def _prepare(value: Any) -> None:
    """Put what a divergence prepares in the place of each `Prepared`."""
    for name, part in list(vars(value).items()):
        if isinstance(part, Prepared):
            source = vars(value).get(_PREPARED.get(name, ""))
            if source is not part.matrices:
                raise ValueError(f"{name} is not prepared from the matrices of the model")
            matrices = check_stack(name, part.matrices)
            divergence = over(get_divergence(value.metric), matrices)
            setattr(value, name, divergence.prepare(matrices))


def stored_class(cls: type) -> StoredClass | None:
    """Return how the objects of a class are stored, None if they are not."""
    parts = {part: name for name, part in _PARTS.items()}
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
    cls = _PARTS.get(name) or divergences.get(name) or _of_scikit_learn(name)
    if cls is None:
        cls = _public(name, _PUBLIC)
        if not (inspect.isclass(cls) and issubclass(cls, BaseEstimator)):
            raise ValueError(
                f"spdatoms stores no class {name!r} (one of your own divergences is found once "
                "spdatoms.divergences.register_divergence has seen it)"
            )
    return StoredClass(name, cls)


def _of_scikit_learn(name: str) -> type | None:
    """Return the class of scikit-learn that a file calls ``sklearn.<name>``, None if it is not listed."""
    for module, names in _SCIKIT_LEARN.items():
        if name.startswith("sklearn.") and name.removeprefix("sklearn.") in names:
            cls: type = getattr(import_module(module), name.removeprefix("sklearn."))
            return cls
    return None


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
