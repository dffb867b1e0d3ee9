"""Secrets and views checked pair by pair, within a budget of time, and the document of what was found."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, NamedTuple

from app.domain.errors import Fault, InvalidInput, pointing_into, refuse
from app.domain.views.datalog import parse_query
from app.domain.views.decision import WORST, PairVerdict, decide
from app.domain.views.instances import Row, Side
from app.domain.views.normal_form import normalised
from app.domain.views.queries import Query
from app.domain.views.query_classes import classes_of
from app.domain.views.ranges import Cell
from app.domain.views.relational_schema import ForeignKey, RelationalSchema, RelationDefinition, built
from app.domain.views.severity import severity_of
from app.domain.views.wording import (
    ASSUMPTIONS,
    FOREIGN_KEYS_IGNORED,
    SETS_OF_VIEWS,
    SETS_WITH_FOREIGN_KEYS,
    explained,
)
from app.domain.views.work import Budget, Work
from app.services.resources import JsonObject

PAIR_SECONDS: Final = 5.0
"""How long one pair is worked on."""
CHECK_SECONDS: Final = 10.0
"""How long all pairs together are: what is not decided by then is UNKNOWN."""
MOST_PAIRS: Final = 4_000

Clock = Callable[[], float]


@dataclass(frozen=True)
class WrittenQuery:
    """A query with its name."""

    id: str
    query: str
    keeps_duplicates: bool = False


@dataclass(frozen=True)
class ViewCheck:
    """What is asked: each view against each secret."""

    relations: Mapping[str, RelationDefinition]
    foreign_keys: Sequence[ForeignKey]
    secrets: Sequence[WrittenQuery]
    views: Sequence[WrittenQuery]
    ignore_foreign_keys: bool = False


class _Read(NamedTuple):
    id: str
    query: Query
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
        schema = built(asked.relations, asked.foreign_keys)
    faults: list[Fault] = []
    secrets = _read(asked.secrets, "/secrets", schema, faults)
    views = _read(asked.views, "/views", schema, faults)
    refuse(faults)
    end = clock() + CHECK_SECONDS
    pairs = [
        _pair(secret, view, schema, asked.ignore_foreign_keys, end, clock)
        for secret in secrets
        for view in views
    ]
    worst = min((pair["verdict"] for pair in pairs), key=WORST.index)
    return {
        "verdict": worst,
        "gate": "ALLOW" if worst == "PRIVATE" else "DENY",
        "pairs": pairs,
        "assumptions": list(_assumptions(schema, asked.ignore_foreign_keys)),
    }


def _read(
    written: Sequence[WrittenQuery], place: str, schema: RelationalSchema, faults: list[Fault]
) -> list[_Read]:
    read: list[_Read] = []
    for number, own in enumerate(written):
        if own.id in {other.id for other in written[:number]}:
            message = f"Another query of this list has the id {own.id!r}."
            faults.append(Fault(f"{place}/{number}/id", "duplicate-id", message, "Give each its own."))
        try:
            with pointing_into(f"{place}/{number}/query"):
                query = parse_query(own.query, schema, keeps_duplicates=own.keeps_duplicates)
        except InvalidInput as error:
            faults.extend(error.faults)
        else:
            read.append(_Read(own.id, query, classes_of(normalised(query, schema, "q"), schema)))
    return read


def _pair(
    secret: _Read, view: _Read, schema: RelationalSchema, ignored: bool, end: float, clock: Clock
) -> JsonObject:
    began = clock()
    limit = min(end, began + PAIR_SECONDS)

    def is_late() -> bool:
        return clock() >= limit

    found = decide(secret.query, view.query, schema, ignore_foreign_keys=ignored, is_late=is_late)
    severity = None
    if found.witness is not None:
        severity = severity_of(secret.query, view.query, schema, Work(Budget(), is_late))
    return {
        "secret": secret.id,
        "view": view.id,
        "verdict": found.verdict,
        "method": found.method,
        "reason_code": found.reason,
        "explanation": explained(found, secret.query, view.query, schema),
        "witness": _witness(found, schema),
        "severity": severity,
        "classes": {"secret": list(secret.classes), "view": list(view.classes)},
        "work": {
            "subsets": found.subset_pairs,
            "nodes": found.nodes,
            "ms": round(1000 * (clock() - began), 3),
        },
    }


def _witness(found: PairVerdict, schema: RelationalSchema) -> JsonObject | None:
    if found.witness is None:
        return None
    sides = (("secret", found.witness.secret), ("view", found.witness.view))
    return {name: _side(side, schema) for name, side in sides}


def _side(side: Side, schema: RelationalSchema) -> JsonObject:
    others = [_row(row, schema) for row in side.others]
    return {
        "deciding_row": _row(side.deciding, schema),
        "other_rows": sorted(others, key=str),
        "answer": list(map(_json, side.answer)),
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
