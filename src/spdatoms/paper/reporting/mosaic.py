"""What the embedded texture experiment is about: the textures, and a mosaic of them labelled by the classifier."""

from __future__ import annotations

from typing import Any

import numpy as np

from spdatoms._utils.typing import Array, Floats
from spdatoms.paper.experiments.experiment import Experiment
from spdatoms.paper.experiments.results import Results
from spdatoms.paper.reporting.picture import Picture, legend_below, new_figure

#: The size of windows, their distance in the mosaic, and the height and width of its tiles.
_WINDOW, _STEP, _TILE = 32, 8, (96, 160)
_TRAINING = 5
_COLUMNS = 3


def texture_pictures(experiment: Experiment, results: Results) -> list[Picture]:
    """Return pictures of the textures and of a labelled mosaic, if they come with the package.

    There are none of other experiments and of textures of the user's own.
    """
    if experiment.name != "textures" or not results.embedded:
        return []
    from spdatoms.datasets.textures import photographs

    images = photographs()
    tiles = {name: image[-_TILE[0] :, : _TILE[1]] for name, image in images.items()}
    labels, accuracy = _labelled(images, tiles)
    caption = (
        f"A mosaic of the six textures, labelled by SPDEnsembleClassifier from {_TRAINING} windows of each, taken from "
        f"other places of the photographs: {accuracy:.0%} of the windows inside one texture are right."
    )
    return [
        Picture("textures", "The six textures.", _gallery(tiles, 6), _gallery(tiles, 2)),
        Picture("mosaic", caption, _map(tiles, labels, False), _map(tiles, labels, True)),
    ]


def _labelled(images: dict[str, Array], tiles: dict[str, Array]) -> tuple[Array, float]:
    """Return the class of every window of the mosaic, and how many windows of one texture are right."""
    from spdatoms.classification.ensemble import SPDEnsembleClassifier
    from spdatoms.descriptors import region_covariances, texture_features

    rng = np.random.default_rng(0)
    training = []
    for image in images.values():
        above = region_covariances(texture_features(image[: -_TILE[0]]), block=_WINDOW)
        training.append(rng.choice(above, _TRAINING, replace=False))
    model = SPDEnsembleClassifier().fit(
        np.concatenate(training), np.repeat(np.arange(len(images)), _TRAINING)
    )
    mosaic = _mosaic(tiles)
    windows = region_covariances(texture_features(mosaic), block=_WINDOW, step=_STEP)
    texture = _mosaic({name: np.full(_TILE, i) for i, name in enumerate(tiles)})
    last = texture[_WINDOW - 1 :: _STEP, _WINDOW - 1 :: _STEP]
    rows, columns = last.shape
    first = texture[::_STEP, ::_STEP][:rows, :columns]
    labels = model.predict(windows).reshape(rows, columns)
    return labels, float((labels == first)[first == last].mean())


def _mosaic(tiles: dict[str, Array]) -> Floats:
    images = np.array([*tiles.values()], dtype=np.float64)
    rows = images.reshape(-1, _COLUMNS, *_TILE)
    return np.block([[*row] for row in rows])


def _gallery(tiles: dict[str, Array], columns: int) -> Any:
    rows = -(-len(tiles) // columns)
    figure = new_figure((1.7 * columns, 1.3 * rows))
    for ax, (name, tile) in zip(figure.subplots(rows, columns).flat, tiles.items(), strict=True):
        ax.imshow(tile, cmap="gray")
        ax.set_title(name, fontsize=9)
        ax.set_axis_off()
    return figure


def _map(tiles: dict[str, Array], labels: Array, narrow: bool) -> Any:
    """Draw the mosaic, and above it again with the labels in colour."""
    from matplotlib.patches import Patch

    figure = new_figure((3.7, 4.2) if narrow else (10.0, 2.6))
    axes = figure.subplots(2, 1) if narrow else figure.subplots(1, 2)
    mosaic = _mosaic(tiles)
    start, (rows, columns) = (_WINDOW - _STEP) / 2, labels.shape
    place = (start, start + _STEP * columns, start + _STEP * rows, start)
    for ax, title in zip(axes, ("the mosaic", "labelled by SPDEnsembleClassifier"), strict=True):
        ax.imshow(mosaic, cmap="gray", extent=(0, mosaic.shape[1], mosaic.shape[0], 0))
        ax.set_title(title, fontsize=9)
        ax.set_axis_off()
    shown = axes[1].imshow(
        labels, cmap="tab10", alpha=0.55, extent=place, vmin=-0.5, vmax=9.5, interpolation="nearest"
    )
    axes[1].set(xlim=(0, mosaic.shape[1]), ylim=(mosaic.shape[0], 0))
    handles = [
        Patch(color=shown.cmap(shown.norm(i)), alpha=0.55, label=name)
        for i, name in enumerate(tiles)
    ]
    legend_below(figure, handles, 3 if narrow else 6)
    return figure
