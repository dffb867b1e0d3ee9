"""How bad a disclosure is at worst: whether some row of the secret can be derived with certainty.

Advice beside a verdict, never a part of it.
"""

from __future__ import annotations

from itertools import product
from math import prod
from typing import Final, Literal

from app.domain.views.evaluation import answers
from app.domain.views.instances import Row
from app.domain.views.normal_form import Branch
from app.domain.views.queries import Constant, Term
from app.domain.views.ranges import Cell, Range, Value
from app.domain.views.relational_schema import RelationalSchema
from app.domain.views.stand_ins import StandIns, in_order
from app.domain.views.work import OutOfBudget, Work

Severity = Literal["certain", "statistical"]
MOST_ANSWERS: Final = 500
ANY: Final = "*"
"""A value that no query names."""


def severity_of(secret: Branch, view: Branch, schema: RelationalSchema, work: Work) -> Severity | None:
    """``certain`` if some answers let anybody derive a row of the secret, else ``statistical``.

    None where that is not asked: with comparisons, unions, keys, dependencies or columns that may be NULL.
    """
    try:
        rows = certain_rows(secret, view, schema, work)
    except OutOfBudget:
        rows = frozenset()
    if rows is None:
        return None
    return "certain" if rows else "statistical"


def certain_rows(
    secret: Branch, view: Branch, schema: RelationalSchema, work: Work
) -> frozenset[tuple[Cell, ...]] | None:
    """Rows of the secret that are in its answer on every instance with certain answers of the view.

    The answers are all that the queries' constants, and one value more, can make; what the view does not
    show is a new value each time.
    """
    pair = secret.normal, view.normal
    relations = [schema.relations[name] for query in pair for name in query.relations]
    if (
        any(own.dependencies or own.nullable for own in relations)
        or any(query.has_comparisons or len(query.disjuncts) != 1 for query in pair)
        or schema.foreign_keys
    ):
        return None
    stand_ins, shown = StandIns(*pair, schema, work), pair[1].disjuncts[0]
    written = shown.goal[: len(view.written.rules[0].goal)]
    goal = dict.fromkeys(term for term in written if not isinstance(term, Constant))
    choices = [_values(stand_ins, shown.ranges[term]) for term in goal]
    rows: set[Row] = set()
    if prod(map(len, choices)) > MOST_ANSWERS:
        raise OutOfBudget
    for number, chosen in enumerate(product(*choices)):
        values: dict[Term, Cell] = dict(zip(goal, chosen, strict=True))
        for atom in shown.body:
            work.check()
            cells = tuple(
                term.value
                if isinstance(term, Constant)
                else values.get(term, f"{_HIDDEN}{number} {term.name}")
                for term in atom.terms
            )
            rows.add(Row(atom.relation, cells))
    return frozenset(
        row
        for row in answers(secret.written, rows, work)
        if not any(isinstance(cell, str) and cell.startswith(_HIDDEN) for cell in row)
    )


_HIDDEN: Final = "\0"
"""Begins the texts that stand for values not shown; no query can write it."""


def _values(stand_ins: StandIns, range_: Range) -> list[Value]:
    """The constants, and one value more, as far as the column has them."""
    constants = sorted((value for value in stand_ins.constants if value in range_), key=in_order)
    if range_.values is not None:
        return constants + sorted(range_.values - stand_ins.constants, key=in_order)[:1]
    return [*constants, ANY if range_.kind == "any" else next(stand_ins.new_numbers(range_))]
