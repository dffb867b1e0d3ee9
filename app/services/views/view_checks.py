"""Secrets and views checked pair by pair within a limit on time, and the document of what was found."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from app.domain.catalogue.catalogue_types import QueryLanguage, SqlDialect
from app.domain.errors import Fault, InvalidInput, pointing_into, refuse
from app.domain.views.decision import WORST, PairVerdict, decide
from app.domain.views.instances import Row, Side
from app.domain.views.relational_schema import ForeignKey, RelationalSchema, RelationDefinition
from app.domain.views.severity import severity_of
from app.domain.views.wording import (
    ASSUMPTIONS,
    FOREIGN_KEYS_IGNORED,
    KEYS_IGNORED,
    LISTED_DOMAINS,
    SETS_OF_VIEWS,
    SETS_WITH_FOREIGN_KEYS,
    SEVERITY_OF_ONE_VIEW,
    WITNESS_LEFT_OUT,
)
from app.domain.views.work import Budget, Work
from app.services.resources import JsonObject
from app.services.views.advice import ADVICE_SECONDS, Advice, Adviser
from app.services.views.column_types import cell_in_json
from app.services.views.key_readings import (
    MEMBER,
    KeyReading,
    explained_by,
    keys_left_out,
    verdict_by,
    without_keys,
)
from app.services.views.pair_verdicts import MOST_PLACES, Decided, Understood, is_constant, understood
from app.services.views.published import Place, PublishedQuery
from app.services.views.reading import ReadSchema, WrittenQuery, read_schema, reader

PAIR_SECONDS: Final = 4.5
"""How long one pair is worked on, from the normal forms of its queries on; what is said of it takes a moment
more, so that it ends within five.
"""
CHECK_SECONDS: Final = 10.0
"""How long the whole check is, from reading the queries on: what is not decided by then is UNKNOWN."""
MOST_PAIRS: Final = 4_000
MOST_CHARACTERS_OF_ALL: Final = 250_000
"""Of all queries together."""
_STEPS_OF_A_SECRET: Final = 20_000
_SECONDS_OF_A_SECRET: Final = 0.5
"""To find out whether a secret depends on any row; steps that compare many numbers are slow."""
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
class ViewCheck:
    """What is asked: each view against each secret."""

    relations: Mapping[str, RelationDefinition]
    foreign_keys: Sequence[ForeignKey]
    secrets: Sequence[WrittenQuery]
    views: Sequence[WrittenQuery]
    ignore_foreign_keys: bool = False
    language: QueryLanguage = "datalog"
    dialect: SqlDialect = "postgres"
    """Of the queries, and of a schema that is written in SQL."""
    tables: str | None = None
    """CREATE TABLE statements, in place of relations and foreign keys."""
    advice: Sequence[Advice] = ()
    """What else is wanted to know about pairs that disclose."""
    keys: KeyReading = "considered"
    """By which of the two readings a pair's own verdict is."""


@dataclass(frozen=True)
class ReadCheck:
    """What is asked, read: the schema, and the published queries by their ids."""

    schema: ReadSchema
    secrets: Sequence[tuple[str, PublishedQuery]]
    views: Sequence[tuple[str, PublishedQuery]]
    ignored: bool
    advice: Sequence[Advice] = ()
    keys: KeyReading = "considered"

    @property
    def n_pairs(self) -> int:
        """How many pairs are to be decided."""
        return len(self.secrets) * len(self.views)


def checked(
    asked: ViewCheck,
    clock: Clock = time.monotonic,
    limits: Limits = _USUAL,
    halted: Callable[[], bool] = lambda: False,
) -> JsonObject:
    """The verdict on every pair; InvalidInput lists all faults of the schema, or else of the queries."""
    end = clock() + limits.seconds

    def is_over() -> bool:
        return halted() or clock() >= end

    return decided_of(read_asked(asked, is_over, limits), clock, is_over, limits)


def read_asked(asked: ViewCheck, is_late: Callable[[], bool], limits: Limits = _USUAL) -> ReadCheck:
    """The schema and the queries as they are decided on; InvalidInput lists all faults of either."""
    with pointing_into("/relational_schema"):
        schema = read_schema(asked.relations, asked.foreign_keys, asked.tables, asked.dialect)
    return read_check(asked, schema, is_late, limits)


def decided_of(
    check: ReadCheck, clock: Clock, is_over: Callable[[], bool], limits: Limits = _USUAL
) -> JsonObject:
    """The verdict on every pair of what was read."""
    pairs = Pairs(check, clock, is_over)
    found = (pairs.pair(number) for number in range(check.n_pairs))
    return result_of_check(check, in_room(found, limits.witness_characters), clock, is_over)


def read_check(
    asked: ViewCheck, schema: ReadSchema, is_late: Callable[[], bool], limits: Limits = _USUAL
) -> ReadCheck:
    """The queries as they are decided on; InvalidInput lists their faults, or says that no time was left."""
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
    read_query = reader(asked.language, asked.dialect, schema)
    faults: list[Fault] = []

    def read_in_time(written: WrittenQuery) -> PublishedQuery:
        # Datalog is read at once: what there is no time for is UNKNOWN. A parser of SQL takes its time.
        if asked.language == "sql" and is_late():
            raise InvalidInput.of(
                "",
                "too-long-to-read",
                f"The queries before this one took more than {limits.seconds:.0f} seconds to read.",
                "Send fewer or shorter queries at once.",
            )
        return read_query(written)

    secrets = _read(asked.secrets, "secrets", read_in_time, faults)
    views = _read(asked.views, "views", read_in_time, faults)
    refuse(faults)
    return ReadCheck(schema, secrets, views, asked.ignore_foreign_keys, asked.advice, asked.keys)


def result_of_check(
    check: ReadCheck,
    pairs: Sequence[JsonObject],
    clock: Clock = time.monotonic,
    is_over: Callable[[], bool] = lambda: False,
) -> JsonObject:
    """The document of what was found of all pairs: no ids of resources, no times of day."""
    schema = check.schema.relational
    worst = min((pair["verdict"] for pair in pairs), key=WORST.index)
    unknowing = {pair[MEMBER] for pair in pairs}
    # A secret that a view discloses something of depends on some row.
    of_keys = check.keys == "considered"
    disclosed = {own["secret"] for own in pairs if own["verdict"] == "DISCLOSES" and of_keys}
    budget = Budget(steps=_STEPS_OF_A_SECRET)
    return {
        "verdict": worst,
        "gate": "ALLOW" if worst == "PRIVATE" else "DENY",
        MEMBER: None if None in unknowing and False not in unknowing else False not in unknowing,
        "pairs": pairs,
        "assumptions": list(_assumptions(schema, check)),
        "warnings": list(check.schema.warnings),
        "constant_secrets": [
            name
            for name, query in check.secrets
            if name not in disclosed
            and is_constant(query, schema, budget, _late_after(_SECONDS_OF_A_SECRET, clock, is_over))
        ],
    }


def _late_after(seconds: float, clock: Clock, is_over: Callable[[], bool]) -> Callable[[], bool]:
    limit = clock() + seconds
    return lambda: is_over() or clock() >= limit


def in_room(pairs: Iterable[JsonObject], room: int = WITNESS_CHARACTERS) -> list[JsonObject]:
    """The pairs with their witnesses and advice, as far as one answer has room for these."""
    shown = []
    for pair in pairs:
        fitting = dict(pair)
        for part, instead in _LEFT_OUT.items():
            if pair.get(part) is not None:
                room -= len(json.dumps(pair[part]))
                fitting |= instead if room < 0 else {}
        shown.append(fitting)
    return shown


_LEFT_OUT: Final[Mapping[str, JsonObject]] = {
    "witness": {"witness": None, "explanation": WITNESS_LEFT_OUT},
    "advice": {"advice": None},
    "keys_left_out": {"keys_left_out": None},
}


def _read(
    written: Sequence[WrittenQuery],
    part: str,
    read_query: Callable[[WrittenQuery], PublishedQuery],
    faults: list[Fault],
) -> list[tuple[str, PublishedQuery]]:
    read: list[tuple[str, PublishedQuery]] = []
    ids: set[str] = set()
    for number, own in enumerate(written):
        if own.id in ids:
            message = f"Another query of this list has the id {own.id!r}."
            faults.append(Fault(f"/{part}/{number}/id", "duplicate-id", message, "Give each its own."))
        ids.add(own.id)
        try:
            with pointing_into(f"/{part}/{number}/query"):
                read.append((own.id, read_query(own)))
        except InvalidInput as error:
            faults.extend(error.faults)
    return read


class Pairs:
    """The pairs of a check, each decided by itself until the time is over.

    They are numbered secret by secret, and for each secret view by view.
    """

    def __init__(
        self,
        check: ReadCheck,
        clock: Clock = time.monotonic,
        is_over: Callable[[], bool] = lambda: False,
    ) -> None:
        self._check = check
        self._schemas = {"considered": check.schema, "ignored": without_keys(check.schema)}
        self._clock = clock
        self.is_over = is_over
        self._adviser = Adviser(self._schemas[check.keys], check.advice, check.ignored)
        self._understood: dict[tuple[str, int], Understood] = {}

    def pair(self, number: int) -> JsonObject:
        """The verdict on a pair, as it is answered where there is room for its witness."""
        of_secret, of_view = divmod(number, len(self._check.views))
        began = self._clock()
        is_late = _late_after(PAIR_SECONDS, self._clock, self.is_over)
        secret = self._query("secrets", of_secret, self._check.secrets, is_late)
        view = self._query("views", of_view, self._check.views, is_late)
        read = {name for own in (*secret.branches, *view.branches) for name in own.normal.relations}
        has_keys = self._check.schema.relational.has_keys(read)
        reading: KeyReading = self._check.keys if has_keys else "considered"
        decided, schema = self._decided(secret, view, reading, is_late), self._schemas[reading]
        verdict, left_out = verdict_by(reading, decided), None
        if has_keys:
            is_other = reading == "ignored"
            other = self._decided(secret, view, "considered" if is_other else "ignored", is_late)
            both = (other, decided) if is_other else (decided, other)
            left_out = keys_left_out(*both, self._check.schema, is_late)
        unknowing = verdict if left_out is None else left_out["verdict"]
        severity = None
        if decided.witness is not None and len(secret.branches) == len(view.branches) == 1:
            work = Work(Budget(), is_late)
            severity = severity_of(secret.as_shown, view.as_shown, schema.relational, work)
        advice = None
        if decided.verdict == "DISCLOSES" and self._adviser.wanted:
            advice = self._adviser.advice(decided, _late_after(ADVICE_SECONDS, self._clock, self.is_over))
        return {
            "secret": secret.id,
            "view": view.id,
            "verdict": verdict,
            MEMBER: None if unknowing == "UNKNOWN" else unknowing != "DISCLOSES",
            "method": decided.method,
            "reason_code": decided.reason,
            "explanation": explained_by(reading, decided, schema, is_late),
            "witness": None if decided.witness is None else _witness(decided, schema),
            "severity": severity,
            "classes": {"secret": list(secret.classes), "view": list(view.classes)},
            "not_exact": {"secret": _operators(secret), "view": _operators(view)},
            "keys_left_out": left_out,
            "advice": advice,
            "work": {
                "subsets": decided.found.subset_pairs,
                "nodes": decided.found.steps,
                "ms": round(1000 * (self._clock() - began), 3),
            },
        }

    def _query(
        self,
        part: str,
        number: int,
        queries: Sequence[tuple[str, PublishedQuery]],
        is_late: Callable[[], bool],
    ) -> Understood:
        """A query in its normal form, which is found once, in the time of the first pair that has enough."""
        known = self._understood.get((part, number))
        if known is None:
            name, query = queries[number]
            work = Work(Budget(), is_late)
            known = understood(name, query, part, schema=self._check.schema.relational, work=work)
            if known.branches:
                self._understood[part, number] = known
        return known

    def _decided(
        self, secret: Understood, view: Understood, reading: KeyReading, is_late: Callable[[], bool]
    ) -> Decided:
        found = PairVerdict("UNKNOWN", "pattern", "BUDGET_EXCEEDED")
        if secret.branches and view.branches:
            schema, ignored = self._schemas[reading].relational, self._check.ignored
            branches = secret.branches, view.branches
            found = decide(*branches, schema, ignore_foreign_keys=ignored, is_late=is_late)
        return Decided(found, secret, view)


def _operators(query: Understood) -> list[JsonObject]:
    return [
        {"operator": own.operator, "line": own.place.line, "column": own.place.column}
        for own in query.not_exact[:MOST_PLACES]
    ]


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


def _assumptions(schema: RelationalSchema, check: ReadCheck) -> Iterator[str]:
    if check.keys == "ignored":
        yield KEYS_IGNORED
    yield from ASSUMPTIONS
    if any(own.values is not None for one in schema.relations.values() for own in one.ranges):
        yield LISTED_DOMAINS
    yield SETS_WITH_FOREIGN_KEYS if schema.foreign_keys and not check.ignored else SETS_OF_VIEWS
    if schema.foreign_keys and check.ignored:
        yield FOREIGN_KEYS_IGNORED
    if len(check.views) > 1:
        yield SEVERITY_OF_ONE_VIEW
