"""Making terms equal: unification, and what keys and dependencies make equal beyond it (the chase)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from app.domain.views.queries import Atom, Comparison, Constant, Term
from app.domain.views.relational_schema import Positions, RelationalSchema


class Substitution:
    """Classes of terms that are equal; a class with a constant is that constant."""

    def __init__(self, parents: dict[Term, Term] | None = None) -> None:
        self._parents = {} if parents is None else dict(parents)

    def copy(self) -> Substitution:
        """A substitution to go on with, which leaves this one as it is."""
        return Substitution(self._parents)

    def of(self, term: Term) -> Term:
        """What stands for the term."""
        while (parent := self._parents.get(term)) is not None:
            term = parent
        return term

    def merge(self, one: Term, other: Term) -> bool:
        """Make two terms equal; False if they are different constants."""
        one, other = self.of(one), self.of(other)
        if one == other:
            return True
        if isinstance(one, Constant):
            if isinstance(other, Constant):
                return False
            one, other = other, one
        self._parents[one] = other
        return True

    def merge_rows(self, one: Atom, other: Atom, columns: Iterable[int]) -> bool:
        """Make two rows of a relation equal in the columns; False if they cannot be."""
        return all(self.merge(one.terms[column], other.terms[column]) for column in columns)

    def row(self, atom: Atom) -> Atom:
        """The row after the substitution."""
        return Atom(atom.relation, self.terms(atom.terms))

    def terms(self, terms: Sequence[Term]) -> tuple[Term, ...]:
        """The terms after the substitution."""
        return tuple(map(self.of, terms))

    def comparison(self, own: Comparison) -> Comparison:
        """The comparison after the substitution."""
        return Comparison(self.of(own.left), own.operator, self.of(own.right))


def chase(bodies: Sequence[Sequence[Atom]], substitution: Substitution, schema: RelationalSchema) -> bool:
    """Make equal what the dependencies make equal in any consistent instance; False if nothing can be.

    The bodies lie in different instances, so that rows are compared within each; the substitution is shared.
    """
    pairs = [
        (one, other, dependency)
        for body in bodies
        for number, one in enumerate(body)
        for other in body[:number]
        if one.relation == other.relation
        for dependency in schema.relations[one.relation].dependencies
    ]
    changed = True
    while changed:
        changed = False
        for one, other, (determining, determined) in pairs:
            if not _agree(one, other, determining, substitution):
                continue
            if not _agree(one, other, determined, substitution):
                if not substitution.merge_rows(one, other, determined):
                    return False
                changed = True
    return True


def _agree(one: Atom, other: Atom, columns: Positions, substitution: Substitution) -> bool:
    return all(substitution.of(one.terms[i]) == substitution.of(other.terms[i]) for i in columns)
