"""Options that several commands share, and standard input in place of a file."""

from __future__ import annotations

import atexit
import shutil
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import typer

from spdatoms.cli.formats.half_vectors import Components
from spdatoms.cli.formats.samples import Covariance
from spdatoms.cli.show import record_json, say

_Argument = TypeVar("_Argument")
#: The symmetric divergences, for codes over given atoms; ``airm`` is another name of ``riemann``.
Metric = Literal["stein", "jeffrey", "riemann", "airm", "logeuclid", "euclid"]
#: Those of a classifier; ``auto`` is its default.
ClassifierMetric = Literal["auto", Metric]
#: Those with a formula for the update of atoms, which learn fast.
LearningMetric = Literal["stein", "jeffrey", "logeuclid"]
#: How the content of files begins.
_BEGINNINGS = {
    b"\x93NUMPY": ".npy",
    b"PK\x03\x04": ".npz",
    b"PAR1": ".parquet",
    b"\x89HDF": ".h5",
    b"MATLAB 5.0": ".mat",
    b"\x1f\x8b": ".nii.gz",
}


def spooled(path: _Argument) -> _Argument:
    """Return the path of what standard input holds, if the path is "-", else the argument."""
    if path != Path("-"):
        return path
    begin = sys.stdin.buffer.read(16)
    if not begin:
        raise ValueError("standard input is empty, or '-' is given for two files.")
    known = (ending for start, ending in _BEGINNINGS.items() if begin.startswith(start))
    folder = Path(tempfile.mkdtemp(prefix="spdatoms-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    target = folder / f"stdin{next(known, '.csv')}"
    with target.open("wb") as file:
        file.write(begin)
        shutil.copyfileobj(sys.stdin.buffer, file)
    say(f"note: standard input is read as {target.suffix[1:]}")
    return target  # type: ignore[return-value]


def number_or_auto(text: str) -> float | str:
    """Return a number, or "auto"."""
    if text == "auto":
        return text
    try:
        return float(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is neither a number nor 'auto'") from None


def _option(panel: str, help_text: str, *names: str, **limits: Any) -> Any:
    return typer.Option(*names, help=help_text, rich_help_panel=panel, **limits)


#: Options by what they are about: the help that they show, their names if not those of the argument, and limits.
file_option = partial(_option, "Files")
method_option = partial(_option, "The method")
run_option = partial(_option, "The run")


def output(help_text: str, *suffixes: str, names: tuple[str, ...] = ()) -> Any:
    """Return the option of a file to write, whose name has one of these endings; without them any name is accepted."""

    def check(path: Path | None) -> Path | None:
        if path is not None and suffixes and not path.name.lower().endswith(suffixes):
            raise typer.BadParameter(f"{path} does not end in {' or '.join(suffixes)}")
        return path

    return file_option(help_text, *names, callback=check)


#: The one result of a command, or the first.
out = partial(output, names=("--out", "-o"))
#: Formats of arrays, which also may be those of a volume.
ARRAYS = (".npy", ".npz", ".mat", ".csv", ".nii", ".nii.gz")


def refuse_if(wrong: bool, message: str) -> None:
    """Refuse a command line whose options do not go together."""
    if wrong:
        raise typer.BadParameter(message)


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
        ".nii.gz, signals with --covariance, epochs in .fif, or a folder of images or skeletons per class; - is "
        "standard input.",
        show_default=False,
        callback=spooled,
    ),
]
KeyOption = Annotated[str | None, file_option("Which array of a file that holds several.")]
LabelKeyOption = Annotated[
    str | None, file_option("Which array, or column of a table, has the labels.")
]
MaskOption = Annotated[
    Path | None,
    file_option(
        "The voxels of a tensor volume to use (NIfTI); without it, all that are not zero.", "--mask"
    ),
]
ComponentsOption = Annotated[
    Components | None,
    file_option(
        "The order of the six components of tensors, and of half-vectors: fsl (upper triangle, xx xy xz yy yz zz), "
        "mrtrix (diagonal first, xx yy zz xy xz yz), dipy (lower triangle, xx xy yy xz yz zz) or nilearn (as dipy, "
        "the diagonal over √2).",
    ),
]
CovarianceOption = Annotated[
    Covariance | None,
    file_option(
        "The matrices are covariances of signals (trials, channels, times): shrunk by the rule of Chen (oas) "
        "or of Ledoit and Wolf (lwf), or not (scm). Epochs in .fif use oas.",
    ),
]
ForceOption = Annotated[bool, file_option("Replace files that exist already.", "--force")]
_METRIC = method_option("The divergence.")
MetricOption = Annotated[Metric, _METRIC]
LearningMetricOption = Annotated[LearningMetric, _METRIC]
ClassifierMetricOption = Annotated[
    ClassifierMetric,
    method_option(
        "The divergence of one sparse code; stein is the paper's RSR-S. 'auto' is stein, and stein and "
        "logeuclid for the ensemble.",
    ),
]
_NUMBER: dict[str, Any] = {"parser": number_or_auto, "metavar": "NUMBER|auto"}
BetaOption = Annotated[
    Any,
    method_option(
        "β of the kernel exp(−β·d); 'auto' follows the median divergence of the matrices.",
        **_NUMBER,
    ),
]
AlphaOption = Annotated[
    Any,
    method_option(
        "The penalty of a code's 1-norm (the paper's λ); a larger one makes codes sparser.",
        **_NUMBER,
    ),
]
ReportOption = Annotated[Path | None, output("A page with pictures of the result.", ".html")]
JobsOption = Annotated[
    int | None, run_option("Threads; -1 is all processors.", "--jobs", "-j", "--n-jobs")
]
SeedOption = Annotated[int, run_option("The seed of all randomness.")]
VerboseOption = Annotated[
    bool, run_option("Show progress bars also where there is no terminal.", "--verbose", "-v")
]
JsonOption = Annotated[
    bool,
    run_option(
        "Print the results as JSON, and nothing else on stdout.", "--json", callback=record_json
    ),
]
