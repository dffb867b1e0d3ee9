"""The verdict on a secret and a view of several parts, or of which only an envelope is known."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import product

from app.domain.views.decision import WORST, PairVerdict, Verdict
from app.domain.views.instances import Side, Witness
from app.domain.views.queries import Query
from app.domain.views.ranges import Cell
from app.domain.views.relational_schema import RelationalSchema
from app.domain.views.wording import explained
from app.services.views.column_types import ColumnType, shown
from app.services.views.published import NotExact, PairMethod, PairReason, Part, Place, PublishedQuery

MOST_PLACES = 20


@dataclass(frozen=True)
class Decided:
    """The verdict of the worst pair of parts, and what it is worth."""

    found: PairVerdict
    secret: Part
    view: Part
    not_exact: tuple[tuple[NotExact, ...], tuple[NotExact, ...]] = ((), ())
    """By which operators the secret and the view are not read exactly."""

    @property
    def is_envelope(self) -> bool:
        """Whether more was decided on than the queries: a disclosure is then none that is proved."""
        return any(self.not_exact)

    @property
    def is_open(self) -> bool:
        """Whether the envelope discloses, so that the pair is undecided."""
        return self.is_envelope and self.found.verdict == "DISCLOSES"

    @property
    def verdict(self) -> Verdict:
        """The verdict on the pair."""
        return "UNKNOWN" if self.is_open else self.found.verdict

    @property
    def method(self) -> PairMethod:
        """What decided it."""
        return "envelope" if self.is_envelope else self.found.method

    @property
    def reason(self) -> PairReason:
        """Why."""
        return "NON_CONJUNCTIVE" if self.is_open else self.found.reason

    @property
    def witness(self) -> Witness | None:
        """The rows that prove a disclosure, with what the answers show of it."""
        if self.found.witness is None or self.is_envelope:
            return None
        return Witness(
            _shown(self.found.witness.secret, self.secret), _shown(self.found.witness.view, self.view)
        )

    def explanation(self, schema: RelationalSchema, types: RowTypes) -> str:
        """Why, in words."""
        if self.is_open:
            rows = sorted({own.deciding.relation for own in self._sides()})
            return " ".join(
                [
                    *self._envelopes(),
                    f"Rows of {' and '.join(rows)} may change both answers; whether they do is not decided. "
                    "It counts as a disclosure.",
                ]
            )
        witness = self.witness
        found = replace(self.found, witness=in_words(witness, types) if witness else None)
        return " ".join(
            [explained(found, _asked(self.secret), _asked(self.view), schema), *self._envelopes()]
        )

    def places(self) -> tuple[tuple[Place, ...], tuple[Place, ...]]:
        """Where the secret and the view read the relation of the deciding row."""
        if self.found.witness is None:
            return (), ()
        sides = (self.found.witness.secret, self.secret), (self.found.witness.view, self.view)
        secret, view = (_places(part, side.deciding.relation) for side, part in sides)
        return secret, view

    def _sides(self) -> tuple[Side, ...]:
        found = self.found.witness
        return (found.secret, found.view) if found is not None else ()

    def _envelopes(self) -> list[str]:
        """What is not read exactly."""
        return [
            f"The {what} is not a conjunctive query ({_listed(reasons)}), and was judged by all rows that it "
            "may depend on."
            for what, reasons in zip(("secret", "view"), self.not_exact, strict=True)
            if reasons
        ]


RowTypes = Callable[[str], Sequence[ColumnType]]
"""The types of a relation's columns."""


def decided(
    secret: PublishedQuery, view: PublishedQuery, decide: Callable[[Query, Query], PairVerdict]
) -> Decided:
    """The worst of all pairs of parts; what an answer depends on are the rows that any part depends on."""
    found = [
        Decided(decide(one.query, other.query), one, other, (secret.not_exact, view.not_exact))
        for one, other in product(secret.parts, view.parts)
    ]
    worst = min(found, key=_badness)
    subsets, nodes = (
        sum(own) for own in zip(*((f.found.subset_pairs, f.found.nodes) for f in found), strict=True)
    )
    return replace(worst, found=replace(worst.found, subset_pairs=subsets, nodes=nodes))


def _badness(own: Decided) -> tuple[int, bool]:
    """The worst first; that a part is empty explains the least."""
    return WORST.index(own.found.verdict), own.found.reason == "EMPTY_QUERY"


def asked_of(part: Part) -> Query:
    """The query with what its answer shows, for a severity."""
    rules = tuple(replace(rule, goal=rule.goal[: part.shown]) for rule in part.query.rules)
    return replace(part.query, rules=rules)


def _asked(part: Part) -> Query:
    return Query((), keeps_duplicates=part.counts)


def _shown(side: Side, part: Part) -> Side:
    return replace(side, answer=side.answer[: part.shown])


def _places(part: Part, relation: str) -> tuple[Place, ...]:
    found = dict.fromkeys(
        place
        for rule, places in zip(part.query.rules, part.places, strict=False)
        for atom, place in zip(rule.atoms, places, strict=True)
        if atom.relation == relation
    )
    return tuple(sorted(found, key=lambda own: (own.line, own.column)))[:MOST_PLACES]


def _listed(reasons: Iterable[NotExact]) -> str:
    named = [f"{own.operator} at line {own.place.line}, column {own.place.column}" for own in reasons]
    return ", ".join(named[:5]) + (f" and {len(named) - 5} more" if len(named) > 5 else "")


def in_words(witness: Witness, types: RowTypes) -> Witness:
    """The witness with dates as SQL writes them."""

    def told(side: Side) -> Side:
        rows = {
            row: replace(row, cells=tuple(map(shown, row.cells, types(row.relation))))
            for row in (side.deciding, *side.others)
        }
        return replace(side, deciding=rows[side.deciding], others=frozenset(rows[row] for row in side.others))

    return Witness(told(witness.secret), told(witness.view))


def answer_in_words(answer: Sequence[Cell], part: Part) -> tuple[Cell, ...]:
    """The answer with dates as SQL writes them."""
    return tuple(map(shown, answer, part.types)) if part.types else tuple(answer)
