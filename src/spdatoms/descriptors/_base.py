"""What the descriptors share as transformers of scikit-learn."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from sklearn.base import TransformerMixin

from spdatoms._utils import parameters as allow
from spdatoms._utils.estimator import StackEstimator, checked_fit, estimator_call
from spdatoms._utils.progress import progress_is_due
from spdatoms._utils.threads import run_blocks
from spdatoms._utils.typing import FloatArray
from spdatoms.descriptors import inputs as check
from spdatoms.descriptors.regions import window_covariances


class Descriptor(TransformerMixin, StackEstimator, ABC):
    """A transformer that describes each item of X by itself, so that there is nothing to learn."""

    #: What the items are, and the number of axes of one of them.
    _what, _ndim = "images", 2
    _advice = "all images must have the same number of features"
    n_jobs: int | None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return True

    @checked_fit
    def fit(self, X: Any = None, y: Any = None) -> Any:
        """Check the parameters; there is nothing to learn.

        Parameters
        ----------
        X : object, default=None
            Ignored.
        y : object, default=None
            Ignored.

        Returns
        -------
        self : object
            The estimator itself.
        """
        return self

    @estimator_call
    def transform(self, X: Any) -> Any:
        """Return the covariances of every item of X.

        Parameters
        ----------
        X : sequence of array-like
            The items, see the class. Images may also be the paths of files.

        Returns
        -------
        ndarray of shape (m, n, n)
            One matrix per item, or one per region, in the order of the items.
        """
        return np.concatenate(self._described(X))

    def _described(self, X: Any) -> list[FloatArray]:
        """Return the matrices of every item, each of shape (n_regions, n, n)."""
        self.check_parameters()
        items = check.as_items(X, self._what, self._ndim)
        described: list[FloatArray] = [np.empty(0)] * len(items)

        def describe(part: slice) -> None:
            for i in range(part.start, part.stop):
                matrices = self._describe(items[i], f"X[{i}]")
                described[i] = matrices.reshape(-1, *matrices.shape[-2:])

        run_blocks(describe, len(items), 1, self.n_jobs, progress_is_due())
        for i, matrices in enumerate(described):
            if matrices.shape[-1] != described[0].shape[-1]:
                raise ValueError(
                    f"X[{i}] gives matrices of size {matrices.shape[-1]}, but X[0] of size "
                    f"{described[0].shape[-1]}: {self._advice}."
                )
        return described

    @abstractmethod
    def _describe(self, item: Any, name: str) -> FloatArray:
        """Return the matrix (n, n) or the matrices (n_regions, n, n) of the item called ``name``."""


class RegionDescriptor(Descriptor):
    """Covariances of a stack of features, over the whole of it or over windows."""

    _axes = 2
    _parameters = allow.declare(
        block=allow.NONE | check.sizes(2),
        step=allow.NONE | check.sizes(2),
        mean=allow.BOOLEAN,
        shrinkage=allow.real(0),
        n_jobs=allow.N_JOBS,
        verbose=allow.VERBOSE,
    )

    def __init__(
        self,
        block: Any = None,
        step: Any = None,
        mean: bool = False,
        *,
        shrinkage: float = 1e-4,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.block = block
        self.step = step
        self.mean = mean
        self.shrinkage = shrinkage
        self.n_jobs = n_jobs
        self.verbose = verbose

    def check_parameters(self) -> None:
        """Refuse a distance between windows without their size, too."""
        super().check_parameters()
        check.check_step(self.step, self.block)

    def _describe(self, item: Any, name: str) -> FloatArray:
        stack = self._features(item, name)
        return window_covariances(stack, name, self.block, self.step, self.mean, self.shrinkage)

    @estimator_call
    def transform_regions(self, X: Any) -> list[FloatArray]:
        """Return the covariances of the regions of every item of X by themselves.

        Parameters
        ----------
        X : sequence of array-like
            The items, see the class.

        Returns
        -------
        list of ndarray of shape (n_regions, n, n)
            One array per item, with its regions in reading order. `transform` puts them in one stack.
        """
        return self._described(X)

    @abstractmethod
    def _features(self, item: Any, name: str) -> FloatArray:
        """Return the stack of features of one item."""
