"""What singles people out, in words: columns by the measure ``singling_out``, and sensitive values.

Both as the measure ``privacy_profile`` of docs/measures.md answers them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from privacy_risk.values import Json

SETS_TOLD: Final = 5
COLUMNS_TOLD: Final = 8


def singled_out_told(found: Json) -> Iterator[str]:
    """The smallest sets of columns that single people out, a sentence each, and each column's part of it."""
    people = f"of {found['persons']:,} people"
    for own in found["smallest_sets"][:SETS_TOLD]:
        one = len(own["columns"]) == 1
        yield (
            f"{listed(own['columns'])} {'alone singles' if one else 'single'} out {own['persons']:,} {people}"
            f"{'' if one else ', and no fewer columns do'}."
        )
    if not found["singled_out"]:
        yield f"None {people} is singled out by {listed(found['judged']['quasi_identifiers'])}."
        return
    more = found["sets_found"] - min(SETS_TOLD, len(found["smallest_sets"]))
    others = f"; {more:,} more sets of up to {found['largest_set']} columns do some of them" if more else ""
    yield f"All columns together single out {found['singled_out']:,} {people}{others}."
    parts = (f"{own['column']} {100 * own['part']:.0f} %" for own in found["columns"][:COLUMNS_TOLD])
    error = max(own["standard_error"] or 0.0 for own in found["columns"])
    how = f" (of {found['orders']} drawn orders, standard error up to {100 * error:.1f} %)" if error else ""
    yield f"Share of all that is singled out: {', '.join(parts)}{how}."


def values_alone_told(profile: Json) -> Iterator[str]:
    """The sensitive attributes that single people out by themselves, a sentence each."""
    for own in profile["values_alone"]:
        rows = "row has" if own["records"] == 1 else "rows have"
        yield f"{own['attribute']}: {own['records']:,} {rows} a value that no other person has."


def listed(names: Sequence[str]) -> str:
    """Names in a sentence."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
