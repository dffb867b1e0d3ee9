"""Decides whether a view is perfectly private with respect to a secret query.

Perfect privacy: seeing the view's answer changes no belief about the secret's answer, for any reader to whom
rows are independent of each other except for the declared keys and dependencies. It holds if no row that can
decide the secret's answer can decide the view's, or lies in one block with a row that can.

``PRIVATE`` is a proof. ``DISCLOSES`` comes with a witness that :mod:`app.domain.views.evaluation` has
verified on the queries as they are written. All else is ``UNKNOWN``.

Source: Machanavajjhala (2008), chapter 2, with the corrections that docs/definitions.md lists.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import Final, Literal

from app.domain.views.enumeration import Enumeration
from app.domain.views.evaluation import is_disclosure
from app.domain.views.freezing import frozen
from app.domain.views.instances import Side, Witness
from app.domain.views.normal_form import Branch
from app.domain.views.patterns import Candidate, Hit, Patterns, Subgoals
from app.domain.views.queries import Query
from app.domain.views.query_classes import is_row_determined
from app.domain.views.relational_schema import RelationalSchema
from app.domain.views.stand_ins import StandIns
from app.domain.views.work import Budget, OutOfBudget, Work

Verdict = Literal["PRIVATE", "PRIVATE_IF_KEYS_ARE_UNKNOWN_TO_READERS", "DISCLOSES", "UNKNOWN"]
"""The second is what a pair is called that is private with the keys left out, which is no perfect privacy."""
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
WORST: tuple[Verdict, ...] = ("DISCLOSES", "UNKNOWN", "PRIVATE_IF_KEYS_ARE_UNKNOWN_TO_READERS", "PRIVATE")
"""Verdicts, the worst first."""
VERSION: Final = 7
"""Grows when a pair could be given another verdict, example or explanation than before, or a secret be found
to be constant, and when the document of a pair says more.
"""
_STEPS_OF_A_FIRST_LOOK = 3_000
_FEW = 3
"""Numbers between two that are named, which most patterns with comparisons need at most."""


@dataclass(frozen=True)
class PairVerdict:
    """Whether a view discloses something about a secret, why, and at what cost."""

    verdict: Verdict
    method: Method
    reason: Reason
    witness: Witness | None = None
    branches: tuple[Branch, Branch] | None = None
    """Of the secret and of the view, those that the verdict is about."""
    subgoals: tuple[Subgoals, Subgoals] | None = None
    """Of these branches as they are written, those that the deciding row of a witness stands for."""
    subset_pairs: int = 0
    steps: int = 0


def decide(
    secret: Sequence[Branch],
    view: Sequence[Branch],
    schema: RelationalSchema,
    *,
    ignore_foreign_keys: bool = False,
    budget: Budget | None = None,
    is_late: Callable[[], bool] = lambda: False,
) -> PairVerdict:
    """The verdict on a secret and a view; ``is_late`` tells when no time is left, so that it is UNKNOWN."""
    work = Work(budget or Budget(), is_late)
    found: list[PairVerdict] = []
    for one, other in product(secret, view):
        pair = _Pair(one, other, schema, work)
        verdict = _with_foreign_keys(pair, ignored=ignore_foreign_keys)
        found.append(replace(verdict, branches=(one, other)))
        if found[-1].verdict == "DISCLOSES":
            break
    return replace(min(found, key=_badness), subset_pairs=work.subset_pairs, steps=work.steps)


def disclosing_patterns(
    secret: Sequence[Branch], view: Sequence[Branch], schema: RelationalSchema, work: Work
) -> Iterator[tuple[Hit, PairVerdict]]:
    """Every pattern of rows that decide both answers: with a witness that is verified, or as UNKNOWN.

    OutOfBudget says that there may be more.
    """
    for one, other in product(secret, view):
        for hit, found in _Pair(one, other, schema, work).patterns():
            yield hit, replace(found, branches=(one, other))


def _badness(found: PairVerdict) -> tuple[int, bool]:
    """By which verdicts are compared, the worst first; that a branch is empty explains the least."""
    return WORST.index(found.verdict), found.reason == "EMPTY_QUERY"


def _with_foreign_keys(pair: _Pair, *, ignored: bool) -> PairVerdict:
    """The verdict of a pair; private only if no foreign key ties the rows that the two answers depend on."""
    found = pair.verdict()
    if ignored or found.verdict != "PRIVATE" or pair.is_constant:
        return found
    if not pair.schema.are_tied(pair.secret.relations, pair.view.relations):
        return found
    return PairVerdict("UNKNOWN", "foreign_key", "FOREIGN_KEY_LINK")


class _Pair:
    """A secret and a view, each one branch."""

    def __init__(self, secret: Branch, view: Branch, schema: RelationalSchema, work: Work) -> None:
        self.schema = schema
        self.secret, self.view = secret.normal, view.normal
        self._written = secret.written, view.written
        self._work = work

    @property
    def is_constant(self) -> bool:
        """Whether one of the answers depends on no row."""
        return self.secret.is_constant or self.view.is_constant

    @cached_property
    def _stand_ins(self) -> StandIns:
        return StandIns(self.secret, self.view, self.schema, self._work)

    @cached_property
    def _few_stand_ins(self) -> StandIns:
        return StandIns(self.secret, self.view, self.schema, self._work, _FEW)

    def verdict(self) -> PairVerdict:
        """The verdict as if there were no foreign keys."""
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
        hits, method = self._hits(patterns)
        # Of a hit, only the candidate is kept: patterns are large, and there may be thousands.
        undecided: list[Candidate] = []
        for hit in hits:
            witness = self._verified(self._first_look(hit))
            if witness is not None:
                return self._disclosure(hit, witness, method)
            undecided.append(hit.candidate)
        if not undecided:
            return PairVerdict("PRIVATE", "pattern", "NOT_CRITICAL")
        return self._enumerated(filter(None, map(patterns.joined, undecided)))

    def _hits(self, patterns: Patterns) -> tuple[Iterator[Hit], Method]:
        pairs = zip((self.secret, self.view), self._written, strict=True)
        if all(
            is_row_determined(own, self.schema, keeps_duplicates=it.keeps_duplicates) for own, it in pairs
        ):
            return patterns.overlaps(), "row_determined"
        return patterns.hits(), "pattern"

    def patterns(self) -> Iterator[tuple[Hit, PairVerdict]]:
        """The patterns that disclose, or of which it is not decided; OutOfBudget ends them early."""
        if self.is_constant or not self.secret.relations & self.view.relations:
            return
        hits, method = self._hits(Patterns(self.secret, self.view, self.schema, self._work))
        for hit in hits:
            witness = self._verified(self._first_look(hit))
            found = (
                self._enumerated(iter([hit])) if witness is None else self._disclosure(hit, witness, method)
            )
            if found.verdict != "PRIVATE":
                yield hit, found

    def _first_look(self, hit: Hit) -> Iterator[Witness]:
        """Witnesses that are soon found: with values that no query names, or the first of all values."""
        stand_ins = self._few_stand_ins
        if not self.secret.has_comparisons and not self.view.has_comparisons:
            yield from frozen(hit, stand_ins, self._work)
            return
        short = self._work.part(_STEPS_OF_A_FIRST_LOOK)
        try:
            yield from Enumeration(self.secret, self.view, self.schema, stand_ins).witnesses(hit, short)
        except OutOfBudget:
            return

    def _enumerated(self, hits: Iterator[Hit]) -> PairVerdict:
        """What trying all values of the patterns finds."""
        try:
            enumeration = Enumeration(self.secret, self.view, self.schema, self._stand_ins)
            for hit in hits:
                for found in enumeration.witnesses(hit, self._work):
                    witness = self._verified(iter([found]))
                    if witness is None:
                        return PairVerdict("UNKNOWN", "enumeration", "NO_CERTIFIED_WITNESS")
                    return self._disclosure(hit, witness, "enumeration")
        except OutOfBudget:
            return PairVerdict("UNKNOWN", "enumeration", "BUDGET_EXCEEDED")
        return PairVerdict("PRIVATE", "enumeration", "NOT_CRITICAL")

    def _verified(self, witnesses: Iterator[Witness]) -> Witness | None:
        for found in witnesses:
            witness = Witness(*map(_as_written, (found.secret, found.view), self._written))
            if is_disclosure(witness, *self._written, self.schema, self._work):
                return witness
        return None

    def _disclosure(self, hit: Hit, witness: Witness, method: Method) -> PairVerdict:
        same = witness.secret.deciding == witness.view.deciding
        reason: Reason = "SHARED_CRITICAL_TUPLE" if same else "SHARED_BLOCK"
        return PairVerdict("DISCLOSES", method, reason, witness, subgoals=hit.subgoals)


def _as_written(side: Side, query: Query) -> Side:
    """The answer without what the normal form of a query that keeps duplicates adds to it."""
    return replace(side, answer=side.answer[: len(query.rules[0].goal)])
