"""``spdatoms classify``: train on labelled matrices, predict the labels of others."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, get_args

import typer

from spdatoms._utils.progress import showing_progress
from spdatoms._utils.text import counted
from spdatoms.cli import models
from spdatoms.cli import options as opt
from spdatoms.cli.labelled_files import Files, Reader, check_sizes, with_own_labels
from spdatoms.cli.outputs import check_outputs
from spdatoms.cli.predictions import (
    SHOWN,
    Predictions,
    cross_validate,
    predict,
    show_accuracy,
    with_known_labels,
    write_predictions,
)
from spdatoms.cli.show import record, say, show_lines, show_table, wants_progress

if TYPE_CHECKING:
    from spdatoms.cli.formats.matrices import Matrices

#: Options that a trained model does not take.
_METHOD = ("method", "metric", "beta", "alpha", "rule", "atoms_per_class", "choose", "cv", "seed")
#: Options of one sparse classifier, which ask for it.
_SPARSE = ("beta", "alpha", "rule", "atoms_per_class")
_SPARSE_WORDS = "--beta, --alpha, --rule and --atoms-per-class"


#: Which classifier, and how it judges classes.
Method = Literal["ensemble", "sparse"]
Rule = Literal["residual", "sum", "max"]


class _Results(NamedTuple):
    """Files to write, each if it is asked for."""

    out: Path | None
    save_model: Path | None
    report: Path | None
    suspects: Path | None


_file = partial(opt.file_option, show_default=False, callback=opt.spooled)


def classify(
    context: typer.Context,
    train: Annotated[
        Path | None,
        _file(
            "Training matrices, in any format that 'inspect' reads, epochs (.fif), or a folder of one per class, "
            "of images or of skeletons (.csv, frames × joints·3)."
        ),
    ] = None,
    train_labels: Annotated[
        Path | None,
        _file(
            "Their labels: a column of .csv, .tsv, .txt or .parquet, an array, or a map (.nii.gz). May be "
            "--train. Epochs (.fif) and folders have their own."
        ),
    ] = None,
    test: Annotated[Path | None, _file("The matrices to classify.")] = None,
    test_labels: Annotated[Path | None, _file("Their labels, to compute the accuracy.")] = None,
    key: opt.KeyOption = None,
    label_key: opt.LabelKeyOption = None,
    mask: Annotated[
        Path | None,
        _file("The voxels of a training volume to use (NIfTI); without it, those with a label."),
    ] = None,
    test_mask: Annotated[
        Path | None,
        _file("The voxels of the volume to classify; without it, all tensors that are not zero."),
    ] = None,
    components: opt.ComponentsOption = None,
    covariance: opt.CovarianceOption = None,
    model: Annotated[Path | None, _file("A trained model, in place of --train.")] = None,
    out: Annotated[
        Path | None,
        opt.out(
            "Where to put predictions and probabilities, or a map of predictions (.nii.gz).",
            *opt.ARRAYS,
        ),
    ] = None,
    save_model: Annotated[
        Path | None,
        opt.output("Where to put the trained model.", ".spdatoms"),
    ] = None,
    suspects: Annotated[
        Path | None,
        opt.output(
            "Where to put the training labels that the other matrices contradict, the most doubtful first.",
            ".csv",
        ),
    ] = None,
    method: Annotated[
        Method,
        opt.method_option(
            "An average of sparse codes and class means under several kernels, or one sparse code, the "
            f"paper's method. --metric, {_SPARSE_WORDS} ask for the second."
        ),
    ] = "ensemble",
    metric: opt.ClassifierMetricOption = "auto",
    beta: opt.BetaOption = "auto",
    alpha: opt.AlphaOption = "auto",
    rule: Annotated[
        Rule,
        opt.method_option(
            "Judge a class by the residual of its part of the code, or its sum or maximum."
        ),
    ] = "residual",
    atoms_per_class: Annotated[
        int | None,
        opt.method_option(
            "The number of atoms to learn per class, instead of all training matrices."
        ),
    ] = None,
    choose: Annotated[
        bool,
        opt.method_option(
            "Cross-validate on the training matrices: weight the kernels of the ensemble, or choose "
            "kernel and penalties of the sparse code.",
            "--choose",
        ),
    ] = False,
    cv: Annotated[
        int | None,
        opt.method_option(
            "The number of folds: each part of the training matrices is predicted by the others.",
            min=2,
        ),
    ] = None,
    report: opt.ReportOption = None,
    force: opt.ForceOption = False,
    seed: opt.SeedOption = 0,
    jobs: opt.JobsOption = None,
    verbose: opt.VerboseOption = False,
    as_json: opt.JsonOption = False,
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
      spdatoms classify --train photos/ --test others/ --out predicted.csv
      spdatoms classify --train dti.nii.gz --train-labels regions.nii.gz
          --components fsl --test other.nii.gz --out predicted.nii.gz
      spdatoms classify --train X.npy --train-labels y.csv --suspects doubtful.csv
      spdatoms classify --model m.spdatoms --test Z.npy --out predicted.csv
    """
    training = with_own_labels(Files(train, train_labels, mask))
    queries = Files(test, test_labels, test_mask)
    results = _Results(out, save_model, report, suspects)
    _check_files(training, queries, results, model, cv)
    if model is not None:
        opt.refuse_beside_model(context, "train_labels", "suspects", *_METHOD)
    method = _asked_for(context, method)
    audited_sparse = method == "sparse" and suspects is not None
    opt.refuse_if(audited_sparse, "--suspects needs --method ensemble")
    check_outputs([*training, *queries, model], results, force=force)
    classifier = _new_classifier(
        method, metric, beta, alpha, rule, atoms_per_class, choose, seed, jobs
    )
    from spdatoms.cli.formats.arrays import check_exist

    check_exist(*training, *queries, model)
    read, shown = Reader(key, label_key, components, covariance), wants_progress(verbose)
    labelled, reach = read.training(training, queries)
    channels = () if labelled is None else labelled.channels
    if model is not None:
        abilities = ("classes_", "predict_proba")
        purpose = "classify: make a classifier by 'classify --train … --save-model'"
        classifier, reach, channels = models.load_model(model, abilities, purpose, jobs)
    asked = read.queries(queries, training, reach, channels)
    if asked is not None:
        n = classifier.n_features_in_ if labelled is None else labelled.X.shape[-1]
        check_sizes(asked.X, test, n, model or train)
    held_out = None
    if labelled is not None and cv is not None:
        explained = report is not None and asked is None
        held_out = cross_validate(classifier, labelled, cv, seed, shown=shown, explained=explained)
    audited = method == "ensemble" and any((suspects, report))
    doubts: list[tuple[Any, ...]] = []
    if labelled is not None and any((asked, save_model, audited)):
        with showing_progress("training", shown):
            classifier.fit(labelled.X, labelled.y)
        _show_training(classifier, len(labelled.X))
        doubts = _doubts(classifier, labelled, suspects) if audited else []
    if held_out is not None and labelled is not None and asked is None:
        summary = [("predicted", f"{cv}-fold cross-validation of {train}")]
        _write(held_out, labelled, labelled, results, summary, doubts, left_out=True)
    if save_model is not None:
        models.save_model(save_model, classifier, reach, channels)
        say(f"Model: {save_model}")
    if asked is not None:
        asked = with_known_labels(asked, classifier.classes_, own=test_labels is None)
        with showing_progress("classifying", shown):
            most = 0 if report is None else SHOWN
            predictions = predict(classifier, asked.X, asked.y, explained=most)
        summary, left_out = [("predicted", str(test))], test == train
        _write(predictions, asked, labelled, results, summary, doubts, left_out=left_out)
        if asked.y is not None:
            show_accuracy(asked.y, predictions.labels)
        elif out is None:
            show_lines(*predictions.labels)


def _check_files(
    training: Files, queries: Files, results: _Results, model: Path | None, cv: int | None
) -> None:
    train, test = training.matrices, queries.matrices
    opt.refuse_if((train is None) == (model is None), "give either --train or --model")
    unlabelled = train is not None and train.exists() and training.labels is None
    opt.refuse_if(unlabelled, "--train needs --train-labels")
    opt.refuse_if(
        test is None and cv is None and results.save_model is results.suspects is None,
        "give --test, --cv for cross-validation, or --save-model or --suspects to train only",
    )
    to_test = queries.labels is not None or (results.out is not None and cv is None)
    opt.refuse_if(test is None and to_test, "--test-labels and --out need --test")
    opt.refuse_if(
        results.report is not None and test is None and cv is None,
        "--report needs --test, or --cv",
    )


def _asked_for(context: typer.Context, method: Method) -> Method:
    """Return the method on the command line, or else the one that its other options ask for."""
    asked = [name for name in ("metric", *_SPARSE) if opt.is_given(context, name)]
    if not opt.is_given(context, "method"):
        return "sparse" if asked else "ensemble"
    foreign = method == "ensemble" and asked not in ([], ["metric"])
    opt.refuse_if(foreign, f"{_SPARSE_WORDS} are options of --method sparse")
    return method


def _new_classifier(
    method: Method,
    metric: opt.ClassifierMetric,
    beta: Any,
    alpha: Any,
    rule: Rule,
    atoms_per_class: int | None,
    choose: bool,
    seed: int,
    jobs: int | None,
) -> Any:
    """Return the classifier that the options of these names ask for."""
    learns, auto = atoms_per_class is not None, metric == "auto"
    learnable = get_args(opt.LearningMetric)
    opt.refuse_if(learns and choose, "--choose does not go with --atoms-per-class")
    opt.refuse_if(
        learns and metric not in ("auto", *learnable),
        f"--atoms-per-class needs one of the metrics {', '.join(learnable)}",
    )
    from spdatoms import classification

    metrics: dict[str, Any] = {} if auto else {"metrics": metric}
    if method == "ensemble":
        weights = "cv" if choose else "uniform"
        return classification.SPDEnsembleClassifier(weights, **metrics, n_jobs=jobs)
    if choose:
        return classification.SPDSparseClassifierCV(
            betas=None if beta == "auto" else [beta],
            alphas=None if alpha == "auto" else [alpha],
            rules=rule,
            **metrics,
            n_jobs=jobs,
        )
    return classification.SPDSparseClassifier(
        "stein" if auto else metric,
        beta,
        alpha,
        rule=rule,
        n_atoms_per_class=atoms_per_class,
        random_state=seed,
        n_jobs=jobs,
    )


def _write(
    predictions: Predictions,
    of: Matrices,
    training: Matrices | None,
    results: _Results,
    summary: Sequence[tuple[str, str]],
    doubts: Sequence[tuple[Any, ...]],
    *,
    left_out: bool,
) -> None:
    """Write predictions and a report on them, as far as they are asked for."""
    if results.out is not None:
        write_predictions(results.out, predictions, of)
        show_lines(f"Predictions: {results.out}")
        record("out", results.out)
    else:
        record("predicted", predictions.labels)
    if results.report is not None:
        from spdatoms.cli.report.classification import write_classification_report
        from spdatoms.cli.report.pictures import Origins

        origins = Origins(of, training or Origins.training, left_out)
        write_classification_report(results.report, of.y, predictions, summary, doubts, origins)
        show_lines(f"Report: {results.report}")


def _show_training(classifier: Any, count: int) -> None:
    """Print a summary of the training on stderr, because stdout is for predictions."""
    matrices = counted(count, "matrix", "matrices")
    classes = counted(len(classifier.classes_), "class", "classes")
    rows = [("trained on", f"{matrices} of {classes}"), ("method", type(classifier).__name__)]
    if hasattr(classifier, "kernel_"):
        rows.append(("β, α", f"{classifier.kernel_.beta_:.4g}, {classifier.alpha_:.4g}"))
    if hasattr(classifier, "best_score_"):
        best = ", ".join(
            f"{name} {value:.4g}" if isinstance(value, float) else f"{name} {value}"
            for name, value in classifier.best_params_.items()
        )
        rows.append((f"best of {len(classifier.cv_results_['params'])}", best))
        rows.append(("in cross-validation", f"{classifier.best_score_:.2%}"))
    show_table(rows, stderr=True)


def _doubts(classifier: Any, labelled: Matrices, path: Path | None) -> list[tuple[Any, ...]]:
    """Return the training labels that are more probably wrong than right by an ensemble.

    All labels are written to a table if it has a path, the most doubtful first; if not, those of the atoms will do.
    """
    from spdatoms.classification.audit import suspects_of
    from spdatoms.cli.formats.writing import write_table

    found = suspects_of(classifier, None if path is None else labelled.X, labelled.y)
    columns = (found.indices, found.labels, found.suggestions, found.probabilities)
    doubts = [(*row, f"{p:.2f}") for *row, p in zip(*columns, strict=True) if p > 0.5]
    if path is not None:
        names = ("row", "label", "suggestion", "p(wrong)")
        write_table(path, dict(zip(names, columns, strict=True)))
        count = counted(len(doubts), "label is", "labels are")
        say(f"Suspects: {path}: {count} more probably wrong than right")
    return doubts
