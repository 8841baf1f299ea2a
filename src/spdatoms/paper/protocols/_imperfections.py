"""What is done to data, and what a user does about it: channels missing or broken, labels wrong, ranks deficient.

Each function takes the training and the test matrices of a division and returns both for every treatment and level.
A channel that is left out is a row and a column of NaN.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from spdatoms._utils.typing import FloatArray
from spdatoms.channels import BrokenChannels, SPDImputer, SPDRange
from spdatoms.classification import suspect_labels
from spdatoms.geometry import shrink
from spdatoms.geometry.channels import Mask
from spdatoms.paper.experiments.task import COVARIANCES, LabelledViews
from spdatoms.paper.protocols._corruption import mislabelled, with_faults

Case = tuple[LabelledViews, LabelledViews]
#: Training and test matrices by treatment and level.
Cases = Mapping[tuple[str, str], Case]
Imperfection = Callable[[LabelledViews, LabelledViews, np.random.Generator], Cases]

SHARES = (0.0, 0.1, 0.25, 0.5, 0.75)
#: Training matrices that lack more have too few neighbours.
SHARES_EVERYWHERE = SHARES[:-1]
FAULTS = (
    *(("none", 0), ("gain", 1), ("noise", 1), ("flat", 1), ("swapped", 2)),
    *(("gain", 3), ("noise", 3)),
)
WRONG = (0.0, 0.1, 0.2, 0.3)
#: Queries lack one of this many random sets of channels.
_SETS = 5
#: Queries whose channels break, and of matrices with many channels: what is found is different for each, and each asks
#: for a fit of its own.
_BROKEN_QUERIES, _BROKEN_LARGE, _LARGE = 60, 20, 32
#: The share of clean training matrices in which a variance counts as unusual: that of `BrokenChannels`.
_FALSE_ALARMS = 0.01
_SHRINKAGE = 0.01


def _matrices(samples: LabelledViews) -> FloatArray:
    return np.asarray(samples.views[COVARIANCES])


def _with(train: LabelledViews, test: LabelledViews, A: FloatArray, B: FloatArray) -> Case:
    return train.with_covariances(A), test.with_covariances(B)


def _without(X: FloatArray, missing: Mask) -> FloatArray:
    X = X.copy()
    X[missing] = np.nan
    X.swapaxes(1, 2)[missing] = np.nan
    return X


def _lacking(X: FloatArray, share: float, sets: int, rng: np.random.Generator) -> FloatArray:
    """Return matrices that each lack this share of the channels, one of some random sets; one channel is left."""
    m, n, _ = X.shape
    order = rng.random((sets, n)).argsort(axis=1)
    return _without(X, (order < min(round(share * n), n - 1))[np.arange(m) % sets])


def missing_in_queries(
    train: LabelledViews, test: LabelledViews, rng: np.random.Generator
) -> Cases:
    """Let queries lack channels: a set that lacks 10 % is part of the one that lacks 25 %."""
    seed, imputer = rng.integers(2**32), SPDImputer().fit(_matrices(train))
    found = {}
    for share in SHARES:
        Q = _lacking(_matrices(test), share, _SETS, np.random.default_rng(seed))
        filled = imputer.transform(Q) if share else Q
        found["refitted", f"{share:.0%}"] = train, test.with_covariances(Q)
        found["imputed", f"{share:.0%}"] = train, test.with_covariances(filled)
    return found


def missing_everywhere(
    train: LabelledViews, test: LabelledViews, rng: np.random.Generator
) -> Cases:
    """Let all matrices lack channels, each its own, and fill them in by local or by global regression."""
    seed, found = rng.integers(2**32), {}
    for share in SHARES_EVERYWHERE:
        own = np.random.default_rng(seed)
        A, B = (_lacking(_matrices(part), share, len(part), own) for part in (train, test))
        for treatment, global_share in (("local imputation", 0.1), ("global imputation", 1.0)):
            imputer = SPDImputer(global_share=global_share)
            filled = (imputer.fit_transform(A), imputer.transform(B)) if share else (A, B)
            found[treatment, f"{share:.0%}"] = _with(train, test, *filled)
    return found


class UnusualVariance:
    """Find channels whose log variance is farther from the mean than in all but 1 % of training matrices."""

    def fit(self, X: FloatArray) -> UnusualVariance:
        """Take mean, deviation and threshold from training matrices."""
        usual = _log_variances(X)
        self._mean, self._deviation = usual.mean(axis=0), usual.std(axis=0, ddof=1)
        self._most = np.quantile(self._deviations(X).max(axis=1), 1.0 - _FALSE_ALARMS)
        return self

    def predict(self, X: FloatArray) -> Mask:
        """Return the mask (m, n) of such channels, none of a matrix if they are most of its channels."""
        bad = self._deviations(X) > self._most
        return np.asarray(bad & (2 * bad.sum(axis=1) <= X.shape[1])[:, None])

    def _deviations(self, X: FloatArray) -> FloatArray:
        return np.asarray(abs(_log_variances(X) - self._mean) / self._deviation)


def _log_variances(X: FloatArray) -> FloatArray:
    return np.asarray(np.log(X.diagonal(axis1=1, axis2=2).real))


def broken_in_queries(train: LabelledViews, test: LabelledViews, rng: np.random.Generator) -> Cases:
    """Break channels of queries, and leave out none, what two detectors find, or the right ones."""
    most = _BROKEN_LARGE if _matrices(train).shape[-1] > _LARGE else _BROKEN_QUERIES
    test, seed = test.take(slice(most)), rng.integers(2**32)
    detectors: Mapping[str, Any] = {
        "by variance": UnusualVariance().fit(_matrices(train)),
        "BrokenChannels": BrokenChannels().fit(_matrices(train)),
    }
    found = {}
    for kind, count in FAULTS:
        broken = min(count, _matrices(test).shape[1] - 1)
        Q, bad = with_faults(_matrices(test), kind, broken, np.random.default_rng(seed), _SETS)
        masks = {"untreated": np.zeros_like(bad)}
        masks |= {name: detector.predict(Q) for name, detector in detectors.items()}
        for treatment, mask in (masks | {"told": bad}).items():
            level = f"{kind} × {count}" if count else kind
            found[treatment, level] = train, test.with_covariances(_without(Q, mask))
    return found


def wrong_labels(train: LabelledViews, test: LabelledViews, rng: np.random.Generator) -> Cases:
    """Give training matrices labels of other classes: what is wrong at 10 % is wrong at 20 %, too."""
    seed, found = rng.integers(2**32), {}
    for share in WRONG:
        y = mislabelled(train.y, share, np.random.default_rng(seed))
        given, level = replace(train, y=y), f"{share:.0%}"
        suspects = suspect_labels(_matrices(train), y).above()
        found["as they are", level] = given, test
        found["suspects removed", level] = given.take(np.delete(np.arange(len(y)), suspects)), test
        found["told", level] = given.take(y == train.y), test
    return found


def deficient_ranks(train: LabelledViews, test: LabelledViews, rng: np.random.Generator) -> Cases:
    """Reference matrices to the average of channels, or copy two channels."""
    n = _matrices(train).shape[-1]
    copied = np.append(np.arange(n), rng.permutation(n)[:2])
    maps = {
        "as they are": (np.eye(n), n),
        "average reference": (np.eye(n) - 1.0 / n, n - 1),
        "two copies": (np.eye(n)[copied], n),
    }
    found = {}
    for level, (T, rank) in maps.items():
        A, B = (_symmetric(T @ _matrices(part) @ T.T) for part in (train, test))
        reach = SPDRange(rank=rank).fit(A)
        found["common range", level] = _with(train, test, *map(reach.transform, (A, B)))
        found["shrunk", level] = _with(train, test, *(shrink(X, _SHRINKAGE) for X in (A, B)))
    return found


def _symmetric(X: FloatArray) -> FloatArray:
    return np.asarray((X + X.swapaxes(1, 2)) / 2.0)


IMPERFECTIONS: Mapping[str, Imperfection] = {
    "missing channels": missing_in_queries,
    "missing everywhere": missing_everywhere,
    "broken channels": broken_in_queries,
    "wrong labels": wrong_labels,
    "deficient ranks": deficient_ranks,
}
