"""Queries as they are written in Datalog."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from app.domain.views.queries import Atom, Comparison, Query, Rule, Term, Variable
from app.domain.views.ranges import Cell, in_digits
from app.domain.views.relational_schema import NAME, RelationalSchema


def in_datalog(query: Query, head: str, schema: RelationalSchema) -> str:
    """The query's rules under a head of this name, one on each line."""
    return "\n".join(_rule(rule, head, schema) for rule in query.rules)


def value_in_words(cell: Cell) -> str:
    """A value as queries write it."""
    if cell is None:
        return "NULL"
    if isinstance(cell, str):
        return "'{}'".format(cell.replace("'", "''"))
    return in_digits(cell)


def subgoal_in_datalog(atom: Atom, names: Mapping[Term, str]) -> str:
    """A subgoal; a variable without a name is any value."""
    return f"{atom.relation}({', '.join(_term(term, names) for term in atom.terms)})"


def comparison_in_datalog(own: Comparison, names: Mapping[Term, str]) -> str:
    """A comparison."""
    return f"{_term(own.left, names)} {own.operator} {_term(own.right, names)}"


def names_of(rule: Rule, schema: RelationalSchema) -> dict[Term, str]:
    """How the variables of a rule are written: an anonymous one by its column, if it is needed twice."""
    every: list[Term] = [term for term, _, _ in rule.occurrences]
    every += [term for own in rule.comparisons for term in (own.left, own.right)]
    times = Counter([*every, *rule.goal])
    names: dict[Term, str] = {t: t.name for t in times if isinstance(t, Variable) and NAME.fullmatch(t.name)}
    taken = set(names.values()) | {"true"}
    for term, relation, column in rule.occurrences:
        if isinstance(term, Variable) and term not in names and times[term] > 1:
            names[term] = next(own for own in _free(schema, relation, column) if own not in taken)
            taken.add(names[term])
    return names


def _free(schema: RelationalSchema, relation: str, column: int) -> Iterator[str]:
    attribute = schema.relations[relation].attributes[column]
    name = attribute if NAME.fullmatch(attribute) and attribute != "_" else "x"
    yield name
    number = 2
    while True:
        yield f"{name}{number}"
        number += 1


def _rule(rule: Rule, head: str, schema: RelationalSchema) -> str:
    names = names_of(rule, schema)
    items = [subgoal_in_datalog(atom, names) for atom in rule.atoms]
    items += [comparison_in_datalog(own, names) for own in rule.comparisons]
    goal = ", ".join(_term(term, names) for term in rule.goal)
    return f"{head}({goal}) :- {', '.join(items or ['true'])}."


def _term(term: Term, names: Mapping[Term, str]) -> str:
    return names.get(term, "_") if isinstance(term, Variable) else value_in_words(term.value)
