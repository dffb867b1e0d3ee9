"""Secrets and views checked pair by pair, within a budget of time, and the document of what was found."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, NamedTuple

from app.domain.errors import Fault, InvalidInput, pointing_into, refuse
from app.domain.views.decision import WORST, PairVerdict, decide
from app.domain.views.instances import Row, Side
from app.domain.views.normal_form import normalised
from app.domain.views.queries import Query
from app.domain.views.query_classes import classes_of
from app.domain.views.ranges import Cell
from app.domain.views.relational_schema import ForeignKey, RelationalSchema, RelationDefinition
from app.domain.views.severity import severity_of
from app.domain.views.wording import (
    ASSUMPTIONS,
    FOREIGN_KEYS_IGNORED,
    SETS_OF_VIEWS,
    SETS_WITH_FOREIGN_KEYS,
)
from app.domain.views.work import Budget, Work
from app.services.resources import JsonObject
from app.services.views.pair_verdicts import (
    MOST_PLACES,
    Decided,
    answer_in_words,
    asked_of,
    decided,
    in_words,
)
from app.services.views.published import Language, NotExact, Part, Place, PublishedQuery, SqlDialect
from app.services.views.reading import ReadSchema, WrittenQuery, read_schema, reader

PAIR_SECONDS: Final = 5.0
"""How long one pair is worked on."""
CHECK_SECONDS: Final = 10.0
"""How long all pairs together are: what is not decided by then is UNKNOWN."""
MOST_PAIRS: Final = 4_000
MOST_WARNINGS: Final = 100

Clock = Callable[[], float]


@dataclass(frozen=True)
class ViewCheck:
    """What is asked: each view against each secret."""

    relations: Mapping[str, RelationDefinition]
    foreign_keys: Sequence[ForeignKey]
    secrets: Sequence[WrittenQuery]
    views: Sequence[WrittenQuery]
    ignore_foreign_keys: bool = False
    language: Language = "datalog"
    dialect: SqlDialect = "postgres"
    """Of the queries, and of a schema that is written in SQL."""
    tables: str | None = None
    """CREATE TABLE statements, in place of relations and foreign keys."""


class _Read(NamedTuple):
    id: str
    query: PublishedQuery
    classes: Sequence[str]


def checked(asked: ViewCheck, clock: Clock = time.monotonic) -> JsonObject:
    """The verdict on every pair; InvalidInput lists all faults of the schema, or else of the queries."""
    if len(asked.secrets) * len(asked.views) > MOST_PAIRS:
        raise InvalidInput.of(
            "/views",
            "too-many-pairs",
            f"Secrets times views are more than {MOST_PAIRS:,} pairs.",
            "Send fewer views at once: a set of views is private exactly if each of them is.",
        )
    with pointing_into("/relational_schema"):
        read = read_schema(asked.relations, asked.foreign_keys, asked.tables, asked.dialect)
    faults: list[Fault] = []
    read_query = reader(asked.language, asked.dialect, read)
    secrets = _read(asked.secrets, "/secrets", read, read_query, faults)
    views = _read(asked.views, "/views", read, read_query, faults)
    refuse(faults)
    end = clock() + CHECK_SECONDS
    pairs = [
        _pair(secret, view, read, asked.ignore_foreign_keys, end, clock)
        for secret in secrets
        for view in views
    ]
    worst = min((pair["verdict"] for pair in pairs), key=WORST.index)
    return {
        "verdict": worst,
        "gate": "ALLOW" if worst == "PRIVATE" else "DENY",
        "pairs": pairs,
        "assumptions": list(_assumptions(read.relational, asked.ignore_foreign_keys)),
        "warnings": list(read.warnings[:MOST_WARNINGS]),
    }


def _read(
    written: Sequence[WrittenQuery],
    place: str,
    schema: ReadSchema,
    read_query: Callable[[WrittenQuery], PublishedQuery],
    faults: list[Fault],
) -> list[_Read]:
    read: list[_Read] = []
    for number, own in enumerate(written):
        if own.id in {other.id for other in written[:number]}:
            message = f"Another query of this list has the id {own.id!r}."
            faults.append(Fault(f"{place}/{number}/id", "duplicate-id", message, "Give each its own."))
        try:
            with pointing_into(f"{place}/{number}/query"):
                query = read_query(own)
        except InvalidInput as error:
            faults.extend(error.faults)
        else:
            read.append(_Read(own.id, query, _classes(query, schema.relational)))
    return read


def _classes(query: PublishedQuery, schema: RelationalSchema) -> Sequence[str]:
    """The classes that all parts are of."""
    first, *others = (classes_of(normalised(part.query, schema, "q"), schema) for part in query.parts)
    return [own for own in first if all(own in other for other in others)]


def _pair(
    secret: _Read, view: _Read, schema: ReadSchema, ignored: bool, end: float, clock: Clock
) -> JsonObject:
    began = clock()
    limit = min(end, began + PAIR_SECONDS)

    def is_late() -> bool:
        return clock() >= limit

    def decide_parts(one: Query, other: Query) -> PairVerdict:
        return decide(one, other, schema.relational, ignore_foreign_keys=ignored, is_late=is_late)

    found = decided(secret.query, view.query, decide_parts)
    severity = None
    if found.witness is not None:
        asked = asked_of(found.secret), asked_of(found.view)
        severity = severity_of(*asked, schema.relational, Work(Budget(), is_late))
    return {
        "secret": secret.id,
        "view": view.id,
        "verdict": found.verdict,
        "method": found.method,
        "reason_code": found.reason,
        "explanation": found.explanation(schema.relational, schema.types.__getitem__),
        "witness": _witness(found, schema),
        "severity": severity,
        "classes": {"secret": list(secret.classes), "view": list(view.classes)},
        "not_exact": {
            side: [_not_exact(own) for own in query.not_exact[:MOST_PLACES]]
            for side, query in (("secret", secret.query), ("view", view.query))
        },
        "work": {
            "subsets": found.found.subset_pairs,
            "nodes": found.found.nodes,
            "ms": round(1000 * (clock() - began), 3),
        },
    }


def _not_exact(own: NotExact) -> JsonObject:
    return {"operator": own.operator, "line": own.place.line, "column": own.place.column}


def _witness(found: Decided, schema: ReadSchema) -> JsonObject | None:
    if found.witness is None:
        return None
    witness = in_words(found.witness, schema.types.__getitem__)
    sides = zip(
        ("secret", "view"),
        (witness.secret, witness.view),
        (found.secret, found.view),
        found.places(),
        strict=True,
    )
    return {name: _side(side, part, places, schema.relational) for name, side, part, places in sides}


def _side(side: Side, part: Part, places: Sequence[Place], schema: RelationalSchema) -> JsonObject:
    others = [_row(row, schema) for row in side.others]
    return {
        "deciding_row": _row(side.deciding, schema),
        "other_rows": sorted(others, key=str),
        "answer": list(map(_json, answer_in_words(side.answer, part))),
        "places": [{"line": own.line, "column": own.column} for own in places],
    }


def _row(row: Row, schema: RelationalSchema) -> JsonObject:
    names = schema.relations[row.relation].attributes
    return {
        "relation": row.relation,
        "values": {name: _json(cell) for name, cell in zip(names, row.cells, strict=True)},
    }


def _json(cell: Cell) -> str | int | float | None:
    return float(cell) if isinstance(cell, Fraction) else cell


def _assumptions(schema: RelationalSchema, ignored: bool) -> Sequence[str]:
    if not schema.foreign_keys:
        return (*ASSUMPTIONS, SETS_OF_VIEWS)
    if ignored:
        return (*ASSUMPTIONS, SETS_OF_VIEWS, FOREIGN_KEYS_IGNORED)
    return (*ASSUMPTIONS, SETS_WITH_FOREIGN_KEYS)
