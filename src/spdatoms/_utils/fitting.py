"""What ``fit`` has in common in all estimators."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, ClassVar

from spdatoms._utils.arrays import same_kind
from spdatoms._utils.parameters import Parameters, declare
from spdatoms._utils.progress import showing_progress
from spdatoms._utils.warning import warnings_of

#: What a fitted estimator is asked.
_ANSWERS = (
    "transform", "transform_regions", "transform_certified", "inverse_transform", "predict", "predict_proba",
    "decision_function", "kneighbors", "cross", "complete", "explain", "score",
)  # fmt: skip
#: What mixins of scikit-learn define with the help of those.
_MIXED_IN = ("score", "fit_predict")


class CheckedFit:
    """Estimators whose parameters are checked when ``fit`` begins, and that are never fitted by half.

    ``fit`` forgets the last fit before it begins. If it fails, or is interrupted, the estimator is not
    fitted, whatever it was before: its parameters may have changed, so that the last fit would not
    belong to them. If ``partial_fit`` fails, the estimator stays as it was.
    """

    #: What each parameter may be.
    _parameters: ClassVar[Parameters] = declare()

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        for name, guarded in (("fit", _guarded_fit), ("partial_fit", _guarded_partial_fit)):
            if name in vars(cls):
                setattr(cls, name, guarded(vars(cls)[name]))
        for name in _ANSWERS:
            if name in vars(cls):
                setattr(cls, name, _within_call(vars(cls)[name]))
        for name in _MIXED_IN:
            home = next((base for base in cls.__mro__ if name in vars(base)), CheckedFit)
            if not issubclass(home, CheckedFit):
                setattr(cls, name, same_kind(vars(home)[name]))

    def check_parameters(self) -> None:
        """Refuse parameters that are not what the class declares.

        A subclass whose parameters depend on each other overrides it.
        """
        for name, allowed in self._parameters.items():
            allowed.check(name, getattr(self, name))


@contextmanager
def call_of(estimator: Any, method: str) -> Iterator[None]:
    """Until the end of the block, warnings name the estimator, and loops show progress if it is verbose."""
    wanted = getattr(estimator, "verbose", False)
    with warnings_of(estimator), showing_progress(method, wanted):
        yield


def _within_call(method: Callable[..., Any]) -> Callable[..., Any]:
    @same_kind
    @wraps(method)
    def called(self: Any, *args: Any, **kwargs: Any) -> Any:
        with call_of(self, method.__name__):
            return method(self, *args, **kwargs)

    return called


def _guarded_fit(fit: Callable[..., Any]) -> Callable[..., Any]:
    @same_kind
    @wraps(fit)
    def guarded(self: Any, *args: Any, **kwargs: Any) -> Any:
        if getattr(type(self), "fit", None) is not guarded:
            return fit(self, *args, **kwargs)  # called by the ``fit`` of a subclass
        _forget(self)
        try:
            self.check_parameters()
            with call_of(self, "fit"):
                return fit(self, *args, **kwargs)
        except BaseException:
            _forget(self)
            raise

    return guarded


def _guarded_partial_fit(partial_fit: Callable[..., Any]) -> Callable[..., Any]:
    @same_kind
    @wraps(partial_fit)
    def guarded(self: Any, *args: Any, **kwargs: Any) -> Any:
        before = dict(vars(self))
        try:
            self.check_parameters()
            with call_of(self, "partial_fit"):
                return partial_fit(self, *args, **kwargs)
        except BaseException:
            vars(self).clear()
            vars(self).update(before)
            raise

    return guarded


def _forget(estimator: Any) -> None:
    """Delete the attributes by which scikit-learn recognises a fitted estimator: ``name_``."""
    for name in [name for name in vars(estimator) if name.endswith("_")]:
        delattr(estimator, name)
