"""Material categorisation: the paper's table on Flickr's materials."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from spdatoms.paper.experiments.experiment import Experiment, described
from spdatoms.paper.experiments.method import Method
from spdatoms.paper.experiments.task import ACCURACY, COVARIANCES, LabelledViews, Task, halves
from spdatoms.paper.methods.classifiers import classifiers


@described
class Materials(Experiment):
    """Half of the photographs of each material train; the material of the others is to be named."""

    def read(self, folder: Path, on_error: str) -> dict[str, LabelledViews]:
        """Return the photographs inside their masks."""
        from spdatoms.descriptors import MaterialCovariance
        from spdatoms.paper.datasets import load_flickr_materials

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
