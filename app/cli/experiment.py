"""``experiment``: the papers' experiments on synthetic data, with what of their claims holds."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Final

from app.charts.series import draw_series
from app.cli.operations import Operations
from app.cli.shared_arguments import add_json_argument

if TYPE_CHECKING:
    from app.experiments.report import Effort, Report, ResultTable


_OF_CENSUS: Final = ("X14", "B")
"""How the experiments begin that take an extract of a census with six attributes; those of seven: an R."""


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the command."""
    parser = commands.add_parser(
        "experiment",
        description="Repeat experiments of the founding papers on synthetic data. Claims marked exact are "
        "provable: status 1 means that one of them failed. Qualitative claims are reported. Several "
        "experiments run beside each other, one per processor.",
    )
    parser.add_argument(
        "names",
        nargs="+",
        metavar="NAME",
        help="X1 to X14, B1 to B10, R0 to R6, D1 to D5, V1 to V3, S1 to S7, N1 to N4, L1 to L10, or all",
    )
    add_json_argument(parser)
    parser.add_argument(
        "--output",
        type=Path,
        help="folder for the pictures, and for what R1 to R4 have computed of their settings, so that the "
        "same run goes on where it was interrupted (default: none is kept)",
    )
    parser.add_argument("--seeds", type=_at_least(1), default=5, help="samples to average over (default 5)")
    parser.add_argument("--records", type=_at_least(2), default=200, help="records to disclose (default 200)")
    parser.add_argument("--entities", type=_at_least(4), default=4000, help="entities in all (default 4000)")
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
    """Run the experiments; 1 if an exact claim fails."""
    # Imported here: no other command needs them.
    from app.experiments.catalogue import chosen
    from app.experiments.cells import Cells
    from app.experiments.report import Effort

    if 2 * arguments.records > arguments.entities:
        raise SystemExit("privacy-risk: --entities must be at least twice --records")
    if arguments.places is not None and arguments.commuters is None:
        raise SystemExit("privacy-risk: --places is of the table that --commuters names")
    experiments, census = chosen(tuple(arguments.names)), None
    if arguments.census is not None:
        from app.experiments.census_extract import SEVEN_VARIABLES, VARIABLES, read_extract

        is_seven = all(own.id.startswith("R") for own in experiments)
        if not is_seven and not all(own.id.startswith(_OF_CENSUS) for own in experiments):
            raise SystemExit("privacy-risk: --census is for X14 and B1 to B10, or for R0 to R6")
        variables = SEVEN_VARIABLES if is_seven else VARIABLES
        census = read_extract(arguments.census, tuple(arguments.census_columns), variables)
    folder = None if arguments.output is None else arguments.output / "cells"
    effort = Effort(
        arguments.seeds,
        arguments.records,
        arguments.entities,
        census,
        Cells(folder, _say),
        arguments.commuters,
        arguments.places,
        tuple(arguments.networks),
        arguments.adult,
    )
    reports, found = [], 0
    for report, cells_found in _carried_out([own.id for own in experiments], effort):
        reports.append(report)
        found += cells_found
        if not arguments.json:
            print("\n".join(_lines(report)), flush=True)
        if arguments.output is not None:
            arguments.output.mkdir(parents=True, exist_ok=True)
            for picture in report.pictures:
                svg = draw_series(
                    f"{report.id}: {picture.title}",
                    picture.x_label,
                    picture.y_label,
                    picture.series,
                    report.setting,
                )
                (arguments.output / f"{picture.name}.svg").write_text(svg)
    if found:
        _say(f"{found} cells of earlier runs were found in {folder}.")
    if arguments.json:
        print(json.dumps({"experiments": [r.to_document() for r in reports]}, ensure_ascii=False))
    return 0 if all(report.holds for report in reports) else 1


def _say(text: str) -> None:
    print(f"privacy-risk: {text}", file=sys.stderr, flush=True)


def _carried_out(names: Sequence[str], effort: Effort) -> Iterator[tuple[Report, int]]:
    """The reports in their order, with the cells of earlier runs in each; one process per processor."""
    if len(names) == 1:
        yield _report(names[0], effort)
        return
    pool = ProcessPoolExecutor(min(len(names), os.cpu_count() or 1), mp_context=get_context("spawn"))
    try:
        yield from pool.map(partial(_report, effort=effort), names)
    finally:
        pool.shutdown(cancel_futures=True)


def _report(name: str, effort: Effort) -> tuple[Report, int]:
    """The report of one experiment, and how many cells of earlier runs it is made of."""
    from app.experiments.catalogue import chosen

    (experiment,) = chosen((name,))
    before = effort.cells.found
    report = experiment.run(effort)
    return report, effort.cells.found - before


def _at_least(least: int) -> Callable[[str], int]:
    def number(text: str) -> int:
        if int(text) < least:
            raise argparse.ArgumentTypeError(f"must be at least {least}")
        return int(text)

    return number


def _lines(report: Report) -> list[str]:
    lines = [f"{report.id}  {report.title} ({report.source})", f"    {report.setting}", ""]
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
