"""Dictionary learning in the span of landmarks: is it sound, how fast is it, does it learn online?

Run with ``python benchmarks/landmarks.py [problems] [sparsity] [speed] [online] [classifier] [textures] [compare]
[--data FOLDER] [--json FILE] [--quick]``. Everything runs on one thread, but the classifier with
``--jobs``. Without a choice all parts run, `compare` only if there is a folder of data.

problems
    Random Jeffrey problems. F must be non-negative and never rise. The codes of left-out matrices are
    classified by their nearest neighbour, after one iteration and after thirty.
sparsity
    The same at α = 0.05, with and without landmarks, and for ten classes of 5×5 matrices.
speed
    Seconds per iteration with landmarks and in the exact form; the two forms take turns.
online
    The loss of left-out matrices after one epoch of batches, divided by that of the batch learner.
classifier
    `SPDSparseClassifier` with landmarks on a memory map of many training matrices, and with and
    without landmarks on some of them.
textures
    `SPDSparseClassifier` with and without landmarks on blocks of textures, accuracy and seconds.
compare
    Textures, faces and actions (folders ``brodatz``, ``feret_b`` and ``hdm05``): kernels that are mostly
    positive definite, in the exact form and with landmarks. The loss is that of the kernel itself over
    the atoms of either form, with codes that are solved for it.
"""

from __future__ import annotations

import argparse
import json
import resource
import tempfile
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from _landmark_forms import LANDMARKS, SETS, compare
from _timing import machine
from numpy.typing import NDArray
from sklearn.neighbors import KNeighborsClassifier

from dictionary import matrices
from spdatoms import SPDDictionaryLearning, SPDSparseClassifier
from spdatoms._utils.sampling import evenly_spaced
from spdatoms._utils.threads import one_blas_thread
from spdatoms.dictionary._loop import Moves, State
from spdatoms.dictionary._samples import Samples
from spdatoms.dictionary.initial import first_atoms
from spdatoms.dictionary.problem import fix_problem
from spdatoms.divergences import get_divergence
from spdatoms.exceptions import IndefiniteKernelWarning
from spdatoms.kernels.bandwidth import subsample_beta

Floats = NDArray[np.float64]
Labels = NDArray[np.int64]

#: A rise of F, or a negative F, by more than this share of its first value is a violation.
ROUNDING = 1e-10
#: Iterations after which the codes are classified.
ITERATIONS = (1, 30)
#: Random problems, those of them that are learned without landmarks, too, and those with α = 0.05.
PROBLEMS, COMPARED, FIXED_ALPHA = 200, 40, 30
#: m, N and n.
SIZES = ((20000, 256, 12), (20000, 128, 43), (20000, 128, 93))
QUICK_SAMPLES = 4000
ALPHA = 0.1
BATCH = 256
#: The classifier: training matrices, those of them without landmarks, queries, their size and classes.
TRAINING, SOME, QUERIES, SIZE, CLASSES = 100_000, 2000, 1000, 93, 40
#: The classes have much in common: their roots differ by this share of a common one, more for small matrices.
DIFFERENCE, QUICK_DIFFERENCE = 0.01, 0.1


@dataclass(frozen=True)
class Task:
    """Labelled matrices, and how a dictionary is to be learned from them."""

    X: Floats
    y: Labels
    left_out: Floats
    left_out_labels: Labels
    n_atoms: int
    beta_factor: float
    alpha: float
    init: str
    seed: int

    @property
    def beta(self) -> float:
        """β: the factor times the automatic one."""
        return self.beta_factor * subsample_beta(self.X, get_divergence("jeffrey"), "auto")

    def learned(self, landmarks: str | None, max_iter: int) -> SPDDictionaryLearning:
        """Return the learner after this many iterations."""
        learner = SPDDictionaryLearning(
            self.n_atoms,
            metric="jeffrey",
            beta=self.beta,
            alpha=self.alpha,
            init=self.init,
            max_iter=max_iter,
            tol=0.0,
            random_state=self.seed,
            landmarks=landmarks,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", IndefiniteKernelWarning)
            return learner.fit(self.X)

    def accuracy(self, learner: SPDDictionaryLearning) -> float:
        """Return the share of left-out matrices whose code is nearest to one of their class."""
        neighbours = KNeighborsClassifier(1).fit(learner.transform(self.X), self.y)
        score = neighbours.score(learner.transform(self.left_out), self.left_out_labels)
        return float(score)


def wishart_classes(
    rng: np.random.Generator, m: int, n: int, n_classes: int, freedom: int
) -> tuple[Floats, Labels]:
    """Return Wishart matrices around one random scale matrix per class, and their classes."""
    roots = rng.standard_normal((n_classes, n, 2 * n)) / np.sqrt(2 * n)
    labels = rng.integers(n_classes, size=m)
    G = roots[labels] @ rng.standard_normal((m, 2 * n, freedom))
    return G @ G.swapaxes(1, 2) / freedom, labels


def task(seed: int, alpha: float | None = None) -> Task:
    """Return a random problem; α is drawn from 0.001 … 0.3 unless it is given."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 21))
    m = round(10 ** rng.uniform(np.log10(50), np.log10(2000)))
    n_atoms = round(2 ** rng.uniform(2, np.log2(min(64, m))))
    n_classes, freedom = int(rng.integers(2, 11)), int(rng.integers(n + 1, 4 * n + 2))
    beta_factor, drawn = 10 ** rng.uniform(-1, 1), 10 ** rng.uniform(-3, np.log10(0.3))
    init = str(rng.choice(["kmeans", "random"]))
    left_out = max(50, m // 4)
    X, y = wishart_classes(rng, m + left_out, n, n_classes, freedom)
    return Task(
        X[:m], y[:m], X[m:], y[m:], n_atoms, beta_factor, alpha or drawn, init, seed
    )  # fmt: skip


def ten_classes(seed: int) -> Task:
    """Return ten Wishart classes of 5×5 matrices, for 16 atoms at α = 0.05."""
    rng = np.random.default_rng(seed)
    X, y = wishart_classes(rng, 2000, 5, 10, 20)
    return Task(X[:1000], y[:1000], X[1000:], y[1000:], 16, 1.0, 0.05, "kmeans", seed)


def figures_of(task: Task, landmarks: str | None) -> dict[str, Any]:
    """Learn, and return what became of F, the accuracies and the share of non-zeros."""
    first, last = (task.learned(landmarks, count) for count in ITERATIONS)
    F = last.objective_
    return {
        "seed": task.seed, "m": len(task.X), "n": task.X.shape[-1], "n_atoms": task.n_atoms,
        "beta_factor": task.beta_factor, "alpha": task.alpha, "init": task.init,
        "form": type(last.kernel_).__name__, "least": float(F.min()),
        "negative": bool(F.min() < -ROUNDING * abs(F[0])),
        "rise": float(np.diff(F).max() / abs(F[0])),
        "rises": bool(np.diff(F).max() > ROUNDING * abs(F[0])),
        "lowered_to": float(F[-1] / F[0]),
        "accuracy_first": task.accuracy(first), "accuracy_last": task.accuracy(last),
        "nonzeros": float(np.mean(last.transform(task.X) != 0)),
    }  # fmt: skip


def summary(name: str, rows: list[dict[str, Any]]) -> None:
    """Print the counts of violations, and means."""

    def mean(key: str) -> float:
        return float(np.mean([row[key] for row in rows]))

    def count(key: str) -> int:
        return sum(row[key] for row in rows)

    spans = sum(row["form"] == "LandmarkKernel" for row in rows)
    print(
        f"{name:32} {len(rows):8} {spans:8} {count('negative'):8} {count('rises'):5} "
        f"{mean('accuracy_first'):9.3f} {mean('accuracy_last'):9.3f} {mean('nonzeros'):9.3f}",
        flush=True,
    )
    for row in rows:
        if row["negative"] or row["rises"]:
            print("  violation:", {key: row[key] for key in row if not key.startswith("acc")})


#: The heads of the columns of `summary`.
HEADS = (
    f"{'':32} {'problems':>8} {'in spans':>8} {'negative':>8} {'rises':>5} "
    f"{'first':>9} {'last':>9} {'non-zeros':>9}"
)


def problems(quick: bool, seeds: range, minutes: float) -> dict[str, Any]:
    """Learn random dictionaries with Jeffrey's divergence, the first of them without landmarks, too."""
    print("Random Jeffrey problems: violations, accuracy after 1 and 30 iterations, non-zeros")
    print(HEADS)
    seeds = seeds[: len(seeds) // 10] if quick else seeds
    compared = COMPARED // (10 if quick else 1)
    end = time.perf_counter() + 60.0 * minutes
    found: dict[str, Any] = {"landmarks": [], "landmarks, compared": [], "exact, compared": []}
    for seed in seeds:
        if time.perf_counter() > end:
            break
        found["landmarks"].append(figures_of(task(seed), "auto"))
        if seed < compared:
            found["landmarks, compared"].append(found["landmarks"][-1])
            found["exact, compared"].append(figures_of(task(seed), None))
    for name, rows in found.items():
        if rows:
            summary(name, rows)
    return found


def sparsity(quick: bool) -> dict[str, Any]:
    """Learn dictionaries at α = 0.05: random problems, and ten classes of 5×5 matrices."""
    print("\nJeffrey problems with α = 0.05")
    print(HEADS)
    count = FIXED_ALPHA // 10 if quick else FIXED_ALPHA
    sets = {
        "random": [task(seed, 0.05) for seed in range(1000, 1000 + count)],
        "ten classes, n = 5, N = 16": [ten_classes(seed) for seed in range(3)],
    }
    found = {}
    for name, tasks in sets.items():
        for form, landmarks in (("landmarks", "auto"), ("exact", None)):
            found[f"{name}, {form}"] = [figures_of(task, landmarks) for task in tasks]
            summary(f"{name}, {form}", found[f"{name}, {form}"])
    return found


class Form:
    """A learner, with landmarks or without, that is timed while it goes on."""

    def __init__(self, X: Floats, atoms: Floats, metric: str, landmarks: int | None) -> None:
        start = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", IndefiniteKernelWarning)
            self.problem: Any = fix_problem(
                X, atoms, get_divergence(metric), "auto", ALPHA, landmarks
            )
        self.data: Any
        self.rule: Any
        self.data = Samples(self.problem, X, len(atoms))
        self.state = State(atoms, self.problem.images(atoms))
        self.first_pass = time.perf_counter() - start
        self.seconds: list[float] = []

    def go_on(self) -> None:
        """Iterate once."""
        start = time.perf_counter()
        self.state = self.state.next(self.data, Moves())
        self.seconds.append(time.perf_counter() - start)

    @property
    def per_iteration(self) -> float:
        """The median of all iterations but the first, which codes from zeros."""
        return float(np.median(self.seconds[1:]))

    def total(self, iterations: int) -> float:
        """Seconds of the first pass and this many iterations, those that were not run extrapolated."""
        left = iterations - len(self.seconds)
        return self.first_pass + sum(self.seconds) + left * self.per_iteration


def speed(quick: bool, metric: str, iterations: int, sizes: list[int]) -> list[dict[str, Any]]:
    """Time iterations of the two forms in turn."""
    print(f"\n{metric}, α = {ALPHA}, {LANDMARKS} landmarks: seconds, with landmarks / exact form")
    print(
        f"{'m':>6} {'N':>4} {'n':>3} {'first pass':>15} {'per iteration':>15} {'ratio':>6} "
        f"{'ten iterations':>15} {'ratio':>6} {'non-zeros':>11}"
    )
    compile_first = matrices(500, 6)
    for landmarks in (LANDMARKS, None):
        Form(compile_first, compile_first[:16].copy(), metric, landmarks).go_on()
    rows = []
    for m, n_atoms, n in (SIZES[i] for i in sizes):
        X = matrices(QUICK_SAMPLES if quick else m, n)
        rng = np.random.default_rng(0)
        atoms = first_atoms(X, "random", n_atoms, get_divergence(metric), rng, None)
        span = Form(X, atoms, metric, LANDMARKS)
        exact = Form(X, atoms, metric, None)
        for _ in range(iterations):
            span.go_on()
            exact.go_on()
        row: dict[str, Any] = {"m": len(X), "n_atoms": n_atoms, "n": n, "iterations": iterations}
        for name, form in (("landmarks", span), ("exact", exact)):
            row[name] = {
                "first_pass": form.first_pass, "seconds": form.seconds, "ten": form.total(10),
                "per_iteration": form.per_iteration, "nonzeros": form.data.nonzeros,
            }  # fmt: skip
        rows.append(row)
        print(
            f"{len(X):6} {n_atoms:4} {n:3} {span.first_pass:7.2f}/{exact.first_pass:7.2f} "
            f"{span.per_iteration:7.3f}/{exact.per_iteration:7.3f} "
            f"{exact.per_iteration / span.per_iteration:6.1f} "
            f"{span.total(10):7.2f}/{exact.total(10):7.2f} "
            f"{exact.total(10) / span.total(10):6.1f} "
            f"{span.data.nonzeros:5.1f}/{exact.data.nonzeros:5.1f}"
            + ("  (ten extrapolated)" if iterations < 10 else ""),
            flush=True,
        )
    return rows


def batches(X: Floats) -> Iterator[Floats]:
    """Cut the matrices into batches; what remains at the end joins the last one."""
    starts = range(0, max(1, len(X) - BATCH + 1), BATCH)
    for start in starts:
        yield X[start : start + BATCH] if start + 2 * BATCH <= len(X) else X[start:]


def online(quick: bool) -> list[dict[str, Any]]:
    """Compare an epoch of batches with ten iterations of the batch learner."""
    print(f"\nOnline: one epoch of batches of {BATCH}; the batch learner, ten iterations")
    print(
        f"{'metric':>8} {'n':>3} {'N':>4} {'seed':>4} {'online':>9} {'batch':>9} {'ratio':>7} "
        f"{'s online':>9} {'s batch':>8}"
    )
    m = 2560 if quick else 10240
    rows = []
    for metric, n, n_atoms in (("jeffrey", 5, 32), ("jeffrey", 12, 64), ("stein", 12, 64)):
        for seed in range(1 if quick else 3):
            X = matrices(m + 2000, n, seed)
            X, left_out = X[:m], X[m:]
            divergence = get_divergence(metric)
            Z = X[evenly_spaced(len(X), LANDMARKS)]
            beta = subsample_beta(X, divergence, "auto")
            losses, seconds = {}, {}
            for name in ("online", "batch"):
                learner = SPDDictionaryLearning(
                    n_atoms,
                    metric,
                    beta,
                    0.05,
                    max_iter=10,
                    tol=0.0,
                    random_state=seed,
                    landmarks=Z,
                )
                start = time.perf_counter()
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", IndefiniteKernelWarning)
                    if name == "batch":
                        learner.fit(X)
                    else:
                        for batch in batches(X):
                            learner.partial_fit(batch)
                seconds[name] = time.perf_counter() - start
                losses[name] = -learner.score(left_out)
            ratio = losses["online"] / losses["batch"]
            row = {"metric": metric, "n": n, "n_atoms": n_atoms, "seed": seed, "ratio": ratio}
            rows.append(row | {"losses": losses, "seconds": seconds})
            print(
                f"{metric:>8} {n:3} {n_atoms:4} {seed:4} {losses['online']:9.4f} "
                f"{losses['batch']:9.4f} {ratio:7.3f} {seconds['online']:9.2f} "
                f"{seconds['batch']:8.2f}",
                flush=True,
            )
    return rows


def similar_classes(
    rng: np.random.Generator, roots: Floats, m: int, freedom: int
) -> tuple[Floats, Labels]:
    """Return covariances of samples from Gaussians with these roots, and their classes."""
    labels = rng.integers(len(roots), size=m)
    G = roots[labels] @ rng.standard_normal((m, roots.shape[-1], freedom))
    return G @ G.swapaxes(1, 2) / freedom, labels


def classifier(
    quick: bool, metric: str, training: int, landmarks: int, jobs: int, folder: str
) -> list[dict[str, Any]]:
    """Classify with many training matrices from a file, and with some of them in memory."""
    n, difference = (12, QUICK_DIFFERENCE) if quick else (SIZE, DIFFERENCE)
    freedom = 2 * n
    rng = np.random.default_rng(0)
    common, own = rng.standard_normal((1, n, n + 2)), rng.standard_normal((CLASSES, n, n + 2))
    roots = (common + difference * own) / np.sqrt(n + 2)
    y = np.empty(training, np.int64)
    with Path(folder, "X").open("wb") as file:
        for start in range(0, training, 500):
            part = slice(start, min(start + 500, training))
            block, y[part] = similar_classes(rng, roots, part.stop - part.start, freedom)
            block.tofile(file)
    X = np.memmap(Path(folder, "X"), np.float64, "r", shape=(training, n, n))
    queries, truth = similar_classes(rng, roots, QUERIES, freedom)
    some, some_labels = np.array(X[:SOME]), y[:SOME]
    print(f"\nClassifier: {metric}, n = {n}, {CLASSES} classes, {QUERIES} queries, {jobs} threads")
    print(f"{'training':>9} {'landmarks':>9} {'r':>4} {'fit s':>8} {'predict s':>9} {'accuracy':>8} "
          f"{'peak MB':>8}")  # fmt: skip
    rows = []
    for matrices_, labels, number in (
        (X, y, landmarks), (some, some_labels, landmarks), (some, some_labels, None),
    ):  # fmt: skip
        model = SPDSparseClassifier(metric, n_jobs=jobs, landmarks=number)
        start_time = time.perf_counter()
        model.fit(matrices_, labels)
        fitted = time.perf_counter()
        accuracy = float(np.mean(model.predict(queries) == truth))
        row = {
            "training": len(labels), "landmarks": number,
            "r": None if number is None else model.kernel_.features_.shape[1],
            "fit": fitted - start_time, "predict": time.perf_counter() - fitted,
            "accuracy": accuracy,
            "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        }  # fmt: skip
        rows.append(row)
        print(
            f"{row['training']:9} {number or '-':>9} {row['r'] or '-':>4} {row['fit']:8.1f} "
            f"{row['predict']:9.1f} {accuracy:8.3f} {row['peak_mb']:8.0f}",
            flush=True,
        )
    return rows


def textures(quick: bool) -> list[dict[str, Any]]:
    """Return accuracy, and processor seconds to fit and to predict, of the kernel itself and of landmarks."""
    from spdatoms.datasets import load_textures
    from spdatoms.descriptors import TextureCovariance

    blocks = load_textures(block=16, per_class=60 if quick else None)
    X, y = TextureCovariance(block=None).transform(blocks.data), blocks.target
    known = blocks.groups % 2 == 0
    print(f"\nTextures: {known.sum()} training matrices, {(~known).sum()} queries")
    print(f"{'metric':>10} {'landmarks':>10} {'accuracy':>9} {'seconds':>8}")
    rows = []
    for metric in ("stein", "jeffrey"):
        for count in (None, 50, 100, 300, 600):
            model = SPDSparseClassifier(metric, landmarks=count)
            model.fit(X[known][:60], y[known][:60]).predict(X[:1])  # compiles
            start = time.process_time()
            accuracy = 100 * model.fit(X[known], y[known]).score(X[~known], y[~known])
            seconds = time.process_time() - start
            print(f"{metric:>10} {count or 'none':>10} {accuracy:8.1f}% {seconds:8.2f}")
            row = {"metric": metric, "landmarks": count, "accuracy": accuracy, "seconds": seconds}
            rows.append(row)
    return rows


def main() -> None:
    parts = ("problems", "sparsity", "speed", "online", "classifier", "textures", "compare")
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("parts", nargs="*", default=parts, help=f"some of {', '.join(parts)}")
    parser.add_argument("--data", type=Path, help="the folder with the data of `compare`")
    parser.add_argument("--json", type=Path, help="write the figures to this file, too")
    parser.add_argument("--quick", action="store_true", help="small sizes, to see that it works")
    parser.add_argument(
        "--seeds",
        type=int,
        nargs=2,
        default=(0, PROBLEMS),
        metavar=("FIRST", "END"),
        help="the random problems, for a run in parts",
    )
    parser.add_argument(
        "--minutes", type=float, default=np.inf, help="after these no other random problem is begun"
    )
    parser.add_argument(
        "--metric", default="stein", help="the divergence of the speed and classifier parts"
    )
    parser.add_argument(
        "--iterations", type=int, default=10, help="iterations that are timed, at least 2"
    )
    parser.add_argument(
        "--sizes", type=int, nargs="*", default=[0, 1, 2], help="which sizes are timed"
    )
    parser.add_argument(
        "--training", type=int, default=TRAINING, help="training matrices of the classifier"
    )
    parser.add_argument("--jobs", type=int, default=1, help="threads of the classifier")
    parser.add_argument(
        "--landmarks", type=int, default=LANDMARKS, help="landmarks of the classifier"
    )
    sets = list(dict.fromkeys(name for name, *_ in SETS))
    parser.add_argument(
        "--sets", nargs="*", default=sets, choices=sets, help="what the two forms are compared on"
    )
    arguments = parser.parse_args()
    if unknown := set(arguments.parts) - set(parts):
        parser.error(f"unknown parts: {', '.join(sorted(unknown))}")
    if arguments.parts != parts and "compare" in arguments.parts and not arguments.data:
        parser.error("compare needs --data FOLDER")
    figures: dict[str, Any] = {"machine": machine()}
    with one_blas_thread():
        if "problems" in arguments.parts:
            figures["problems"] = problems(
                arguments.quick, range(*arguments.seeds), arguments.minutes
            )
        if "sparsity" in arguments.parts:
            figures["sparsity"] = sparsity(arguments.quick)
        if "speed" in arguments.parts:
            figures["speed"] = speed(
                arguments.quick, arguments.metric, arguments.iterations, arguments.sizes
            )
        if "online" in arguments.parts:
            figures["online"] = online(arguments.quick)
        if "classifier" in arguments.parts:
            with tempfile.TemporaryDirectory() as folder:
                figures["classifier"] = classifier(
                    arguments.quick,
                    arguments.metric,
                    arguments.training,
                    arguments.landmarks,
                    arguments.jobs,
                    folder,
                )
        if "textures" in arguments.parts:
            figures["textures"] = textures(arguments.quick)
        if "compare" in arguments.parts and arguments.data:
            figures["compare"] = compare(arguments.data, arguments.sets)
    if arguments.json:
        arguments.json.write_text(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
