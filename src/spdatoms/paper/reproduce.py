"""``spdatoms reproduce``: the experiments of the paper."""

from __future__ import annotations

from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from spdatoms import paper
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
    if list_all or experiment is None:
        _list_experiments(experiment)
        return
    check_outputs([], [markdown], force=force)
    experiments = paper.experiments
    compute = partial(
        experiments.run,
        methods=_names(methods),
        parts=_names(parts),
        repeats=repeats,
        seed=seed,
        n_jobs=jobs,
        processes=processes,
        time_limit=time_limit,
        on_error=on_error.value,
        fresh=fresh,
        progress=True,
    )
    several = experiment == ALL
    if several and report_only and out is None and markdown is not None:
        _write_pages(markdown)
        return
    shown = False
    for name in experiments.EXPERIMENTS if several else [experiment]:
        folder = out / name if out is not None and several else out
        if folder is not None:
            check_folder(folder, data, experiments.RESULTS_FILE, force=force)
        try:
            found = experiments.get_experiment(name)
            if report_only:
                results = _earlier_results(found, folder)
            else:
                own = _data_of(found, data) if several and data else data
                results = compute(found, own, out=folder)
        except KeyboardInterrupt as interruption:
            on = f"goes on with what is in {out}" if out else "with --out FOLDER can go on later"
            say(f"interrupted: the same command {on}")
            raise typer.Exit(INTERRUPTED) from interruption
        except (experiments.NoDataError, FileNotFoundError, experiments.UnknownNameError) as error:
            if not several:
                refuse_if(isinstance(error, experiments.UnknownNameError), str(error))
                raise
            say(f"{name}: left out. {error}")
            continue
        _print(found, results)
        if folder is not None:
            paper.reporting.write_folder(found, results, folder)
            show_lines(f"Written to {folder}: report.html, results.json, results.csv and figures.")
        if markdown is not None:
            _write_pages(markdown, (found, results))
        shown = True
    if not shown:
        raise ValueError("There is nothing to show: no experiment could run on these data.")


def _earlier_results(
    experiment: paper.experiments.Experiment, folder: Path | None
) -> paper.experiments.Results:
    if folder is None:
        raise ValueError("--report-only reports what is in a folder: give it by --out.")
    file = folder / paper.experiments.RESULTS_FILE
    if not file.is_file():
        raise FileNotFoundError(f"There are no results in {folder}: run it first.")
    results = paper.experiments.read_results(file)
    found = results.settings["experiment"]
    if found != experiment.name:
        raise paper.experiments.SettingsError(
            f"{folder} holds results of the experiment '{found}', not of '{experiment.name}'."
        )
    return results


def _data_of(experiment: paper.experiments.Experiment, data: Path) -> Path | None:
    """Return a folder of data sets if it has that of the experiment, or None if drawn data stand in for it."""
    if (data / experiment.subfolder).is_dir():
        return data
    if experiment.drawn:
        return None
    raise FileNotFoundError(f"There is no folder '{experiment.subfolder}' in {data}.")


def _write_pages(
    markdown: Path, *entries: tuple[paper.experiments.Experiment, paper.experiments.Results]
) -> None:
    known = list(map(paper.experiments.get_experiment, paper.experiments.EXPERIMENTS))
    paper.reporting.write_record(markdown, entries, known)


def _names(text: str | None) -> list[str] | None:
    return [name.strip() for name in text.split(",") if name.strip()] if text else None


def _print(experiment: paper.experiments.Experiment, results: paper.experiments.Results) -> None:
    record("summaries", [vars(summary) for summary in results.summaries()], several=True)
    console = open_console()
    console.print(experiment.protocol, highlight=False, markup=False)
    note = experiment.embedded if results.settings["data"] == "embedded" else experiment.caveat
    if note:
        console.print(note, style="dim", highlight=False, markup=False)
    for table in paper.reporting.tables(experiment, results):
        for part in paper.reporting.narrow(table, console.width):
            console.print(paper.reporting.to_rich(part))
    for remark in paper.reporting.remarks(experiment, results):
        console.print(visible(remark), style="dim", highlight=False, markup=False)
    console.print(f"{results.settings['seconds']:.1f} seconds of fits and predictions.")


def _list_experiments(name: str | None) -> None:
    """Print the names of all experiments, or what one is, needs and compares."""
    get_experiment = paper.experiments.get_experiment
    if name is not None and name != ALL:
        experiment = get_experiment(name)
        data = f"{'embedded, or ' if experiment.embedded else ''}a folder with {experiment.wants}"
        methods = ", ".join(experiment.methods())
        rows = [("what", experiment.protocol), ("data", data), ("methods", methods)]
        show_table(rows, title=f"{name}: {experiment.title}")
        record(name, dict(rows))
        return
    experiments = {name: get_experiment(name) for name in paper.experiments.EXPERIMENTS}
    listed = [
        (name, one.title, "embedded" if one.embedded else "--data", len(one.methods()))
        for name, one in experiments.items()
    ]
    header = ("name", "what", "data", "methods")
    show_table(listed, header=header, title="spdatoms reproduce NAME")
    show_lines("'spdatoms reproduce NAME --list' tells the data and the methods of one.")
    record("experiments", [dict(zip(header, row, strict=True)) for row in listed])
