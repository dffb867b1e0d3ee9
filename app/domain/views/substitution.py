"""Making terms equal: unification, and what keys and dependencies make equal beyond it (the chase)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from app.domain.views.queries import Atom, Comparison, Constant, Term
from app.domain.views.relational_schema import Positions, RelationalSchema
from app.domain.views.work import Work


class Substitution:
    """Classes of terms that are equal; a class with a constant is that constant."""

    def __init__(self) -> None:
        self._parents: dict[Term, Term] = {}

    def of(self, term: Term) -> Term:
        """What stands for the term."""
        parents = self._parents
        while (parent := parents.get(term)) is not None:
            if (above := parents.get(parent)) is not None:
                parents[term] = above
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


def chase(
    bodies: Sequence[Sequence[Atom]], substitution: Substitution, schema: RelationalSchema, work: Work
) -> bool:
    """Make equal what the dependencies make equal in any consistent instance; False if nothing can be.

    The bodies lie in different instances, so that rows are compared within each; the substitution is shared.
    """
    changed = True
    while changed:
        changed = False
        for body in bodies:
            for relation in dict.fromkeys(atom.relation for atom in body):
                rows = [atom for atom in body if atom.relation == relation]
                for determining, determined in schema.relations[relation].certain_dependencies:
                    merged = _merge_alike(rows, determining, determined, substitution, work)
                    if merged is None:
                        return False
                    changed |= merged
    return True


def _merge_alike(
    rows: Sequence[Atom],
    determining: Positions,
    determined: Positions,
    substitution: Substitution,
    work: Work,
) -> bool | None:
    """Make rows that agree on some columns agree on others; whether that was new, None if they cannot."""
    first: dict[tuple[Term, ...], Atom] = {}
    changed = False
    for row in rows:
        work.check()
        like = first.setdefault(tuple(substitution.of(row.terms[i]) for i in determining), row)
        if all(substitution.of(row.terms[i]) == substitution.of(like.terms[i]) for i in determined):
            continue
        if not substitution.merge_rows(like, row, determined):
            return None
        changed = True
    return changed
