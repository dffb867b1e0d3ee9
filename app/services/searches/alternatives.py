"""The result of a comparison: no ids, no times."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Annotated, Final, Literal

from annotated_types import doc

from app.domain.classes.released import Release
from app.domain.errors import InvalidInput
from app.domain.rules.rule import Rule
from app.domain.search.alternatives.plan import (
    AlternativesOutcome,
    AlternativesPlan,
    LossCurves,
    NearestFeasible,
    RecordsShort,
)
from app.domain.search.alternatives.questions import WAYS, Way, document_of
from app.domain.search.alternatives.shown import ShownRelease, shown_release, suggested
from app.domain.search.full_domain.problem import AnonymityOutcome
from app.domain.search.objectives import Alternatives
from app.domain.tables.table import Table
from app.services.named import ending_of
from app.services.resources import JsonObject
from app.services.rules.rule_documents import rule_of

LONGEST_NAME: Final = 100


def require_short(name: str) -> None:
    """InvalidInput for a name that leaves no room for those of the rules."""
    most = LONGEST_NAME - max(len(ending_of(way)) for way in WAYS)
    if len(name) > most:
        raise InvalidInput.of(
            "/name",
            "too-long",
            "The names of the alternatives' rules begin with it and would be longer than "
            f"{LONGEST_NAME} characters.",
            f"Give a name of at most {most} characters.",
        )


@dataclass(frozen=True)
class Alternative(ShownRelease):
    """One of the rules, and what its release shows.

    The rule is stored as `NAME-ID`, NAME being the optimisation's and ID written with `-` for `_`.
    """

    id: Annotated[Way, doc("Which alternative.")]
    also: Annotated[tuple[Way, ...], doc("Other alternatives that release the same.")]
    rule: JsonObject
    status: Annotated[
        Literal["optimal", "heuristic"],
        doc(
            "`optimal`: proven to lose least of its kind; `heuristic`: the best that was found, with a bound."
        ),
    ]
    minimised: Annotated[
        float | None,
        doc(
            "What the search has minimised: for `important_columns` the loss with these weighed, else `loss`."
        ),
    ]
    lower_bound: Annotated[float | None, doc("What no rule of its kind is below.")]
    gap: Annotated[float | None, doc("Distance from it; 0 if proven.")]
    privacy: tuple[JsonObject, ...]


@dataclass(frozen=True)
class Comparison:
    """Several rules side by side."""

    objective: Annotated[JsonObject, doc("What was asked for.")]
    status: Annotated[
        Literal["optimal", "infeasible", "heuristic"],
        doc("`optimal`: every alternative is proven; `infeasible`: it is proven that there is none."),
    ]
    solver: Annotated[str, doc("What searched.")]
    budget: Annotated[JsonObject, doc("What each search was allowed to use.")]
    reproducible: Annotated[bool, doc("False if the run was stopped: the same question finds more then.")]
    suppression_allowed: Annotated[int, doc("Most records to suppress.")]
    alternatives: tuple[Alternative, ...]
    suggested: Annotated[
        Way | None,
        doc(
            "The one of least loss of those that show every column to half of the records at least; where "
            "there is none of those that show every column to some; else of all. Null if there is none."
        ),
    ]
    not_found: Annotated[tuple[Way, ...], doc("What was searched for and is not there.")]
    records_short: Annotated[
        RecordsShort | None, doc("Null where some rule of one level per column shows all.")
    ]
    curves: Annotated[LossCurves, doc("Loss of the best rule of one level per column.")]
    infeasible_because: tuple[JsonObject, ...]
    nearest: Annotated[
        tuple[NearestFeasible, ...],
        doc("Where no rule meets the criteria: what would do instead, each alone, as far as it is known."),
    ]


def compared(
    outcome: AlternativesOutcome,
    asked: Alternatives,
    table: Table,
    written: Callable[[AnonymityOutcome, Rule], JsonObject],
    budget: JsonObject,
) -> Comparison:
    """What was found side by side, each release once; ``written`` makes the document of a rule."""
    found: dict[str, Alternative] = {}
    for way, own in outcome.found.items():
        if own.rule is None:
            continue
        document = written(own, own.rule)
        release = Release(table, rule_of(document, table))
        same = hashlib.sha256(release.codes.tobytes("F")).hexdigest()
        known = found.get(same)
        if known is not None:
            found[same] = replace(known, also=(*known.also, way))
            continue
        lower, gap = (None, None) if own.bounds is None else (own.bounds.lower, own.bounds.gap)
        found[same] = Alternative(
            **vars(shown_release(release)),
            id=way,
            also=(),
            rule=document,
            status="optimal" if own.status == "optimal" else "heuristic",
            minimised=own.loss,
            lower_bound=lower,
            gap=gap,
            privacy=tuple(attained.to_document() for attained in own.privacy),
        )
    alternatives = tuple(found.values())
    place, first = suggested(alternatives), outcome.found.get("one_level_per_column")
    proven = outcome.complete and all(own.status != "heuristic" for own in outcome.found.values())
    return Comparison(
        objective=document_of(asked),
        status=("optimal" if found else "infeasible") if proven else "heuristic",
        solver=AlternativesPlan.solver,
        budget=budget,
        reproducible=outcome.complete,
        suppression_allowed=outcome.suppression_allowed,
        alternatives=alternatives,
        suggested=None if place is None else alternatives[place].id,
        not_found=outcome.missing,
        records_short=outcome.short,
        curves=outcome.curves,
        infeasible_because=()
        if found or first is None
        else tuple(own.to_document() for own in first.refusals),
        nearest=outcome.nearest,
    )
