"""A verdict in words: the row that gives the secret away, or why none can."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Final

from app.domain.views.decision import PairVerdict, Reason
from app.domain.views.instances import Row, Side
from app.domain.views.queries import Query
from app.domain.views.ranges import Cell
from app.domain.views.relational_schema import RelationalSchema

ASSUMPTIONS: Final = (
    "Rows are independent of each other for the reader, but for the declared keys and dependencies. "
    "Other correlations, readers who already hold a view that discloses, and other releases are not covered.",
    "Each relation is a set of rows: none stands in it twice.",
    "Values are equal only as they are written: 1212 and '1212' differ, and so do texts in upper and lower "
    "case. A database that compares otherwise is not covered.",
)
"""What every verdict rests on."""
FOREIGN_KEYS_IGNORED: Final = (
    "Foreign keys were left out of account, as was asked: that referenced rows exist is not counted as "
    "something the reader knows."
)
SETS_OF_VIEWS: Final = (
    "A set of views is private exactly if each of them is: readers who pool them learn nothing."
)
SETS_WITH_FOREIGN_KEYS: Final = (
    "With foreign keys it is not claimed that views which are private one by one are so together."
)

_REASONS: Final[Mapping[Reason, str]] = {
    "EMPTY_QUERY": "One of the two queries has the same answer whatever the rows are.",
    "NO_COMMON_RELATION": "The two queries read no relation in common.",
    "NO_UNIFIABLE_SUBGOALS": "No row fits both queries: what they ask of a row of the same relation excludes "
    "each other.",
    "NOT_CRITICAL": "Rows fit both queries, but none that can change the answer of one can change that of "
    "the other.",
    "BUDGET_EXCEEDED": "Undecided within the limits of work and time: whether a row can change both answers. "
    "It counts as a disclosure. Fewer joins of a relation with itself, or fewer listed values, make it "
    "easier.",
    "FOREIGN_KEY_LINK": "No row can change both answers, but a foreign key ties rows that change one to rows "
    "that change the other, and what that tells is not decided. It counts as a disclosure.",
    "NO_CERTIFIED_WITNESS": "A row seems to change both answers, but no instance that shows it could be "
    "verified. It counts as a disclosure.",
}


def explained(found: PairVerdict, secret: Query, view: Query, schema: RelationalSchema) -> str:
    """Why the verdict is what it is; a disclosure by its witness, with the columns' names."""
    if found.witness is None:
        return _REASONS[found.reason]
    one, other = found.witness.secret, found.witness.view
    same = one.deciding == other.deciding
    which = "The same row" if same else f"The row {row_in_words(other.deciding, schema)}"
    parts = [
        f"The row {row_in_words(one.deciding, schema)} can decide the secret: {_effect(one, secret, schema)}",
        f"{which} can decide what is published: {_effect(other, view, schema)}",
    ]
    if not same:
        parts.append("Keys or dependencies tie the two rows: whether one exists tells of the other.")
    constrained = any(own.dependencies for own in schema.relations.values()) or schema.foreign_keys
    if constrained or secret.keeps_duplicates or view.keeps_duplicates:
        parts.append("So the view's answer changes what a reader believes of the secret's.")
    else:
        parts.append(
            f"So whoever learns that the view's answer {_holds(other)} has reason to think it more likely "
            f"than before that the secret's {_holds(one)}."
        )
    if schema.foreign_keys:
        parts.append("Rows that foreign keys would ask for are not shown.")
    return " ".join(parts)


def _effect(side: Side, query: Query, schema: RelationalSchema) -> str:
    """What the deciding row does to the answer."""
    if side.others:
        beside = f"beside {_listed(sorted(row_in_words(row, schema) for row in side.others))}, "
    else:
        beside = "with no other row, "
    if query.keeps_duplicates:
        row = f"({', '.join(map(_shown, side.answer))})"
        return f"{beside}its answer has {row} more often if that row exists."
    return f"{beside}its answer {_holds(side)} exactly if that row exists."


def _holds(side: Side) -> str:
    return f"has ({', '.join(map(_shown, side.answer))})" if side.answer else "is yes"


def row_in_words(row: Row, schema: RelationalSchema) -> str:
    """The row with its columns' names."""
    names = schema.relations[row.relation].attributes
    cells = ", ".join(f"{name} = {_shown(cell)}" for name, cell in zip(names, row.cells, strict=True))
    return f"{row.relation}({cells})"


def _listed(texts: Iterable[str]) -> str:
    *all_but_last, last = texts
    return f"{', '.join(all_but_last)} and {last}" if all_but_last else last


def _shown(cell: Cell) -> str:
    if cell is None:
        return "NULL"
    if isinstance(cell, str):
        return "'{}'".format(cell.replace("'", "''"))
    return str(float(cell)) if isinstance(cell, Fraction) else str(cell)
