"""Which rows both queries could depend on, as patterns of rows.

For sets A of subgoals of the secret and B of the view, all of one relation, the most general row that is all
of A and all of B at once is a *hit* if neither query finds its own goal without that row. No hit is a proof
that no row decides both answers, on every domain: a row that does is found by the sets of subgoals that it
takes the place of, and a query that finds its goal for a pattern finds it for every row of it. With keys and
dependencies the two rows need to agree on the block of the relation only, and each body is chased.

Source: Machanavajjhala (2008), section 2.4, Algorithm 2 and Theorem 2.5; every nonempty set is tried,
unification is joint, and comparisons that follow from those of the pattern are taken into account.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, product
from typing import Final

from app.domain.views.homomorphism import finds
from app.domain.views.normal_form import Disjunct, NormalQuery
from app.domain.views.orders import may_hold
from app.domain.views.queries import Atom, Comparison, Constant, Operator, Term
from app.domain.views.ranges import Range, common
from app.domain.views.relational_schema import Positions, RelationalSchema
from app.domain.views.substitution import Substitution, chase
from app.domain.views.work import Work

Places = tuple[int, ...]
"""Subgoals of a disjunct by their number."""


@dataclass(frozen=True)
class Pattern:
    """One or two bodies after a substitution that is possible as far as is known."""

    disjuncts: tuple[Disjunct, ...]
    substitution: Substitution
    work: Work

    @cached_property
    def ranges(self) -> dict[Term, Range]:
        """What each class of variables may be."""
        return common(
            (self.substitution.of(term), range_)
            for own in self.disjuncts
            for term, range_ in own.ranges.items()
        )

    @cached_property
    def null(self) -> frozenset[Term]:
        """Classes that may be NULL: all of their variables may."""
        never = {
            self.substitution.of(term)
            for own in self.disjuncts
            for term in own.ranges
            if term not in own.may_be_null
        }
        return frozenset(t for t in self.ranges if t not in never and not isinstance(t, Constant))

    @cached_property
    def comparisons(self) -> tuple[Comparison, ...]:
        """Of all bodies."""
        every = (own for disjunct in self.disjuncts for own in disjunct.comparisons)
        return tuple(map(self.substitution.comparison, every))

    @cached_property
    def compared(self) -> Mapping[Term, None]:
        """The variables in comparisons, each after one that it is compared with, as far as there is one."""
        beside: dict[Term, list[Term]] = {}
        for own in self.comparisons:
            beside.setdefault(own.left, []).append(own.right)
            beside.setdefault(own.right, []).append(own.left)
        found: dict[Term, None] = {}
        for first in beside:
            waiting = [first]
            while waiting:
                term = waiting.pop()
                if term not in found and not isinstance(term, Constant):
                    found[term] = None
                    waiting += beside[term]
        return found

    @cached_property
    def comparisons_of(self) -> Callable[[Term], Sequence[Comparison]]:
        """The comparisons that a term is in."""
        found: dict[Term, list[Comparison]] = {}
        for own in self.comparisons:
            for term in {own.left, own.right}:
                found.setdefault(term, []).append(own)
        return lambda term: found.get(term, ())

    @cached_property
    def _unequal(self) -> frozenset[Comparison]:
        return frozenset(own for own in self.comparisons if own.operator == "!=")

    @property
    def is_possible(self) -> bool:
        """Whether each class has a value left, and the comparisons may hold."""
        for term, range_ in self.ranges.items():
            if range_.is_empty or (isinstance(term, Constant) and term.value not in range_):
                return False
        return may_hold(self.comparisons, self.range_of, self.work)

    def range_of(self, term: Term) -> Range:
        """What the class may be."""
        return self.ranges.get(term, Range())

    def follows(self, comparison: Comparison) -> bool:
        """Whether the comparison holds wherever those of the pattern do."""
        if {comparison, Comparison(comparison.right, comparison.operator, comparison.left)} & self._unequal:
            return True
        operator, turned = _OPPOSITES[comparison.operator]
        left, right = comparison.left, comparison.right
        denied = Comparison(right, operator, left) if turned else Comparison(left, operator, right)
        return not may_hold([*self.comparisons, denied], self.range_of, self.work)


_OPPOSITES: Final[dict[Operator, tuple[Operator, bool]]] = {
    "!=": ("=", False),
    "<": ("<=", True),
    "<=": ("<", True),
}


@dataclass(frozen=True)
class Candidate:
    """Sets of subgoals of two disjuncts, each of which might be one row."""

    secret: Disjunct
    view: Disjunct
    secret_places: Places
    view_places: Places
    linked: Positions
    """The columns on which the two rows agree."""


@dataclass(frozen=True)
class Subgoals:
    """Some of a rule's subgoals, in the order in which they are written."""

    rule: int
    places: Places


@dataclass(frozen=True)
class Hit:
    """A candidate whose row both answers may depend on."""

    candidate: Candidate
    pattern: Pattern
    """Of the secret's disjunct and the view's."""

    @property
    def secret_place(self) -> int:
        """A subgoal of the secret's set."""
        return self.candidate.secret_places[0]

    @property
    def view_place(self) -> int:
        """A subgoal of the view's set."""
        return self.candidate.view_places[0]

    @property
    def subgoals(self) -> tuple[Subgoals, Subgoals]:
        """Of the secret and of the view as they are written, those that become the deciding row."""
        of = self.pattern.substitution.row
        secret, view = (
            Subgoals(
                own.rule,
                tuple(
                    sorted(
                        place
                        for atom, places in zip(own.body, own.written, strict=True)
                        if of(atom) == row
                        for place in places
                    )
                ),
            )
            for own, row in zip(self.pattern.disjuncts, self.rows, strict=True)
        )
        return secret, view

    @property
    def rows(self) -> tuple[Atom, Atom]:
        """The two patterns of the deciding row."""
        secret, view = self.pattern.disjuncts
        of = self.pattern.substitution.row
        return of(secret.body[self.secret_place]), of(view.body[self.view_place])


class Patterns:
    """Finds the overlaps and the hits of a secret and a view."""

    def __init__(self, secret: NormalQuery, view: NormalQuery, schema: RelationalSchema, work: Work) -> None:
        self._secret, self._view = secret, view
        self._schema = schema
        self.work = work

    def overlaps(self) -> Iterator[Hit]:
        """Pairs of single subgoals that may be one row, or rows of one block."""
        for secret, view, relation in self._pairs():
            for a, b in product(_places(secret, relation), _places(view, relation)):
                for linked in self._schema.relations[relation].links:
                    self.work.step()
                    hit = self.joined(Candidate(secret, view, (a,), (b,), linked))
                    if hit is not None:
                        yield hit

    def hits(self) -> Iterator[Hit]:
        """Patterns of rows that may decide both answers, smallest sets first."""
        for secret, view, relation in self._pairs():
            sides = (_Side(self._secret, secret, relation, self), _Side(self._view, view, relation, self))
            longest = [len(_places(own, relation)) for own in (secret, view)]
            tried = 0
            for size in range(2, sum(longest) + 1):
                for of_secret in range(max(1, size - longest[1]), min(longest[0], size - 1) + 1):
                    for a in sides[0].sets(of_secret):
                        for b in sides[1].sets(size - of_secret):
                            tried += 1
                            self.work.subset_pair(tried)
                            for linked in self._schema.relations[relation].links:
                                hit = self.joined(Candidate(secret, view, a, b, linked))
                                if hit is not None and self._depend(hit):
                                    yield hit

    def _pairs(self) -> Iterator[tuple[Disjunct, Disjunct, str]]:
        for secret in self._secret.disjuncts:
            for view in self._view.disjuncts:
                reads = {atom.relation for atom in view.body}
                for relation in dict.fromkeys(atom.relation for atom in secret.body):
                    if relation in reads:
                        yield secret, view, relation

    def joined(self, candidate: Candidate) -> Hit | None:
        """The most general rows that are all of the sets' subgoals; None: there are none."""
        secret, view = candidate.secret, candidate.view
        a, b = candidate.secret_places, candidate.view_places
        equal = Substitution()
        if not _unify(secret, a, equal) or not _unify(view, b, equal):
            return None
        if not equal.merge_rows(secret.body[a[0]], view.body[b[0]], candidate.linked):
            return None
        if not chase([secret.body, view.body], equal, self._schema, self.work):
            return None
        pattern = Pattern((secret, view), equal, self.work)
        return Hit(candidate, pattern) if pattern.is_possible else None

    def _depend(self, hit: Hit) -> bool:
        secret, view = hit.pattern.disjuncts
        return self.depends(self._secret, secret, hit.pattern, hit.secret_place) and self.depends(
            self._view, view, hit.pattern, hit.view_place
        )

    def depends(self, query: NormalQuery, own: Disjunct, pattern: Pattern, place: int) -> bool:
        """Whether the query may lose the goal of ``own`` with the subgoal's row: no disjunct finds it."""
        of = pattern.substitution
        row = of.row(own.body[place])
        rest = [other for other in map(of.row, own.body) if other != row]
        goal = of.terms(own.goal)
        return not any(
            finds(
                disjunct,
                rest,
                goal,
                self.work,
                may_be_null=pattern.null.__contains__,
                follows=pattern.follows,
            )
            for disjunct in query.disjuncts
        )

    def alone(self, own: Disjunct, places: Places) -> Pattern | None:
        """The pattern of a disjunct whose subgoals are one row; None: they cannot be."""
        equal = Substitution()
        if not _unify(own, places, equal) or not chase([own.body], equal, self._schema, self.work):
            return None
        pattern = Pattern((own,), equal, self.work)
        return pattern if pattern.is_possible else None


class _Side:
    """The sets of a disjunct's subgoals of a relation that may be the whole of what a row stands for."""

    def __init__(self, query: NormalQuery, own: Disjunct, relation: str, patterns: Patterns) -> None:
        self._query = query
        self._own = own
        self._places = _places(own, relation)
        self._patterns = patterns
        self._found: dict[int, list[Places]] = {}

    def sets(self, size: int) -> Sequence[Places]:
        """Sets of this size that matter.

        Left out are those that cannot be one row, are part of a set that is the same row, or whose row the
        query never depends on: more special rows inherit that.
        """
        if size not in self._found:
            self._found[size] = [own for own in combinations(self._places, size) if self._matters(own)]
        return self._found[size]

    def _matters(self, places: Places) -> bool:
        self._patterns.work.step()
        pattern = self._patterns.alone(self._own, places)
        if pattern is None:
            return False
        of = pattern.substitution.row
        row = of(self._own.body[places[0]])
        if any(of(self._own.body[own]) == row for own in self._places if own not in places):
            return False
        return self._patterns.depends(self._query, self._own, pattern, places[0])


def _places(own: Disjunct, relation: str) -> Places:
    return tuple(number for number, atom in enumerate(own.body) if atom.relation == relation)


def _unify(own: Disjunct, places: Places, equal: Substitution) -> bool:
    """Make the subgoals one row."""
    first = own.body[places[0]]
    return all(equal.merge_rows(first, own.body[place], range(len(first.terms))) for place in places[1:])
