"""``spdatoms classify``: train on labelled matrices, predict the labels of others."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from spdatoms._utils.progress import showing_progress
from spdatoms._utils.typing import Array
from spdatoms.cli._cross_validation import HeldOut, cross_validate
from spdatoms.cli.options import (
    AlphaOption,
    BetaOption,
    ClassifierMetric,
    ClassifierMetricOption,
    ComponentsOption,
    CovarianceOption,
    JobsOption,
    KeyOption,
    LearningMetric,
    ReportOption,
    SeedOption,
    VerboseOption,
    is_given,
    output,
    refuse_beside_model,
)
from spdatoms.cli.outputs import ForceOption, check_outputs
from spdatoms.cli.show import counted, say, show_lines, show_table, wants_progress

if TYPE_CHECKING:
    from spdatoms.cli.formats.matrices import Matrices
    from spdatoms.cli.formats.volumes import Volume

#: Options that a trained model does not take.
_METHOD = ("method", "metric", "beta", "alpha", "rule", "atoms_per_class", "choose", "cv", "seed")
#: Options of one sparse classifier, which ask for it.
_SPARSE = ("beta", "alpha", "rule", "atoms_per_class")
_SPARSE_WORDS = "--beta, --alpha, --rule and --atoms-per-class"
#: The greatest number of classes whose accuracies are listed.
_LISTED = 30
#: The greatest number of classes whose confusions are shown.
_CONFUSED = 12


class Method(StrEnum):
    """Which classifier."""

    ensemble = "ensemble"
    sparse = "sparse"


class Rule(StrEnum):
    """How classes are judged."""

    residual = "residual"
    sum = "sum"
    max = "max"


def _file(help_text: str) -> Any:
    return typer.Option(help=help_text, rich_help_panel="Files", show_default=False)


def classify(
    context: typer.Context,
    train: Annotated[
        Path | None,
        _file("Training matrices, in any format that 'inspect' reads, or epochs (.fif)."),
    ] = None,
    train_labels: Annotated[
        Path | None,
        _file(
            "Their labels: a column of .csv, .tsv, .txt or .parquet, an array, or a map (.nii.gz). May be "
            "--train. Epochs (.fif) have their own."
        ),
    ] = None,
    test: Annotated[Path | None, _file("The matrices to classify.")] = None,
    test_labels: Annotated[Path | None, _file("Their labels, to compute the accuracy.")] = None,
    key: KeyOption = None,
    label_key: Annotated[
        str | None, _file("Which array, or column of a table, has the labels.")
    ] = None,
    mask: Annotated[
        Path | None,
        _file("The voxels of a training volume to use (NIfTI); without it, those with a label."),
    ] = None,
    test_mask: Annotated[
        Path | None,
        _file("The voxels of the volume to classify; without it, all tensors that are not zero."),
    ] = None,
    components: ComponentsOption = None,
    covariance: CovarianceOption = None,
    model: Annotated[Path | None, _file("A trained model, in place of --train.")] = None,
    out: Annotated[
        Path | None,
        output(
            "Where to put predictions and probabilities, or a map of predictions (.nii.gz).",
            *(".csv", ".npy", ".npz", ".mat", ".nii", ".nii.gz"),
        ),
    ] = None,
    save_model: Annotated[
        Path | None,
        output("Where to put the trained model.", ".spdatoms", names=("--save-model",)),
    ] = None,
    suspects: Annotated[
        Path | None,
        output(
            "Where to put the training labels that the other matrices contradict, the most doubtful first.",
            ".csv",
            names=("--suspects",),
        ),
    ] = None,
    method: Annotated[
        Method,
        typer.Option(
            help="An average of sparse codes and class means under several kernels, or one sparse code, the "
            f"paper's method. --metric, {_SPARSE_WORDS} ask for the second.",
            rich_help_panel="The method",
        ),
    ] = Method.ensemble,
    metric: ClassifierMetricOption = ClassifierMetric.auto,
    beta: BetaOption = "auto",
    alpha: AlphaOption = "auto",
    rule: Annotated[
        Rule,
        typer.Option(
            help="Judge a class by the residual of its part of the code, or its sum or maximum.",
            rich_help_panel="The method",
        ),
    ] = Rule.residual,
    atoms_per_class: Annotated[
        int | None,
        typer.Option(
            help="The number of atoms to learn per class, instead of all training matrices.",
            rich_help_panel="The method",
        ),
    ] = None,
    choose: Annotated[
        bool,
        typer.Option(
            "--choose",
            help="Cross-validate on the training matrices: weight the kernels of the ensemble, or choose "
            "kernel and penalties of the sparse code.",
            rich_help_panel="The method",
        ),
    ] = False,
    cv: Annotated[
        int | None,
        typer.Option(
            "--cv",
            help="The number of folds: each part of the training matrices is predicted by the others.",
            min=2,
            rich_help_panel="The method",
        ),
    ] = None,
    report: ReportOption = None,
    force: ForceOption = False,
    seed: SeedOption = 0,
    jobs: JobsOption = None,
    verbose: VerboseOption = False,
) -> None:
    """Classify matrices by their sparse codes over labelled ones, under several kernels or one.

    \b
    Examples:
      spdatoms classify --train X.npy --train-labels y.csv --test Z.npy
      spdatoms classify --train a.mat --train-labels a.mat --key X --label-key y
          --test b.mat --test-labels b.mat --out predicted.csv
      spdatoms classify --train X.npy --train-labels y.txt --choose
          --save-model m.spdatoms
      spdatoms classify --train X.npy --train-labels y.tsv --label-key group --cv 5
      spdatoms classify --train subject-epo.fif --cv 5
      spdatoms classify --train dti.nii.gz --train-labels regions.nii.gz
          --components fsl --test other.nii.gz --out predicted.nii.gz
      spdatoms classify --train X.npy --train-labels y.csv --suspects doubtful.csv
      spdatoms classify --model m.spdatoms --test Z.npy --out predicted.csv
    """
    if train is not None and train_labels is None and train.suffix.lower() == ".fif":
        train_labels = train
    made = [save_model, cv, suspects]
    _check_usage(train, train_labels, test, test_labels, model, out, cv, made)
    if model is not None:
        refuse_beside_model(context, "train_labels", "suspects", *_METHOD)
    asked = [name for name in ("metric", *_SPARSE) if is_given(context, name)]
    if not is_given(context, "method"):
        method = Method.sparse if asked else Method.ensemble
    elif method is Method.ensemble and asked not in ([], ["metric"]):
        raise typer.BadParameter(f"{_SPARSE_WORDS} are options of --method sparse")
    if method is Method.sparse and suspects is not None:
        raise typer.BadParameter("--suspects needs --method ensemble")
    _check_method(metric, atoms_per_class, choose)
    if report is not None and test_labels is None and (cv is None or test is not None):
        raise typer.BadParameter(
            "--report needs labels: give --test-labels, or --cv without --test"
        )
    reads = [train, train_labels, test, test_labels, model, mask, test_mask]
    check_outputs(reads, [out, save_model, report, suspects], force=force)
    from spdatoms.cli import _models
    from spdatoms.cli.formats.labels import read_labels
    from spdatoms.cli.formats.matrices import Source, read_matrices
    from spdatoms.cli.formats.volumes import VOLUME_FILES

    def source(path: Path, other: Path | None, voxels: Path | None) -> Source:
        of_volume = path.name.lower().endswith(VOLUME_FILES)
        order = components if of_volume else None  # the other file may be no volume
        return Source(path, _key(key, path, other), voxels, order, covariance)

    def placed(queries: Matrices | None) -> Matrices | None:
        if queries is None or test is None:
            return None
        return _models.on_range(queries, test, reach, incomplete=True)

    shown = wants_progress(verbose)
    queries, truth, reach = None, None, None
    if test is not None:
        queries = read_matrices(source(test, train, test_mask))
    if test_labels is not None and queries is not None:
        at = _key(label_key, test_labels, train_labels)
        truth = read_labels(test_labels, at, len(queries.X), queries.volume)
    if model is not None:
        abilities = ("classes_", "predict_proba")
        classifier, reach = _models.load_model(model, abilities, "classify", jobs)
        queries = placed(queries)
    elif train is not None and train_labels is not None:
        if mask is None and train_labels.name.lower().endswith(VOLUME_FILES):
            mask = train_labels
        labelled = read_matrices(source(train, test, mask))
        reach = _models.common_range(labelled.X, train)
        labelled, queries = _models.on_range(labelled, train, reach), placed(queries)
        X, at = labelled.X, _key(label_key, train_labels, test_labels)
        y = read_labels(train_labels, at, len(X), labelled.volume)
        classifier = _classifier(
            method,
            metric,
            choose,
            {"beta": beta, "alpha": alpha, "rule": rule.value},
            {"n_atoms_per_class": atoms_per_class, "random_state": seed},
            jobs,
        )
        if cv is not None:
            held_out = cross_validate(classifier, X, y, cv, seed, shown=shown)
            _show_cross_validation(held_out, y)
            if queries is None and out is not None:
                results = held_out.predicted, held_out.probabilities, held_out.classes
                _write(out, *results, y, labelled.volume)
                show_lines(f"Predictions: {out}")
            if queries is None and report is not None:
                how = ("predicted", f"{cv}-fold cross-validation of {train}")
                _report(report, y, held_out.probabilities, held_out.classes, how)
            if queries is None and save_model is None and suspects is None:
                return
        with showing_progress("training", shown):
            classifier.fit(X, y)
        _show_training(classifier, len(X))
        if suspects is not None:
            _write_suspects(suspects, classifier, X, y)
    if save_model is not None:
        _models.save_model(save_model, classifier, reach)
        say(f"Model: {save_model}")
    if queries is None:
        return
    with showing_progress("classifying", shown):
        probabilities = classifier.predict_proba(queries.X)
    predicted = classifier.classes_[probabilities.argmax(axis=1)]
    if out is not None:
        _write(out, predicted, probabilities, classifier.classes_, truth, queries.volume)
        show_lines(f"Predictions: {out}")
    if truth is not None and report is not None:
        _report(report, truth, probabilities, classifier.classes_, ("predicted", str(test)))
    if truth is not None:
        _show_accuracy(truth, predicted)
    elif out is None:
        show_lines(*predicted)


def _check_usage(
    train: Path | None,
    train_labels: Path | None,
    test: Path | None,
    test_labels: Path | None,
    model: Path | None,
    out: Path | None,
    cv: int | None,
    made: list[Any],
) -> None:
    """Check which files there are; ``made`` is what can be asked for without matrices to classify."""
    if (train is None) == (model is None):
        raise typer.BadParameter("give either --train or --model")
    if train is not None and train_labels is None:
        raise typer.BadParameter("--train needs --train-labels")
    if test is None and all(one is None for one in made):
        raise typer.BadParameter(
            "give --test, --cv for cross-validation, or --save-model or --suspects to train only"
        )
    if test is None and (test_labels is not None or (out is not None and cv is None)):
        raise typer.BadParameter("--test-labels and --out need --test")


def _check_method(metric: ClassifierMetric, atoms_per_class: int | None, choose: bool) -> None:
    if atoms_per_class is None:
        return
    if choose:
        raise typer.BadParameter("--choose does not go with --atoms-per-class")
    if metric.value not in ("auto", *LearningMetric):
        names = ", ".join(LearningMetric)
        raise typer.BadParameter(f"--atoms-per-class needs one of the metrics {names}")


def _key(key: str | None, path: Path, other: Path | None) -> str | None:
    """Return the key for a file; an .npy file needs none if the key is for the other file."""
    single = path.suffix.lower() == ".npy"
    return None if single and other is not None and other.suffix.lower() != ".npy" else key


def _classifier(
    method: Method,
    metric: ClassifierMetric,
    choose: bool,
    coding: dict[str, Any],
    atoms: dict[str, Any],
    jobs: int | None,
) -> Any:
    """Return the classifier, not fitted; ``coding`` are β, α and the rule of one sparse code."""
    from spdatoms import classification

    metrics: dict[str, Any] = {} if metric == "auto" else {"metrics": metric.value}
    if method is Method.ensemble:
        weights = "cv" if choose else "uniform"
        return classification.SPDEnsembleClassifier(weights, **metrics, n_jobs=jobs)
    if choose:
        betas, alphas = (
            None if coding[name] == "auto" else [coding[name]] for name in ("beta", "alpha")
        )
        return classification.SPDSparseClassifierCV(
            betas=betas, alphas=alphas, rules=coding["rule"], **metrics, n_jobs=jobs
        )
    one = "stein" if metric == "auto" else metric.value
    return classification.SPDSparseClassifier(one, **coding, **atoms, n_jobs=jobs)


def _show_training(classifier: Any, count: int) -> None:
    """Print a summary of the training on stderr, because stdout is for predictions."""
    matrices = counted(count, "matrix", "matrices")
    rows = [
        ("trained on", f"{matrices} of {counted(len(classifier.classes_), 'class', 'classes')}"),
    ]
    rows.append(("method", type(classifier).__name__))
    if hasattr(classifier, "kernel_"):
        rows.append(("β, α", f"{classifier.kernel_.beta_:.4g}, {classifier.alpha_:.4g}"))
    if hasattr(classifier, "best_score_"):
        best = ", ".join(
            f"{name} {_brief(value)}" for name, value in classifier.best_params_.items()
        )
        rows.append((f"best of {len(classifier.cv_results_['params'])}", best))
        rows.append(("in cross-validation", f"{classifier.best_score_:.2%}"))
    show_table(rows, stderr=True)


def _brief(value: Any) -> str:
    """Return a number with four digits, or a name."""
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _write(
    out: Path,
    predicted: Array,
    probabilities: Array,
    classes: Array,
    truth: Array | None,
    volume: Volume | None,
) -> None:
    from spdatoms.cli.formats.volumes import VOLUME_FILES
    from spdatoms.cli.formats.writing import write_arrays, write_table

    if out.name.lower().endswith(VOLUME_FILES):
        if classes.dtype.kind not in "iu":
            numbers = ", ".join(f"{number} {label}" for number, label in enumerate(classes, 1))
            say(f"note: the classes in {out} are {numbers}")
            predicted = classes.searchsorted(predicted) + 1
        write_arrays(out, {"predicted": predicted}, volume)
        return
    if out.suffix.lower() != ".csv":
        arrays = {"predicted": predicted, "probabilities": probabilities, "classes": classes}
        write_arrays(out, arrays)
        return
    columns = {"predicted": predicted.tolist()}
    if truth is not None:
        columns["label"] = truth.tolist()
    columns |= {f"p({c})": p.tolist() for c, p in zip(classes, probabilities.T, strict=True)}
    write_table(out, columns)


def _write_suspects(path: Path, classifier: Any, X: Array, y: Array) -> None:
    """Write all training labels to a table, the most doubtful first, and say how many are suspected."""
    from spdatoms.classification.audit import suspects_of
    from spdatoms.cli.formats.writing import write_table

    found = suspects_of(classifier, X, y)
    columns = {
        "row": found.indices,
        "label": found.labels,
        "suggestion": found.suggestions,
        "p(wrong)": found.probabilities,
    }
    write_table(path, {name: column.tolist() for name, column in columns.items()})
    count = counted(len(found.above(0.5)), "label is", "labels are")
    say(f"Suspects: {path}: {count} more probably wrong than right")


def _report(
    path: Path, truth: Array, probabilities: Array, classes: Array, how: tuple[str, str]
) -> None:
    from spdatoms.cli._report import write_classification_report

    predicted = classes[probabilities.argmax(axis=1)]
    write_classification_report(path, truth, predicted, probabilities, classes, [how])
    show_lines(f"Report: {path}")


def _show_cross_validation(held_out: HeldOut, y: Array) -> None:
    """Print the accuracy in every fold, and which classes are taken for which."""
    right = held_out.predicted == y
    by_fold = np.array([right[held_out.folds == k].mean() for k in np.unique(held_out.folds)])
    shown = " ".join(f"{share:.1%}" for share in by_fold)
    rows = [
        ("accuracy", f"{by_fold.mean():.2%} ± {by_fold.std(ddof=1):.2%}, {len(by_fold)} folds"),
        ("folds", shown),
        ("most frequent class alone", f"{np.unique(y, return_counts=True)[1].max() / len(y):.2%}"),
    ]
    show_table(rows, title="Cross-validation")
    _show_accuracy(y, held_out.predicted)
    classes = held_out.classes
    if len(classes) <= _CONFUSED:
        table = [
            (label, *(int((held_out.predicted[y == label] == other).sum()) for other in classes))
            for label in classes
        ]
        show_table(table, header=("class", *(f"as {other}" for other in classes)))


def _show_accuracy(truth: Array, predicted: Array) -> None:
    truth, predicted = truth.astype(str), predicted.astype(str)
    right = truth == predicted
    rows = [("all", len(right), f"{right.mean():.2%}")]
    classes = np.unique(truth)
    if len(classes) <= _LISTED:
        rows += [(c, int((truth == c).sum()), f"{right[truth == c].mean():.2%}") for c in classes]
    show_table(rows, header=("class", "matrices", "accuracy"))
