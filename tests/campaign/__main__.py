"""The campaign: faults, load and hostile input against real processes, and a page of what they showed.

``python -m tests.campaign`` runs everything, for more than two hours, and writes docs/reliability.md;
``--subset`` runs a seeded part of at most five minutes, and writes nothing. ``--parts`` chooses among the
parts, ``--set`` other lengths. Figures of parts that were not run stay as they are. Exits 1 if a promise
was not kept.
"""

from __future__ import annotations

import argparse
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields, replace
from typing import Any, Final

from tests.campaign import (
    checked_numbers,
    database_faults,
    disturbed_runs,
    ended_runs,
    fuzzed_api,
    loads,
    shipped,
)
from tests.campaign.extent import SUBSET, WHOLE, Extent
from tests.campaign.figures import Figure, keep, kept, measured
from tests.campaign.page import write
from tests.campaign.promises import PARTS, PROMISES, TESTS
from tests.campaign.tests_of_promises import proven

Part = Callable[[Extent], Iterator[Figure]]

MEASURING: Final[dict[str, Part]] = {
    part.__name__: part
    for part in (
        disturbed_runs.kills, checked_numbers.replaced, disturbed_runs.pauses, ended_runs.cancels,
        ended_runs.given_back, ended_runs.exhausted, database_faults.backends, database_faults.frozen,
        database_faults.away, ended_runs.clocks, loads.many_clients, loads.long_queue, loads.long_mix,
        checked_numbers.compared, fuzzed_api.fuzzed, checked_numbers.parsers,
        shipped.verified, shipped.containers, shipped.vulnerabilities,
    )
} | {TESTS: lambda extent: proven(own for own in PROMISES if own.part == TESTS)}  # fmt: skip
"""Part → what measures it."""

_INTERRUPTED: Final = 130
"""The exit status of what was ended from the keyboard."""
_OF_THE_SUBSET: Final = ("cancels", "given_back", "backends", "long_queue")


def main(arguments: Sequence[str]) -> int:
    """Run the parts; 0 if every promise was kept."""
    parser = argparse.ArgumentParser(prog="python -m tests.campaign", description=__doc__)
    parser.add_argument("--parts", nargs="+", choices=PARTS, metavar="PART", help=f"of {', '.join(PARTS)}")
    parser.add_argument(
        "--subset", action="store_true", help="a part of at most five minutes; writes nothing"
    )
    parser.add_argument("--set", nargs="+", default=[], metavar="LENGTH=VALUE", help=", ".join(_lengths()))
    parser.add_argument(
        "--page", action="store_true", help="only write the page from the figures that are kept"
    )
    asked = parser.parse_args(arguments)
    if asked.page:
        write(kept())
        return 0
    extent = _with(SUBSET if asked.subset else WHOLE, asked.set)
    less = _less(extent)
    parts = asked.parts or (_OF_THE_SUBSET if asked.subset else PARTS)
    try:
        failed = [part for part in parts if not _run(part, extent, less, is_kept=not asked.subset)]
    except KeyboardInterrupt:
        print("interrupted: what was measured until now is kept", flush=True)
        return _INTERRUPTED
    print(f"not kept: {', '.join(failed)}" if failed else "every promise was kept")
    return int(bool(failed))


def _run(part: str, extent: Extent, less: str, *, is_kept: bool) -> bool:
    """Run one part, print and keep its figures as they come; whether all its promises were kept."""
    print(f"== {part}", flush=True)
    began, good = time.monotonic(), True
    for figure in _figures(part, extent):
        print(f"{'kept' if figure.is_kept else 'NOT KEPT'} {figure.promise}: {figure.text}", flush=True)
        good = good and figure.is_kept
        if is_kept:
            figure = replace(figure, text=figure.text + less)
            keep(measured([figure], time.monotonic() - began), shown=write)
    return good


def _figures(part: str, extent: Extent) -> Iterator[Figure]:
    """One of every promise of a part: where it breaks off, what it has not measured is not kept.

    Else the page would go on showing what an earlier campaign measured of them.
    """
    left = {own.id for own in PROMISES if own.part == part}
    reason = "nothing measured it"
    try:
        for figure in MEASURING[part](extent):
            left.discard(figure.promise)
            yield figure
    except Exception as error:
        traceback.print_exc()
        reason = f"the measurement broke off: {type(error).__name__}"
    yield from (Figure(promise, reason, False) for promise in sorted(left))


def _less(extent: Extent) -> str:
    """What to add to figures of a campaign in which something was done less than promises ask for."""
    pairs = ((own, getattr(extent, own), getattr(WHOLE, own)) for own in _lengths() if own != "seed")
    found = [own for own, done, whole in pairs if _is_less(done, whole)]
    said = ", ".join(f"{own}={getattr(extent, own)}" for own in found)
    return f" (less than the whole campaign: {said})" if found else ""


def _is_less(done: Any, whole: Any) -> bool:
    """Of several numbers, whether there are fewer, or the greatest is less."""
    if isinstance(whole, tuple):
        return len(done) < len(whole) or max(done) < max(whole)
    return bool(done < whole)


def _lengths() -> list[str]:
    return [own.name for own in fields(Extent)]


def _with(extent: Extent, changes: Sequence[str]) -> Extent:
    """The extent with other lengths: ``load=60 away=3,60``."""
    given = dict(change.split("=", 1) for change in changes)
    if unknown := sorted(given.keys() - set(_lengths())):
        raise SystemExit(f"--set takes {', '.join(_lengths())}, not {', '.join(unknown)}")
    made: dict[str, object] = {}
    for name, text in given.items():
        before = getattr(extent, name)
        made[name] = tuple(map(float, text.split(","))) if isinstance(before, tuple) else type(before)(text)
    return replace(extent, **made)  # type: ignore[arg-type]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
