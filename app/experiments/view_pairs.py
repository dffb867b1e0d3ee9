"""Pairs of queries decided as the experiments on perfect privacy need them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import product
from typing import Final

from app.domain.views.datalog import parse_query
from app.domain.views.decision import PairVerdict, decide
from app.domain.views.normal_form import branches
from app.domain.views.queries import Constant, Query, Term
from app.domain.views.query_classes import QueryClass, classes_of
from app.domain.views.ranges import Cell
from app.domain.views.relational_schema import RelationalSchema, RelationDefinition, built
from app.domain.views.work import Budget, Work

Rows = Collection[tuple[str, tuple[Cell, ...]]]
"""Of an instance: relation and cells."""
_ENOUGH: Final = Budget(steps=20_000_000)


def _work() -> Work:
    """An experiment counts steps, and looks at no clock."""
    return Work(_ENOUGH, lambda: False)


def relations(
    attributes: Mapping[str, str],
    values: Sequence[int] | None = None,
    keys: Mapping[str, Sequence[Sequence[str]]] | None = None,
) -> RelationalSchema:
    """A relation for each name, its attributes parted by blanks; ``values``: what every column may hold."""
    keys = keys or {}
    found = {}
    for name, own in attributes.items():
        columns = own.split()
        domains = {} if values is None else dict.fromkeys(columns, tuple(values))
        found[name] = RelationDefinition(columns, domains, keys.get(name, ()))
    return built(found, ())


def judged(secret: str, view: str, schema: RelationalSchema, budget: Budget = _ENOUGH) -> PairVerdict:
    """The verdict on two queries in Datalog."""
    return decided(parse_query(secret, schema), parse_query(view, schema), schema, budget)


def decided(secret: Query, view: Query, schema: RelationalSchema, budget: Budget = _ENOUGH) -> PairVerdict:
    """The verdict on two queries, whatever it takes unless the budget says how much it may."""
    one, other = branches(secret, schema, "s.", _work()), branches(view, schema, "v.", _work())
    return decide(one, other, schema, budget=budget)


def classes(query: str, schema: RelationalSchema) -> tuple[QueryClass, ...]:
    """The classes that a query is of."""
    found = branches(parse_query(query, schema), schema, "q.", _work())
    return classes_of([own for branch in found for own in branch.normal.disjuncts], schema, _work())


def is_critical(query: str, relation: str, cells: Iterable[Cell], schema: RelationalSchema) -> bool:
    """Whether a row can change the answer: whether the query discloses something about that row alone."""
    written = ", ".join(repr(own) if isinstance(own, str) else str(own) for own in cells)
    return judged(f"row() :- {relation}({written}).", query, schema).verdict == "DISCLOSES"


def answer(query: str, schema: RelationalSchema, rows: Rows) -> set[tuple[Cell, ...]]:
    """What a query answers on an instance, by trying all rows for all subgoals."""
    found = set()
    for rule in parse_query(query, schema).rules:
        own = [[cells for name, cells in rows if name == atom.relation] for atom in rule.atoms]
        for chosen in product(*own):
            value: dict[Term, Cell] = {}
            fits = all(
                (term.value if isinstance(term, Constant) else value.setdefault(term, cell)) == cell
                for atom, cells in zip(rule.atoms, chosen, strict=True)
                for term, cell in zip(atom.terms, cells, strict=True)
            )
            if fits:
                found.add(tuple(t.value if isinstance(t, Constant) else value[t] for t in rule.goal))
    return found
