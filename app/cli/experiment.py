"""``experiment``: the papers' experiments on synthetic data, with what of their claims holds."""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import replace
from multiprocessing import active_children, get_context, parent_process
from pathlib import Path
from typing import TYPE_CHECKING, Final

from app.charts.series import draw_series
from app.cli.operations import Operations
from app.cli.shared_arguments import add_json_argument
from app.domain.errors import InvalidInput

if TYPE_CHECKING:
    from app.experiments.report import Effort, Experiment, Report, ResultTable

    Task = tuple[str, Effort, str]  # the name of an experiment, its effort, and what it says of its data


_OF_CENSUS: Final = ("X14", "B")
"""How the experiments begin that take an extract of a census with six attributes; those of seven: an R."""
_OF_CASE_STUDY: Final = {"X4", "X5", "X6", "X7"}


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the command."""
    # Imported here, and below: no other command needs the experiments.
    from app.experiments import groups

    parser = commands.add_parser(
        "experiment",
        description="Repeat experiments of the founding papers on generated or real data. Claims marked "
        "exact are provable: status 1 means that one of them failed. Qualitative claims are reported. "
        "Several experiments run at the same time, one per processor.",
    )
    parser.add_argument(
        "names",
        nargs="+",
        metavar="NAME",
        help=f"{', '.join(groups())}; a group by its letter; all; or list, which only says what they ask",
    )
    add_json_argument(parser)
    parser.add_argument(
        "--output",
        type=Path,
        metavar="DIR",
        help="folder for each result as JSON and for the pictures, and for what R1 to R4 have computed of "
        "their settings, so that the same run goes on where it was interrupted (default: none is kept)",
    )
    parser.add_argument("--seeds", type=_at_least(1), default=5, help="samples to average over (default 5)")
    parser.add_argument("--records", type=_at_least(2), default=200, help="records to disclose (default 200)")
    parser.add_argument("--entities", type=_at_least(4), default=4000, help="entities in all (default 4000)")
    parser.add_argument(
        "--full-size",
        action="store_true",
        help="X4 to X7 on 5,667,004 generated members against 9,857,623 people, as published: takes minutes",
    )
    parser.add_argument(
        "--data",
        type=Path,
        metavar="DIR",
        help="folder of public data sets, of which list names the files: used where they are there",
    )
    parser.add_argument(
        "--census",
        type=Path,
        metavar="FILE",
        help="your own IPUMS extract for X14 and B1 to B10, or for R0 to R6, as CSV or in columns of fixed "
        "width, perhaps compressed (.gz)",
    )
    parser.add_argument(
        "--census-columns",
        nargs="+",
        default=(),
        metavar="ATTRIBUTE=COLUMN",
        help="where age, gender, education, marital, work and salary (for R0 to R6 occupation, and race "
        "too) are: names of a CSV's columns (age=AGE) or positions of the codebook (age=12-14); default: the "
        "names of IPUMS USA",
    )
    parser.add_argument(
        "--commuters",
        type=Path,
        metavar="FILE",
        help="your own table of commuters for S2 to S5, a CSV whose last four columns are home, work, "
        "workers and metres (default: a generated state)",
    )
    parser.add_argument(
        "--places",
        type=Path,
        metavar="FILE",
        help="coordinates of the places of --commuters: a CSV of place, longitude and latitude in degrees; "
        "the first three columns of the commuters are then home, work and workers",
    )
    parser.add_argument(
        "--networks", type=Path, nargs="+", default=(), metavar="FILE", help="CSVs of pairs of friends for N4"
    )
    parser.add_argument(
        "--adult", type=Path, metavar="FILE", help="UCI's Adult table for L1 to L10: a CSV or the folder"
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace, operations: Operations) -> int:
    """List or run the experiments; 1 if an exact claim fails, 130 if interrupted."""
    from app.experiments.catalogue import ALL, chosen

    if arguments.names[0].lower() == "list":
        _list(chosen(tuple(arguments.names[1:]) or (ALL,)), arguments.json)
        return 0
    experiments = chosen(tuple(arguments.names))
    if arguments.output is not None:
        _require_writable(arguments.output)
    tasks = _tasks(experiments, arguments)
    reports, found, status = [], 0, 0
    try:
        for report, cells_found in _carried_out(tasks, 1 if arguments.full_size else os.cpu_count() or 1):
            if arguments.output is not None:
                _write(report, arguments.output)
            reports.append(report)
            found += cells_found
            if not arguments.json:
                print("\n".join(_lines(report)), flush=True)
    except KeyboardInterrupt:
        status = 128 + signal.SIGINT
        names = ", ".join(own.id for own in reports) or "none"
        _say(f"interrupted. Finished, and kept in {arguments.output or 'what is printed'}: {names}.")
    if found:
        _say(f"{found} cells of earlier runs were found in {arguments.output / 'cells'}.")
    if arguments.json:
        print(json.dumps({"experiments": [r.to_document() for r in reports]}, ensure_ascii=False))
    return status or int(not all(report.holds for report in reports))


def _list(experiments: Sequence[Experiment], is_json: bool) -> None:
    from app.experiments.real_files import real_files

    documents = [
        {name: getattr(own, name) for name in ("id", "source", "question", "seconds")}
        | {"files": files.pattern if (files := real_files(own.id)) else None}
        for own in experiments
    ]
    if is_json:
        print(json.dumps({"experiments": documents}, ensure_ascii=False))
        return
    for own in documents:
        print("{id:4}{seconds:4} s  {source}\n{blank:12}{question}".format(blank="", **own))
        print(f"{'':12}--data: {own['files']}\n" if own["files"] else "", end="")
    print(f"{sum(own.seconds for own in experiments)} s of one processor in all, on generated data")


def _tasks(experiments: Sequence[Experiment], arguments: argparse.Namespace) -> list[Task]:
    """What to run; InvalidInput or SystemExit for options and files of people that do not fit."""
    from app.experiments.case_study import ENTITIES, MEMBERS
    from app.experiments.cells import Cells
    from app.experiments.census_extract import SEVEN_VARIABLES, VARIABLES, read_extract
    from app.experiments.real_files import real_data, real_files
    from app.experiments.report import Effort, Report

    size, census = Effort(arguments.seeds, arguments.records, arguments.entities), None
    if 2 * arguments.records > arguments.entities:
        raise SystemExit("privacy-risk: --entities must be at least twice --records")
    if arguments.full_size:
        if size != Effort() or not _OF_CASE_STUDY.issuperset(own.id for own in experiments):
            raise SystemExit("privacy-risk: --full-size is for X4 to X7, and sets seeds, records, entities")
        size = Effort(1, MEMBERS, ENTITIES, case_study=True)
    for option, of in (("places", "commuters"), ("census_columns", "census")):
        if getattr(arguments, option) and not getattr(arguments, of):
            raise SystemExit(f"privacy-risk: --{option.replace('_', '-')} is of the table that --{of} names")
    if arguments.census is not None:
        is_seven = all(own.id.startswith("R") for own in experiments)
        if not is_seven and not all(own.id.startswith(_OF_CENSUS) for own in experiments):
            raise SystemExit("privacy-risk: --census is for X14 and B1 to B10, or for R0 to R6")
        variables = SEVEN_VARIABLES if is_seven else VARIABLES
        census = read_extract(arguments.census, tuple(arguments.census_columns), variables)
        if not is_seven and (len(census.salaries) < 100 or census.sizes[-1] < 2):
            fault = "The extract has fewer than 100 records, or a single salary."
            raise InvalidInput.of("--census", "too-small", fault, "Give a larger one.")
    if arguments.data is not None and not arguments.data.is_dir():
        raise SystemExit(f"privacy-risk: --data {arguments.data} is no folder")
    folder = None if arguments.output is None else arguments.output / "cells"
    effort = replace(size, census=census, cells=Cells(folder, _say), commuters=arguments.commuters,
                     places=arguments.places, networks=tuple(arguments.networks),
                     adult=arguments.adult)  # fmt: skip
    tasks: list[Task] = []
    for experiment in experiments:
        own, data = effort, Report.data
        if files := real_files(experiment.id):
            given, data = getattr(arguments, files.field), "generated"
            if given:
                data = ", ".join(map(str, given if isinstance(given, list) else [given]))
            elif arguments.data is not None:
                value, data = real_data(files, arguments.data)
                own = effort if value is None else replace(effort, **{files.field: value})
        tasks.append((experiment.id, own, data))
    return tasks


def _require_writable(folder: Path) -> None:
    """InvalidInput for a folder in which no file can be made."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        fault = f"{folder} cannot be written: {error.strerror}. Nothing was computed."
        raise InvalidInput.of("--output", "not-writable", fault, "Name another folder.") from error


def _write(report: Report, folder: Path) -> None:
    """One experiment's result as JSON, and its pictures."""
    text = json.dumps(report.to_document(), ensure_ascii=False, indent=1)
    (folder / f"{report.id.lower()}.json").write_text(text + "\n", encoding="utf-8")
    for picture in report.pictures:
        svg = draw_series(
            f"{report.id}: {picture.title}", picture.x_label, picture.y_label, picture.series, report.setting
        )
        (folder / f"{picture.name}.svg").write_text(svg, encoding="utf-8")


def _say(text: str) -> None:
    print(f"privacy-risk: {text}", file=sys.stderr, flush=True)


def _carried_out(tasks: Sequence[Task], processes: int) -> Iterator[tuple[Report, int]]:
    """The reports as they are finished, with the cells of earlier runs in each."""
    if min(processes, len(tasks)) == 1:
        yield from map(_report, tasks)
        return
    pool = ProcessPoolExecutor(
        min(processes, len(tasks)), mp_context=get_context("spawn"), initializer=_end_with_parent
    )
    try:
        # The processes that are started ignore an interrupt by the terminal: this one answers it.
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        running = [pool.submit(_report, task) for task in tasks]
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        for future in as_completed(running):
            yield future.result()
    except BaseException:
        for process in active_children():
            process.terminate()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


def _end_with_parent() -> None:
    """From now on this process ends when the one that started it does, also if that is killed."""
    parent = parent_process()

    def wait() -> None:
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=wait, daemon=True, name="parent-watch").start()


def _report(task: Task) -> tuple[Report, int]:
    """The report of one experiment, and how many cells of earlier runs it is made of."""
    from app.experiments.catalogue import chosen

    name, effort, data = task
    (experiment,) = chosen((name,))
    before = effort.cells.found
    report = replace(experiment.run(effort), source=experiment.source, data=data)
    return report, effort.cells.found - before


def _at_least(least: int) -> Callable[[str], int]:
    def number(text: str) -> int:
        if int(text) < least:
            raise argparse.ArgumentTypeError(f"must be at least {least}")
        return int(text)

    return number


def _lines(report: Report) -> list[str]:
    lines = [f"{report.id}  {report.title} ({report.source})", f"    {report.setting}"]
    lines += [f"    Data: {report.data}", ""]
    for table in report.tables:
        lines += [*_table_lines(table), ""]
    for claim in report.claims:
        mark = "holds" if claim.holds else ("FAILS" if claim.grade == "exact" else "does not hold")
        lines += [f"    [{claim.grade}, {mark}] {claim.text}", f"        {claim.evidence}"]
    return [*lines, ""]


def _table_lines(table: ResultTable) -> list[str]:
    rows = [list(table.columns)] + [
        [f"{cell:.6g}" if isinstance(cell, float) else str(cell) for cell in row] for row in table.rows
    ]
    widths = [max(len(row[i]) for row in rows) for i in range(len(table.columns))]
    body = [
        "    " + "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in rows
    ]
    return [f"  {table.title}", *body]
