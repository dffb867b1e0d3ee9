"""The privacy budget of a dataset's table: a bar that fills, and what it means for a person's odds."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from decimal import ROUND_CEILING, Context, Decimal, localcontext
from fractions import Fraction
from typing import Any, Final

from markupsafe import Markup

from app.charts.drawing import Caption
from app.charts.ledger import Filled, Length, draw_filled, draw_odds
from app.web.visits import Page, Visit
from app.web.words import number
from privacy_risk import Json

_LARGEST_EXPONENT: Final = 700
_LETTERS: Final = 20
_DIGITS: Final = 200
"""More than a sum of limits has."""
_FIGURES: Final = 4
"""Significant ones of a factor."""
_MOST_ODDS: Final = 8
"""Releases whose odds are drawn, the newest ones; all of them are in the table."""


async def budget(visit: Visit) -> Page:
    """The ledger of the table that the dataset was made of."""
    dataset = (await visit.client.datasets.get(visit.ref)).document
    ledger = await visit.client.datasets.budget(dataset["id"])
    return Page("budget.html", {"dataset": dataset, "ledger": ledger, **_facts(ledger)})


def _facts(ledger: Json) -> dict[str, Any]:
    releases = [{**own, **meaning(own["epsilon"], own["delta"])} for own in ledger["releases"]]
    held = {name: _sum(ledger[name]) for name in ("epsilon", "delta")}
    return {
        "releases": releases,
        "all": meaning(held["epsilon"], held["delta"]),
        "picture": Markup(_bars(ledger)) if releases or ledger["budget"] else None,  # noqa: S704 - escaped
        "odds": Markup(_odds(releases, held if ledger["stands"] else None)) if releases else None,  # noqa: S704 - escaped, made here
    }


def meaning(epsilon: str, delta: str) -> dict[str, str]:
    """What ε and δ, exact decimals, mean of one person's record, in a sentence each."""
    factor = f"e^{epsilon}, about {_factor(float(Fraction(epsilon)))}"
    told = (
        "whatever a reader believed before, the odds that a person's record is in the table are multiplied "
        f"by at most {factor}"
    )
    if Fraction(delta) == 0:
        return {"sentence": f"{told}.", "slack": ""}
    slack = (
        f"δ = {delta} is by what the chance of any set of outcomes may be greater beside that factor. It is "
        "no probability with which the promise holds."
    )
    return {"sentence": f"{told}, apart from a slack of δ = {delta}.", "slack": slack}


def _sum(own: Mapping[str, str]) -> str:
    """What is spent and reserved together, with all its digits."""
    with localcontext() as context:
        context.prec = _DIGITS
        text = format(Decimal(own["spent"]) + Decimal(own["reserved"]), "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def _factor(epsilon: float) -> str:
    """About e^ε, and never less: it is told as the most."""
    if epsilon > _LARGEST_EXPONENT:
        return f"e^{number(epsilon)}"
    with localcontext(Context(prec=_FIGURES, rounding=ROUND_CEILING)):
        return number(float(+Decimal(math.nextafter(math.exp(epsilon), math.inf))))


def _bars(ledger: Json) -> str:
    caption = Caption(
        "ledger",
        "What the releases of the table spend",
        "One bar for ε and one for δ, each filled from the left by one length per release; the frame ends at "
        "the limit. The same numbers are in the table below.",
    )
    return draw_filled(caption, [_bar(ledger, "epsilon", "ε"), _bar(ledger, "delta", "δ")])


def _bar(ledger: Json, name: str, letter: str) -> Filled:
    own = ledger[name]
    said = [f"{own['spent']} spent"]
    if Fraction(own["reserved"]):
        said.append(f"{own['reserved']} reserved")
    said.append("no limit" if own["limit"] is None else f"{own['remaining']} of {own['limit']} left")
    lengths = tuple(
        Length(
            float(Fraction(entry[name])),
            entry["state"],
            f"{entry['release'] or 'a release without a name'}: {letter} = {entry[name]}, {entry['state']}",
        )
        for entry in ledger["releases"]
    )
    limit = None if own["limit"] is None else float(Fraction(own["limit"]))
    return Filled(letter, lengths, limit, ", ".join(said))


def _odds(releases: Sequence[Json], held: Mapping[str, str] | None) -> str:
    """Odds of 1 to 1 before, and the greatest that each release and all of them leave; None: nothing does."""
    after = [(own["release"] or "–", own["epsilon"]) for own in releases][-_MOST_ODDS:]
    if held is not None and len(releases) > 1:
        after.append(("all of them", held["epsilon"]))
    rows = [("", 0.5, "before: 1 to 1, 50 of 100")]
    rows += [("", _share(epsilon), f"after {_short(name)}: {_odds_told(epsilon)}") for name, epsilon in after]
    caption = Caption(
        "odds",
        "Odds that a person's record is in the table, before and after",
        "For a reader who held it for as probable as not: the greatest probability that ε allows after each "
        "release, δ left aside.",
    )
    return draw_odds(caption, rows)


def _short(name: str) -> str:
    return name if len(name) <= _LETTERS else name[: _LETTERS - 1] + "…"


def _odds_told(epsilon: str) -> str:
    hundred = number(math.ceil(1000 * _share(epsilon)) / 10)
    return f"at most about {_factor(float(Fraction(epsilon)))} to 1, {hundred} of 100"


def _share(epsilon: str) -> float:
    """The probability of odds of e^ε to 1."""
    return 1 / (1 + math.exp(-float(Fraction(epsilon))))
