"""Checks of images, stacks of features, videos and sequences; errors say which item is wrong."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from numbers import Integral
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from spdatoms._utils import parameters as allow
from spdatoms._utils.arrays import in_order
from spdatoms._utils.images import read_colour, read_luminance
from spdatoms._utils.typing import FloatArray

#: More pixels than an image has, and few enough to count with.
_LONGER_THAN_ANY = 1 << 40


def as_items(X: Any, what: str, ndim: int) -> Sequence[Any]:
    """Return X as a sequence of images (or stacks, or sequences) of ``ndim`` axes or more."""
    if isinstance(X, np.ndarray) and X.dtype != object and X.ndim <= ndim:
        raise ValueError(
            f"X must hold several {what}, got one array of shape {X.shape}: for a single one use [X]."
        )
    if isinstance(X, str | PathLike):
        raise TypeError(f"X must be a list of {what}, got a path: for a single file use [X].")
    if not hasattr(X, "__len__") or not hasattr(X, "__getitem__"):
        raise TypeError(f"X must be a list or an array of {what}, got {type(X).__name__}.")
    if len(X) == 0:
        raise ValueError(f"X is empty: it holds no {what}. Is the list of files empty?")
    return X  # type: ignore[no-any-return]


def as_real(array: ArrayLike, name: str) -> FloatArray:
    """Return a finite, native float32 or float64 array."""
    try:
        values = np.asarray(array)
    except ValueError as error:
        raise ValueError(f"{name} cannot be made an array: its rows differ in length.") from error
    if values.dtype.kind not in "fiub":
        raise TypeError(f"{name} must hold real numbers, got the dtype {values.dtype}.")
    single = values.dtype.kind == "f" and values.dtype.itemsize <= 4
    values = in_order(values, np.float32 if single else np.float64)
    finite = np.isfinite(values)
    if not finite.all():
        place = tuple(int(i) for i in np.argwhere(~finite)[0])
        raise ValueError(f"{name} is not finite: its entry {place} is {values[place]}.")
    return values


def grey_image(image: Any, name: str) -> FloatArray:
    """Return a checked grey image (height, width), which may be the path of a file."""
    return _grey(_loaded(image, read_luminance, name), name, "image (height, width)", 2)


def _loaded(image: Any, read: Callable[[Path], Any], name: str) -> Any:
    """Return an image, read from a file if it is the path of one."""
    if not isinstance(image, str | PathLike):
        return image
    try:
        return read(Path(image))
    except ValueError as error:
        raise ValueError(f"{name}, the file {fspath(image)}, {error}.") from error


def _grey(array: ArrayLike, name: str, what: str, ndim: int) -> FloatArray:
    """Return an array of ``ndim`` axes, refusing colours with advice."""
    values = as_real(array, name)
    if values.ndim == ndim + 1 and values.shape[-1] in (3, 4):
        raise ValueError(
            f"{name} must be a grey {what}, got a colour one of shape {values.shape}: "
            "skimage.color.rgb2gray makes it grey."
        )
    if values.ndim != ndim or 0 in values.shape:
        raise ValueError(f"{name} must be a grey {what}, got the shape {values.shape}.")
    return values


def colour_image(image: Any, name: str) -> FloatArray:
    """Return a checked colour image (height, width, 3), which may be the path of a file."""
    values = as_real(_loaded(image, read_colour, name), name)
    if values.ndim == 2:
        raise ValueError(
            f"{name} must be a colour image (height, width, 3), got a grey one of shape "
            f"{values.shape}: skimage.color.gray2rgb repeats it three times."
        )
    if values.ndim == 3 and values.shape[-1] == 4:
        raise ValueError(
            f"{name} has four channels, shape {values.shape}: leave out the transparency by "
            "image[..., :3]."
        )
    if values.ndim != 3 or values.shape[-1] != 3 or 0 in values.shape:
        raise ValueError(
            f"{name} must be a colour image (height, width, 3), got the shape {values.shape}."
        )
    return values


def feature_stack(features: ArrayLike, name: str) -> FloatArray:
    """Return a checked stack (height, width, F) or (frames, height, width, F)."""
    values = as_real(features, name)
    if values.ndim not in (3, 4) or 0 in values.shape:
        raise ValueError(
            f"{name} must have the shape (height, width, F), or (frames, height, width, F) for a "
            f"video, got {values.shape}."
        )
    return values


def grey_video(video: ArrayLike, name: str, least_side: int) -> FloatArray:
    """Return a checked grey video (frames, height, width) of two frames or more, not too small."""
    values = _grey(video, name, "video (frames, height, width)", 3)
    if len(values) < 2:
        raise ValueError(f"{name} has one frame only: motion needs two or more.")
    if min(values.shape[1:]) < least_side:
        raise ValueError(
            f"{name} has frames of {values.shape[1]}×{values.shape[2]} pixels, but optical flow needs "
            f"at least {least_side}×{least_side}."
        )
    return values


def joint_sequence(sequence: ArrayLike, name: str) -> FloatArray:
    """Return a checked sequence (frames, joints, 3) of two frames or more."""
    values = as_real(sequence, name)
    if values.ndim != 3 or values.shape[-1] != 3 or 0 in values.shape[1:]:
        raise ValueError(
            f"{name} must be a sequence of joint positions (frames, joints, 3), got the shape "
            f"{values.shape}."
        )
    if len(values) < 2:
        raise ValueError(f"{name} has one frame or none: a covariance needs two or more.")
    return values


def times(shape: Sequence[int]) -> str:
    """Return ``12×16``, as a size is written."""
    return "×".join(map(str, shape))


def sizes(axes: int) -> allow.Allowed:
    """Return: a positive whole number, or one for each axis."""
    one = allow.integer(1)
    several = allow.Allowed(
        (f"a list of {axes} such numbers, one for each axis",),
        lambda value: allow.ARRAY.test(value) and len(value) == axes and all(map(one.test, value)),
    )
    return one | several


def lengths(value: Any, name: str, axes: int) -> tuple[int, ...]:
    """Return a positive whole number, or one for each axis, as a tuple."""
    sizes(axes).check(name, value)
    numbers = (value,) * axes if isinstance(value, Integral) else value
    return tuple(min(int(v), _LONGER_THAN_ANY) for v in numbers)


def check_step(step: Any, block: Any) -> None:
    """Refuse a distance between windows without the size of windows."""
    if step is not None and block is None:
        raise ValueError("step is the distance between windows: give block, their size, as well.")


def two_joints(joints: Any) -> bool:
    """Return whether it is a pair of different indices of joints."""
    pair = tuple(joints) if allow.ARRAY.test(joints) else ()
    return len(pair) == 2 and all(map(allow.integer(0).test, pair)) and pair[0] != pair[1]
