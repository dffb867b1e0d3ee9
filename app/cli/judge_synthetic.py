"""``judge-synthetic``: a synthetic table judged against the original and records held out."""

from __future__ import annotations

import argparse
import dataclasses
import json
import secrets
from pathlib import Path
from typing import TYPE_CHECKING, Any

from app.cli.operations import Operations
from app.cli.synthetic_report import headline, html_page, rows_of, text_of
from app.domain.errors import Fault, refuse
from privacy_risk.progress import one_line

if TYPE_CHECKING:
    from app.domain.analyses.synthetic_attacks import AttackResult, SyntheticAttacks


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the command."""
    parser = commands.add_parser(
        "judge-synthetic",
        description="Attack the people of a table by a synthetic one made from it, compare the two, and "
        "write what was found, what was not tried, and what is assumed. Nothing leaves this computer.",
    )
    parser.add_argument("original", type=Path, help="the table of which the synthetic one was made")
    parser.add_argument("synthetic", type=Path, help="the table to judge, with the same columns")
    parser.add_argument(
        "--holdout", type=Path, metavar="FILE",
        help="records of the same population of which the synthetic table was not made; without them nobody "
        "can tell a leak from what the population tells",
    )  # fmt: skip
    parser.add_argument(
        "--secret",
        nargs="+",
        default=[],
        metavar="COLUMN",
        help="what an attacker wants to learn of a person",
    )
    parser.add_argument(
        "--quasi-identifiers",
        nargs="+",
        default=[],
        metavar="COLUMN",
        help="what others may know of a person",
    )
    parser.add_argument(
        "--linkable", nargs=2, metavar="COLUMN,…",
        help="two sets of columns, separated by commas, that two other tables have",
    )  # fmt: skip
    of = "two columns of places, to be compared by distance, and a table of their longitude and latitude"
    parser.add_argument("--distances", nargs=3, metavar=("COLUMN", "COLUMN", "PLACES"), help=of)
    parser.add_argument("--attacks", type=int, default=500, help="attacks of each kind (500)")
    parser.add_argument("--confidence", type=float, default=0.95, help="of each interval (0.95)")
    parser.add_argument("--seed", type=int, help="of all draws, for the same answer again")
    parser.add_argument(
        "--missing-marker", nargs="+", default=[], metavar="TEXT", help="texts that mean a missing value"
    )
    parser.add_argument(
        "--categorical",
        nargs="+",
        default=[],
        metavar="COLUMN",
        help="numbers that are only names, like codes",
    )
    parser.add_argument("--delimiter", help="separates cells, in all files; without it the one that fits")
    parser.add_argument("--encoding", help="character encoding of all files; without it the one that fits")
    parser.add_argument("--html", type=Path, metavar="FILE", help="write the report as a page")
    parser.add_argument("--json", action="store_true", help="print one JSON object and nothing else")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace, operations: Operations) -> int:
    """Judge the table; 0 once it is judged, whatever was found."""
    # Not at the top: help and wrong arguments need nothing that computes.
    import numpy as np

    from app.cli.compared_files import compared_tables, texts_of
    from app.domain.analyses.pair_distances import coordinates_of, pair_distances
    from app.domain.analyses.synthetic_attacks import synthetic_attacks
    from app.domain.analyses.synthetic_distances import synthetic_distances
    from app.domain.analyses.synthetic_utility import synthetic_utility

    _require_possible(arguments)
    with one_line() as tell:
        tell("reading the tables …")
        said = {"delimiter": arguments.delimiter, "encoding": arguments.encoding}
        dialect: dict[str, Any] = {name: own for name, own in said.items() if own is not None}
        if arguments.missing_marker:
            dialect["missing"] = ("", *arguments.missing_marker)
        tables = compared_tables(
            arguments.original, arguments.synthetic, arguments.holdout,
            categorical=arguments.categorical, dialect=dialect,
        )  # fmt: skip
        seed = secrets.randbits(63) if arguments.seed is None else arguments.seed
        rng = np.random.default_rng(seed)
        linkable = None
        if arguments.linkable:
            first, second = (tuple(own.split(",")) for own in arguments.linkable)
            linkable = (first, second)
        tell("attacking the people of the original …")
        attacks = synthetic_attacks(
            tables, attacks=arguments.attacks, linkable=linkable, secrets=tuple(arguments.secret),
            confidence=arguments.confidence, rng=rng,
        )  # fmt: skip
        tell("looking for the nearest records …")
        distances = synthetic_distances(
            tables, quasi_identifiers=tuple(arguments.quasi_identifiers),
            confidence=arguments.confidence, rng=rng,
        )  # fmt: skip
        tell("comparing the distributions …")
        utility = synthetic_utility(tables, k=2, rng=rng)
        if arguments.distances:
            *pair, path = arguments.distances
            pairs = pair_distances(tables, pair, coordinates_of(texts_of(Path(path), dialect), pair))
            utility = dataclasses.replace(utility, pairs=pairs)
    document = {
        "original": arguments.original.name,
        "synthetic": arguments.synthetic.name,
        "holdout": None if arguments.holdout is None else arguments.holdout.name,
        "records": {
            "original": len(tables.original),
            "synthetic": len(tables.synthetic),
            "holdout": None if tables.holdout is None else len(tables.holdout),
        },
        "numeric": [own.name for own in tables.columns if own.is_numeric],
        "categorical": [own.name for own in tables.columns if not own.is_numeric],
        "seed": seed,
        "attacks": dataclasses.asdict(attacks),
        "tried": [
            {"name": name, "attack": dataclasses.asdict(own)}
            for name, own in _tried(attacks)
            if own is not None
        ],
        "distances": dataclasses.asdict(distances),
        "utility": dataclasses.asdict(utility),
    }
    document |= {"headline": headline(document), "rows": rows_of(document)}
    if arguments.html is not None:
        arguments.html.write_text(html_page(document), encoding="utf-8")
    print(json.dumps(document, ensure_ascii=False) if arguments.json else text_of(document))
    return 0


def _require_possible(arguments: argparse.Namespace) -> None:
    faults = []
    if arguments.attacks < 1:
        faults.append(Fault("--attacks", "out-of-range", "attacks must be at least 1.", "Leave it at 500."))
    if not 0 < arguments.confidence < 1:
        faults.append(
            Fault("--confidence", "out-of-range", "confidence must lie between 0 and 1.", "Leave it at 0.95.")
        )
    if arguments.seed is not None and arguments.seed < 0:
        faults.append(Fault("--seed", "out-of-range", "seed must be at least 0.", "Leave it out."))
    refuse(faults)


def _tried(attacks: SyntheticAttacks) -> list[tuple[str, AttackResult | None]]:
    """The attacks by what they are called in the report; None: that was not possible, or not asked for."""
    return [
        ("singling out by several columns", attacks.singling_out.multivariate),
        ("singling out by one column", attacks.singling_out.univariate),
        ("linkability", attacks.linkability),
        *((f"inference of {own.attribute}", own.attack) for own in attacks.inference),
    ]
