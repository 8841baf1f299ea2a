"""New subjects: accuracy on one that was left out, beside peers, paired over subjects.

    python benchmarks/domains.py unlabelled FILE ...      # the target has no labels
    python benchmarks/domains.py unbalanced FILE ...      # half of its classes at a quarter, a class missing, both
    python benchmarks/domains.py calibration FILE ...     # 5 and 20 % of its labels are known
    python benchmarks/domains.py drift FILE ...           # its centre moves while it is classified
    python benchmarks/domains.py within FILE ...          # no new subject: what domains cost there

FILE is an .npz with matrices X, labels y and subjects g. If it has a ``part`` (0 trains, others are tested), that
is heeded, and every fourth matrix is taken (--step). Every subject is left out in turn. Matrices are centred and scaled
(`SPDRecentre`) or turned, too (`SPDAlign`), for all methods alike; peers have their defaults.
Constants of `SPDAlign` and of the ensemble's cells for domains were chosen with SSVEP and Myo in view: their figures
are optimistic.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import expm
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from spdatoms import (
    SPDAlign,
    SPDEnsembleClassifier,
    SPDRecentre,
    SPDSparseClassifier,
    SPDSparseClassifierCV,
)
from spdatoms.geometry import invsqrtm, powm

warnings.simplefilter("ignore")
Row = dict[str, float]


class Data(NamedTuple):
    """Matrices, labels, subjects, and which of them train and are tested."""

    X: np.ndarray
    y: np.ndarray
    g: np.ndarray
    train: np.ndarray
    test: np.ndarray


def load(path: Path, step: int) -> Data:
    file = np.load(path)
    X, g = file["X"].astype(float), file["g"].astype(int)
    X, y = (X + X.swapaxes(1, 2)) / 2, np.unique(file["y"], return_inverse=True)[1]
    if "part" not in file:
        return Data(X, y, g, np.ones(len(y), bool), np.ones(len(y), bool))
    part = file["part"]
    kept: list[int] = []
    for s, q, c in (
        np.array(np.meshgrid(np.unique(g), np.unique(part), np.unique(y))).reshape(3, -1).T
    ):
        kept.extend(np.flatnonzero((g == s) & (part == q) & (y == c))[::step])
    at = np.sort(kept)
    return Data(X[at], y[at], g[at], part[at] == 0, part[at] > 0)


def targets(data: Data) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield the rows of the sources and of the target, for every subject."""
    for s in np.unique(data.g):
        yield np.flatnonzero(data.train & (data.g != s)), np.flatnonzero(data.test & (data.g == s))


def tangent(classifier: Any) -> Callable[[], Any]:
    from pyriemann.tangentspace import TangentSpace

    return lambda: make_pipeline(TangentSpace("riemann"), classifier)


def peers() -> dict[str, Callable[[], Any]]:
    from pyriemann.classification import MDM, FgMDM

    return {
        "MDM": MDM,
        "FgMDM": FgMDM,
        "tangent LR": tangent(LogisticRegression(C=0.1, max_iter=1000)),
        "tangent LDA": tangent(LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto")),
        "tangent SVC": tangent(SVC()),
    }


OURS: dict[str, Callable[[], Any]] = {
    "RSR-S": SPDSparseClassifier,
    "ensemble without domains": SPDEnsembleClassifier,
    "CV": SPDSparseClassifierCV,
    "ensemble cv": lambda: SPDEnsembleClassifier("cv"),
    "ensemble": SPDEnsembleClassifier,
}
QUICK = ("MDM", "FgMDM", "tangent LR", "tangent LDA", "tangent SVC", "ensemble")


def chosen(quick: bool) -> dict[str, Callable[[], Any]]:
    every = peers() | OURS
    return {name: every[name] for name in QUICK} if quick else every


def predictions(
    name: str, model: Any, A: np.ndarray, y: np.ndarray, g: np.ndarray, B: np.ndarray
) -> np.ndarray:
    knows = name in ("CV", "ensemble", "ensemble cv")
    return np.asarray((model.fit(A, y, domains=g) if knows else model.fit(A, y)).predict(B))


def of_frames(data: Data, a: np.ndarray, b: np.ndarray, methods: dict[str, Any]) -> Row:
    """Return the accuracy of each method on centred and on turned matrices; the target has no labels."""
    X, y, g = data.X, data.y, data.g
    found = {}
    if "MDM" in methods:  # what MOABB's users have: TLCenter and MDM, and TLScale after it
        A, B = _centred_by_pyriemann(X, y, g, a, b)
        found["MDM, centred by pyRiemann"] = _accuracy(
            methods["MDM"]().fit(A, y[a]).predict(B), y[b]
        )
    for frame, move in (("", SPDRecentre(scale=True)), ("turned ", SPDAlign())):
        A = move.fit_transform(X[a], y[a], domains=g[a])
        B = move.transform(X[b])
        for name, make in methods.items():
            found[frame + name] = _accuracy(predictions(name, make(), A, y[a], g[a], B), y[b])
    return found


def _centred_by_pyriemann(
    X: np.ndarray, y: np.ndarray, g: np.ndarray, a: np.ndarray, b: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    from pyriemann.transfer import TLCenter, encode_domains

    names = np.append(g[a].astype(str), ["target"] * len(b))
    _, encoded = encode_domains(X[np.append(a, b)], y[np.append(a, b)], names)
    Z = TLCenter("target").fit_transform(X[np.append(a, b)].copy(), encoded)
    return Z[: len(a)], Z[len(a) :]


def _accuracy(found: np.ndarray, y: np.ndarray) -> float:
    return 100.0 * float(np.mean(found == y))


def unlabelled(data: Data, quick: bool) -> list[Row]:
    return [of_frames(data, a, b, chosen(quick)) for a, b in targets(data)]


def _kept(y: np.ndarray, kind: str, rng: np.random.Generator) -> np.ndarray:
    """Return which matrices of a target stay."""
    order, keep = rng.permutation(np.unique(y)), np.ones(len(y), bool)
    for c in order[: len(order) // 2] if kind != "missing" else ():
        own = rng.permutation(np.flatnonzero(y == c))
        keep[own[max(1, round(len(own) / 4)) :]] = False
    if kind != "quarter":
        keep[y == order[-1]] = False
    return keep


def unbalanced(data: Data, quick: bool) -> list[Row]:
    rows = []
    for i, (a, b) in enumerate(targets(data)):
        row: Row = {}
        for kind in ("quarter", "missing", "both"):
            own = b[_kept(data.y[b], kind, np.random.default_rng(i))]
            found = of_frames(data, a, own, {"ensemble": OURS["ensemble"]})
            row |= {f"{kind}: {name}": value for name, value in found.items()}
        rows.append(row)
    return rows


def calibration(data: Data, quick: bool) -> list[Row]:
    """Labels of a part of the target are known; the other matrices are at hand without labels, and are tested."""
    rows = []
    for i, (a, b) in enumerate(targets(data)):
        row: Row = {}
        for share in (0.05, 0.2):
            rng = np.random.default_rng(i)
            some: list[int] = []
            for c in np.unique(data.y[b]):
                own = rng.permutation(b[data.y[b] == c])
                some.extend(own[: max(1, round(share * len(own)))])
            row |= {
                f"{share:.0%}: {name}": value
                for name, value in _calibrated(
                    data, a, np.array(some), np.setdiff1d(b, some), quick
                ).items()
            }
        rows.append(row)
    return rows


def _calibrated(data: Data, a: np.ndarray, known: np.ndarray, rest: np.ndarray, quick: bool) -> Row:
    X, y = data.X, data.y
    train = np.append(a, known)
    names = np.append(data.g[a].astype(str), ["target"] * len(known))
    found = {}
    for frame, move in (("", SPDRecentre(scale=True)), ("turned ", SPDAlign())):
        A = move.fit_transform(X[train], y[train], domains=names, X_target=X[rest])
        B = move.transform(X[rest])
        for name, make in chosen(quick).items():
            found[frame + name] = _accuracy(
                predictions(name, make(), A, y[train], names, B), y[rest]
            )
        if "ensemble" in chosen(quick):
            weights = np.repeat([1.0, 3.0], [len(a), len(known)])
            model = SPDEnsembleClassifier().fit(A, y[train], sample_weight=weights, domains=names)
            found[frame + "ensemble, target × 3"] = _accuracy(model.predict(B), y[rest])
    found |= _rotated_by_pyriemann(X, y, names, train, rest)
    return found


def _rotated_by_pyriemann(
    X: np.ndarray, y: np.ndarray, names: np.ndarray, train: np.ndarray, rest: np.ndarray
) -> Row:
    """Return the accuracy of pyRiemann's pipelines at their defaults: centre, scale, rotation by the labelled slice."""
    from pyriemann.classification import MDM
    from pyriemann.transfer import TLCenter, TLClassifier, TLRotate, TLScale, encode_domains

    _, encoded = encode_domains(X[train], y[train], names)
    steps = TLCenter("target"), TLScale("target", centered_data=True), TLRotate("target")
    found = {}
    for count, name in (
        (1, "TLCenter"),
        (2, "TLCenter, TLScale"),
        (3, "TLCenter, TLScale, TLRotate"),
    ):
        weights = dict.fromkeys(np.unique(names), 1.0)
        pipeline = make_pipeline(
            *steps[:count], TLClassifier("target", MDM(), domain_weight=weights)
        )
        pipeline.fit(X[train].copy(), encoded)
        predicted = np.asarray(pipeline.predict(X[rest].copy()))
        found[f"{name}, MDM (pyRiemann)"] = _accuracy(predicted.astype(int), y[rest])
    return found


def drift(data: Data, quick: bool, windows: int = 500) -> list[Row]:
    """The target's centre moves from the identity to a random congruence, X ← G_t X G_tᵀ, over 500 windows.

    The model that is refitted at every step knows the centre G_t M G_tᵀ. It does not know how G_t has turned the
    matrices about it, and no method that knows the centre alone does: so it is worse than without drift.
    """
    rows = []
    for i, (a, b) in enumerate(targets(data)):
        rng = np.random.default_rng(i)
        X, y, n = data.X, data.y, data.X.shape[-1]
        stream = rng.choice(b, windows)
        S = rng.standard_normal((n, n)) / np.sqrt(n)
        start = SPDRecentre(scale=True)
        A = start.fit_transform(X[a], y[a], domains=data.g[a])
        model = SPDEnsembleClassifier().fit(A, y[a], domains=data.g[a])
        start.partial_fit(X[b])
        moves = [expm(S * t / windows) for t in range(windows)]
        moved = [G @ X[row] @ G.T for G, row in zip(moves, stream, strict=True)]
        moved = [0.5 * (Z + Z.T) for Z in moved]
        found = {
            "centre refitted at every step": _refitted(start, moves, moved),
            "no drift": start.transform(X[stream]),
            "centre of the start": start.transform(np.array(moved)),
        }
        for forgetting in (0.95, 0.97, 0.985):
            follow = SPDRecentre(scale=True, forgetting=forgetting).partial_fit(X[b])
            seen = []
            for Z in moved:
                follow.partial_fit(Z[None])
                seen.append(follow.transform(Z[None])[0])
            found[f"partial_fit, forgetting {forgetting}"] = np.array(seen)
        rows.append({name: _accuracy(model.predict(Z), y[stream]) for name, Z in found.items()})
    return rows


def _refitted(start: SPDRecentre, moves: list[np.ndarray], moved: list[np.ndarray]) -> np.ndarray:
    """Return matrices re-centred by the centre of the target at each time, and its scale, which does not change."""
    at = int((start.domains_ == "target").argmax())
    seen = []
    for G, Z in zip(moves, moved, strict=True):
        M = G @ start.centres_[at] @ G.T
        W = invsqrtm(0.5 * (M + M.T))
        Y = W @ Z @ W
        seen.append(powm(0.5 * (Y + Y.T), 1.0 / start.scales_[at]))
    return np.array(seen)


def within(data: Data, quick: bool) -> list[Row]:
    """Every subject for itself, four folds: re-centring must not change what the ensemble says."""
    rows = []
    for s in np.unique(data.g):
        X, y = data.X[data.g == s], data.y[data.g == s]
        hits: dict[str, list[float]] = {"ensemble as it is": [], "ensemble after SPDRecentre": []}
        for train, test in StratifiedKFold(4, shuffle=True, random_state=0).split(X, y):
            plain = SPDEnsembleClassifier().fit(X[train], y[train])
            hits["ensemble as it is"] += [_accuracy(plain.predict(X[test]), y[test])]
            centred = make_pipeline(SPDRecentre(), SPDEnsembleClassifier()).fit(X[train], y[train])
            hits["ensemble after SPDRecentre"] += [_accuracy(centred.predict(X[test]), y[test])]
        rows.append({name: float(np.mean(values)) for name, values in hits.items()})
    return rows


def table(title: str, rows: list[Row]) -> None:
    """Print means, and paired differences with their standard errors over subjects.

    They are to the first line of each group, and to its best peer that is not turned, which is chosen after looking.
    """
    print(
        f"\n{title} ({len(rows)} subjects)\n\n| method | accuracy | to the first | to the best peer |"
    )
    print("|---|---|---|---|", flush=True)
    columns = {name: np.array([row[name] for row in rows]) for name in rows[0]}
    groups: dict[str, list[str]] = {}
    for name in columns:
        groups.setdefault(name.rpartition(": ")[0], []).append(name)
    for names in groups.values():
        rivals = [name for name in names if _is_peer(name)] or names[:1]
        best = max(rivals, key=lambda name: columns[name].mean())
        for name in names:
            to = (_difference(columns[name] - columns[other]) for other in (names[0], best))
            print(f"| {name} | {columns[name].mean():.1f} | {' | '.join(to)} |", flush=True)


def _is_peer(name: str) -> bool:
    own = name.rpartition(": ")[2]
    return "pyRiemann" in own or own in ("MDM", "FgMDM", "tangent LR", "tangent LDA", "tangent SVC")


def _difference(d: np.ndarray) -> str:
    error = d.std(ddof=1) / np.sqrt(len(d)) if len(d) > 1 else 0.0
    return f"{d.mean():+.1f} ± {error:.1f}"


PARTS = {part.__name__: part for part in (unlabelled, unbalanced, calibration, drift, within)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("part", choices=PARTS)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument(
        "--step", type=int, default=4, help="take every so many matrices of a file with parts"
    )
    parser.add_argument("--quick", action="store_true", help="fewer methods")
    options = parser.parse_args()
    for path in options.files:
        rows = PARTS[options.part](load(path, options.step), options.quick)
        table(f"{path.stem}, {options.part}", rows)


if __name__ == "__main__":
    main()
