"""The pattern check as the source writes it down, without anything that makes it quick.

For two comparison-free queries without constraints over unbounded columns: every nonempty set of subgoals of
either query is unified with every one of the other, no set is left out beforehand, and a homomorphism is
looked for by trying the subgoals in the order in which they are written. Shares nothing with the product.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

from tests.oracles.query_views import Fact, Rule, is_variable

Terms = dict[object, object]


def is_private(secret: Rule, view: Rule) -> bool:
    """Whether no pattern of rows decides both answers."""
    secret, view = _apart(secret, "s"), _apart(view, "v")
    for relation in sorted({str(atom[0]) for atom in secret.atoms} & {str(atom[0]) for atom in view.atoms}):
        for some in _sets(secret, relation):
            for others in _sets(view, relation):
                equal = _unified([secret.atoms[i] for i in some] + [view.atoms[i] for i in others])
                if equal is not None and _depends(secret, some, equal) and _depends(view, others, equal):
                    return False
    return True


def _apart(rule: Rule, side: str) -> Rule:
    def own(term: object) -> object:
        return f"?{side}{term}" if is_variable(term) else term

    return Rule(tuple(map(own, rule.goal)), tuple((a[0], *map(own, a[1:])) for a in rule.atoms))


def _sets(rule: Rule, relation: str) -> Iterator[tuple[int, ...]]:
    places = [i for i, atom in enumerate(rule.atoms) if atom[0] == relation]
    for size in range(1, len(places) + 1):
        yield from combinations(places, size)


def _unified(rows: Sequence[Fact]) -> Terms | None:
    """For each variable what it must be for all rows to be one; None: they cannot be."""
    equal: Terms = {}
    for row in rows[1:]:
        for one, other in zip(rows[0][1:], row[1:], strict=True):
            one, other = _of(one, equal), _of(other, equal)
            if one == other:
                continue
            if not is_variable(one):
                one, other = other, one
            if not is_variable(one):
                return None
            equal[one] = other
    return equal


def _of(term: object, equal: Terms) -> object:
    while term in equal:
        term = equal[term]
    return term


def _depends(rule: Rule, places: Sequence[int], equal: Terms) -> bool:
    """Whether the query finds its own goal only with the subgoals."""
    rows = [(atom[0], *(_of(term, equal) for term in atom[1:])) for atom in rule.atoms]
    left = [row for i, row in enumerate(rows) if i not in places]
    mapping: Terms = {}
    for term, target in zip(rule.goal, (_of(own, equal) for own in rule.goal), strict=True):
        if (mapping.setdefault(term, target) if is_variable(term) else term) != target:
            return True
    return not _maps(rule.atoms, left, mapping)


def _maps(atoms: Sequence[Fact], rows: Sequence[Fact], mapping: Terms) -> bool:
    if not atoms:
        return True
    for row in rows:
        if row[0] != atoms[0][0]:
            continue
        extended = dict(mapping)
        pairs = zip(atoms[0][1:], row[1:], strict=True)
        fits = all((extended.setdefault(a, b) if is_variable(a) else a) == b for a, b in pairs)
        if fits and _maps(atoms[1:], rows, extended):
            return True
    return False
