"""Whether a query finds a row in given rows, whatever the rows' variables stand for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from app.domain.views.normal_form import Disjunct
from app.domain.views.queries import Atom, Comparison, Constant, Term
from app.domain.views.work import Work


def finds(
    query: Disjunct,
    rows: Sequence[Atom],
    goal: tuple[Term, ...],
    work: Work,
    *,
    may_be_null: Callable[[Term], bool],
    follows: Callable[[Comparison], bool],
) -> bool:
    """Whether the query produces ``goal`` from ``rows`` for every value of their variables.

    A homomorphism that is safe for NULL: a variable whose value is compared is mapped to nothing that
    ``may_be_null``, and each comparison must ``follow`` after the mapping.
    """
    mapping = _matched(query.goal, goal, {}, query, may_be_null)
    if mapping is None:
        return False
    by_relation: dict[str, list[Atom]] = {}
    for row in rows:
        by_relation.setdefault(row.relation, []).append(row)

    def place(left: list[Atom], mapping: dict[Term, Term]) -> bool:
        if not left:
            return all(follows(_mapped(own, mapping)) for own in query.comparisons)
        chosen, fewest = left[0], ways_of(left[0], mapping)
        for atom in left[1:]:
            if len(fewest) < 2:
                break
            ways = ways_of(atom, mapping)
            if len(ways) < len(fewest):
                chosen, fewest = atom, ways
        rest = [atom for atom in left if atom is not chosen]
        return any(place(rest, way) for way in fewest)

    def ways_of(atom: Atom, mapping: dict[Term, Term]) -> list[dict[Term, Term]]:
        found = []
        for row in by_relation.get(atom.relation, ()):
            work.step()
            way = _matched(atom.terms, row.terms, mapping, query, may_be_null)
            if way is not None:
                found.append(way)
        return found

    return place(list(query.body), mapping)


def _matched(
    terms: Sequence[Term],
    onto: Sequence[Term],
    mapping: Mapping[Term, Term],
    query: Disjunct,
    may_be_null: Callable[[Term], bool],
) -> dict[Term, Term] | None:
    """The mapping that also takes these terms onto those; None if there is none."""
    extended = dict(mapping)
    for term, target in zip(terms, onto, strict=True):
        if isinstance(term, Constant):
            if term != target:
                return None
        elif term in extended:
            if extended[term] != target:
                return None
        elif term not in query.may_be_null and may_be_null(target):
            return None
        else:
            extended[term] = target
    return extended


def _mapped(own: Comparison, mapping: Mapping[Term, Term]) -> Comparison:
    return Comparison(mapping.get(own.left, own.left), own.operator, mapping.get(own.right, own.right))
