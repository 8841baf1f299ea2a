"""The door of estimators: where parameters are checked, and what every call of a public method has in common."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, ClassVar, TypeVar, cast

from sklearn.base import BaseEstimator, ClassifierMixin

from spdatoms._utils import parameters as allow
from spdatoms._utils.arrays import same_kind
from spdatoms._utils.glossary import describe_members
from spdatoms._utils.parameters import METHOD, Parameters, checks, declare
from spdatoms._utils.progress import showing_progress
from spdatoms._utils.threads import blas_threads_for
from spdatoms._utils.warning import warnings_of

Method = TypeVar("Method", bound=Callable[..., Any])


class StackEstimator(BaseEstimator):
    """An estimator whose samples are arrays, not vectors, and that declares what each of its parameters may be."""

    #: What each parameter may be.
    _parameters: ClassVar[Parameters] = declare()

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if cls.__module__.startswith("spdatoms."):  # estimators of others keep their words
            describe_members(cls)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.three_d_array = True
        return tags

    def check_parameters(self) -> None:
        """Refuse parameters that are not what the class declares.

        A subclass whose parameters depend on each other overrides it.
        """
        for name, allowed in self._parameters.items():
            allowed.check(name, getattr(self, name))


@allow.shared_parameters
class Threaded:
    """Estimators with the parameters of what may take long."""

    n_jobs: int | None = allow.parameter(allow.N_JOBS, default=None)
    verbose: int = allow.parameter(allow.VERBOSE, default=0)


class LabelPredictor(ClassifierMixin):
    """scikit-learn's mixin of classifiers, with a ``score`` that takes arrays of other libraries, too."""

    score = same_kind(ClassifierMixin.score)


@contextmanager
def call_of(estimator: Any, method: str) -> Iterator[None]:
    """Until the end of the block, warnings name the estimator, and loops show progress if it is verbose."""
    wanted = getattr(estimator, "verbose", False)
    with warnings_of(estimator), showing_progress(method, wanted):
        yield


@checks(method=METHOD)
def estimator_call(method: Method) -> Method:
    """Decorate a public method of an estimator: arrays of other libraries, names in warnings, progress.

    Warnings name the estimator, its loops show progress if it is verbose, and arrays of torch and the like are taken
    and returned. `spdatoms.base.per_matrix` and `spdatoms.base.by_channels` do the same and more.

    Parameters
    ----------
    method : callable
        A method of an estimator.

    Returns
    -------
    callable
        The method. A subclass may override it, and call it with ``super()``.
    """

    @same_kind
    @wraps(method)
    def called(self: Any, *args: Any, **kwargs: Any) -> Any:
        with call_of(self, method.__name__):
            return method(self, *args, **kwargs)

    return cast(Method, called)


@checks(method=METHOD)
def checked_fit(method: Method) -> Method:
    """Decorate ``fit`` or ``partial_fit``: parameters are checked first, and no estimator is ever fitted by half.

    ``fit`` forgets the last fit before it begins. If it fails, or is interrupted, the estimator is not
    fitted, whatever it was before: its parameters may have changed, so that the last fit would not
    belong to them. If ``partial_fit`` fails, the estimator stays as it was.

    Parameters
    ----------
    method : callable
        The method ``fit`` or ``partial_fit`` of an estimator with a method ``check_parameters``.

    Returns
    -------
    callable
        The method. A subclass may override it, and call it with ``super()``.
    """
    name = method.__name__

    @same_kind
    @wraps(method)
    def guarded(self: Any, *args: Any, **kwargs: Any) -> Any:
        if getattr(type(self), name, None) is not guarded:
            return method(self, *args, **kwargs)  # called by the method of a subclass
        before = dict(vars(self)) if name == "partial_fit" else _forgotten(self)
        try:
            self.check_parameters()
            with (
                call_of(self, name),
                blas_threads_for(*_sizes(args[0] if args else kwargs.get("X"))),
            ):
                return method(self, *args, **kwargs)
        except BaseException:
            vars(self).clear()
            vars(self).update(before)
            raise

    return cast(Method, guarded)


def _sizes(X: Any) -> tuple[int, ...]:
    """Return the shape of an array; nothing of what has another kind of shape, or none."""
    shape = getattr(X, "shape", ())
    plain = isinstance(shape, tuple) and all(isinstance(size, int) for size in shape)
    return shape if plain else ()


def _forgotten(estimator: Any) -> dict[str, Any]:
    """Delete the attributes by which scikit-learn recognises a fitted estimator, ``name_``, and return the others."""
    for name in [name for name in vars(estimator) if name.endswith("_")]:
        delattr(estimator, name)
    return dict(vars(estimator))
