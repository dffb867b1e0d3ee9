"""A check of views against secrets as work: at once, or block by block in a run; what is known is kept."""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Final

from app.domain.errors import NotFound
from app.domain.models.entry import Cost
from app.domain.search.budget import Halted, never
from app.domain.views.datalog import subgoal_places
from app.services.fingerprints import canonical_json
from app.services.ports import Store, UnitOfWork
from app.services.resources import JsonObject, Kind, Stored, TenantId, document_of
from app.services.runs.run_execution import Conclusion, Tick
from app.services.views.advice import ADVICE_SECONDS
from app.services.views.reading import ReadSchema, WrittenQuery
from app.services.views.schema_documents import schema_of
from app.services.views.view_checks import (
    CHECK_SECONDS,
    PAIR_SECONDS,
    Clock,
    Pairs,
    ReadCheck,
    ViewCheck,
    in_room,
    read_check,
    result_of_check,
)

PAIRS_OF_A_BLOCK: Final = 25
"""What a run that is interrupted decides anew, at most, takes two minutes."""
SECONDS_PER_PAIR: Final = 0.004
"""On the mean of the pairs that were measured, most of which disclose."""
BYTES: Final = 100 * 1024**2
"""More than any pair has taken."""
LOOKED_THROUGH: Final = 200
"""Newest checks among which those are sought that have decided some of the pairs."""
NOT_LOOKED_AT: Final = (
    "The run was stopped before the pair was looked at. The pair is denied as if it disclosed something."
)
MOST_EARLIER: Final = 5
"""Results of earlier checks that are read, each of which may be large."""


@dataclass(frozen=True)
class CheckQuestion:
    """A check as it is asked, with the hash of each query and of all else that its verdicts depend on."""

    read: ReadCheck
    secrets: Sequence[str]
    views: Sequence[str]
    grounds: str
    schema_id: str | None


class CheckWork:
    """The pairs of a check; those that are known are taken as they are.

    What a pair is answered depends on nothing but its two queries, the schema and the options: the result is
    the same at once and by a run, but for the milliseconds.
    """

    time_limit = None

    def __init__(
        self, read: ReadCheck, known: Mapping[int, JsonObject], clock: Clock = time.monotonic
    ) -> None:
        self._read = read
        self._known = known
        self._clock = clock
        self.units = read.n_pairs
        self.n_blocks = -(-self.units // PAIRS_OF_A_BLOCK)
        self.seconds = SECONDS_PER_PAIR * (self.units - len(known))

    @property
    def cost(self) -> Cost:
        """The estimate; single pairs may take a thousand times as long as is usual."""
        return Cost(self.seconds, BYTES, self.units, "pairs")

    def result(self) -> JsonObject | None:
        """The result document; None: it is not found within the time of a direct answer."""
        end = self._clock() + CHECK_SECONDS
        pairs = Pairs(self._read, self._clock, lambda: self._clock() >= end)
        found = in_room(self._pair(pairs, number) for number in range(self.units) if not pairs.is_over())
        if pairs.is_over():
            return None
        result = result_of_check(self._read, found, self._clock, pairs.is_over)
        return None if pairs.is_over() else result

    def run_block(self, index: int, tick: Tick, halted: Halted = never) -> bytes:
        """The pairs of one block."""
        pairs = Pairs(self._read, self._clock, halted)
        found = []
        for number in self._numbers(index):
            pair = self._pair(pairs, number)
            if halted():  # what it had no time for might be decided otherwise
                break
            found.append(pair)
            tick(len(found))
        return canonical_json(in_room(found))

    def conclude(self, blocks: Mapping[int, bytes]) -> Conclusion:
        """The result; a pair that was not looked at is not decided."""
        found = dict(self._known)
        for index, block in blocks.items():
            found |= zip(self._numbers(index), json.loads(block), strict=False)
        is_whole = len(found) == self.units
        late = Pairs(self._read, self._clock, lambda: True)
        pairs = [
            found[number] if number in found else _not_looked_at(late.pair(number))
            for number in range(self.units)
        ]
        result = result_of_check(self._read, in_room(pairs), self._clock, lambda: not is_whole)
        return Conclusion(result, reproducible=is_whole)

    def _numbers(self, index: int) -> range:
        """The pairs of one block."""
        first = index * PAIRS_OF_A_BLOCK
        return range(first, min(first + PAIRS_OF_A_BLOCK, self.units))

    def _pair(self, pairs: Pairs, number: int) -> JsonObject:
        return self._known[number] if number in self._known else pairs.pair(number)


class CheckPreparation:
    """Makes the work of a stored check; a ``Prepare`` of run execution."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def __call__(self, tenant: TenantId, stored: Stored) -> CheckWork:
        """Read the queries again, and what earlier checks have found."""
        document = document_of(stored)
        schema = document["schema"]
        if schema is None:
            async with self._store.work(tenant) as work:
                (used,) = stored.uses
                schema = document_of(await work.resources.get(Kind.RELATIONAL_SCHEMA, used))
        read = await asyncio.to_thread(_read_again, schema_of(schema), document)
        asked, grounds = (document["secrets"], document["views"]), stored.summary["grounds_sha256"]
        question = CheckQuestion(read, *asked, grounds, next(iter(stored.uses), None))
        return await self.work(tenant, question)

    async def work(self, tenant: TenantId, question: CheckQuestion) -> CheckWork:
        """The work of a question, with what earlier checks have found."""
        async with self._store.work(tenant) as work:
            known = await _known_pairs(work, question)
        return CheckWork(question.read, known)


def _not_looked_at(pair: JsonObject) -> JsonObject:
    """A pair for which there was no time, as it is told; queries that no row can answer need none."""
    return pair | {"explanation": NOT_LOOKED_AT} if pair["verdict"] == "UNKNOWN" else pair


def _read_again(schema: ReadSchema, document: JsonObject) -> ReadCheck:
    """What a stored check asks; it was read before it was stored, and there is no hurry now."""
    asked = document["asked"]
    secrets, views = ([WrittenQuery(**own) for own in asked[part]] for part in ("secrets", "views"))
    how = document["ignore_foreign_keys"], asked["language"], asked["dialect"]
    check = ViewCheck({}, (), secrets, views, *how, advice=document["advice"])
    return read_check(check, schema, never)


async def _known_pairs(work: UnitOfWork, question: CheckQuestion) -> dict[int, JsonObject]:
    """Number of the pair → its verdict, from the tenant's newest checks on the same grounds."""
    wanted = {pair: number for number, pair in enumerate(product(question.secrets, question.views))}
    page = await work.resources.list(
        Kind.VIEW_CHECK, name=None, limit=LOOKED_THROUGH, cursor=None, built_on=question.schema_id
    )
    alike = [own for own in page.items if own.summary["grounds_sha256"] == question.grounds]
    known: dict[int, JsonObject] = {}
    for stored in alike[:MOST_EARLIER]:
        # Somebody may be deleting it.
        with contextlib.suppress(NotFound):
            document = document_of(await work.resources.get(stored.kind, stored.id))
            pairs = [wanted.get(own) for own in product(document["secrets"], document["views"])]
            # A result may be large, and mostly the newest has all that there is.
            if any(number is not None and number not in known for number in pairs):
                result = await work.results.find(stored.kind.value, stored.sha256)
                found = [] if result is None else zip(pairs, _texts(document), result["pairs"], strict=True)
                known = {
                    own: _moved(pair, texts, question.read, own)
                    for own, texts, pair in found
                    if own is not None and _is_final(pair, advised=bool(question.read.advice))
                } | known
    return known


def _texts(document: JsonObject) -> Iterator[tuple[str, str]]:
    """The texts of the secret and of the view of each pair that a stored check has asked."""
    secrets, views = ([own["query"] for own in document["asked"][part]] for part in ("secrets", "views"))
    return product(secrets, views)


def _moved(pair: JsonObject, texts: tuple[str, str], read: ReadCheck, number: int) -> JsonObject:
    """The pair with the places of its subgoals in Datalog as they are in the texts that are asked now.

    These may be laid out in another way. Texts of SQL that are decided alike have them in the same places.
    """
    if pair["witness"] is None:
        return pair
    secret, view = divmod(number, len(read.views))
    queries = read.secrets[secret][1], read.views[view][1]
    sides = {}
    for (name, side), text, query in zip(pair["witness"].items(), texts, queries, strict=True):
        now = [place for part in query.parts for rule in part.written_at for place in rule]
        if now:
            before = [place for rule in subgoal_places(text) for place in rule]
            moved = dict(zip(before, now, strict=True))
            places = [moved[own["line"], own["column"]] for own in side["places"]]
            side = {**side, "places": [{"line": own.line, "column": own.column} for own in places]}
        sides[name] = side
    return {**pair, "witness": sides}


def _is_final(pair: JsonObject, *, advised: bool) -> bool:
    """Whether the pair would be answered so again: no clock has ended it, and all that is asked is there."""
    is_there = pair["witness"] is not None and (pair["advice"] is not None or not advised)
    is_whole = pair["verdict"] != "DISCLOSES" or is_there
    limit = PAIR_SECONDS if pair["advice"] is None else min(PAIR_SECONDS, ADVICE_SECONDS)
    is_in_time: bool = pair["work"]["ms"] < 1000 * limit
    return is_whole and is_in_time
