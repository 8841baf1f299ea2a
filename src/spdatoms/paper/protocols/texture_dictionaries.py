"""Dictionaries of textures at equal sparsity: the paper's figure of accuracy against the number of atoms, and more."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.neighbors import KNeighborsClassifier

from spdatoms._utils.typing import Array
from spdatoms.paper.experiments.experiment import Experiment, described
from spdatoms.paper.experiments.method import Method, Outcome, Setting, by_name, percentage, timed
from spdatoms.paper.experiments.task import ACCURACY, COVARIANCES, LabelledViews, Task
from spdatoms.paper.methods.classifiers import classifiers
from spdatoms.paper.methods.codes import mean_nonzeros
from spdatoms.paper.methods.dictionary_codes import KernelDictionaryCodes, PeerCodes, SparseCodes
from spdatoms.paper.protocols import _texture_blocks as blocks

SIZES: tuple[int, ...] = (8, 24, 56, 104)
_SIZES_EMBEDDED: tuple[int, ...] = (8, 24)
#: The part with the largest dictionary of blocks that do not overlap.
APART = f"{SIZES[-1]} without overlap"
_LEARN, _GALLERY, _PROBE = 20, 10, 20
_PEERS = ("tensor", "riemannian", "frobenius")
#: Of the methods that need no dictionary.
_ANY_SIZE = "the same for every number of atoms"


@dataclass(frozen=True)
class Plates:
    """Whole images, the number of atoms to describe their blocks with, and whether blocks may overlap."""

    images: tuple[Array, ...]
    labels: Array
    n_atoms: int
    overlap: bool = True


@described
class TextureDictionaries(Experiment):
    """A gallery of codes of known textures; the texture of every probe is that of the nearest code."""

    def embedded_data(self) -> dict[str, Plates]:
        """Return the photographs, for every size of the dictionary."""
        from spdatoms.datasets.textures import photographs

        whole = photographs()
        images, labels = tuple(whole.values()), np.array(list(whole))
        return {str(size): Plates(images, labels, size) for size in _SIZES_EMBEDDED}

    def read(self, folder: Path, on_error: str) -> dict[str, Plates]:
        """Return the plates, for every size of the dictionary."""
        from spdatoms.paper.datasets import load_brodatz

        plates = load_brodatz(self.place(folder), on_error=on_error)
        images, labels = tuple(plates.data), plates.labels
        found = {str(size): Plates(images, labels, size) for size in SIZES}
        return {**found, APART: Plates(images, labels, SIZES[-1], overlap=False)}

    def task(self, data: Plates, repeat: int, rng: np.random.Generator) -> Task:
        """Cut 50 blocks at random from every texture."""
        count, cut = _LEARN + _GALLERY + _PROBE, blocks.without_overlap
        if data.overlap:
            cut = blocks.at_random
        stack = np.stack([cut(image, count, rng) for image in data.images])

        def share(start: int, stop: int) -> LabelledViews:
            covariances = stack[:, start:stop].reshape(-1, *stack.shape[2:])
            return LabelledViews(np.repeat(data.labels, stop - start), {COVARIANCES: covariances})

        return Task(
            train=share(_LEARN, _LEARN + _GALLERY),
            tests={ACCURACY: share(_LEARN + _GALLERY, count)},
            learn=share(0, _LEARN),
            parameters={"n_atoms": data.n_atoms},
        )

    def methods(self) -> dict[str, Method]:
        """Return the ways to make a dictionary and to code over it."""
        return by_name(
            *_dictionaries("RSR-S", "Stein"),
            *_dictionaries("RSR-J", "Jeffrey"),
            Method(
                "logEuc K-SVD",
                _codes(PeerCodes, "ksvd"),
                "K-SVD on logarithms, codes by the pursuit or by the Lasso, whichever is chosen",
            ),
            *(_peer(name) for name in _PEERS),
            *_without_dictionary(),
        )

    def evaluate(self, method: Method, task: Task, setting: Setting) -> Outcome:
        """Return how often the nearest code of the gallery, or a classifier of the gallery, is right."""
        coder = method.make(setting)
        if not isinstance(coder, SparseCodes):
            return super().evaluate(method, task, setting)
        assert task.learn is not None
        gallery, probes = task.train, task.tests[ACCURACY]
        coder.set_params(**task.parameters)
        _, fit_seconds = timed(coder.fit, task.learn.views[method.view], task.learn.y)
        start, curve = time.process_time(), {}
        for level in coder.coders_:
            known = coder.transform(gallery.views[method.view], level)
            codes = coder.transform(probes.views[method.view], level)
            nearest = KNeighborsClassifier(n_neighbors=1).fit(known, gallery.y)
            accuracy = percentage(nearest.predict(codes) == probes.y)
            curve[str(level)] = [accuracy, mean_nonzeros(codes)]
        predict_seconds = time.process_time() - start
        accuracy, nonzeros = curve[str(coder.chosen_)]
        extra = {"nonzeros": nonzeros, "curve": curve, "choices": coder.choices_}
        return Outcome({ACCURACY: accuracy}, fit_seconds, predict_seconds, extra)


def _dictionaries(name: str, divergence: str) -> list[Method]:
    """Return codes over a learned dictionary, and over two that are not learned."""
    kinds = {
        "learned": "dictionary learning",
        "k-means": "affine-invariant k-means",
        "random": "learning blocks drawn at random",
    }
    return [
        Method(
            f"{name} {atoms}",
            _codes(KernelDictionaryCodes, atoms, divergence.lower()),
            f"{note}, {divergence}",
        )
        for atoms, note in kinds.items()
    ]


def _codes(kind: Callable[..., Any], *parameters: str) -> Callable[[Setting], Any]:
    return lambda setting: kind(*parameters, random_state=setting.seed, n_jobs=setting.n_jobs)


def _peer(name: str) -> Method:
    bound = ", codes without TSC's bound" if name == "tensor" else ""
    note = f"`{name.capitalize()}DictionaryLearning`{bound}"
    return Method(f"{name.capitalize()} dictionary", _codes(PeerCodes, name), note, "slow")


def _without_dictionary() -> list[Method]:
    """Return the classifiers that are fitted to the matrices of the gallery."""
    known = classifiers()
    nearest = "nearest matrix of the gallery"
    sparse = "sparse representation by the matrices of the gallery"
    rows = {
        "1-NN Stein": ("1-NN Stein", f"{nearest}, Stein"),
        "1-NN AIRM": ("1-NN AIRM", f"{nearest}, affine-invariant"),
        "RSR-S gallery": ("RSR-S", f"{sparse}, Stein"),
        "RSR-J gallery": ("RSR-J", f"{sparse}, Jeffrey"),
    }
    return [
        Method(name, known[row].make, f"{note}; {_ANY_SIZE}") for name, (row, note) in rows.items()
    ]
