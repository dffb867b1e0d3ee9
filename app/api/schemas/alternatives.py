"""Several rules of little loss side by side, as they are answered."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from pydantic import Field

from app.api.schemas.common import Answer, Column, Count, Number, Text
from app.api.schemas.criteria import AttainedCriterion, Refusal
from app.api.schemas.results import FoundRule
from app.domain.search.alternatives.questions import WAYS, Way
from app.domain.search.objectives import MOST_CRITERIA

WayId = Annotated[Way, Field(description="Which alternative.", examples=["one_level_per_column"])]
_MOST_COLUMNS: Final = 10_000
_MOST_POINTS: Final = 20


class ShownLevel(Answer):
    """How many released records show a column at a level."""

    level: Annotated[Count, Field(description="0 is as it is, the highest shows nothing.", examples=[1])]
    records: Annotated[Count, Field(description="Records that are not suppressed.", examples=[10])]
    example: Annotated[Text | None, Field(examples=["Tippecanoe"])]
    """The value that most of them show; null where nothing is shown, and for keys without `data:read`."""


class ShownColumn(Answer):
    """What a release shows of a quasi-identifier."""

    attribute: Annotated[Column, Field(description="The quasi-identifier.", examples=["city"])]
    loss: Annotated[Number, Field(description="What is lost of it: 0 to 1.", examples=[0.25])]
    height: Annotated[Count, Field(description="Highest level of its hierarchy.", examples=[4])]
    shown_share: Annotated[Number | None, Field(examples=[1])]
    """The share of the released records of which something is shown, at any level below the highest; null
    where the table has nothing to show, or nobody is left.
    """
    levels: Annotated[list[ShownLevel], Field(max_length=1000)]
    """The levels that occur, from the lowest."""


class Alternative(Answer):
    """One of the rules, and what its release shows.

    The rule is stored as `NAME-ID`, NAME being the optimisation's and ID written with `-` for `_`.
    """

    id: WayId
    also: Annotated[list[Way], Field(max_length=len(WAYS), examples=[["every_column_shown"]])]
    """Other alternatives that release the same."""
    rule: Annotated[FoundRule, Field(description="The rule.")]
    status: Annotated[Literal["optimal", "heuristic"], Field(examples=["optimal"])]
    """`optimal`: proven to lose least of its kind; `heuristic`: the best that was found, with a bound."""
    minimised: Annotated[Number, Field(examples=[0.3])]
    """What the search has minimised: for `important_columns` the loss with these weighed, else `loss`."""
    lower_bound: Annotated[
        Number | None, Field(description="What no rule of its kind is below.", examples=[0.3])
    ]
    gap: Annotated[Number | None, Field(description="Distance from it; 0 if proven.", examples=[0])]
    columns: Annotated[list[ShownColumn], Field(max_length=_MOST_COLUMNS)]
    """What is shown of every quasi-identifier."""
    loss: Annotated[Number, Field(examples=[0.3])]
    """Geometric loss, no column weighed, all leaves of hierarchies counted: alternatives compare by it."""
    suppressed_records: Annotated[Count, Field(description="Records suppressed.", examples=[2])]
    persons: Annotated[Count | None, Field(examples=[None])]
    """Persons of the table; null where no column names them."""
    persons_suppressed: Annotated[Count | None, Field(examples=[None])]
    """Of them those who lose all their records."""
    classes: Annotated[Count, Field(description="Equivalence classes of those that remain.", examples=[4])]
    smallest_class: Annotated[Count | None, Field(examples=[2])]
    """k: records, or persons, of the smallest class; null if nobody remains."""
    highest_risk: Annotated[Number | None, Field(examples=[0.5])]
    """Greatest probability of finding whose a released record is, for somebody who knows it is there."""
    mean_risk: Annotated[Number | None, Field(description="The mean of it.", examples=[0.4])]
    privacy: Annotated[list[AttainedCriterion], Field(max_length=MOST_CRITERIA)]
    """What those that remain attain of each criterion."""


class MissingAlternative(Answer):
    """An alternative that is not there."""

    id: WayId
    reason: Annotated[str, Field(max_length=1000, description="Why.")]


class RecordsShort(Answer):
    """How many more records would have to be suppressed for one level per column to show every column."""

    records: Annotated[Count, Field(description="So many more records.", examples=[16])]
    is_least: Annotated[bool, Field(examples=[True])]
    """Whether fewer do not suffice; else it is only known that so many do."""


class CurvePoint(Answer):
    """The best rule of one level per column under another limit, or another k."""

    at: Annotated[Number, Field(description="The limit, as a share of the records, or k.", examples=[0.02])]
    loss: Annotated[Number | None, Field(description="Its loss; null if no rule was found.", examples=[0.3])]
    suppressed_records: Annotated[Count | None, Field(description="Records it suppresses.", examples=[2])]
    is_proven: Annotated[bool, Field(description="None loses less, or there is none.", examples=[True])]


class LossCurves(Answer):
    """What protection, and keeping all records, cost."""

    suppression: Annotated[list[CurvePoint], Field(max_length=_MOST_POINTS)]
    """By the greatest share of the records that may be suppressed."""
    k: Annotated[list[CurvePoint], Field(max_length=_MOST_POINTS)]
    """By the k of k-anonymity, with the other criteria."""


class NearestFeasible(Answer):
    """What alone would do if it were asked for instead."""

    criterion: Annotated[dict[str, Any] | None, Field(examples=[{"kind": "k_anonymity", "k": 13}])]
    """The criterion to relax; null for the suppression limit."""
    value: Annotated[Number, Field(examples=[12])]
    """The limit that does, or what all records together attain of the criterion."""


class AlternativesResult(Answer):
    """Several rules side by side."""

    objective: Annotated[dict[str, Any], Field(description="What was asked for.")]
    status: Literal["optimal", "infeasible", "heuristic"]
    """`optimal`: every alternative is proven; `infeasible`: it is proven that there is none."""
    solver: Annotated[str, Field(max_length=40, description="What searched.", examples=["alternatives"])]
    budget: Annotated[dict[str, Any] | None, Field(description="What each search was allowed to use.")]
    reproducible: Annotated[bool, Field(examples=[True])]
    """False if the run was stopped: the same question finds more then."""
    suppression_allowed: Annotated[Count, Field(description="Most records to suppress.", examples=[2])]
    alternatives: Annotated[list[Alternative], Field(max_length=len(WAYS))]
    """The rules that were found, each release once."""
    suggested: Annotated[Way | None, Field(examples=["levels_per_record"])]
    """The one of least loss of those that show every column to half of the records at least; where there is
    none of those that show every column to some; else of all. Null if there is none.
    """
    not_found: Annotated[list[MissingAlternative], Field(max_length=len(WAYS))]
    """What was asked for and is not there."""
    records_short: RecordsShort | None
    """Null where `every_column_shown` is among the alternatives, or whoever is suppressed."""
    curves: LossCurves
    infeasible_because: Annotated[list[Refusal], Field(max_length=MOST_CRITERIA)]
    """Why no rule meets the criteria; empty if one does."""
    nearest: Annotated[list[NearestFeasible], Field(max_length=MOST_CRITERIA + 1)]
    """Where no rule meets the criteria: what would do instead, each alone, as far as it is known."""
