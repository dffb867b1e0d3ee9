"""A verdict in words: the row that gives the secret away, or why none can."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from app.domain.views.clashes import Clash, Condition
from app.domain.views.decision import PairVerdict, Reason
from app.domain.views.instances import Row, Side, Witness
from app.domain.views.keys import KeysAdd
from app.domain.views.normal_form import Branch
from app.domain.views.queries import Query
from app.domain.views.relational_schema import RelationalSchema
from app.domain.views.written import value_in_words

ASSUMPTIONS: Final = (
    "To the reader, rows are independent of each other, except for the declared keys and dependencies. Not "
    "covered are rows that are correlated in other ways, readers who already hold a view that discloses, and "
    "other releases.",
    "No relation holds the same row twice.",
    "Two values are equal only if they are written alike: 1212 and '1212' differ, and so do 'Flu' and 'flu'. "
    "A database that compares values in another way is not covered.",
)
"""What every verdict rests on."""
LISTED_DOMAINS: Final = (
    "Columns whose values are listed hold no others. If one can, a pair that is called private may disclose "
    "something."
)
FOREIGN_KEYS_IGNORED: Final = (
    "Foreign keys were ignored, as requested: that a referenced row must exist is not counted as something "
    "the reader knows."
)
KEYS_IGNORED: Final = (
    "Keys were left out, as the policy asks: readers are taken not to know that no two rows share one. What "
    "is proved is that views are private if keys are unknown to readers. That is no perfect privacy, and it "
    "says nothing of what keys add."
)
KEYS_LEFT_OUT: Final = "With the keys left out:"
KEYS_ADD: Final[Mapping[KeysAdd, str]] = {
    "nothing": "Keys add nothing: the pair is private with the keys considered as well.",
    "certain_exclusion": "Keys add a certain exclusion.",
    "dependence_of_unknown_direction": "Keys add a dependence of unknown direction: rows that can decide the "
    "two answers share no key, but keys tie them by way of other rows. By what the view shows, a reader who "
    "knows the keys may think an answer of the secret more likely, or less.",
    "not_decided": "Whether keys add something is not decided.",
}
SETS_OF_VIEWS: Final = (
    "Views that are private one by one are private together: readers who pool them learn nothing about the "
    "secret."
)
SETS_WITH_FOREIGN_KEYS: Final = (
    "With foreign keys it is not claimed that views which are private one by one are private together."
)
SEVERITY_OF_ONE_VIEW: Final = (
    "The severity is that of each view alone. Published together, views may let a reader derive a row of the "
    "secret with certainty that none of them gives away alone. The verdicts do not depend on it."
)
WITNESS_LEFT_OUT: Final = (
    "A row that can change both answers was found and verified, but this answer has no room left for it. "
    "Check this pair alone to see it."
)
MOST_ROWS_IN_WORDS: Final = 6
"""Beside the row that decides; the witness has all of them."""

_DENIED: Final = "The pair is denied as if it disclosed something."
_REASONS: Final[Mapping[Reason, str]] = {
    "NO_COMMON_RELATION": "No relation is read by both queries.",
    "NO_UNIFIABLE_SUBGOALS": "No row can matter to both queries: where they read the same relation, their "
    "conditions exclude each other.",
    "NOT_CRITICAL": "Some rows fit both queries, but no row can change both answers, and no key or "
    "dependency ties a row that can change one to a row that can change the other.",
    "BUDGET_EXCEEDED": "Whether a row can change both answers was not decided within the limits on work and "
    f"time. {_DENIED} Fewer joins of a relation with itself, fewer comparisons and shorter lists of values "
    "make a pair easier to decide.",
    "FOREIGN_KEY_LINK": "No row can change both answers, but foreign keys tie rows that can change one to "
    f"rows that can change the other, and what a reader learns from that is not decided. {_DENIED}",
    "NO_CERTIFIED_WITNESS": "A row seems to change both answers, but no example of it could be verified. "
    f"{_DENIED}",
}


def explained_constant(*queries: tuple[str, str, Sequence[Branch]]) -> str:
    """Why a pair with a constant query is private; each query by what it is, its id and its branches."""
    parts = []
    for what, name, branches in queries:
        if not any(branch.normal.disjuncts for branch in branches):
            parts.append(
                f"The {what} {name!r} never finds a row: its conditions contradict each other, or a variable "
                "stands in columns without a value in common."
            )
        elif all(branch.normal.is_constant for branch in branches):
            parts.append(f"The answer of the {what} {name!r} is always the same: it reads no relation.")
    return " ".join([*parts, "So neither answer says anything about the other."])


def explained_unmeetable(what: str, name: str, relations: Sequence[str], schema: RelationalSchema) -> str:
    """Why a query finds no row: it asks for rows of these relations that their keys and dependencies deny."""
    named = []
    for relation in relations:
        own = schema.relations[relation]
        columns = dict.fromkeys(determining for determining, _ in own.certain_dependencies)
        keys = (", ".join(own.attributes[column] for column in key) for key in columns)
        named.append(f"{relation} by {' or '.join(f'({key})' for key in keys)}")
    return (
        f"The {what} {name!r} never finds a row: it asks for several rows at once of which keys or "
        f"dependencies let not all exist ({'; '.join(named)}). So neither answer says anything about the "
        "other."
    )


def explained(found: PairVerdict, secret: Query, view: Query, schema: RelationalSchema) -> str:
    """Why the verdict is what it is; a disclosure by its witness, with the columns' names."""
    if found.witness is None:
        return _REASONS[found.reason]
    one, other = found.witness.secret, found.witness.view
    same = one.deciding == other.deciding
    which = "The same row" if same else f"The row {row_in_words(other.deciding, schema)}"
    parts = [
        f"The row {row_in_words(one.deciding, schema)} can decide the secret's answer: "
        f"{_effect(one, secret, schema)}",
        f"{which} can decide the view's answer: {_effect(other, view, schema)}",
    ]
    if not same:
        parts.append(
            "Keys or dependencies tie the two rows: whether one exists says something about the other."
        )
    constrained = any(own.dependencies for own in schema.relations.values()) or schema.foreign_keys
    if constrained or secret.keeps_duplicates or view.keeps_duplicates:
        parts.append("So the view's answer can change what a reader believes about the secret's.")
    else:
        parts.append(
            f"So a reader who learns that the view's answer {_contains(other)} has reason to think it more "
            f"likely than before that the secret's {_contains(one)}."
        )
    if schema.foreign_keys:
        parts.append("Rows that foreign keys require are left out of this example.")
    return " ".join(parts)


def explained_exclusion(tied: Witness, schema: RelationalSchema) -> str:
    """Which rows, each of which can decide one of the answers, exclude each other by a key."""
    secret, view = (row_in_words(own.deciding, schema) for own in (tied.secret, tied.view))
    return (
        f"Keys add a certain exclusion: the row {secret} can decide the secret's answer and the row {view} "
        "the view's, and since they share a key at most one of them exists. Where an answer shows that one "
        "does, a reader who knows the keys is certain that the other does not."
    )


def explained_clashes(found: Iterable[Clash], schema: RelationalSchema) -> str:
    """Which values exclude each other, after it was said that some do; empty if that is not known."""
    sentences = []
    for own in found:
        column = schema.relations[own.relation].attributes[own.column]
        rows = "No row" if own.of == "row" else "No two rows"
        tied = "has" if own.of == "row" else "that a key or dependency ties have"
        conditions = f"{_condition(column, own.secret)} and {_condition(column, own.view)}"
        sentences.append(f" {rows} of {own.relation} {tied} {conditions}.")
    return "".join(sentences)


def _condition(column: str, own: Condition) -> str:
    return f"{column} {own.operator} {value_in_words(own.value)}"


def _effect(side: Side, query: Query, schema: RelationalSchema) -> str:
    """What the deciding row does to the answer."""
    beside = f"beside {_listed(side, schema)}" if side.others else "where no other row exists"
    if query.keeps_duplicates:
        row = f"({', '.join(map(value_in_words, side.answer))})"
        return f"{beside}, it contains {row} more often if that row exists."
    return f"{beside}, it {_contains(side)} exactly if that row exists."


def _contains(side: Side) -> str:
    return f"contains ({', '.join(map(value_in_words, side.answer))})" if side.answer else "is yes"


def row_in_words(row: Row, schema: RelationalSchema) -> str:
    """The row with its columns' names."""
    names = schema.relations[row.relation].attributes
    cells = ", ".join(f"{name} = {value_in_words(cell)}" for name, cell in zip(names, row.cells, strict=True))
    return f"{row.relation}({cells})"


def _listed(side: Side, schema: RelationalSchema) -> str:
    """The rows beside the deciding one, as many as are read with ease."""
    rows = sorted(row_in_words(row, schema) for row in side.others)
    *all_but_last, last = rows
    if len(rows) > MOST_ROWS_IN_WORDS:
        all_but_last, last = rows[:MOST_ROWS_IN_WORDS], f"{len(rows) - MOST_ROWS_IN_WORDS} more rows"
    return f"{', '.join(all_but_last)} and {last}" if all_but_last else last
