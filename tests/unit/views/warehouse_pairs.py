"""Pairs of a warehouse by both readings of keys, and the table of them in docs/query-views.md.

``python -m tests.unit.views.warehouse_pairs`` writes the table anew.
"""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from app.services.views.reading import WrittenQuery
from app.services.views.view_checks import ViewCheck, checked

PAGE = Path("docs/query-views.md")
BEGIN, END = "<!-- warehouse pairs: begin -->\n", "<!-- warehouse pairs: end -->\n"
WORDS = {
    "PRIVATE": "private",
    "PRIVATE_IF_KEYS_ARE_UNKNOWN_TO_READERS": "private if keys are unknown",
    "DISCLOSES": "discloses",
    "UNKNOWN": "not decided",
}


@dataclass(frozen=True)
class Pair:
    """A view and a secret of a group; ``considered`` and ``left_out`` are verdicts."""

    group: str
    view: str
    secret: str
    considered: str
    left_out: str
    keys_add: str | None


def pairs() -> Iterator[Pair]:
    """All pairs of the file, decided."""
    written = tomllib.loads(Path(__file__).with_suffix(".toml").read_text())
    for group in written["groups"]:
        queries = [
            [WrittenQuery(name, query) for name, query in group[part].items()]
            for part in ("secrets", "views")
        ]
        result = checked(ViewCheck({}, (), *queries, language="sql", tables=written["tables"]))
        for own in result["pairs"]:
            left_out = own["keys_left_out"]
            yield Pair(
                group["name"],
                own["view"],
                own["secret"],
                own["verdict"],
                left_out["verdict"],
                left_out["keys_add"],
            )


def table(found: list[Pair]) -> str:
    """Counts of all pairs, and a line per pair."""
    lines = ["| | keys considered | keys left out |", "|---|---|---|"]
    counts = [Counter(getattr(own, reading) for own in found) for reading in ("considered", "left_out")]
    for verdict, word in WORDS.items():
        lines.append(f"| {word} | {counts[0][verdict] or ''} | {counts[1][verdict] or ''} |")
    added = Counter(own.keys_add for own in found if own.keys_add)
    said = ", ".join(f"{kind.replace('_', ' ')} to {added[kind]}" for kind in sorted(added))
    lines += ["", f"To the pairs that are private with keys left out, keys add: {said}.", ""]
    lines += ["| view | secret | keys considered | keys left out | keys add |", "|---|---|---|---|---|"]
    for own in found:
        verdicts = f"{WORDS[own.considered]} | {WORDS[own.left_out]}"
        lines.append(f"| {own.view} | {own.secret} | {verdicts} | {(own.keys_add or '').replace('_', ' ')} |")
    return "\n".join(lines) + "\n"


def written_anew(page: str, found: list[Pair]) -> str:
    """The page with the table of these pairs."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}{table(found)}{END}{after}"


if __name__ == "__main__":
    PAGE.write_text(written_anew(PAGE.read_text(), list(pairs())))
