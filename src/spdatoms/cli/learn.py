"""``spdatoms learn``: a dictionary from matrices."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from spdatoms.cli._options import (
    AlphaOption,
    BetaOption,
    JobsOption,
    KeyOption,
    LearningMetric,
    LearningMetricOption,
    MatricesArgument,
    SeedOption,
    VerboseOption,
    output,
)
from spdatoms.cli._outputs import ForceOption, check_outputs


class Init(StrEnum):
    """The first atoms."""

    kmeans = "kmeans"
    random = "random"


def learn(
    matrices: MatricesArgument,
    out: Annotated[
        Path,
        output(
            "Where to put the dictionary: a model for 'code' (.spdatoms), or its atoms (.npy, .npz).",
            ".spdatoms",
            ".npy",
            ".npz",
        ),
    ],
    key: KeyOption = None,
    atoms: Annotated[
        int,
        typer.Option("--atoms", "-n", help="The number of atoms.", rich_help_panel="The method"),
    ] = 64,
    metric: LearningMetricOption = LearningMetric.stein,
    beta: BetaOption = "auto",
    alpha: AlphaOption = "auto",
    init: Annotated[
        Init, typer.Option(help="The first atoms.", rich_help_panel="The method")
    ] = Init.kmeans,
    iterations: Annotated[
        int, typer.Option(help="The greatest number of iterations.", rich_help_panel="The run")
    ] = 50,
    tol: Annotated[
        float,
        typer.Option(
            help="Stop when the objective falls by less than this share.", rich_help_panel="The run"
        ),
    ] = 1e-4,
    seed: SeedOption = 0,
    jobs: JobsOption = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option(
            help="A file written after every iteration; the same command goes on from it.",
            rich_help_panel="The run",
        ),
    ] = None,
    force: ForceOption = False,
    verbose: VerboseOption = False,
) -> None:
    """Learn a dictionary of atoms from matrices.

    \b
    Examples:
      spdatoms learn X.npy --atoms 64 --out model.spdatoms -v
      spdatoms learn data.mat --key covs --metric jeffrey --out atoms.npy
      spdatoms learn X.npy --iterations 500 --checkpoint run.ckpt --out m.spdatoms
    """
    check_outputs([matrices, checkpoint], [out], force=force)
    if checkpoint is not None:  # it goes on from one that exists
        check_outputs([matrices], [checkpoint], force=True)
    from spdatoms.cli._arrays import read_matrices, write_arrays
    from spdatoms.cli._show import counted, show_table
    from spdatoms.dictionary import SPDDictionaryLearning

    X = read_matrices(matrices, key)
    learner = SPDDictionaryLearning(
        atoms,
        metric=metric.value,
        beta=beta,
        alpha=alpha,
        init=init.value,
        max_iter=iterations,
        tol=tol,
        random_state=seed,
        checkpoint=checkpoint,
        verbose=int(verbose),
        n_jobs=jobs,
    ).fit(X)
    if out.suffix.lower() == ".spdatoms":
        from spdatoms.storage import save

        save(learner, out)
    else:
        write_arrays(out, {"atoms": learner.atoms_, "objective": learner.objective_})
    title = f"{counted(len(learner.atoms_), 'atom')} of {counted(len(X), 'matrix', 'matrices')}"
    show_table(_summary(learner, out), title=title)


def _summary(learner: Any, out: Path) -> list[tuple[str, str]]:
    from spdatoms.cli._show import counted

    objective, iterations = learner.objective_, counted(learner.n_iter_, "iteration")
    return [
        ("objective", f"{objective[0]:.6g} → {objective[-1]:.6g} in {iterations}"),
        ("β, α", f"{learner.beta_:.4g}, {learner.alpha_:.4g}"),
        *([("ridge", f"{learner.ridge_:.3g}")] if learner.ridge_ else []),
        ("written to", str(out)),
    ]
