"""What a release is asked for where nobody says otherwise: by the pages, in Python and by the command."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from privacy_risk.values import Json

MAX_SUPPRESSED: Final = 0.02
"""Share of the records that may be suppressed."""

APART: Final = "apart"
OTHERS: Final[Mapping[str, str]] = {
    APART: "knows no other sensitive value (each attribute is judged by itself)",
    "in_classes": "may know the other sensitive values (they split the classes)",
}
"""What the attacker of ℓ-diversity knows of the other sensitive attributes; the first is usual."""


NUMBERS: Final[Mapping[str, str]] = {"k": "k", "l": "ℓ", "t": "t", "beta": "β"}
"""The fields of criteria that hold the number asked for, and the sign of each."""


def number_of(criterion: Json) -> str:
    """The field of a criterion that holds its number: one of :data:`NUMBERS`."""
    return next(field for field in NUMBERS if field in criterion)


BETAS: Final = (1e-9, 1e6)
"""The least and the greatest β that can be asked for."""


def least_class(rows: int, rarest: int, beta: float) -> int:
    """The records that a class has at least which shows a value of so many of the rows, under β-likeness.

    n / f(p) with n = 1 and f(p) = p · (1 + min{β, −ln p}).
    """
    return math.ceil(rows / (rarest * (1 + min(beta, math.log(rows / rarest)))) - 1e-9)


def likeness_told(dataset: Json, profile: Json, asked: Json) -> Iterator[str]:
    """What β-likeness needs of the sensitive attributes that it is ``asked`` of, before anything is searched.

    Nothing of amounts in bands, whose values are not those of the table, nor where persons are counted.
    """
    columns, rows = {own["name"]: own for own in profile["attributes"]}, profile["rows"]
    banded = asked.get("persons_per_value") or {}
    for own in asked["privacy"]:
        name = own.get("attribute")
        if "beta" not in own or name in banded or dataset.get("person"):
            continue
        column = columns[name]
        if column["distinct"] + bool(column["missing"]) == 1:
            yield f"{name} has one value only, which everybody knows then: β-likeness asks nothing of it."
        elif column.get("rarest"):
            rarest = column["rarest"]
            least = least_class(rows, rarest, own["beta"])
            times = "once" if rarest == 1 else f"{rarest:,} times"
            yield (
                f"The rarest value of {name} occurs {times}: with β = {own['beta']:.15g} a class that has it "
                f"has at least {least:,} of the {rows:,} records, N / (n · (1 + min{{β, ln(N / n)}}))."
            )
        if column["missing"]:
            yield f"{column['missing']:,} records have no value of {name}: that counts as one value more."


def others_told(privacy: Sequence[Json]) -> Iterator[str]:
    """What criteria of ℓ-diversity assume of other sensitive attributes, in a sentence if they do."""
    for others in dict.fromkeys(own["others"] for own in privacy if "others" in own):
        yield f"Assumed: whoever knows somebody {OTHERS[others]}: others={others}."
