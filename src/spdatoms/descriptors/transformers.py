"""What the descriptors share as transformers of scikit-learn."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import TransformerMixin

from spdatoms._utils import parameters as allow
from spdatoms._utils.estimator import StackEstimator, Threaded, checked_fit, estimator_call
from spdatoms._utils.progress import progress_is_due
from spdatoms._utils.threads import run_blocks
from spdatoms._utils.typing import FloatArray
from spdatoms.descriptors import inputs as check
from spdatoms.descriptors.regions import window_covariances

#: What parameters of several descriptors may be: the sizes of windows and their distances; the shrinkage.
WINDOWS, SHRINKAGE = allow.NONE | check.sizes(2), allow.real(0)


class Descriptor(Threaded, TransformerMixin, StackEstimator, ABC):
    """A transformer that describes each item of X by itself, so that there is nothing to learn."""

    #: What the items are, and the number of axes of one of them.
    _what, _ndim = "images", 2
    _advice = "all images must have the same number of features"

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


@allow.shared_parameters
class RegionDescriptor(Descriptor):
    """Covariances of a stack of features, over the whole of it or over windows."""

    block: Any
    step: Any
    mean: bool
    shrinkage: float = allow.parameter(SHRINKAGE, default=1e-4)

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


@allow.with_parameters
class RegionCovariance(RegionDescriptor):
    """Covariances of features of your own, of whole images or their windows.

    C_R = covariance of the features f_p of the pixels p ∈ R, for each image or its windows R.

    `transform` returns an array (m, n, n): without `block` one matrix per image, with it one per window,
    image by image. ``transform_regions`` returns the windows of every image by themselves.

    Parameters
    ----------
    features : callable, default=None
        Takes one item of X and returns its features (height, width, F). Without it the items of X
        are such features themselves.
    block : int or (int, int), default=None
        The height and width of windows; None stands for the whole image.
    step : int or (int, int), default=None
        The distance between windows; None stands for their size, which puts blocks side by side.
    mean : bool, default=False
        Add the mean: matrices [[C + μμᵀ, μ], [μᵀ, 1]] of size n = F + 1 instead of n = F.
    shrinkage : float, default=1e-4
        Makes covariances of flat and tiny regions definite, see `region_covariances`.
    n_jobs : int, default=None
        The number of threads over images.

    Examples
    --------
    >>> import numpy as np
    >>> from spdatoms.descriptors import RegionCovariance
    >>> images = np.random.default_rng(0).random((3, 32, 32))
    >>> RegionCovariance(lambda image: np.stack([image, image**2], axis=-1)).transform(images).shape
    (3, 2, 2)
    """

    features: Callable[[Any], Any] | None = allow.parameter(
        allow.NONE | allow.FUNCTION, default=None
    )
    block: Any = allow.parameter(WINDOWS, default=None)
    step: Any = allow.parameter(WINDOWS, default=None)
    mean: bool = allow.parameter(allow.BOOLEAN, default=False)

    def _features(self, item: Any, name: str) -> FloatArray:
        if self.features is not None:
            item, name = self.features(item), f"features({name})"
        stack = check.feature_stack(item, name)
        if stack.ndim != 3:
            raise ValueError(f"{name} must have the shape (height, width, F), got {stack.shape}.")
        return stack
