"""Random conditions and tables for them, and the obviously right way to judge them."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

import numpy as np
from hypothesis import strategies as st

from app.domain.rules.condition_truth import Column
from app.domain.rules.conditions import OPERATORS, Attribute, Comparison, Constant, Junction, Not

NUMBERS = ("-1", "0", "1", "1.0", "1.50", "2", "10", "1e1")
DATES = ("1975-05-10", "1975-05-11", "1999-12-31")
TEXTS = (
    "A",
    "Z",
    "a",
    "b",
    "it's",
    'say "x"',
    "Zürich",
    "東京",
    "\uffff",
    "\U0001f600",
    "1975-05-10",
    "v0",
    "v2",
)
CELLS = {"number": NUMBERS, "date": DATES, "text": TEXTS}
COLUMNS = {
    "age": "number",
    "größe (cm)": "number",
    "born": "date",
    "died": "date",
    "city": "text",
    "and": "text",
}


def constants(type_):
    if type_ == "number":
        return st.sampled_from(NUMBERS).map(lambda text: Constant(Decimal(text)))
    return st.sampled_from(DATES if type_ == "date" else ("", *TEXTS)).map(Constant)


@st.composite
def comparisons(draw, columns=COLUMNS):
    type_ = draw(st.sampled_from(sorted(set(columns.values()))))
    names = sorted(name for name, own in columns.items() if own == type_)
    operands = [draw(st.one_of(st.sampled_from(names).map(Attribute), constants(type_))) for _ in range(2)]
    if type_ == "date" and not any(isinstance(operand, Attribute) for operand in operands):
        operands[0] = Attribute(names[0])
    return Comparison(draw(st.sampled_from(OPERATORS)), *operands)


def conditions(columns=COLUMNS):
    return st.recursive(
        comparisons(columns),
        lambda inner: st.one_of(
            inner.map(Not),
            st.builds(
                Junction,
                st.sampled_from(["and", "or"]),
                st.lists(inner, min_size=2, max_size=3).map(tuple),
            ),
        ),
        max_leaves=6,
    )


@dataclass(frozen=True)
class Relation:
    """Rows as a reader sees them: column → text or None, row by row."""

    rows: tuple[dict[str, str | None], ...]

    def columns(self, types=COLUMNS):
        """The same for the domain, every column with its distinct values."""
        found = {}
        for name, type_ in types.items():
            cells = [row[name] for row in self.rows]
            values = sorted({cell for cell in cells if cell is not None})
            positions = [-1 if cell is None else values.index(cell) for cell in cells]
            found[name] = Column(type_, (*values, None), np.array(positions, dtype=np.int32))
        return found


def relations(types=COLUMNS, max_size=8):
    cells = {name: st.one_of(st.none(), st.sampled_from(CELLS[type_])) for name, type_ in types.items()}
    return st.lists(st.fixed_dictionaries(cells), min_size=1, max_size=max_size).map(
        lambda rows: Relation(tuple(rows))
    )


def truth_by_hand(condition, row, types=COLUMNS):
    """True, False or None (unknown) of one row, by the tables of three-valued logic."""
    if isinstance(condition, Not):
        inner = truth_by_hand(condition.argument, row, types)
        return None if inner is None else not inner
    if isinstance(condition, Junction):
        truths = [truth_by_hand(part, row, types) for part in condition.arguments]
        decisive = condition.connective == "or"
        return decisive if decisive in truths else None if None in truths else not decisive
    values = []
    for operand in (condition.left, condition.right):
        if isinstance(operand, Constant):
            values.append(operand.value)
        elif row[operand.name] is None:
            return None
        else:
            cell = row[operand.name]
            values.append(Decimal(cell) if types[operand.name] == "number" else cell)
    a, b = values
    return {"=": a == b, "!=": a != b, "<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b}[condition.operator]
