"""Secrets and views checked pair by pair within a limit on time, and the document of what was found."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from app.domain.errors import Fault, InvalidInput, pointing_into, refuse
from app.domain.views.datalog import parse_query
from app.domain.views.decision import WORST, PairVerdict, decide
from app.domain.views.instances import Row, Side, Witness
from app.domain.views.normal_form import Branch, branches
from app.domain.views.queries import Query
from app.domain.views.query_classes import QueryClass, classes_of
from app.domain.views.ranges import Cell, exact, in_digits
from app.domain.views.relational_schema import ForeignKey, RelationalSchema, RelationDefinition, built
from app.domain.views.severity import severity_of
from app.domain.views.wording import (
    ASSUMPTIONS,
    FOREIGN_KEYS_IGNORED,
    SETS_OF_VIEWS,
    SETS_WITH_FOREIGN_KEYS,
    SEVERITY_OF_ONE_VIEW,
    WITNESS_LEFT_OUT,
    explained,
    explained_constant,
)
from app.domain.views.work import Budget, OutOfBudget, Work
from app.services.resources import JsonObject

PAIR_SECONDS: Final = 5.0
"""How long one pair is worked on."""
CHECK_SECONDS: Final = 10.0
"""How long the whole check is, from reading the queries on: what is not decided by then is UNKNOWN."""
MOST_PAIRS: Final = 4_000
MOST_CHARACTERS_OF_ALL: Final = 250_000
"""Of all queries together."""
WITNESS_CHARACTERS: Final = 8_000_000
"""About how much of an answer is for witnesses: more than one pair's can take."""

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
    branches: Sequence[Branch]
    """Empty if there was no time left to bring the query into its normal form."""
    written: Query
    classes: Sequence[QueryClass]


def checked(asked: ViewCheck, clock: Clock = time.monotonic) -> JsonObject:
    """The verdict on every pair; InvalidInput lists all faults of the schema, or else of the queries."""
    end = clock() + CHECK_SECONDS
    _require_few(asked)
    with pointing_into("/relational_schema"):
        schema = built(asked.relations, asked.foreign_keys)
    faults: list[Fault] = []
    work = Work(Budget(), lambda: clock() >= end)
    secrets = _read(asked.secrets, "secrets", schema, faults, work)
    views = _read(asked.views, "views", schema, faults, work)
    refuse(faults)
    check = _Check(schema, asked.ignore_foreign_keys, end, clock)
    pairs = [check.pair(secret, view) for secret in secrets for view in views]
    worst = min((pair["verdict"] for pair in pairs), key=WORST.index)
    return {
        "verdict": worst,
        "gate": "ALLOW" if worst == "PRIVATE" else "DENY",
        "pairs": pairs,
        "assumptions": list(_assumptions(schema, asked.ignore_foreign_keys, len(views))),
    }


def _require_few(asked: ViewCheck) -> None:
    if len(asked.secrets) * len(asked.views) > MOST_PAIRS:
        raise InvalidInput.of(
            "/views",
            "too-many-pairs",
            f"Secrets times views are more than {MOST_PAIRS:,} pairs.",
            "Send fewer views at once: each of them is checked by itself.",
        )
    if sum(len(own.query) for own in (*asked.secrets, *asked.views)) > MOST_CHARACTERS_OF_ALL:
        raise InvalidInput.of(
            "/views",
            "too-many-characters",
            f"All queries together have more than {MOST_CHARACTERS_OF_ALL:,} characters.",
            "Send fewer views at once: each of them is checked by itself.",
        )


def _read(
    written: Sequence[WrittenQuery], part: str, schema: RelationalSchema, faults: list[Fault], work: Work
) -> list[_Read]:
    read: list[_Read] = []
    ids: set[str] = set()
    for number, own in enumerate(written):
        if own.id in ids:
            message = f"Another query of this list has the id {own.id!r}."
            faults.append(Fault(f"/{part}/{number}/id", "duplicate-id", message, "Give each its own."))
        ids.add(own.id)
        try:
            with pointing_into(f"/{part}/{number}/query"):
                query = parse_query(own.query, schema, keeps_duplicates=own.keeps_duplicates)
        except InvalidInput as error:
            faults.extend(error.faults)
        else:
            read.append(_Read(own.id, *_understood(query, part, schema, work)))
    return read


def _understood(
    query: Query, side: str, schema: RelationalSchema, work: Work
) -> tuple[Sequence[Branch], Query, Sequence[QueryClass]]:
    try:
        own = branches(query, schema, f"{side}.", work)
        disjuncts = [disjunct for branch in own for disjunct in branch.normal.disjuncts]
        return own, query, classes_of(disjuncts, schema, work)
    except OutOfBudget:
        return (), query, ()


class _Check:
    """Pairs that are decided one after the other, in what is left of the time and of the answer's size."""

    def __init__(self, schema: RelationalSchema, ignored: bool, end: float, clock: Clock) -> None:
        self._schema = schema
        self._ignored = ignored
        self._end = end
        self._clock = clock
        self._room = WITNESS_CHARACTERS

    def pair(self, secret: _Read, view: _Read) -> JsonObject:
        """The verdict on a pair, as it is answered."""
        began = self._clock()
        limit = min(self._end, began + PAIR_SECONDS)

        def is_late() -> bool:
            return self._clock() >= limit

        found = self._decided(secret, view, is_late)
        severity = None
        if found.witness is not None and len(secret.branches) == len(view.branches) == 1:
            work = Work(Budget(), is_late)
            severity = severity_of(secret.branches[0], view.branches[0], self._schema, work)
        shown, explanation = self._shown(found, secret, view)
        return {
            "secret": secret.id,
            "view": view.id,
            "verdict": found.verdict,
            "method": found.method,
            "reason_code": found.reason,
            "explanation": explanation,
            "witness": shown,
            "severity": severity,
            "classes": {"secret": list(secret.classes), "view": list(view.classes)},
            "work": {
                "subsets": found.subset_pairs,
                "nodes": found.steps,
                "ms": round(1000 * (self._clock() - began), 3),
            },
        }

    def _decided(self, secret: _Read, view: _Read, is_late: Callable[[], bool]) -> PairVerdict:
        if not secret.branches or not view.branches:
            return PairVerdict("UNKNOWN", "pattern", "BUDGET_EXCEEDED")
        return decide(
            secret.branches,
            view.branches,
            self._schema,
            ignore_foreign_keys=self._ignored,
            is_late=is_late,
        )

    def _shown(self, found: PairVerdict, secret: _Read, view: _Read) -> tuple[JsonObject | None, str]:
        """The witness, as far as the answer has room for it, and the verdict in words."""
        pair = ("secret", secret.id, secret.branches), ("view", view.id, view.branches)
        if found.reason == "EMPTY_QUERY":
            return None, explained_constant(*pair)
        witness = None
        if found.witness is not None:
            self._room -= _size(found.witness, self._schema)
            if self._room < 0:
                return None, WITNESS_LEFT_OUT
            witness = _witness(found.witness, self._schema)
        return witness, explained(found, secret.written, view.written, self._schema)


def _size(witness: Witness, schema: RelationalSchema) -> int:
    """About how many characters the witness takes."""
    rows = [row for side in (witness.secret, witness.view) for row in (side.deciding, *side.others)]
    names = sum(len(name) for row in rows for name in schema.relations[row.relation].attributes)
    cells = [cell for row in rows for cell in row.cells]
    return names + sum(20 + (len(cell) if isinstance(cell, str) else 0) for cell in cells)


def _witness(witness: Witness, schema: RelationalSchema) -> JsonObject:
    sides = (("secret", witness.secret), ("view", witness.view))
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
    """The cell; a number that a double would round as a text of its digits."""
    if cell is None or isinstance(cell, str):
        return cell
    number = float(cell)
    if exact(number) != cell:
        return in_digits(cell)
    return cell if isinstance(cell, int) else number


def _assumptions(schema: RelationalSchema, ignored: bool, views: int) -> Iterator[str]:
    yield from ASSUMPTIONS
    yield SETS_WITH_FOREIGN_KEYS if schema.foreign_keys and not ignored else SETS_OF_VIEWS
    if schema.foreign_keys and ignored:
        yield FOREIGN_KEYS_IGNORED
    if views > 1:
        yield SEVERITY_OF_ONE_VIEW
