"""Advice on a view that discloses something about a secret."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from app.api.schemas.common import Answer, Count
from app.domain.views.changes import MOST_FILTERS, MOST_OFFERED, MOST_TRIED
from app.domain.views.leakage import MOST_ROWS
from app.services.views.advice import MOST_COUNTED, MOST_LISTED, MOST_PATTERNS

CellValue = Annotated[str | int | float | None, Field(examples=["cancer"])]
"""A value; a number that a double would round is a text of its digits, or a fraction such as 1/3."""
_Line = Annotated[int | None, Field(ge=1, description="Its line in SQL, from 1.", examples=[1])]
_Column = Annotated[int | None, Field(ge=1, description="Its column in SQL, from 1.", examples=[40])]
_Fraction = Annotated[str, Field(pattern=r"^[0-9]+(/[0-9]+)?$", examples=["1/3"])]
_Values = Annotated[list[CellValue], Field(max_length=20_000)]


class ViewChangeStep(Answer):
    """A part of a change."""

    action: Annotated[
        Literal["add_condition", "drop_column", "drop_subgoal"],
        Field(description="What is done.", examples=["add_condition"]),
    ]
    explanation: Annotated[str, Field(description="What is to be done, in words.")]
    relation: Annotated[str | None, Field(max_length=100, examples=["diagnosis"])]
    """The relation whose subgoal is changed; null for a column of the answer."""
    condition: Annotated[str | None, Field(examples=["d != 'cancer'"])]
    """The condition to add. In SQL it is added by AND to the whole WHERE of the SELECT whose FROM names the
    table at this line and column. It leaves out rows in which a compared column is NULL as well.
    """
    line: _Line
    column: _Column


class ViewChange(Answer):
    """A change after which the view is private beside this secret, which was proved."""

    steps: Annotated[list[ViewChangeStep], Field(max_length=MOST_FILTERS)]
    """All of them together are the change."""
    query: Annotated[str | None, Field(examples=["wards(w) :- diagnosis(p, d, m, w), d != 'cancer'."])]
    """The changed view in Datalog, as it was decided. Null in SQL: write the steps into the view, and check
    it again.
    """


class NearestViewChange(ViewChange):
    """The change that takes least away of a view after which it is private beside this secret."""

    status: Annotated[Literal["found", "not_found", "not_looked_for"], Field(examples=["found"])]
    """`found`: proved; `not_found`: none of those that were tried passes, and there may be others;
    `not_looked_for`: the budget for changes was used up before. Without a change there are no steps.
    """
    explanation: Annotated[str, Field(description="What is to be done, or what was looked for in vain.")]


class ViewChanges(Answer):
    """Changes of the view, those that take least away first: one condition before two."""

    found: Annotated[list[ViewChange], Field(max_length=MOST_OFFERED)]
    """Each was decided like any other view, and is offered only because it is private beside this secret."""
    tried: Annotated[
        Count, Field(le=MOST_TRIED, description="Changed views that were decided.", examples=[4])
    ]
    complete: bool
    """Whether all that was thought of was tried: the opposites of the secret's conditions, up to three of
    them together, one column less, one subgoal less.
    """
    summary: Annotated[str, Field(description="What came of it, in words.")]


class OverlapSubgoal(Answer):
    """A subgoal that the row is an instance of."""

    text: Annotated[str, Field(examples=["diagnosis(p, 'cancer', m, w)"])]
    """As Datalog writes it; in SQL the relation, and what FROM calls it."""
    line: _Line
    column: _Column


class PatternSide(Answer):
    """What a pattern is for one of the queries."""

    subgoals: Annotated[list[OverlapSubgoal], Field(max_length=100)]
    """Those that the row is an instance of, all at once."""
    relation: Annotated[str, Field(max_length=100, examples=["diagnosis"])]
    """Of the row."""
    values: Annotated[dict[str, CellValue], Field(examples=[{"diagnosis": "cancer"}])]
    """What the row has in some columns; in the others it has any value that the conditions allow."""


class DisclosingPattern(Answer):
    """Rows that can decide both answers: one row of both, or two rows that a key or dependency ties."""

    secret: PatternSide
    """For the secret."""
    view: PatternSide
    """For the view."""
    verified: bool
    """Whether an example was found and re-evaluated. If not, it was not decided within the limits."""
    explanation: Annotated[str, Field(description="The example, in words.")]


class DisclosingPatterns(Answer):
    """All patterns of rows that can decide both answers, as far as they are looked for."""

    found: Annotated[list[DisclosingPattern], Field(max_length=MOST_PATTERNS)]
    """The first of them."""
    count: Annotated[Count, Field(le=MOST_COUNTED, description="How many were found.", examples=[1])]
    complete: Annotated[bool, Field(description="Whether there are no others.")]
    truncated: Annotated[bool, Field(description="Whether there are, or may be, more than are listed.")]


class BeliefChange(Answer):
    """The largest change of a belief about an answer of the secret by an answer of the view.

    It is one reader's, to whom each row exists with probability 1/2, on one small domain: advice, never a
    bound, and never a reason to allow a view.
    """

    change: _Fraction | None
    """The distance of posterior from prior; exact. Null, like all else, if it was not computed."""
    prior: _Fraction | None
    """How likely the secret's answer is before the view is seen."""
    posterior: _Fraction | None
    """How likely it is to a reader who has seen the view's answer."""
    secret_answer: Annotated[list[list[CellValue]], Field(max_length=MOST_LISTED)] | None
    """The first rows of that answer of the secret, each as often as it has it."""
    view_answer: Annotated[list[list[CellValue]], Field(max_length=MOST_LISTED)] | None
    """The first rows of that answer of the view."""
    domain: dict[str, dict[str, _Values]] | None
    """Relation → column → values: all that are listed in the schema, else those of the example and of both
    queries, and where a query names one, a value that it does not name.
    """
    possible_rows: Annotated[int, Field(ge=1, le=MOST_ROWS, examples=[3])] | None
    """Rows over that domain that can matter; all sets of them that keep the keys are counted."""
    row_probability: Annotated[_Fraction, Field(description="Of each row.", examples=["1/2"])]
    explanation: Annotated[str, Field(description="The change in words, or why it was not computed.")]


class PairAdvice(Answer):
    """What was asked for about a view that discloses; null is what was not."""

    changes: ViewChanges | None
    """Changes of the view that pass."""
    patterns: DisclosingPatterns | None
    """Every pattern of rows that discloses."""
    leakage: BeliefChange | None
    """How much a belief changes on a small domain."""
