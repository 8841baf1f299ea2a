"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from spdatoms.cli.formats.signals import Covariance
from spdatoms.cli.formats.volumes import Components

_METHOD = "The method"
_FILES = "Files"
_RUN = "The run"


class Metric(StrEnum):
    """The symmetric divergences, for codes over given atoms."""

    stein = "stein"
    jeffrey = "jeffrey"
    riemann = "riemann"
    logeuclid = "logeuclid"
    euclid = "euclid"


class ClassifierMetric(StrEnum):
    """The divergences of a classifier; ``auto`` is its default."""

    auto = "auto"
    stein = "stein"
    jeffrey = "jeffrey"
    riemann = "riemann"
    logeuclid = "logeuclid"
    euclid = "euclid"


class LearningMetric(StrEnum):
    """The divergences with a formula for the update of atoms, which learn fast."""

    stein = "stein"
    jeffrey = "jeffrey"
    logeuclid = "logeuclid"


def number_or_auto(text: str) -> float | str:
    """Return a number, or "auto"."""
    if text == "auto":
        return text
    try:
        return float(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is neither a number nor 'auto'") from None


def ending_in(*suffixes: str) -> Callable[[Path | None], Path | None]:
    """Return a check of the ending of a name; without suffixes any name is accepted."""

    def check(path: Path | None) -> Path | None:
        if path is not None and suffixes and not path.name.lower().endswith(suffixes):
            raise typer.BadParameter(f"{path} does not end in {' or '.join(suffixes)}")
        return path

    return check


def output(help_text: str, *suffixes: str, names: tuple[str, ...] = ("--out", "-o")) -> Any:
    """Return the option of a file to write."""
    return typer.Option(
        *names, help=help_text, callback=ending_in(*suffixes), rich_help_panel=_FILES
    )


def is_given(context: typer.Context, name: str) -> bool:
    """Return whether an option is on the command line."""
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def refuse_beside_model(context: typer.Context, *names: str) -> None:
    """Refuse options on the command line that a fitted model cannot follow."""
    given = [name for name in names if is_given(context, name)]
    if given:
        options = ", ".join(f"--{name.replace('_', '-')}" for name in given)
        verb = "does" if len(given) == 1 else "do"
        raise typer.BadParameter(f"{options} {verb} not go with --model, which has its own")


MatricesArgument = Annotated[
    Path,
    typer.Argument(
        metavar="X",
        help="The matrices, (m, n, n) or MATLAB's (n, n, m): .npy .npz .mat .h5 .zarr .csv .parquet, tensors in "
        ".nii.gz, or signals with --covariance and epochs in .fif.",
        show_default=False,
    ),
]
KeyOption = Annotated[
    str | None,
    typer.Option("--key", help="Which array of a file that holds several.", rich_help_panel=_FILES),
]
MaskOption = Annotated[
    Path | None,
    typer.Option(
        "--mask",
        help="The voxels of a tensor volume to use (NIfTI); without it, all that are not zero.",
        rich_help_panel=_FILES,
    ),
]
ComponentsOption = Annotated[
    Components | None,
    typer.Option(
        "--components",
        help="The order of the six components of tensors: fsl (xx xy xz yy yz zz), mrtrix (xx yy zz xy xz yz) "
        "or dipy (xx xy yy xz yz zz).",
        rich_help_panel=_FILES,
    ),
]
CovarianceOption = Annotated[
    Covariance | None,
    typer.Option(
        "--covariance",
        help="The matrices are covariances of signals (trials, channels, times): shrunk by the rule of Chen (oas) "
        "or of Ledoit and Wolf (lwf), or not (scm). Epochs in .fif use oas.",
        rich_help_panel=_FILES,
    ),
]
MetricOption = Annotated[
    Metric, typer.Option("--metric", help="The divergence.", rich_help_panel=_METHOD)
]
ClassifierMetricOption = Annotated[
    ClassifierMetric,
    typer.Option(
        "--metric",
        help="The divergence of one sparse code; stein is the paper's RSR-S. 'auto' is stein, and stein and "
        "logeuclid for the ensemble.",
        rich_help_panel=_METHOD,
    ),
]
LearningMetricOption = Annotated[
    LearningMetric, typer.Option("--metric", help="The divergence.", rich_help_panel=_METHOD)
]
BetaOption = Annotated[
    Any,
    typer.Option(
        "--beta",
        parser=number_or_auto,
        metavar="NUMBER|auto",
        help="β of the kernel exp(−β·d); 'auto' follows the median divergence of the matrices.",
        rich_help_panel=_METHOD,
    ),
]
AlphaOption = Annotated[
    Any,
    typer.Option(
        "--alpha",
        parser=number_or_auto,
        metavar="NUMBER|auto",
        help="The penalty of a code's 1-norm (the paper's λ); a larger one makes codes sparser.",
        rich_help_panel=_METHOD,
    ),
]
ReportOption = Annotated[
    Path | None,
    output("A page with pictures of the result.", ".html", names=("--report",)),
]
JobsOption = Annotated[
    int | None,
    typer.Option(
        "--jobs", "-j", "--n-jobs", help="Threads; -1 is all processors.", rich_help_panel=_RUN
    ),
]
SeedOption = Annotated[
    int, typer.Option("--seed", help="The seed of all randomness.", rich_help_panel=_RUN)
]
VerboseOption = Annotated[
    bool,
    typer.Option(
        "--verbose",
        "-v",
        help="Show progress bars also where there is no terminal.",
        rich_help_panel=_RUN,
    ),
]
