"""``spdatoms reproduce``: the experiments of the paper."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from spdatoms._utils.text import visible
from spdatoms.cli.errors import INTERRUPTED
from spdatoms.cli.options import JobsOption, SeedOption, output
from spdatoms.cli.outputs import ForceOption, check_folder, check_outputs
from spdatoms.cli.show import say, show_lines

if TYPE_CHECKING:
    from spdatoms.paper.experiments import Experiment, Results

ALL = "all"


class OnError(StrEnum):
    """What to do about files that cannot be read."""

    stop = "raise"
    warn = "warn"


def _folder(help_text: str) -> Any:
    return typer.Option(help=help_text, file_okay=False, rich_help_panel="Files")


def _run(help_text: str, **limits: Any) -> Any:
    return typer.Option(help=help_text, rich_help_panel="The run", **limits)


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
        int | None, _run("The number of repeats; the default is the protocol's.", min=1)
    ] = None,
    seed: SeedOption = 0,
    jobs: JobsOption = None,
    processes: Annotated[
        int, _run("Methods and repeats that are computed at the same time.", min=1, max=1024)
    ] = 1,
    time_limit: Annotated[
        float | None, _run("Seconds of processor time for a method in a part.", min=0)
    ] = None,
    on_error: Annotated[
        OnError, _run("Unreadable files: 'raise' stops, 'warn' goes on without them.")
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
        bool, typer.Option("--report-only", help="Compute nothing: report what is in --out.")
    ] = False,
    markdown: Annotated[
        Path | None,
        output(
            "A Markdown file whose sections of these experiments are renewed.",
            names=("--markdown",),
        ),
    ] = None,
    force: ForceOption = False,
    list_all: Annotated[
        bool, typer.Option("--list", help="List the experiments, their data and methods.")
    ] = False,
) -> None:
    """Run an experiment of the paper and print its table with the published figures."""
    from spdatoms.paper.experiments import EXPERIMENTS, RESULTS_FILE, NoDataError, get_experiment
    from spdatoms.paper.experiments.experiment import UnknownNameError
    from spdatoms.paper.experiments.reporting import write_folder, write_record

    if list_all or experiment is None:
        _list_experiments()
        return
    check_outputs([], [markdown], force=force)
    options: dict[str, Any] = {
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
    everything = experiment == ALL
    entries = []
    for name in EXPERIMENTS if everything else (experiment,):
        folder = out / name if out is not None and everything else out
        if folder is not None:
            check_folder(folder, data, RESULTS_FILE, force=force)
        try:
            chosen = get_experiment(name)
            there = _data_of(chosen, data) if everything and data is not None else data
            results = _results(chosen, there, folder, report_only, options)
        except KeyboardInterrupt as interruption:
            goes_on = (
                f"goes on with what is in {out}" if out else "with --out FOLDER can go on later"
            )
            say(f"interrupted: the same command {goes_on}")
            raise typer.Exit(INTERRUPTED) from interruption
        except (NoDataError, FileNotFoundError, UnknownNameError) as error:
            if not everything and isinstance(error, UnknownNameError):
                raise typer.BadParameter(str(error)) from error
            if not everything:
                raise
            say(f"{name}: left out. {error}")
            continue
        entries.append((chosen, results))
        _print(chosen, results)
        if folder is not None:
            write_folder(chosen, results, folder)
            show_lines(f"Written to {folder}: report.html, results.json, results.csv and figures.")
        if markdown is not None:
            write_record(markdown, entries[-1:], [get_experiment(name) for name in EXPERIMENTS])
    if not entries:
        raise ValueError("There is nothing to show: no experiment could run on these data.")


def _data_of(experiment: Experiment, data: Path) -> Path | None:
    """Return a folder of data sets if it has that of the experiment, or None if drawn data stand in for it."""
    if (data / experiment.subfolder).is_dir():
        return data
    if experiment.drawn:
        return None
    raise FileNotFoundError(f"There is no folder '{experiment.subfolder}' in {data}.")


def _results(
    experiment: Experiment,
    data: Path | None,
    folder: Path | None,
    report_only: bool,
    options: dict[str, Any],
) -> Results:
    """Return the results of a run, or those of earlier runs only."""
    from spdatoms.paper.experiments import RESULTS_FILE, SettingsError, read_results, run

    if not report_only:
        return run(experiment, data, out=folder, progress=True, **options)
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


def _names(text: str | None) -> list[str] | None:
    return [name.strip() for name in text.split(",") if name.strip()] if text else None


def _print(experiment: Experiment, results: Results) -> None:
    from rich.console import Console

    from spdatoms.paper.experiments.reporting import narrow, remarks, tables, to_rich

    console = Console()
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


def _list_experiments() -> None:
    from rich.console import Console
    from rich.table import Table

    from spdatoms.paper.experiments import EXPERIMENTS, get_experiment

    table = Table(title="spdatoms reproduce NAME", title_justify="left")
    table.add_column("name", no_wrap=True)
    for column in ("what", "data", "methods"):
        table.add_column(column, overflow="fold")
    for name in EXPERIMENTS:
        experiment = get_experiment(name)
        data = f"{'embedded, or ' if experiment.embedded else ''}a folder with {experiment.wants}"
        table.add_row(name, experiment.title, data, ", ".join(experiment.methods()))
    Console().print(table)
