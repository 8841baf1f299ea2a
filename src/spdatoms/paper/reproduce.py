"""``spdatoms reproduce``: the experiments of the paper."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from spdatoms._utils.text import visible
from spdatoms.cli.options import (
    ForceOption,
    JobsOption,
    JsonOption,
    SeedOption,
    file_option,
    output,
    refuse_if,
    run_option,
)
from spdatoms.cli.outputs import check_folder, check_outputs
from spdatoms.cli.show import INTERRUPTED, record, say, show_lines, show_table
from spdatoms.cli.show import console as open_console

if TYPE_CHECKING:
    from spdatoms.paper.experiments import Experiment, Results

ALL = "all"


class OnError(StrEnum):
    """What to do about files that cannot be read."""

    stop = "raise"
    warn = "warn"


_folder = partial(file_option, file_okay=False)


def reproduce(
    experiment: Annotated[
        str | None,
        typer.Argument(help="An experiment (see --list), or 'all' that have data."),
    ] = None,
    data: Annotated[
        Path | None,
        _folder("The folder with the data; without it embedded data are used, if any."),
    ] = None,
    methods: Annotated[
        str | None, typer.Option(help="Names of methods, with commas between them.")
    ] = None,
    parts: Annotated[
        str | None, typer.Option(help="Mosaics, sequences or sizes, with commas between them.")
    ] = None,
    repeats: Annotated[
        int | None, run_option("The number of repeats; the default is the protocol's.", min=1)
    ] = None,
    seed: SeedOption = 0,
    jobs: JobsOption = None,
    processes: Annotated[
        int, run_option("Methods and repeats that are computed at the same time.", min=1, max=1024)
    ] = 1,
    time_limit: Annotated[
        float | None, run_option("Seconds of processor time for a method in a part.", min=0)
    ] = None,
    on_error: Annotated[
        OnError, run_option("Unreadable files: 'raise' stops, 'warn' goes on without them.")
    ] = OnError.stop,
    out: Annotated[
        Path | None,
        _folder(
            "A folder for results.json, results.csv, figures and report.html. An interrupted run "
            "continues from there."
        ),
    ] = None,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Begin the results in --out anew.")
    ] = False,
    report_only: Annotated[
        bool,
        typer.Option(
            "--report-only",
            help="Compute nothing: report what is in --out. Without it, write --markdown again.",
        ),
    ] = False,
    markdown: Annotated[
        Path | None,
        output(
            "A Markdown file, and a folder of the same name with a page per experiment, to renew.",
        ),
    ] = None,
    force: ForceOption = False,
    list_all: Annotated[
        bool, typer.Option("--list", help="List the experiments, or the data and methods of one.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Run an experiment of the paper and print its table with the published figures."""
    from spdatoms.paper.experiments import EXPERIMENTS

    if list_all or experiment is None:
        _list_experiments(experiment)
        return
    check_outputs([], [markdown], force=force)
    options = {
        "methods": _names(methods),
        "parts": _names(parts),
        "repeats": repeats,
        "seed": seed,
        "n_jobs": jobs,
        "processes": processes,
        "time_limit": time_limit,
        "on_error": on_error.value,
        "fresh": fresh,
    }
    several = experiment == ALL
    if several and report_only and out is None and markdown is not None:
        _write_pages(markdown, [])
        return
    asked = _Request(several, data, out, markdown, force, report_only, options)
    shown = [_reproduce_one(name, asked) for name in (EXPERIMENTS if several else [experiment])]
    if not any(shown):
        raise ValueError("There is nothing to show: no experiment could run on these data.")


@dataclass(frozen=True)
class _Request:
    """What is asked for, by the options of these names, and those of `run`.

    Attributes
    ----------
    several : bool
        Whether all experiments are to run: each has a folder of its own, and those without data are left out.
    """

    several: bool
    data: Path | None
    out: Path | None
    markdown: Path | None
    force: bool
    report_only: bool
    options: dict[str, Any]


def _reproduce_one(name: str, asked: _Request) -> bool:
    """Run an experiment, show and write its results; return whether it could run."""
    from spdatoms.paper.experiments import RESULTS_FILE, NoDataError, get_experiment
    from spdatoms.paper.experiments.experiment import UnknownNameError

    folder = asked.out / name if asked.out is not None and asked.several else asked.out
    if folder is not None:
        check_folder(folder, asked.data, RESULTS_FILE, force=asked.force)
    try:
        with _resumed_later(asked.out):
            experiment = get_experiment(name)
            results = _results(experiment, folder, asked)
    except (NoDataError, FileNotFoundError, UnknownNameError) as error:
        if not asked.several:
            refuse_if(isinstance(error, UnknownNameError), str(error))
            raise
        say(f"{name}: left out. {error}")
        return False
    _print(experiment, results)
    _write(experiment, results, folder, asked.markdown)
    return True


@contextmanager
def _resumed_later(out: Path | None) -> Iterator[None]:
    """Let Ctrl-C end the command, and say how to go on."""
    try:
        yield
    except KeyboardInterrupt as interruption:
        goes_on = f"goes on with what is in {out}" if out else "with --out FOLDER can go on later"
        say(f"interrupted: the same command {goes_on}")
        raise typer.Exit(INTERRUPTED) from interruption


def _results(experiment: Experiment, folder: Path | None, asked: _Request) -> Results:
    """Return the results of a run, or those of earlier runs only."""
    from spdatoms.paper.experiments import RESULTS_FILE, SettingsError, read_results, run

    data = _data_of(experiment, asked.data) if asked.several and asked.data else asked.data
    if not asked.report_only:
        return run(experiment, data, out=folder, progress=True, **asked.options)
    if folder is None:
        raise ValueError("--report-only reports what is in a folder: give it by --out.")
    if not (folder / RESULTS_FILE).is_file():
        raise FileNotFoundError(f"There are no results in {folder}: run it first.")
    results = read_results(folder / RESULTS_FILE)
    found = results.settings["experiment"]
    if found != experiment.name:
        raise SettingsError(
            f"{folder} holds results of the experiment '{found}', not of '{experiment.name}'."
        )
    return results


def _data_of(experiment: Experiment, data: Path) -> Path | None:
    """Return a folder of data sets if it has that of the experiment, or None if drawn data stand in for it."""
    if (data / experiment.subfolder).is_dir():
        return data
    if experiment.drawn:
        return None
    raise FileNotFoundError(f"There is no folder '{experiment.subfolder}' in {data}.")


def _write(
    experiment: Experiment, results: Results, folder: Path | None, markdown: Path | None
) -> None:
    from spdatoms.paper.reporting import write_folder

    if folder is not None:
        write_folder(experiment, results, folder)
        show_lines(f"Written to {folder}: report.html, results.json, results.csv and figures.")
    if markdown is not None:
        _write_pages(markdown, [(experiment, results)])


def _write_pages(markdown: Path, entries: list[tuple[Experiment, Results]]) -> None:
    from spdatoms.paper.experiments import EXPERIMENTS, get_experiment
    from spdatoms.paper.reporting import write_record

    write_record(markdown, entries, list(map(get_experiment, EXPERIMENTS)))


def _names(text: str | None) -> list[str] | None:
    return [name.strip() for name in text.split(",") if name.strip()] if text else None


def _print(experiment: Experiment, results: Results) -> None:
    from spdatoms.paper.reporting import narrow, remarks, tables, to_rich

    record("summaries", [vars(summary) for summary in results.summaries()], several=True)
    console = open_console()
    console.print(experiment.protocol, highlight=False, markup=False)
    note = experiment.embedded if results.settings["data"] == "embedded" else experiment.caveat
    if note:
        console.print(note, style="dim", highlight=False, markup=False)
    for table in tables(experiment, results) if results.rows else ():
        for part in narrow(table, console.width):
            console.print(to_rich(part))
    for remark in remarks(experiment, results):
        console.print(visible(remark), style="dim", highlight=False, markup=False)
    console.print(f"{results.settings['seconds']:.1f} seconds of fits and predictions.")


def _list_experiments(name: str | None) -> None:
    """Print the names of all experiments, or what one is, needs and compares."""
    from spdatoms.paper.experiments import EXPERIMENTS, get_experiment

    if name is not None and name != ALL:
        experiment = get_experiment(name)
        data = f"{'embedded, or ' if experiment.embedded else ''}a folder with {experiment.wants}"
        methods = ", ".join(experiment.methods())
        rows = [("what", experiment.protocol), ("data", data), ("methods", methods)]
        show_table(rows, title=f"{name}: {experiment.title}")
        record(name, dict(rows))
        return
    experiments = {name: get_experiment(name) for name in EXPERIMENTS}
    listed = [
        (name, one.title, "embedded" if one.embedded else "--data", len(one.methods()))
        for name, one in experiments.items()
    ]
    header = ("name", "what", "data", "methods")
    show_table(listed, header=header, title="spdatoms reproduce NAME")
    show_lines("'spdatoms reproduce NAME --list' tells the data and the methods of one.")
    record("experiments", [dict(zip(header, row, strict=True)) for row in listed])
