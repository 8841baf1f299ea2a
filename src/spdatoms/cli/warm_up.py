"""``spdatoms warm-up``: compile ahead of the first use."""

from __future__ import annotations

import warnings
from typing import Annotated

import numpy as np
import typer

from spdatoms._utils.typing import Array, Floats
from spdatoms.cli.show import show_lines

#: Sizes of matrices that many have: diffusion tensors, textures, vowels, EEG, faces and skeletons.
_SIZES = (3, 5, 12, 22, 43, 93)
_METRICS = ("stein", "jeffrey", "riemann", "logeuclid")


def warm_up(
    sizes: Annotated[
        list[int] | None,
        typer.Argument(help="Sizes n of n×n matrices; otherwise 3, 5, 12, 22, 43 and 93.", min=1),
    ] = None,
) -> None:
    """Compile for this machine ahead of the first use, as in a container image."""
    from spdatoms._utils.progress import progress_bar

    wanted = list(dict.fromkeys(sizes or _SIZES))
    with progress_bar(len(wanted), "sizes", shown=True) as advance, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for n in wanted:
            use_everything(n)
            advance()
    show_lines(f"Compiled for matrices of size {', '.join(map(str, wanted))}.")


def use_everything(n: int) -> None:
    """Classify, learn, code and cluster a few n×n matrices, with each of the main divergences."""
    from spdatoms.classification.ensemble import SPDEnsembleClassifier
    from spdatoms.classification.neighbors import SPDKNeighborsClassifier
    from spdatoms.classification.sparse import SPDSparseClassifier
    from spdatoms.clustering.kmeans import SPDKMeans
    from spdatoms.dictionary.learning import SPDDictionaryLearning

    X, y = _few_matrices(n)
    SPDEnsembleClassifier().fit(X, y).predict_proba(X)
    for metric in _METRICS:
        SPDSparseClassifier(metric).fit(X, y).predict_proba(X)
        SPDKNeighborsClassifier(metric=metric).fit(X, y).predict(X)
        SPDKMeans(2, metric, random_state=0).fit(X).predict(X)
        SPDDictionaryLearning(3, metric, max_iter=2, random_state=0).fit(X).transform(X)


def _few_matrices(n: int) -> tuple[Floats, Array]:
    """Return covariances of two classes."""
    rng = np.random.default_rng(0)
    G = rng.standard_normal((24, n, 2 * n + 2))
    G[::2, 0] *= 3.0
    return np.asarray(G @ G.swapaxes(1, 2)), np.arange(24) % 2
