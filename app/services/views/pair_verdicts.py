"""The verdict on a secret and a view of several parts, or of which only an envelope is known."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from app.domain.views.clashes import Clash, clashes, unmeetable
from app.domain.views.decision import PairVerdict, Verdict, decide
from app.domain.views.instances import Side, Witness
from app.domain.views.normal_form import Branch, branches
from app.domain.views.patterns import Subgoals
from app.domain.views.queries import Query
from app.domain.views.query_classes import QueryClass, classes_of
from app.domain.views.relational_schema import RelationalSchema
from app.domain.views.wording import explained, explained_clashes, explained_constant, explained_unmeetable
from app.domain.views.work import Budget, OutOfBudget, Work
from app.services.views.column_types import shown
from app.services.views.published import NotExact, PairMethod, PairReason, Part, Place, PublishedQuery
from app.services.views.reading import ReadSchema

MOST_PLACES: Final = 20


@dataclass(frozen=True)
class Understood:
    """A query with the branches that it is decided by."""

    id: str
    branches: Sequence[Branch]
    """Empty if there was no time left to bring the query into its normal form."""
    parts: Sequence[Part]
    """For each branch, what its answer shows."""
    not_exact: Sequence[NotExact]
    """By which operators the branches are an envelope of the query."""
    classes: Sequence[QueryClass]
    published: PublishedQuery

    @property
    def as_shown(self) -> Branch:
        """The only branch with no more in its goal than its answer shows."""
        return Branch(self.parts[0].as_shown, self.branches[0].normal)

    def part(self, branch: Branch) -> Part:
        """What the answer of the branch shows."""
        return next(part for own, part in zip(self.branches, self.parts, strict=True) if own is branch)


def understood(
    name: str, query: PublishedQuery, side: str, *, schema: RelationalSchema, work: Work
) -> Understood:
    """The query of that name in its normal form; ``side`` tells the variables of two queries apart."""
    found: list[Branch] = []
    parts: list[Part] = []
    try:
        for part in query.parts:
            own = branches(part.query, schema, f"{side}.", work)
            found += own
            # A query that keeps duplicates has a branch for each of its rules.
            parts += (
                replace(part, query=branch.written)
                if len(own) == 1
                else replace(
                    part,
                    query=branch.written,
                    places=part.places[i : i + 1],
                    written_at=part.written_at[i : i + 1],
                )
                for i, branch in enumerate(own)
            )
        classes = classes_of([own for branch in found for own in branch.normal.disjuncts], schema, work)
    except OutOfBudget:
        return Understood(name, (), (), query.not_exact, (), query)
    return Understood(name, found, parts, query.not_exact, classes, query)


def is_constant(
    query: PublishedQuery, schema: RelationalSchema, budget: Budget, is_late: Callable[[], bool]
) -> bool:
    """Whether the answer is proved to depend on no row: whether the query is private beside itself.

    A row that decides its answer would decide it on both sides. Conditions may exclude each other, or be such
    as no instance fulfils that has the declared keys and dependencies. Of an envelope, all that it covers is
    constant with it.
    """
    sides = [understood("", query, side, schema=schema, work=Work(budget, is_late)) for side in ("a.", "b.")]
    if not all(own.branches for own in sides):
        return False
    one, other = (own.branches for own in sides)
    return (
        decide(one, other, schema, ignore_foreign_keys=True, budget=budget, is_late=is_late).verdict
        == "PRIVATE"
    )


@dataclass(frozen=True)
class Decided:
    """The verdict on a pair, and what it is worth."""

    found: PairVerdict
    secret: Understood
    view: Understood

    @property
    def is_envelope(self) -> bool:
        """Whether more was decided on than the queries: a disclosure is then none that is proved."""
        return bool(self.secret.not_exact or self.view.not_exact)

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
        sides = zip(self._sides(self.found.witness), self._parts(), strict=True)
        secret, view = (replace(side, answer=side.answer[: part.shown]) for side, part in sides)
        return Witness(secret, view)

    def witness_in_words(self, schema: ReadSchema) -> Witness:
        """The witness of a disclosure, with dates as SQL writes them."""
        sides = zip(self._sides(self.witness), self._parts(), strict=True)
        secret, view = (_in_words(side, part, schema) for side, part in sides)
        return Witness(secret, view)

    def explanation(self, schema: ReadSchema, is_late: Callable[[], bool]) -> str:
        """Why, in words; which values exclude each other only if there is time to look for them."""
        pair = ("secret", self.secret.id, self.secret.branches), ("view", self.view.id, self.view.branches)
        if self.is_open:
            rows = sorted({own.deciding.relation for own in self._sides(self.found.witness)})
            why = (
                f"Rows of {' and '.join(rows)} may change both answers, and whether they do is not decided. "
                "The pair is denied as if it disclosed something."
            )
        elif self.found.reason == "EMPTY_QUERY":
            why = explained_constant(*pair)
        elif self.witness is not None:
            found = replace(self.found, witness=self.witness_in_words(schema))
            secret, view = (Query((), keeps_duplicates=part.counts) for part in self._parts())
            why = explained(found, secret, view, schema.relational)
        else:
            why = self._unmeetable(pair, schema.relational, is_late) or explained(
                self.found, Query(()), Query(()), schema.relational
            )
            if self.found.reason == "NO_UNIFIABLE_SUBGOALS":
                why += explained_clashes(self._clashes(schema, is_late), schema.relational)
        not_exact = [
            f"The {what} is not a conjunctive query ({_listed(query.not_exact)}), and was judged by all rows "
            "that it may depend on."
            for what, query in (("secret", self.secret), ("view", self.view))
            if query.not_exact
        ]
        return " ".join([why, *not_exact])

    def places(self) -> tuple[tuple[Place, ...], ...]:
        """Where the subgoals of the secret and of the view stand that the deciding row stands for."""
        pairs = zip(self.found.subgoals or (), self._parts(), strict=True)
        return tuple(_places(part, subgoals) for subgoals, part in pairs)

    def _unmeetable(
        self,
        pair: Iterable[tuple[str, str, Sequence[Branch]]],
        schema: RelationalSchema,
        is_late: Callable[[], bool],
    ) -> str:
        """That keys let one of the queries find no row, if it is so and there is time to look."""
        if self.found.reason != "NO_UNIFIABLE_SUBGOALS":
            return ""
        work = Work(Budget(), is_late)
        try:
            for what, name, side in pair:
                relations = unmeetable(side, schema, work)
                if relations:
                    return explained_unmeetable(what, name, relations, schema)
        except OutOfBudget:
            pass
        return ""

    def _clashes(self, schema: ReadSchema, is_late: Callable[[], bool]) -> Iterator[Clash]:
        """Why the rows of the queries exclude each other, with dates as SQL writes them."""
        work = Work(Budget(), is_late)
        try:
            found = clashes(self.secret.branches, self.view.branches, schema.relational, work)
        except OutOfBudget:
            return
        for own in found:
            of = schema.types[own.relation][own.column]
            secret, view = (replace(side, value=shown(side.value, of)) for side in (own.secret, own.view))
            yield replace(own, secret=secret, view=view)

    def _sides(self, witness: Witness | None) -> tuple[Side, ...]:
        return (witness.secret, witness.view) if witness is not None else ()

    def _parts(self) -> tuple[Part, ...]:
        """Of a verdict with a witness, what the answers show."""
        if self.found.witness is None or self.found.branches is None:
            return ()
        secret, view = self.found.branches
        return self.secret.part(secret), self.view.part(view)


def _places(part: Part, subgoals: Subgoals) -> tuple[Place, ...]:
    every: Sequence[Sequence[Place]] = part.places or part.written_at
    found = {every[subgoals.rule][place] for place in subgoals.places} if every else set()
    return tuple(sorted(found, key=lambda own: (own.line, own.column)))[:MOST_PLACES]


def _listed(reasons: Iterable[NotExact]) -> str:
    named = [f"{own.operator} at line {own.place.line}, column {own.place.column}" for own in reasons]
    return ", ".join(named[:5]) + (f" and {len(named) - 5} more" if len(named) > 5 else "")


def _in_words(side: Side, part: Part, schema: ReadSchema) -> Side:
    rows = {
        row: replace(row, cells=tuple(map(shown, row.cells, schema.types[row.relation])))
        for row in (side.deciding, *side.others)
    }
    answer = tuple(map(shown, side.answer, part.types)) if part.types else side.answer
    return replace(
        side,
        deciding=rows[side.deciding],
        others=frozenset(rows[row] for row in side.others),
        answer=answer,
    )
