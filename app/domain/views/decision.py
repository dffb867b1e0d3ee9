"""Decides whether a view is perfectly private with respect to a secret query.

Perfect privacy: seeing the view's answer changes no belief about the secret's answer, for any reader to whom
rows are independent of each other but for the declared keys and dependencies. It holds if no row that can
decide the secret's answer can decide the view's, nor is in one block with a row that can.

``PRIVATE`` is a proof. ``DISCLOSES`` comes with a witness that :mod:`app.domain.views.evaluation` has
verified on the queries as they are written. All else is ``UNKNOWN``.

Source: Machanavajjhala (2008), chapter 2, with the corrections that docs/definitions.md lists.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

from app.domain.views.enumeration import Enumeration
from app.domain.views.evaluation import is_disclosure
from app.domain.views.freezing import frozen
from app.domain.views.instances import Side, Witness
from app.domain.views.normal_form import NormalQuery, branches, normalised
from app.domain.views.patterns import Hit, Patterns
from app.domain.views.queries import Query
from app.domain.views.query_classes import is_row_determined
from app.domain.views.relational_schema import RelationalSchema
from app.domain.views.stand_ins import StandIns
from app.domain.views.work import Budget, OutOfBudget, Work

Verdict = Literal["PRIVATE", "DISCLOSES", "UNKNOWN"]
Method = Literal[
    "constant", "no_common_relation", "no_overlap", "row_determined", "pattern", "enumeration", "foreign_key"
]
Reason = Literal[
    "EMPTY_QUERY",
    "NO_COMMON_RELATION",
    "NO_UNIFIABLE_SUBGOALS",
    "NOT_CRITICAL",
    "SHARED_CRITICAL_TUPLE",
    "SHARED_BLOCK",
    "BUDGET_EXCEEDED",
    "FOREIGN_KEY_LINK",
    "NO_CERTIFIED_WITNESS",
]
WORST: tuple[Verdict, ...] = ("DISCLOSES", "UNKNOWN", "PRIVATE")
"""Verdicts, the worst first."""
_NODES_OF_A_FIRST_LOOK = 3_000


@dataclass(frozen=True)
class PairVerdict:
    """Whether a view discloses something of a secret, why, and at what cost."""

    verdict: Verdict
    method: Method
    reason: Reason
    witness: Witness | None = None
    subset_pairs: int = 0
    nodes: int = 0


def decide(
    secret: Query,
    view: Query,
    schema: RelationalSchema,
    *,
    ignore_foreign_keys: bool = False,
    budget: Budget | None = None,
    is_late: Callable[[], bool] = lambda: False,
) -> PairVerdict:
    """The verdict on a secret and a view; ``is_late`` tells when no time is left, so that it is UNKNOWN."""
    work = Work(budget or Budget(), is_late)
    found: list[PairVerdict] = []
    for one in branches(secret):
        for other in branches(view):
            pair = _Pair(one, other, schema, work)
            found.append(_with_foreign_keys(pair, ignored=ignore_foreign_keys))
    worst = min(found, key=lambda own: WORST.index(own.verdict))
    return PairVerdict(
        worst.verdict, worst.method, worst.reason, worst.witness, work.subset_pairs, work.nodes
    )


def _with_foreign_keys(pair: _Pair, *, ignored: bool) -> PairVerdict:
    """Rows that a foreign key ties tell of each other, which the other steps leave out of account."""
    found = pair.verdict()
    if ignored or found.verdict != "PRIVATE" or pair.is_constant:
        return found
    linked = {end for own in pair.schema.foreign_keys for end in (own.source, own.target)}
    if not linked & pair.secret.relations & pair.schema.tied(pair.view.relations):
        return found
    return PairVerdict("UNKNOWN", "foreign_key", "FOREIGN_KEY_LINK")


class _Pair:
    """A secret and a view, each one branch."""

    def __init__(self, secret: Query, view: Query, schema: RelationalSchema, work: Work) -> None:
        self.schema = schema
        self.secret, self.view = normalised(secret, schema, "s"), normalised(view, schema, "v")
        self._written = secret, view
        self._work = work

    @property
    def is_constant(self) -> bool:
        """Whether one of the answers depends on no row."""
        return self.secret.is_constant or self.view.is_constant

    @cached_property
    def _stand_ins(self) -> StandIns:
        return StandIns(self.secret, self.view, self.schema)

    def verdict(self) -> PairVerdict:
        """The verdict, foreign keys left out of account."""
        if self.is_constant:
            return PairVerdict("PRIVATE", "constant", "EMPTY_QUERY")
        if not self.secret.relations & self.view.relations:
            return PairVerdict("PRIVATE", "no_common_relation", "NO_COMMON_RELATION")
        try:
            return self._searched()
        except OutOfBudget:
            return PairVerdict("UNKNOWN", "pattern", "BUDGET_EXCEEDED")

    def _searched(self) -> PairVerdict:
        patterns = Patterns(self.secret, self.view, self.schema, self._work)
        if next(patterns.overlaps(), None) is None:
            return PairVerdict("PRIVATE", "no_overlap", "NO_UNIFIABLE_SUBGOALS")
        determined = self._is_row_determined(self.secret, 0) and self._is_row_determined(self.view, 1)
        hits = patterns.overlaps() if determined else patterns.hits()
        undecided: list[Hit] = []
        for hit in hits:
            witness = self._verified(self._first_look(hit))
            if witness is not None:
                return self._disclosure(witness, "row_determined" if determined else "pattern")
            undecided.append(hit)
        return self._enumerated(undecided) if undecided else PairVerdict("PRIVATE", "pattern", "NOT_CRITICAL")

    def _is_row_determined(self, query: NormalQuery, number: int) -> bool:
        duplicates = self._written[number].keeps_duplicates
        return is_row_determined(query, self.schema, keeps_duplicates=duplicates)

    def _first_look(self, hit: Hit) -> Iterator[Witness]:
        """Witnesses that are soon found: with values that no query names, or the first of all values."""
        stand_ins = self._stand_ins
        if not self.secret.has_comparisons and not self.view.has_comparisons:
            yield from frozen(hit, stand_ins, self._work)
            return
        short = Work(Budget(nodes=_NODES_OF_A_FIRST_LOOK), lambda: False)
        try:
            yield from Enumeration(self.secret, self.view, self.schema, stand_ins).witnesses(hit, short)
        except OutOfBudget:
            return

    def _enumerated(self, hits: list[Hit]) -> PairVerdict:
        """What trying all values of the patterns finds."""
        try:
            enumeration = Enumeration(self.secret, self.view, self.schema, self._stand_ins)
            for hit in hits:
                for found in enumeration.witnesses(hit, self._work):
                    witness = self._verified(iter([found]))
                    if witness is None:
                        return PairVerdict("UNKNOWN", "enumeration", "NO_CERTIFIED_WITNESS")
                    return self._disclosure(witness, "enumeration")
        except OutOfBudget:
            return PairVerdict("UNKNOWN", "enumeration", "BUDGET_EXCEEDED")
        return PairVerdict("PRIVATE", "enumeration", "NOT_CRITICAL")

    def _verified(self, witnesses: Iterator[Witness]) -> Witness | None:
        for found in witnesses:
            witness = Witness(*map(_as_written, (found.secret, found.view), self._written))
            if is_disclosure(witness, *self._written, self.schema, self._work):
                return witness
        return None

    def _disclosure(self, witness: Witness, method: Method) -> PairVerdict:
        same = witness.secret.deciding == witness.view.deciding
        reason: Reason = "SHARED_CRITICAL_TUPLE" if same else "SHARED_BLOCK"
        return PairVerdict("DISCLOSES", method, reason, witness)


def _as_written(side: Side, query: Query) -> Side:
    """The answer without what the normal form of a query that keeps duplicates adds to it."""
    return replace(side, answer=side.answer[: len(query.rules[0].goal)])
