"""Covariances of a stack of features over many regions: blocks, windows, rectangles and masks."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from spdatoms._utils import parameters as allow
from spdatoms._utils.arrays import same_kind
from spdatoms._utils.threads import block_slices
from spdatoms._utils.typing import FloatArray, Floats, Indices
from spdatoms.descriptors import inputs as check
from spdatoms.descriptors.covariance import definite, mean_and_scale, sample_moments, with_mean
from spdatoms.native import kernel

_add_moments = kernel("add_moments", "DqqqDIIDq")
_covariances_from = kernel("box_covariances", "DqqqIDDDD")

#: Boxes (count, axes, 2): where each begins and ends along each axis.
Boxes = Indices

# An integral image costs about as much as this many direct passes over the pixels, at BLAS speed.
_PASSES = 4
_LARGEST_TABLE = 2**27
_REGIONS_AT_A_TIME = 2**16


@same_kind
@allow.checks(mean=allow.BOOLEAN, shrinkage=allow.real(0))
def region_covariances(
    features: ArrayLike,
    *,
    block: Any = None,
    step: Any = None,
    rectangles: ArrayLike | None = None,
    masks: ArrayLike | None = None,
    mean: bool = False,
    shrinkage: float = 1e-4,
) -> FloatArray:
    """Return the covariances of regions of a stack of features.

    C_R = Σ_{p∈R} (f_p − μ_R)(f_p − μ_R)ᵀ / (|R| − 1) + shrinkage · diag(C_ff + s_f), for every region R.

    f_p is the feature vector of pixel p, and s_f the variance of feature f over the whole image (plus
    a millionth of its mean square; for a feature that is zero everywhere, the mean over the others).
    The shrinkage makes the covariance of a flat or tiny region definite. It does not depend on the units
    of the features, and no eigenvalue of the correlation matrix is below shrinkage / (1 + shrinkage).

    Parameters
    ----------
    features : array-like of shape (height, width, F) or (frames, height, width, F)
        The feature vector of every pixel.
    block : int or sequence of int, default=None
        The size of windows, in the order of the axes of ``features``; a number stands for all axes.
        Without `block`, `rectangles` and `masks` the whole image is the only region.
    step : int or sequence of int, default=None
        The distance between windows. None stands for their size: blocks side by side. Windows begin
        at the first pixel, and pixels at the end that no window reaches are left out.
    rectangles : array-like of int of shape (n_regions, 4) or (n_regions, 6), default=None
        Regions as (top, left, bottom, right), the last two being one past the end as in
        scikit-image; for a video (first, top, left, last, bottom, right).
    masks : array-like of bool of shape (n_regions, height, width) or (height, width), default=None
        Regions of any shape.
    mean : bool, default=False
        Return [[C + μμᵀ, μ], [μᵀ, 1]] of size F + 1 instead, which holds the mean as well.
    shrinkage : float, default=1e-4
        The weight of the shrinkage. With 0 the matrices may be singular.

    Returns
    -------
    ndarray of shape (n_regions, F, F), or (n_regions, F + 1, F + 1) with ``mean``
        Windows are in reading order. The dtype is that of the features, although everything is
        computed in float64.

    Notes
    -----
    Where regions overlap much, integral images [1]_ make the cost of a region independent of its area.
    They lose digits where a region varies much less than the image. The features are centred first, so
    that the error of a covariance is a few rounding errors of the variances of the *image*.

    References
    ----------
    .. [1] O. Tuzel, F. Porikli, P. Meer, Region covariance: a fast descriptor for detection and
       classification, ECCV 2006.

    Examples
    --------
    >>> import numpy as np
    >>> from spdatoms.descriptors import region_covariances
    >>> features = np.random.default_rng(0).standard_normal((64, 48, 5))
    >>> region_covariances(features, block=16).shape
    (12, 5, 5)
    >>> region_covariances(features, rectangles=[[0, 0, 64, 48], [10, 10, 12, 12]]).shape
    (2, 5, 5)
    """
    stack = check.feature_stack(features, "features")
    if sum(given is not None for given in (block, rectangles, masks)) > 1:
        raise ValueError("Give only one of block, rectangles and masks.")
    check.check_step(step, block)
    shape = stack.shape[:-1]
    if masks is not None:
        return _covariances(stack, _checked_masks(masks, shape), mean, shrinkage)
    if rectangles is not None:
        return _covariances(stack, _checked_rectangles(rectangles, shape), mean, shrinkage)
    return window_covariances(stack, "features", block, step, mean, shrinkage)


def window_covariances(
    stack: FloatArray, name: str, block: Any, step: Any, mean: bool, shrinkage: float
) -> FloatArray:
    """Return the covariances of the windows of a checked stack that errors call ``name``."""
    return _covariances(stack, _windows(stack.shape[:-1], name, block, step), mean, shrinkage)


def _covariances(
    stack: FloatArray, regions: NDArray[Any], mean: bool, shrinkage: float
) -> FloatArray:
    """Return the definite covariances of boxes or masks, with their means if ``mean``."""
    centre, scale = mean_and_scale(stack.reshape(-1, stack.shape[-1]))
    if regions.dtype == np.bool_:
        means, covariances = _directly(stack, regions)
    else:
        means, covariances = _over_boxes(stack, centre, regions)
    covariances = definite(covariances, scale, shrinkage)
    out = with_mean(covariances, means) if mean else covariances
    return out.astype(stack.dtype, copy=False)


def _windows(shape: tuple[int, ...], name: str, block: Any, step: Any) -> Boxes:
    """Return the boxes of all windows that fit, in reading order; without a block, the whole image."""
    size = shape if block is None else check.lengths(block, "block", len(shape))
    stride = size if step is None else check.lengths(step, "step", len(shape))
    if any(b > length for b, length in zip(size, shape, strict=True)):
        unit = "pixels" if len(shape) == 2 else "frames×height×width"
        raise ValueError(
            f"{name} has {check.times(shape)} {unit}, fewer than a block of {check.times(size)}."
        )
    axes = [np.arange(0, n - b + 1, s) for n, b, s in zip(shape, size, stride, strict=True)]
    starts = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(shape))
    return np.stack([starts, starts + np.array(size)], axis=-1)


def _checked_rectangles(rectangles: ArrayLike, shape: tuple[int, ...]) -> Boxes:
    values = np.asarray(rectangles)
    axes = len(shape)
    if values.ndim != 2 or values.shape[1] != 2 * axes or values.dtype.kind not in "iu":
        raise ValueError(
            f"rectangles must be whole numbers of shape (n_regions, {2 * axes}), got the dtype "
            f"{values.dtype} and the shape {values.shape}."
        )
    boxes: Boxes = values.astype(np.intp).reshape(-1, 2, axes).swapaxes(1, 2)
    outside = ((boxes[..., 0] < 0) | (boxes[..., 1] > np.array(shape))).any(axis=1)
    empty = (boxes[..., 0] >= boxes[..., 1]).any(axis=1)
    for wrong, why in (
        (outside, f"leaves the image, whose size is {check.times(shape)}."),
        (
            empty,
            "holds no pixel: the order is top, left, bottom, right, and the last two are one past the end.",
        ),
    ):
        if wrong.any():
            i = int(np.argmax(wrong))
            raise ValueError(f"rectangles[{i}] = {values[i].tolist()} {why}")
    return boxes


def _checked_masks(masks: ArrayLike, shape: tuple[int, ...]) -> NDArray[np.bool_]:
    values = np.asarray(masks)
    if values.ndim == len(shape):
        values = values[None]
    if values.shape[1:] != shape or values.dtype.kind not in "biu":
        raise ValueError(
            f"masks must be boolean, of shape (n_regions, {', '.join(map(str, shape))}) like the "
            f"image, got the dtype {values.dtype} and the shape {values.shape}."
        )
    inside: NDArray[np.bool_] = values != 0
    empty = ~inside.reshape(len(inside), -1).any(axis=1)
    if empty.any():
        raise ValueError(f"masks[{int(np.argmax(empty))}] holds no pixel.")
    return inside


def _over_boxes(stack: FloatArray, centre: Floats, boxes: Boxes) -> tuple[Floats, Floats]:
    """Return means (n_regions, F) and covariances, directly or by an integral image."""
    shape, n = stack.shape[:-1], stack.shape[-1]
    pixels_to_visit = int((boxes[..., 1] - boxes[..., 0]).prod(axis=1).sum())
    edges = [np.unique(boxes[:, axis]) for axis in range(len(shape))]
    table_entries = int(np.prod([len(e) for e in edges])) * (n * (n + 3) // 2)
    few = pixels_to_visit <= _PASSES * int(np.prod(shape))
    if few or table_entries > _LARGEST_TABLE:
        return _directly(stack, (tuple(slice(*ends) for ends in box) for box in boxes))
    return _by_integral_image(stack, centre, boxes, edges)


def _directly(stack: FloatArray, regions: Iterable[Any]) -> tuple[Floats, Floats]:
    """Return the means and covariances of regions, given as indices of pixels, one after the other."""
    n = stack.shape[-1]
    moments = [sample_moments(stack[region].reshape(-1, n)) for region in regions]
    means = np.array([mean for mean, _ in moments]).reshape(-1, n)
    return means, np.array([covariance for _, covariance in moments]).reshape(-1, n, n)


def _by_integral_image(
    stack: FloatArray, centre: Floats, boxes: Boxes, edges: list[Indices]
) -> tuple[Floats, Floats]:
    """Sum moments over the cells between edges of boxes; then a box takes 2^axes look-ups."""
    *shape, n = stack.shape
    table = _integral(stack, centre, edges)
    number = [_edges_before(e, length + 1) - 1 for e, length in zip(edges, shape, strict=True)]
    at = np.stack([of[boxes[:, axis]] for axis, of in enumerate(number)], axis=1)
    sides = np.array(list(product((0, 1), repeat=len(shape))))
    signs = (-1.0) ** (len(shape) - sides.sum(axis=1))
    corners = np.empty((len(boxes), len(sides)), np.int64)
    for k, side in enumerate(sides):
        places = at[:, range(len(shape)), side].T
        corners[:, k] = np.ravel_multi_index(tuple(places), table.shape[:-1])
    counts = (boxes[..., 1] - boxes[..., 0]).prod(axis=1).astype(np.float64)
    means, covariances = np.empty((len(boxes), n)), np.empty((len(boxes), n, n))
    for part in block_slices(len(boxes), _REGIONS_AT_A_TIME):
        _covariances_from(
            table, n, len(counts[part]), len(signs), corners[part], signs, counts[part],
            means[part], covariances[part],
        )  # fmt: skip
    return means + centre, covariances


def _integral(stack: FloatArray, centre: Floats, edges: list[Indices]) -> Floats:
    """Return the moments of all pixels before each crossing of edges, (*counts of edges, moments)."""
    *shape, n = stack.shape
    after = [_edge_after(e, length) for e, length in zip(edges, shape, strict=True)]
    # All axes but the last one are merged: a row of pixels belongs to a row of the table.
    rows = np.zeros((), dtype=np.intp)
    for edge, e in zip(after[:-1], edges[:-1], strict=True):
        inside = (rows[..., None] >= 0) & (edge >= 0)
        rows = np.where(inside, rows[..., None] * len(e) + edge, -1)
    table = np.zeros((*map(len, edges), n * (n + 3) // 2))
    pixels = np.ascontiguousarray(stack, dtype=np.float64).reshape(-1, shape[-1], n)
    _add_moments(pixels, *pixels.shape, centre, rows.ravel(), after[-1], table, table.shape[-2])
    for axis in range(len(shape)):
        along = np.moveaxis(table, axis, 0)
        for k in range(1, len(along)):  # np.cumsum takes several times as long along the first axes
            along[k] += along[k - 1]
    return table


def _edges_before(edges: Indices, length: int) -> Indices:
    """Return how many edges are at or before each of the positions 0, 1, … of an axis."""
    return np.searchsorted(edges, np.arange(length), side="right")


def _edge_after(edges: Indices, length: int) -> Indices:
    """Return the number of the edge after every pixel of an axis, −1 outside the first and last edge."""
    edge = _edges_before(edges, length)
    return np.where((edge > 0) & (edge < len(edges)), edge, -1)
