"""The classes of queries for which the check is known to be cheap, by the syntax of the query alone.

Source: Machanavajjhala (2008), section 2.5 and Figure 2.3.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import permutations
from typing import Final, Literal

from app.domain.views.normal_form import Disjunct, NormalQuery
from app.domain.views.queries import Atom, Constant, Term
from app.domain.views.relational_schema import RelationalSchema
from app.domain.views.work import Work

QueryClass = Literal[
    "no_self_join",
    "one_self_join_per_relation",
    "column_typed",
    "maximal_row",
    "simple_tableau",
    "acyclic",
]


def classes_of(disjuncts: Sequence[Disjunct], schema: RelationalSchema, work: Work) -> tuple[QueryClass, ...]:
    """The classes that all disjuncts of a query are of, in a fixed order."""

    def is_of(own: Disjunct, belongs: Callable[[Disjunct, RelationalSchema], bool]) -> bool:
        work.check()
        return belongs(own, schema)

    return tuple(name for name, belongs in _CLASSES.items() if all(is_of(own, belongs) for own in disjuncts))


def is_row_determined(query: NormalQuery, schema: RelationalSchema, *, keeps_duplicates: bool) -> bool:
    """Whether a row decides the answer exactly if it fits a subgoal in some valuation (sufficient)."""
    if len(query.disjuncts) != 1:
        return False
    own = query.disjuncts[0]
    if keeps_duplicates or _no_self_join(own, schema):
        return True
    relations = [schema.relations[atom.relation] for atom in own.body]
    return (
        _maximal_row(own, schema)
        and not own.comparisons
        and not any(relation.dependencies or relation.nullable for relation in relations)
        and all(range_.values is None or len(range_.values) > 1 for range_ in own.ranges.values())
    )


def _most_subgoals(own: Disjunct) -> int:
    return max(Counter(atom.relation for atom in own.body).values(), default=0)


def _no_self_join(own: Disjunct, schema: RelationalSchema) -> bool:
    return _most_subgoals(own) <= 1


def _column_typed(own: Disjunct, schema: RelationalSchema) -> bool:
    """No variable stands in two columns of one relation."""
    columns = {(term, atom.relation, i) for atom in own.body for i, term in enumerate(atom.terms)}
    times = Counter((term, relation) for term, relation, _ in columns if not isinstance(term, Constant))
    return all(number == 1 for number in times.values())


def _maximal_row(own: Disjunct, schema: RelationalSchema) -> bool:
    """And no row has all the constants of another of its relation in the same columns."""
    return _column_typed(own, schema) and not any(
        one.relation == other.relation and _has_constants_of(other, one)
        for one, other in permutations(own.body, 2)
    )


def _has_constants_of(row: Atom, one: Atom) -> bool:
    return all(
        term == there for term, there in zip(one.terms, row.terms, strict=True) if isinstance(term, Constant)
    )


def _simple_tableau(own: Disjunct, schema: RelationalSchema) -> bool:
    """No variable stands in two columns, and what repeats in a column is alone in that, or in the goal.

    Columns of one name are one column.
    """
    columns: dict[str, Counter[Term]] = {}
    where: dict[Term, set[str]] = {}
    for atom in own.body:
        for name, term in zip(schema.relations[atom.relation].attributes, atom.terms, strict=True):
            columns.setdefault(name, Counter())[term] += 1
            if not isinstance(term, Constant):
                where.setdefault(term, set()).add(name)
    if any(len(names) > 1 for names in where.values()):
        return False
    for terms in columns.values():
        repeated = [term for term, times in terms.items() if times > 1]
        hidden = [term for term in repeated if not isinstance(term, Constant) and term not in own.goal]
        if hidden and len(repeated) > 1:
            return False
    return True


def _acyclic(own: Disjunct, schema: RelationalSchema) -> bool:
    """Ears can be removed until nothing is left (Graham, Yu and Ozsoyoglu), goal variables left out."""
    edges = [
        {term for term in atom.terms if not isinstance(term, Constant) and term not in own.goal}
        for atom in own.body
    ]
    changed = True
    while changed:
        times = Counter(term for edge in edges for term in edge)
        trimmed = [{term for term in edge if times[term] > 1} for edge in edges]
        kept = [
            edge
            for number, edge in enumerate(trimmed)
            if edge
            and not any(
                edge < other or (edge == other and number < place) for place, other in enumerate(trimmed)
            )
        ]
        changed = kept != edges
        edges = kept
    return not edges


_CLASSES: Final[Mapping[QueryClass, Callable[[Disjunct, RelationalSchema], bool]]] = {
    "no_self_join": _no_self_join,
    "one_self_join_per_relation": lambda own, schema: _most_subgoals(own) <= 2,
    "column_typed": _column_typed,
    "maximal_row": _maximal_row,
    "simple_tableau": _simple_tableau,
    "acyclic": _acyclic,
}
