"""Material categorisation: the paper's table on Flickr's materials."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from spdatoms.paper.experiments.division import halves
from spdatoms.paper.experiments.experiment import (
    ACCURACY,
    COVARIANCES,
    Experiment,
    LabelledViews,
    Method,
    Published,
    Task,
)
from spdatoms.paper.experiments.methods.classifiers import classifiers

_FLICKR = "The Flickr materials,"


class Materials(Experiment):
    """Half of the photographs of each material train; the material of the others is to be named."""

    name = "materials"
    title = "Material categorisation"
    protocol = (
        "Flickr Material Database, ten materials, 100 photographs each. SIFT and the colours of 3×3 pixels "
        "at the points of a grid, 5 pixels apart, inside the mask: a 155×155 covariance. The paper does not "
        "state the division; here a random half of each material trains and the other half is classified."
    )
    wants = "Flickr's materials (image/<material>/*.jpg and mask/<material>/*.jpg)"
    subfolder = "flickr"
    published = (
        Published(
            "VZ",
            {ACCURACY: 23.8},
            cited=True,
            why=f"{_FLICKR} which `TextonClassifier` can classify",
        ),
        Published(
            "VZ-augmented",
            {ACCURACY: 37.4},
            cited=True,
            why=f"{_FLICKR} and the features of Liu et al. (2010) beside the textons",
        ),
        Published(
            "SD",
            {ACCURACY: 29.9},
            cited=True,
            why=f"{_FLICKR} and the sorted descriptors of Liao et al. (2013)",
        ),
        Published(
            "aLDA",
            {ACCURACY: 44.6},
            cited=True,
            why=f"{_FLICKR} and the topic model of Liu et al. (2010) with its seven features",
        ),
        Published("RSR-J", {ACCURACY: 44.0}, {ACCURACY: 3.0}),
        Published("RSR-S", {ACCURACY: 51.4}, {ACCURACY: 1.9}),
    )

    def load(self, folder: Path | None, on_error: str = "raise") -> dict[str, LabelledViews]:
        """Return the photographs inside their masks."""
        from spdatoms.descriptors import MaterialCovariance
        from spdatoms.paper.datasets import load_flickr_materials

        if folder is None:
            raise self.no_embedded_data()
        photographs = load_flickr_materials(self.place(folder), on_error=on_error)
        assert photographs.masks is not None
        # One photograph at a time: together they would not fit in memory.
        covariances = [
            MaterialCovariance().fit_transform([(image, mask)])[0]
            for image, mask in zip(photographs.data, photographs.masks, strict=True)
        ]
        return {"": LabelledViews(photographs.labels, {COVARIANCES: np.stack(covariances)})}

    def task(self, data: LabelledViews, repeat: int, rng: np.random.Generator) -> Task:
        """Take a random half of each material to train, the other to test."""
        train, test = halves(data.y, rng)
        return Task(data.take(train), {ACCURACY: data.take(test)})

    def methods(self) -> dict[str, Method]:
        """Return the classifiers."""
        return classifiers()
