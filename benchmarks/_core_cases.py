"""What `same_results.py` computes with divergences, kernels, the Lasso and the estimators on them."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import fields
from importlib import import_module
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from _case_data import (
    DTYPES,
    LEARNED,
    METRICS,
    SIZES,
    SYMMETRIC,
    Results,
    classes,
    everything,
    learned,
    named,
    said,
    textures,
    wishart,
)
from sklearn.model_selection import GroupKFold

import spdatoms
from spdatoms import (
    DivergenceKernel,
    SPDDictionaryLearning,
    SPDKMeans,
    SPDKNeighborsClassifier,
    SPDSparseClassifier,
    SPDSparseClassifierCV,
    SPDSparseCoder,
    check_spd,
    geometry,
    mean,
    nearest_spd,
    pairwise_divergence,
    sparse_code,
    sparse_code_path,
)
from spdatoms.scale import block_budget

_ALIASES = ("logdet", "kullback_sym", "kullback", "airm")
_ORDERS = ("lower", "upper", "diagonal", "dipy", "fsl", "mrtrix")
#: A few iterations, the same every time.
_BRIEF: dict[str, Any] = {"max_iter": 5, "random_state": 0}


def pairs() -> Results:
    """Give divergences of all pairs, of two sets and within one."""
    for n, dtype, metric in product(SIZES, DTYPES, METRICS):
        X, Y = wishart(13, n, 1, dtype), wishart(9, n, 2, dtype)
        name = f"{metric} n={n} {X.dtype}"
        yield f"{name} two sets", pairwise_divergence(X, Y, metric)
        yield f"{name} one set", pairwise_divergence(X, metric=metric)
    X, Y = wishart(300, 5, 3), wishart(150, 5, 4)
    for metric in METRICS:
        yield f"{metric} many", pairwise_divergence(X, Y, metric)
        yield f"{metric} many threads", pairwise_divergence(X, metric=metric, n_jobs=2)
        yield f"{metric} mixed", pairwise_divergence(X[:20].astype(np.float32), Y[:20], metric)
        yield (
            f"{metric} strided",
            pairwise_divergence(np.asfortranarray(X[:40])[::2], Y[:9], metric),
        )
        for scale in (1e-100, 1e100):
            yield f"{metric} at {scale:g}", pairwise_divergence(scale * X[:6], metric=metric)
        for n in (64, 93):
            yield f"{metric} n={n}", pairwise_divergence(wishart(9, n, 25), metric=metric)
    for metric in _ALIASES:
        yield f"{metric} alias", pairwise_divergence(X[:9], Y[:9], metric)


def means() -> Results:
    """Give means, with weights and without."""
    for n, dtype, metric in product(SIZES, DTYPES, METRICS):
        X = wishart(11, n, 5, dtype)
        yield f"{metric} n={n} {X.dtype}", mean(X, metric)
    X = textures()[0]
    for metric in METRICS:
        yield f"{metric} weighted", mean(X, metric, sample_weight=np.sqrt(np.arange(len(X)) % 5))
        yield f"{metric} of one", mean(X[:1], metric)


def kernels() -> Results:
    """Give Gram matrices, definite and indefinite, and values for other matrices."""
    photographs = textures()[0]
    betas: tuple[float | str, ...] = ("auto", 0.05, 2.0)
    for metric, correction, beta in product(SYMMETRIC, ("clip", "flip", "shift"), betas):
        for name, X in (("wishart", wishart(40, 5, 6)), ("textures", photographs)):
            kernel = DivergenceKernel(metric, beta, correction).fit(X[::2])
            case = f"{metric} {correction} beta={beta} {name}"
            yield from named(case, learned(kernel))
            yield f"{case} cross", kernel.cross(X[1::2])
    for metric, n in product(SYMMETRIC, (1, 12)):
        X = wishart(20, n, 7, np.float32)
        kernel = DivergenceKernel(metric, n_jobs=2).fit(X[:12])
        yield from named(f"{metric} n={n} float32", learned(kernel))
        yield f"{metric} n={n} float32 cross", kernel.cross(X[12:])
        yield f"{metric} n={n} float64 cross", kernel.cross(X[12:].astype(np.float64))
    kernel = DivergenceKernel("logeuclid", correction="none").fit(photographs)
    yield "none", kernel.gram_


def lasso() -> Results:
    """Give codes over Gram matrices, and their certificates."""
    X = textures()[0]
    kernel = DivergenceKernel("stein", 1.0).fit(X[::2])
    gram, cross = kernel.gram_, kernel.cross(X[1::2])
    codes, certificate = sparse_code(gram, cross, 0.05, return_certificate=True)
    yield "codes", codes
    for field in fields(certificate):
        yield f"certificate {field.name}", getattr(certificate, field.name)
    alphas = np.linspace(0.01, 0.5, len(cross))
    norms = np.linspace(1.0, 2.0, len(cross))
    options: dict[str, dict[str, Any]] = {
        "positive": {"positive": True},
        "init": {"init": codes[:, ::-1]},
        "positive init": {"positive": True, "init": codes[::-1]},
        "exclude": {"exclude": np.arange(len(cross)) - 1},
        "query_norm": {"query_norm": norms, "return_certificate": True},
        "sparse": {"sparse": True},
        "loose": {"tol": 1e-2},
        "few rounds": {"max_rounds": 3},
        "unchecked": {"check_gram": False},
        "threads": {"n_jobs": 2},
    }
    for name, chosen in options.items():
        found = sparse_code(gram, cross, 0.02, **chosen)
        yield name, found[0] if chosen.get("return_certificate") else found
        if chosen.get("return_certificate"):
            yield f"{name} duality_gap", found[1].duality_gap
    yield "alpha of each", sparse_code(gram, cross, alphas)
    yield "no penalty", sparse_code(gram, cross, 0.0)
    single = gram.astype(np.float32), cross.astype(np.float32)
    yield "float32", sparse_code(*single, 0.02)
    twice = np.concatenate([np.arange(len(gram)), np.arange(5)])
    yield "singular", sparse_code(gram[np.ix_(twice, twice)], cross[:, twice], 0.02)
    for positive in (False, True):
        path, certificates = sparse_code_path(
            gram, cross, (0.5, 0.1, 0.02, 0.0), positive=positive, return_certificate=True
        )
        for i, (step, proof) in enumerate(zip(path, certificates, strict=True)):
            yield f"path positive={positive} {i}", step
            yield f"path positive={positive} {i} rounds", proof.rounds
    large = DivergenceKernel("logeuclid").fit(wishart(220, 3, 8))
    queries = large.cross(wishart(300, 3, 9))
    yield "many", sparse_code(large.gram_, queries, 0.01)
    yield "leave one out", sparse_code(large.gram_, large.gram_, 0.01, exclude=range(220))


def coders() -> Results:
    """Give codes of SPD matrices."""
    X, _, _ = textures()
    for metric in SYMMETRIC:
        for options in (
            {},
            {"positive": True},
            {"correction": "flip", "beta": 0.05},
            {"correction": "shift", "beta": 0.05, "n_jobs": 2},
            {"dictionary": X[1::6], "alpha": 0.1},
        ):
            coder = SPDSparseCoder(metric=metric, **options).fit(X[::3])
            yield from named(f"{metric} {_call(options)}", everything(coder, X))
        for n, dtype in product(SIZES, DTYPES):
            Z = wishart(24, n, 10, dtype)
            coder = SPDSparseCoder(metric=metric).fit(Z[:14])
            yield from named(f"{metric} n={n} {Z.dtype}", said(coder, Z))


def classifiers() -> Results:
    """Give scores, labels and probabilities of sparse classifiers."""
    X, y, _ = textures()
    for metric, rule in product(SYMMETRIC, ("residual", "sum", "max")):
        model = SPDSparseClassifier(metric, rule=rule).fit(X[::2], y[::2])
        yield from named(f"{metric} {rule}", everything(model, X[1::2]))
    for metric in SYMMETRIC:
        Z, labels = classes(30, 4, 11, n_classes=2, dtype=np.float32)
        model = SPDSparseClassifier(metric, n_jobs=2).fit(Z[:20], labels[:20])
        yield from named(f"{metric} two classes float32", everything(model, Z[20:]))
        far = SPDSparseClassifier(metric, beta=30.0, alpha=1.0).fit(X[::2], y[::2])
        yield from named(f"{metric} zero codes", said(far, X[1::2]))
    for metric in LEARNED:
        model = SPDSparseClassifier(metric, n_atoms_per_class=3, random_state=0)
        yield from named(f"{metric} few atoms", everything(model.fit(X[::2], y[::2]), X[1::2]))


def choices() -> Results:
    """Give what cross-validation chooses."""
    X, y, groups = textures()
    for metric, rule in (("stein", "residual"), ("jeffrey", "sum"), ("logeuclid", "max")):
        model = SPDSparseClassifierCV(metric, rules=rule).fit(X[::2], y[::2])
        yield from named(f"{metric} {rule} loo", everything(model, X[1::2]))
    grid: dict[str, Any] = {"betas": [0.1, 0.5, 2.0], "alphas": [0.2, 0.02]}
    for name, cv in (("folds", 3), ("groups", GroupKFold(3))):
        model = SPDSparseClassifierCV(cv=cv, correction="shift", n_jobs=2, **grid)
        yield from named(name, everything(model.fit(X, y, groups=groups), X[::5]))


def neighbours() -> Results:
    """Give labels and shares of nearest neighbours."""
    X, y, _ = textures()
    for metric, k in product(METRICS, (1, 4)):
        model = SPDKNeighborsClassifier(k, metric).fit(X[::2], y[::2])
        yield from named(f"{metric} k={k}", everything(model, X[1::2]))
        for n in (3, 22):
            Z, labels = classes(40, n, 12, dtype=np.float32)
            model = SPDKNeighborsClassifier(k, metric, n_jobs=2).fit(Z[:25], labels[:25])
            yield from named(f"{metric} k={k} n={n} float32", said(model, Z[25:]))


def clusters() -> Results:
    """Give clusters from all kinds of starts."""
    X, _, _ = textures()
    weights = np.random.default_rng(13).random(len(X))
    weights[::6] = 0.0
    for metric in METRICS:
        for options in (
            {},
            {"init": "random", "n_init": 3},
            {"init": X[:5], "n_jobs": 2},
            {"max_iter": 2},
        ):
            model = SPDKMeans(5, metric, random_state=0, **options).fit(X)
            yield from named(f"{metric} {_call(options)}", everything(model, X[:20]))
        model = SPDKMeans(5, metric, random_state=np.random.default_rng(1))
        yield from named(f"{metric} weighted", learned(model.fit(X, sample_weight=weights)))
        yield f"{metric} weighted score", model.score(X, sample_weight=weights)
        for n, dtype in ((1, np.float64), (3, np.float32), (12, np.float64), (22, np.float32)):
            Z, _ = classes(60, n, 14, dtype=dtype)
            model = SPDKMeans(4, metric, random_state=np.random.RandomState(2)).fit(Z)
            yield from named(f"{metric} n={n} {Z.dtype}", everything(model, Z[:9]))
        far = np.concatenate([X[:3], 1e8 * X[:1], 1e9 * X[:1]])
        yield from named(f"{metric} empty clusters", learned(SPDKMeans(5, metric, init=far).fit(X)))


def dictionaries() -> Results:
    """Give learned dictionaries, and codes over them."""
    X, _, _ = textures()
    for metric in LEARNED:
        for options in (
            {},
            {"init": "random", "alpha": 0.1},
            {"init": X[:8], "beta": 0.7},
            {"update": "gradient", "beta": 2.0},
            {"block_size": 1, "init": "random"},
            {"block_size": 3, "n_jobs": 2},
            {"init": np.concatenate([X[:6], 1e6 * X[:2]]), "alpha": 0.3},
        ):
            model = SPDDictionaryLearning(8, metric, **{**_BRIEF, **options}).fit(X)
            yield from named(f"{metric} {_call(options)}", everything(model, X))
            yield f"{metric} {_call(options)} score", model.score(X)
        for n, dtype in ((1, np.float64), (3, np.float32), (12, np.float64), (22, np.float32)):
            Z = wishart(70, n, 15, dtype)
            model = SPDDictionaryLearning(6, metric, **_BRIEF).fit(Z)
            yield from named(f"{metric} n={n} {Z.dtype}", everything(model, Z[:15]))
        many = wishart(5000, 3, 16)
        model = SPDDictionaryLearning(60, metric, **{**_BRIEF, "init": "random", "max_iter": 2})
        yield from named(f"{metric} many", everything(model.fit(many), many[:50]))
        yield f"{metric} resumed", _resumed(X, metric)


def batches() -> Results:
    """Give dictionaries learned from batch after batch, and per class."""
    X, y, _ = textures()
    X = X[np.random.default_rng(17).permutation(len(X))]
    for metric in LEARNED:
        for options in ({}, {"forgetting": 0.5, "batch_iter": 1, "init": "random"}):
            model = SPDDictionaryLearning(6, metric, **{**_BRIEF, **options})
            for start in range(0, len(X), 24):
                model.partial_fit(X[start : start + 24])
            yield from named(f"{metric} {_call(options)}", everything(model, X))
        model = SPDDictionaryLearning(6, metric, **_BRIEF).fit(X[:40]).partial_fit(X[40:])
        yield from named(f"{metric} after fit", everything(model, X))
        atoms, labels = _class_dictionary()(*textures()[:2], 3, metric=metric, random_state=0)
        yield f"{metric} class atoms", atoms
        yield f"{metric} class labels", labels
    atoms, _ = _class_dictionary()(X.astype(np.float32), y, 11, init="random", random_state=1)
    yield "class atoms float32", atoms


def chunks() -> Results:
    """Give what is computed for Dask arrays, by Dask's threads."""
    da: Any = import_module("dask.array")
    X = np.concatenate([wishart(700, 4, 18), 3.0 * wishart(200, 4, 19)])
    Z = da.from_array(X, chunks=(130, 4, 4))
    y = np.where(np.arange(len(X)) < 700, "small", "large")
    with import_module("dask").config.set(scheduler="threads", num_workers=2):
        for metric in METRICS:
            model = SPDKMeans(6, metric, max_iter=6, random_state=0).fit(Z)
            yield from named(f"{metric} k-means", everything(model, Z))
        variants: tuple[dict[str, Any], ...] = (
            {},
            {"init": "random", "block_size": 2},
            {"update": "gradient"},
        )
        for metric, options in product(LEARNED, variants):
            model = SPDDictionaryLearning(7, metric, **{**_BRIEF, **options}).fit(Z)
            yield from named(f"{metric} dictionary {_call(options)}", everything(model, Z))
            yield f"{metric} dictionary {_call(options)} score", model.score(Z)
        for estimator in (
            SPDSparseCoder(metric="jeffrey"),
            SPDSparseClassifier(),
            SPDKNeighborsClassifier(3),
        ):
            fitted = estimator.fit(Z[660:740], y[660:740])
            yield from named(type(estimator).__name__, everything(fitted, Z[::3]))


def memory_maps() -> Results:
    """Give what is computed for a memory map that is read a megabyte at a time."""
    X = np.concatenate([wishart(4000, 5, 20), 3.0 * wishart(2500, 5, 21)])
    with tempfile.TemporaryDirectory() as folder, block_budget(1_000_000):
        for dtype in DTYPES:
            path = Path(folder, f"{np.dtype(dtype)}.npy")
            np.save(path, np.concatenate([X, X]).astype(dtype))
            mapped = np.load(path, mmap_mode="r")
            for metric in METRICS if dtype is np.float64 else ("riemann", "stein"):
                kmeans = SPDKMeans(4, metric, max_iter=3, random_state=0, n_jobs=2).fit(mapped)
                yield from named(f"{metric} k-means {mapped.dtype}", learned(kmeans))
                yield f"{metric} k-means {mapped.dtype} predict", kmeans.predict(mapped)
            for metric in LEARNED if dtype is np.float64 else ("stein",):
                settings = {**_BRIEF, "max_iter": 2, "init": "random", "alpha": 0.2}
                model = SPDDictionaryLearning(12, metric, n_jobs=2, **settings).fit(mapped)
                yield from named(f"{metric} dictionary {mapped.dtype}", learned(model))
                codes = model.transform(mapped)
                yield f"{metric} dictionary {mapped.dtype} transform", codes[::50]
                yield f"{metric} dictionary {mapped.dtype} score", model.score(mapped)


def cone() -> Results:
    """Give functions of matrices, geodesics, half-vectors and repaired matrices."""
    one: tuple[Callable[[Any], Any], ...] = (
        geometry.logm,
        geometry.sqrtm,
        geometry.invsqrtm,
        geometry.regularise,
        geometry.shrink,
        check_spd,
    )
    for n, dtype in product(SIZES, DTYPES):
        A, B = wishart(6, n, 22, dtype), wishart(6, n, 23, dtype)
        name = f"n={n} {A.dtype}"
        for function in one:
            yield f"{function.__name__} {name}", function(A)
        yield f"powm {name}", geometry.powm(A, -1.3)
        yield f"geodesic {name}", geometry.geodesic(A, B, 0.3)
        yield f"geometric_mean {name}", geometry.geometric_mean(A, B[0])
        V = geometry.log_map(A, B)
        yield f"log_map {name}", V
        yield f"exp_map {name}", geometry.exp_map(V, B)
        yield f"expm {name}", geometry.expm(V)
        broken = A - A.dtype.type(0.5) * B
        broken[:, 0, -1] += A.dtype.type(0.1)
        yield f"nearest_spd {name}", nearest_spd(broken)
        yield f"nearest_spd floor {name}", nearest_spd(broken[:2], floor=0.01)
    for order, weighted in product(_ORDERS, (False, True)):
        v = geometry.vech(wishart(4, 3, 24), order=order, weighted=weighted)
        yield f"vech {order} weighted={weighted}", v
        yield (
            f"unvech {order} weighted={weighted}",
            geometry.unvech(v, order=order, weighted=weighted),
        )


def _resumed(X: Any, metric: str) -> Any:
    """Return the atoms of a fit that stopped after two iterations and went on from its checkpoint."""
    with tempfile.TemporaryDirectory() as folder:
        settings = {**_BRIEF, "checkpoint": Path(folder, "state"), "tol": 0.0}
        SPDDictionaryLearning(8, metric, **{**settings, "max_iter": 2}).fit(X)
        return SPDDictionaryLearning(8, metric, **settings).fit(X).atoms_


def _class_dictionary() -> Any:
    """Return `class_dictionary`, which was no top-level name at first."""
    home = "spdatoms" if "class_dictionary" in spdatoms.__all__ else "spdatoms.class_dictionary"
    return import_module(home).class_dictionary


def _call(options: dict[str, Any]) -> str:
    """Return the options as they are written, an array by its shape."""
    shown = {k: v.shape if isinstance(v, np.ndarray) else v for k, v in options.items()}
    return ", ".join(f"{name}={value}" for name, value in shown.items()) or "default"
