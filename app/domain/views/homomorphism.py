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
    mapping: dict[Term, Term] = {}
    of_goal = _bound(query.goal, goal, mapping, query, may_be_null)
    if of_goal is None:
        return False
    mapping.update(of_goal)
    of_relation = {own.relation: [row for row in rows if row.relation == own.relation] for own in query.body}

    def place(left: list[Atom]) -> bool:
        if not left:
            return all(follows(_mapped(own, mapping)) for own in query.comparisons)
        chosen, fewest = left[0], ways_of(left[0])
        for atom in left[1:]:
            if len(fewest) < 2:
                break
            ways = ways_of(atom)
            if len(ways) < len(fewest):
                chosen, fewest = atom, ways
        rest = [atom for atom in left if atom is not chosen]
        for way in fewest:
            mapping.update(way)
            if place(rest):
                return True
            for term in way:
                del mapping[term]
        return False

    def ways_of(atom: Atom) -> list[dict[Term, Term]]:
        found = []
        for row in of_relation[atom.relation]:
            work.step()
            way = _bound(atom.terms, row.terms, mapping, query, may_be_null)
            if way is not None:
                found.append(way)
        return found

    return place(list(query.body))


def _bound(
    terms: Sequence[Term],
    onto: Sequence[Term],
    mapping: Mapping[Term, Term],
    query: Disjunct,
    may_be_null: Callable[[Term], bool],
) -> dict[Term, Term] | None:
    """What must be added to the mapping for it to take these terms onto those; None if nothing can."""
    added: dict[Term, Term] = {}
    for term, target in zip(terms, onto, strict=True):
        known = term if isinstance(term, Constant) else mapping.get(term) or added.get(term)
        if known is not None:
            if known != target:
                return None
        elif term not in query.may_be_null and may_be_null(target):
            return None
        else:
            added[term] = target
    return added


def _mapped(own: Comparison, mapping: Mapping[Term, Term]) -> Comparison:
    return Comparison(mapping.get(own.left, own.left), own.operator, mapping.get(own.right, own.right))
