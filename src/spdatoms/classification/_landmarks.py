"""Labelled matrices as vectors φ(X) in the span of landmarks; see `spdatoms.kernels.landmarks`."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from spdatoms._utils.threads import map_in_threads
from spdatoms._utils.typing import FloatArray, Floats, Indices
from spdatoms._utils.weights import part_of
from spdatoms.classification._atom_choice import spread_over_classes
from spdatoms.divergences import Divergence
from spdatoms.geometry.hermitian import as_double, dimension
from spdatoms.kernels.landmarks import SHARE, LandmarkSpace, choose_landmarks
from spdatoms.kernels.whitening import ClassicalScaling, Scatter, Whitening, cross_fitted_median
from spdatoms.scale.parts import Span, part_slices

#: How matrices vary within classes is found from this many per landmark at most.
_WHITENED_PER_LANDMARK = 10


def landmark_space(
    X: Any,
    labels: Indices,
    rows: Indices | slice,
    weights: Floats | None,
    landmarks: int | ArrayLike,
    divergence: Divergence,
    beta: float | str,
    shrinkage: float | None = None,
) -> LandmarkSpace:
    """Return the span of given landmarks, or of this number of these rows of X.

    With a shrinkage their divergence is whitened, by how some of the matrices, with their weights, vary within
    their classes.
    """
    own = np.arange(len(labels))[rows]
    if np.ndim(landmarks) == 0:
        Z = as_double(X[own[spread_over_classes(labels[own], int(landmarks))]])  # type: ignore[arg-type]
    else:
        Z, _ = choose_landmarks(X, landmarks, 0, divergence, None, None)
    if shrinkage is None:
        return LandmarkSpace.of(divergence, Z, beta, SHARE)
    some = spread_over_classes(labels[own], _WHITENED_PER_LANDMARK * len(Z))
    samples = divergence.prepare(as_double(X[own[some]]))
    prepared = divergence.prepare(Z)
    to_landmarks = divergence.pairwise(samples, prepared)
    scaling = ClassicalScaling(divergence.pairwise(prepared))
    scatter = Scatter.within(
        scaling.place(to_landmarks)[0], labels[own[some]], part_of(weights, some)
    )
    whitening = Whitening(scaling, scatter, dimension(Z), shrinkage)
    if isinstance(beta, str):
        beta = 1.0 / cross_fitted_median([whitening.to_references(to_landmarks)])
    return LandmarkSpace.of(divergence, Z, beta, SHARE, whitening)


def features_of(X: Any, space: LandmarkSpace, n_jobs: int | None) -> Floats:
    """Return φ of matrices in memory or in a stream, which is read once, part by part."""
    parts = part_slices(len(X), X.shape[-1], len(space.landmarks))
    if isinstance(X, np.ndarray):
        found = map_in_threads(lambda i: space.features(X[parts[i]]), len(parts), n_jobs)
        return np.concatenate(found)
    return np.concatenate(X.total(parts, _features, space))


def _features(matrices: FloatArray, span: Span, state: None, space: LandmarkSpace) -> list[Floats]:
    """Return φ of a span, in a list: the sum of lists is all of them in order."""
    return [space.features(X) for X in span.split(matrices)]
