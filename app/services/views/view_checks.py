"""Secrets and views checked pair by pair within a limit on time, and the document of what was found."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import inf
from typing import Final

from app.domain.errors import Fault, InvalidInput, pointing_into, refuse
from app.domain.views.decision import WORST, PairVerdict, decide
from app.domain.views.instances import Row, Side, Witness
from app.domain.views.relational_schema import ForeignKey, RelationalSchema, RelationDefinition
from app.domain.views.severity import severity_of
from app.domain.views.wording import (
    ASSUMPTIONS,
    FOREIGN_KEYS_IGNORED,
    SETS_OF_VIEWS,
    SETS_WITH_FOREIGN_KEYS,
    SEVERITY_OF_ONE_VIEW,
    WITNESS_LEFT_OUT,
)
from app.domain.views.work import Budget, Work
from app.services.resources import JsonObject
from app.services.views.advice import ADVICE_SECONDS, MOST_ADVISED, Advice, Adviser
from app.services.views.column_types import cell_in_json
from app.services.views.pair_verdicts import MOST_PLACES, Decided, Understood, understood
from app.services.views.published import Language, Place, PublishedQuery, SqlDialect
from app.services.views.reading import ReadSchema, WrittenQuery, read_schema, reader

PAIR_SECONDS: Final = 5.0
"""How long one pair is worked on."""
CHECK_SECONDS: Final = 10.0
"""How long the whole check is, from reading the queries on: what is not decided by then is UNKNOWN."""
MOST_PAIRS: Final = 4_000
MOST_WARNINGS: Final = 100
MOST_CHARACTERS_OF_ALL: Final = 250_000
"""Of all queries together."""
WITNESS_CHARACTERS: Final = 8_000_000
"""About how much of an answer is for witnesses and advice: more than one pair's can take."""

Clock = Callable[[], float]


@dataclass(frozen=True)
class Limits:
    """How much is checked at once; those of a request that is answered at once if nothing is said."""

    seconds: float = CHECK_SECONDS
    pairs: int = MOST_PAIRS
    characters: int = MOST_CHARACTERS_OF_ALL
    witness_characters: int = WITNESS_CHARACTERS


_USUAL: Final = Limits()


@dataclass(frozen=True)
class ReadCheck:
    """The schema and the queries of a check, understood."""

    schema: ReadSchema
    secrets: Sequence[Understood]
    views: Sequence[Understood]


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
    advice: Sequence[Advice] = ()
    """What else is wanted to know about pairs that disclose."""


def checked(
    asked: ViewCheck,
    clock: Clock = time.monotonic,
    limits: Limits = _USUAL,
    halted: Callable[[], bool] = lambda: False,
) -> JsonObject:
    """The verdict on every pair; InvalidInput lists all faults of the schema, or else of the queries."""
    end = clock() + limits.seconds

    def until() -> float:
        return -inf if halted() else end

    read = read_check(asked, clock, limits, until)
    check = _Check(read.schema, asked.ignore_foreign_keys, until, clock, limits.witness_characters)
    pairs = [check.pair(secret, view) for secret in read.secrets for view in read.views]
    check.advise(Adviser(read.schema, asked.advice, asked.ignore_foreign_keys))
    worst = min((pair["verdict"] for pair in pairs), key=WORST.index)
    return {
        "verdict": worst,
        "gate": "ALLOW" if worst == "PRIVATE" else "DENY",
        "pairs": pairs,
        "assumptions": list(_assumptions(read.schema.relational, asked.ignore_foreign_keys, len(read.views))),
        "warnings": list(read.schema.warnings[:MOST_WARNINGS]),
        "constant_secrets": [own.id for own in read.secrets if own.is_constant],
    }


def read_check(asked: ViewCheck, clock: Clock, limits: Limits, until: Callable[[], float]) -> ReadCheck:
    """The queries, read and understood; InvalidInput lists all faults of the schema, or else of them.

    ``until`` says when the time is over: queries in Datalog that are not understood by then have no
    branches, and any in SQL that is not read is refused.
    """
    _require_few(asked, limits)
    with pointing_into("/relational_schema"):
        schema = read_schema(asked.relations, asked.foreign_keys, asked.tables, asked.dialect)
    read_query = reader(asked.language, asked.dialect, schema)
    faults: list[Fault] = []
    work = Work(Budget(), lambda: clock() >= until())
    understand = partial(understood, schema=schema.relational, work=work)

    def read_in_time(written: WrittenQuery) -> PublishedQuery:
        # Datalog is read at once: what there is no time for is UNKNOWN. A parser of SQL takes its time.
        if asked.language == "sql" and clock() >= until():
            raise InvalidInput.of(
                "",
                "too-long-to-read",
                f"The queries before this one took more than {limits.seconds:.0f} seconds to read.",
                "Send fewer or shorter queries at once.",
            )
        return read_query(written)

    secrets = _read(asked.secrets, "secrets", read_in_time, understand, faults)
    views = _read(asked.views, "views", read_in_time, understand, faults)
    refuse(faults)
    return ReadCheck(schema, secrets, views)


def _require_few(asked: ViewCheck, limits: Limits) -> None:
    if len(asked.secrets) * len(asked.views) > limits.pairs:
        raise InvalidInput.of(
            "/views",
            "too-many-pairs",
            f"Secrets times views are more than {limits.pairs:,} pairs.",
            "Send fewer views at once: each of them is checked by itself.",
        )
    if sum(len(own.query) for own in (*asked.secrets, *asked.views)) > limits.characters:
        raise InvalidInput.of(
            "/views",
            "too-many-characters",
            f"All queries together have more than {limits.characters:,} characters.",
            "Send fewer views at once: each of them is checked by itself.",
        )


def _read(
    written: Sequence[WrittenQuery],
    part: str,
    read_query: Callable[[WrittenQuery], PublishedQuery],
    understand: Callable[[str, PublishedQuery, str], Understood],
    faults: list[Fault],
) -> list[Understood]:
    read: list[Understood] = []
    ids: set[str] = set()
    for number, own in enumerate(written):
        if own.id in ids:
            message = f"Another query of this list has the id {own.id!r}."
            faults.append(Fault(f"/{part}/{number}/id", "duplicate-id", message, "Give each its own."))
        ids.add(own.id)
        try:
            with pointing_into(f"/{part}/{number}/query"):
                query = read_query(own)
        except InvalidInput as error:
            faults.extend(error.faults)
        else:
            read.append(understand(own.id, query, part))
    return read


class _Check:
    """Pairs that are decided one after the other, in what is left of the time and of the answer's size."""

    def __init__(
        self, schema: ReadSchema, ignored: bool, until: Callable[[], float], clock: Clock, room: int
    ) -> None:
        self._schema = schema
        self._ignored = ignored
        self._until = until
        self._clock = clock
        self._room = room
        self._disclosing: list[tuple[JsonObject, Decided]] = []

    def pair(self, secret: Understood, view: Understood) -> JsonObject:
        """The verdict on a pair, as it is answered."""
        began = self._clock()
        limit = began + PAIR_SECONDS

        def is_late() -> bool:
            return self._clock() >= min(limit, self._until())

        decided = Decided(self._found(secret, view, is_late), secret, view)
        severity = None
        if decided.witness is not None and len(secret.branches) == len(view.branches) == 1:
            work = Work(Budget(), is_late)
            severity = severity_of(secret.as_shown, view.as_shown, self._schema.relational, work)
        shown, explanation = self._shown(decided)
        answer: JsonObject = {
            "secret": secret.id,
            "view": view.id,
            "verdict": decided.verdict,
            "method": decided.method,
            "reason_code": decided.reason,
            "explanation": explanation,
            "witness": shown,
            "severity": severity,
            "classes": {"secret": list(secret.classes), "view": list(view.classes)},
            "not_exact": {"secret": _operators(secret), "view": _operators(view)},
            "work": {
                "subsets": decided.found.subset_pairs,
                "nodes": decided.found.steps,
                "ms": round(1000 * (self._clock() - began), 3),
            },
            "advice": None,
        }
        if decided.verdict == "DISCLOSES":
            self._disclosing.append((answer, decided))
        return answer

    def advise(self, adviser: Adviser) -> None:
        """Add advice to the first pairs that disclose, in the time that the verdicts have left."""
        for answer, decided in self._disclosing[:MOST_ADVISED] if adviser.wanted else ():
            limit = self._clock() + ADVICE_SECONDS
            found = adviser.advice(decided, partial(self._is_past, limit))
            self._room -= len(str(found))
            answer["advice"] = found if self._room >= 0 else None

    def _is_past(self, limit: float) -> bool:
        return self._clock() >= min(limit, self._until())

    def _found(self, secret: Understood, view: Understood, is_late: Callable[[], bool]) -> PairVerdict:
        if not secret.branches or not view.branches:
            return PairVerdict("UNKNOWN", "pattern", "BUDGET_EXCEEDED")
        return decide(
            secret.branches,
            view.branches,
            self._schema.relational,
            ignore_foreign_keys=self._ignored,
            is_late=is_late,
        )

    def _shown(self, decided: Decided) -> tuple[JsonObject | None, str]:
        """The witness, as far as the answer has room for it, and the verdict in words."""
        witness = None
        if decided.witness is not None:
            self._room -= _size(decided.witness, self._schema.relational)
            if self._room < 0:
                return None, WITNESS_LEFT_OUT
            witness = _witness(decided, self._schema)
        return witness, decided.explanation(self._schema)


def _operators(query: Understood) -> list[JsonObject]:
    return [
        {"operator": own.operator, "line": own.place.line, "column": own.place.column}
        for own in query.not_exact[:MOST_PLACES]
    ]


def _size(witness: Witness, schema: RelationalSchema) -> int:
    """About how many characters the witness takes."""
    rows = [row for side in (witness.secret, witness.view) for row in (side.deciding, *side.others)]
    names = sum(len(name) for row in rows for name in schema.relations[row.relation].attributes)
    cells = [cell for row in rows for cell in row.cells]
    return names + sum(20 + (len(cell) if isinstance(cell, str) else 0) for cell in cells)


def _witness(decided: Decided, schema: ReadSchema) -> JsonObject:
    witness = decided.witness_in_words(schema)
    sides = (("secret", witness.secret), ("view", witness.view))
    return {
        name: _side(side, places, schema.relational)
        for (name, side), places in zip(sides, decided.places(), strict=True)
    }


def _side(side: Side, places: Sequence[Place], schema: RelationalSchema) -> JsonObject:
    others = [_row(row, schema) for row in side.others]
    return {
        "deciding_row": _row(side.deciding, schema),
        "other_rows": sorted(others, key=str),
        "answer": list(map(cell_in_json, side.answer)),
        "places": [{"line": own.line, "column": own.column} for own in places],
    }


def _row(row: Row, schema: RelationalSchema) -> JsonObject:
    names = schema.relations[row.relation].attributes
    return {
        "relation": row.relation,
        "values": {name: cell_in_json(cell) for name, cell in zip(names, row.cells, strict=True)},
    }


def _assumptions(schema: RelationalSchema, ignored: bool, views: int) -> Iterator[str]:
    yield from ASSUMPTIONS
    yield SETS_WITH_FOREIGN_KEYS if schema.foreign_keys and not ignored else SETS_OF_VIEWS
    if schema.foreign_keys and ignored:
        yield FOREIGN_KEYS_IGNORED
    if views > 1:
        yield SEVERITY_OF_ONE_VIEW
