"""Divergences between region covariances of real photographs, as a table and a picture.

The photographs are files of the scikit-image package, so nothing is downloaded. Every block of a
photograph becomes the 5×5 covariance of ``(I, |Ix|, |Iy|, |Ixx|, |Iyy|)`` over its pixels, and a good
divergence is small between two blocks of one texture. Run it with ``python -m spdatoms.demo``.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spdatoms._blocks import import_extra
from spdatoms.pairwise import pairwise_divergence

Floats = NDArray[np.float64]

PHOTOGRAPHS = ("brick", "grass", "gravel", "coins", "page", "text")
METRICS = ("stein", "jeffrey")
FEATURES = 5

# As many blocks of every photograph, so that chance is the same for all of them.
_MOST_BLOCKS = 60
_LEAST_BLOCK = 4
# Grey values were rounded to whole numbers, which is noise of this variance. It is all there is in a
# block of plain background, and keeps the covariance of such a block definite.
_ROUNDING_VARIANCE = 1 / 12


class DemoError(Exception):
    """What stops the demonstration, in one sentence for whoever runs it."""


@dataclass
class Result:
    """The divergences under one metric, and what they say about the photographs."""

    metric: str
    divergences: Floats
    seconds: float
    within: Floats
    between: Floats
    accuracy: float


def load_photographs() -> dict[str, Floats]:
    """Return the photographs as grey images, 0 to 255, from the files of scikit-image alone."""
    io = import_extra("skimage.io", extra="demo")
    folder = Path(import_extra("skimage.data", extra="demo").__file__).parent
    photographs = {}
    for name in PHOTOGRAPHS:
        path = folder / f"{name}.png"
        if not path.is_file():
            raise DemoError(
                f"this scikit-image does not contain the photograph {path.name}; "
                "pip install -U scikit-image gets one that does"
            )
        photographs[name] = np.asarray(io.imread(path), dtype=np.float64)
    return photographs


def cut(image: Floats, block: int) -> Floats:
    """Return the blocks of an image (..., height, width) side by side: (count, ..., block, block)."""
    rows, columns = (length // block for length in image.shape[-2:])
    tiles = image[..., : rows * block, : columns * block]
    tiles = tiles.reshape(*image.shape[:-2], rows, block, columns, block)
    tiles = np.moveaxis(tiles, (-4, -2), (0, 1))
    return tiles.reshape(rows * columns, *image.shape[:-2], block, block)


def region_covariances(image: Floats, block: int) -> Floats:
    """Return the covariances of (I, |Ix|, |Iy|, |Ixx|, |Iyy|) over the blocks, (count, 5, 5)."""
    Iy, Ix = np.gradient(image)
    Iyy, Ixx = np.gradient(Iy, axis=0), np.gradient(Ix, axis=1)
    features = cut(np.stack([image, abs(Ix), abs(Iy), abs(Ixx), abs(Iyy)]), block)
    samples = features.reshape(*features.shape[:2], -1)
    samples = samples - samples.mean(axis=-1, keepdims=True)
    covariances = samples @ samples.swapaxes(-1, -2) / (samples.shape[-1] - 1)
    return np.asarray(covariances + _ROUNDING_VARIANCE * np.eye(FEATURES))


def describe(photographs: dict[str, Floats], block: int) -> tuple[Floats, NDArray[np.intp]]:
    """Return equally many covariances of every photograph, and the number of its photograph."""
    if block < _LEAST_BLOCK:
        raise DemoError(f"--block must be at least {_LEAST_BLOCK}, got {block}")
    for name, image in photographs.items():
        if (image.shape[0] // block) * (image.shape[1] // block) < 2:
            height, width = image.shape
            raise DemoError(
                f"--block {block} is too large: {name} has {height}×{width} pixels, and at least two "
                "blocks are needed"
            )
    covariances = [region_covariances(image, block) for image in photographs.values()]
    count = min(_MOST_BLOCKS, *map(len, covariances))
    spread = [C[np.linspace(0, len(C) - 1, count).astype(np.intp)] for C in covariances]
    return np.concatenate(spread), np.repeat(np.arange(len(spread)), count)


def compare(X: Floats, labels: NDArray[np.intp], metric: str) -> Result:
    """Compute the divergences of all pairs; how far apart are the photographs?"""
    start = time.perf_counter()
    divergences = np.asarray(pairwise_divergence(X, metric=metric))
    seconds = time.perf_counter() - start
    same = labels[:, None] == labels
    pair = np.triu(np.ones_like(same), k=1)
    # Leave one out: the nearest of the *other* blocks.
    others = divergences + np.diag(np.full(len(X), np.inf))
    accuracy = float(np.mean(labels[others.argmin(axis=1)] == labels))
    return Result(
        metric, divergences, seconds, divergences[pair & same], divergences[pair & ~same], accuracy
    )


def table(results: Sequence[Result], chance: float) -> str:
    """Return the results as lines of text, one metric a column."""
    rows = [
        ("", [result.metric for result in results]),
        ("time, milliseconds", [f"{1e3 * result.seconds:.1f}" for result in results]),
        ("median within a photograph", [f"{np.median(result.within):.3f}" for result in results]),
        ("median between photographs", [f"{np.median(result.between):.3f}" for result in results]),
        (
            f"nearest-neighbour accuracy (chance {chance:.1%})",
            [f"{result.accuracy:.1%}" for result in results],
        ),
    ]
    return "\n".join(f"{name:<44}" + "".join(f"{cell:>10}" for cell in row) for name, row in rows)


def draw(
    results: Sequence[Result], photographs: dict[str, Floats], count: int, block: int, path: Path
) -> None:
    """Save the first metric's matrix, with the photographs beside it, and histograms of all."""
    Figure = import_extra("matplotlib.figure", extra="demo").Figure
    figure = Figure(figsize=(13, 6), dpi=110, layout="constrained")
    figure.get_layout_engine().set(w_pad=0.1, h_pad=0.12, hspace=0.05)
    left, right = figure.subfigures(1, 2, width_ratios=(1.25, 1))
    _draw_matrix(left, results[0], photographs, count, block)
    panels = right.subplots(len(results), 1)
    for axes, result in zip(np.ravel(panels), results, strict=True):
        _draw_histogram(axes, result)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path)


def _draw_matrix(
    figure: Any, result: Result, photographs: dict[str, Floats], count: int, block: int
) -> None:
    colors = import_extra("matplotlib.colors", extra="demo")
    axes = figure.subplots()
    size = len(result.divergences)
    positive = result.divergences[result.divergences > 0]
    norm = colors.LogNorm(*np.percentile(positive, [1, 99]), clip=True)
    # The zeros of the diagonal have no logarithm: show them as the least that is shown.
    shown = np.maximum(result.divergences, norm.vmin)
    picture = axes.imshow(shown, cmap="viridis", norm=norm, interpolation="nearest")
    for edge in range(count, size, count):
        axes.axhline(edge - 0.5, color="white", linewidth=0.8)
        axes.axvline(edge - 0.5, color="white", linewidth=0.8)
    middles = np.arange(count / 2 - 0.5, size, count)
    axes.set_xticks(middles, photographs, fontsize=11)
    axes.set_yticks([])
    axes.tick_params(length=0)
    share = 1 / len(photographs)
    for row, (name, image) in enumerate(photographs.items()):
        # A window of 128×128 pixels says what the texture is; the whole would be a grey stamp.
        inset = axes.inset_axes((-0.9 * share - 0.02, 1 - (row + 0.95) * share, *[0.9 * share] * 2))
        top, start = ((length - 128) // 2 for length in image.shape)
        inset.imshow(image[top : top + 128, start : start + 128], cmap="gray", vmin=0, vmax=255)
        inset.set_xticks([])
        inset.set_yticks([])
        inset.set_ylabel(name, fontsize=11)
    axes.set_title(
        f"{result.metric.capitalize()} divergence of {size} region covariances "
        f"({block}×{block} pixels each)"
    )
    bar = figure.colorbar(picture, ax=axes, shrink=0.8, extend="both")
    bar.set_label(f"{result.metric.capitalize()} divergence (logarithmic)")


def _draw_histogram(axes: Any, result: Result) -> None:
    positive = result.divergences[result.divergences > 0]
    edges = np.geomspace(positive.min(), positive.max(), 61)
    for values, label, color in (
        (result.within, "within a photograph", "tab:blue"),
        (result.between, "between photographs", "tab:orange"),
    ):
        shares = np.full(len(values), 100 / len(values))
        axes.hist(values, edges, weights=shares, label=label, color=color, alpha=0.6)
    axes.set_xscale("log")
    axes.set_xlabel(f"{result.metric.capitalize()} divergence of two blocks")
    axes.set_ylabel("% of the pairs")
    axes.set_title(
        f"{result.metric.capitalize()}: the nearest neighbour is right for {result.accuracy:.1%} of blocks"
    )
    axes.legend(frameon=False)
    axes.spines[["top", "right"]].set_visible(False)


def run(out: Path, block: int) -> Path:
    """Do all of it, telling what is done; return the path of the picture."""
    photographs = load_photographs()
    X, labels = describe(photographs, block)
    count = len(X) // len(photographs)
    print(
        f"{len(photographs)} photographs ({', '.join(photographs)}), {count} blocks of {block}×{block} "
        f"pixels each: {len(X)} covariances of {FEATURES}×{FEATURES}."
    )
    print(
        "Preparing the compiled code (some seconds the first time, then it is cached) ...", end=" "
    )
    sys.stdout.flush()
    start = time.perf_counter()
    for metric in METRICS:
        pairwise_divergence(X, metric=metric)
    print(f"{time.perf_counter() - start:.1f} s.")
    results = [compare(X, labels, metric) for metric in METRICS]
    print(f"Divergences of {len(X) * (len(X) - 1) // 2} pairs:\n")
    print(table(results, chance=(count - 1) / (len(X) - 1)))
    path = out / "divergences.png"
    draw(results, photographs, count, block, path)
    print(f"\nThe picture is {path}.")
    return path


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the demonstration from the command line; return the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m spdatoms.demo", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument(
        "--out", type=Path, default=Path("demo-output"), help="folder for the picture (%(default)s)"
    )
    parser.add_argument(
        "--block", type=int, default=32, help="side of a block in pixels (%(default)s)"
    )
    options = parser.parse_args(arguments)
    try:
        run(options.out, options.block)
    except (DemoError, ImportError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
