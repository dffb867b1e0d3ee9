"""What a verdict says of views: pairs that are not private, and where in which file."""

from __future__ import annotations

from collections.abc import Iterator

from app.cli.gate_verdict import Json, JudgedCriterion, Outcome
from app.cli.given_views import Place

MOST_SHOWN = 50


def open_pairs_of(criterion: JudgedCriterion) -> Iterator[Json]:
    """The pairs of a requirement about views that are not private."""
    for own in criterion.document.get("pairs") or ():
        if own.get("verdict") in ("DISCLOSES", "UNKNOWN"):
            yield own


def places_of(pair: Json, outcome: Outcome) -> list[Place]:
    """The line of the view's file that leads to the pair's verdict, then those of the views that it reads.

    Of a disclosure it is where the relation of the deciding row is read; of what is not decided the first
    operator that is not read exactly, if there is one. Empty where the files are not known.
    """
    view = None if outcome.views is None else outcome.views.view(str(pair.get("view")))
    if view is None:
        return []
    witness, not_exact = pair.get("witness") or {}, pair.get("not_exact") or {}
    named = [*(witness.get("view") or {}).get("places", ()), *not_exact.get("view", ())]
    lines = [int(own["line"]) for own in named]
    own = view.own_place(lines[0]) if lines else Place(view.path, 1)
    return list(dict.fromkeys([own, *map(view.written_at, lines)]))


def change_of(pair: Json, outcome: Outcome) -> str:
    """What would pass, or that nothing is known to, by files and lines; empty where nothing is said of it."""
    change = pair.get("nearest_change") or {}
    said = str(change.get("explanation") or "")
    view = None if outcome.views is None else outcome.views.view(str(pair.get("view")))
    for own in change.get("steps") or ():
        if view is not None and own.get("line") is not None:
            place = view.written_at(int(own["line"]))
            written = f"at line {own['line']}, column {own['column']}"
            said = said.replace(written, f"at {place.path}:{place.line}")
    query = f" The view is then: {change['query']}" if change.get("query") else ""
    return f"{'To pass: ' if change.get('status') == 'found' else ''}{said}{query}"


def lines_of_pairs(criterion: JudgedCriterion, outcome: Outcome) -> Iterator[str]:
    """A line per pair that is not private, with its file and line; below it what would pass."""
    pairs = list(open_pairs_of(criterion))
    for own in pairs[:MOST_SHOWN]:
        places = places_of(own, outcome)
        where = f"{places[0].path}:{places[0].line}: " if places else ""
        said = "discloses" if own.get("verdict") == "DISCLOSES" else "not decided"
        yield f"{where}{own['view']} beside {own['secret']}: {said}. {own['explanation']}"
        change = change_of(own, outcome)
        if change:
            yield f"  {change}"
    if len(pairs) > MOST_SHOWN:
        yield f"and {len(pairs) - MOST_SHOWN:,} more pairs, which --format json lists"
