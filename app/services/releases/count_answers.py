"""COUNT queries, answered from a release alone; nothing of them is stored."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Final, Literal

import numpy as np
from annotated_types import Ge, MaxLen

from app.domain.catalogue.catalogue_types import Example
from app.domain.errors import InvalidInput, NotSupported
from app.domain.hierarchies.predicates import AskedAttribute, Order, Predicate
from app.domain.mechanisms.count_estimates import CountEstimates, EstimateOptions, Estimator
from app.domain.mechanisms.counted_release import CountedRelease
from app.domain.mechanisms.private_release import PublishedPrivately
from app.domain.tables.table import Table
from app.services.datasets.dataset_schema import AttributeType, declarations_of
from app.services.datasets.tables import TableLoader
from app.services.ports import Store
from app.services.releases.drawn_tables import read_drawn_release
from app.services.releases.mechanism_manifests import BY_NAME, hides_records, is_drawn
from app.services.releases.released_tables import release_of
from app.services.resources import Kind, Stored, TenantId
from app.services.rules.rule_documents import may_suppress_records, require_rule_of, rule_of

Interval = Literal["normal", "bounded"]
MOST_QUERIES: Final = 10_000
MOST_PREDICATES: Final = 10_000
MOST_SECONDS: Final = 10.0
"""Estimated time that the queries of a request may take."""

_ORDERS: Final[Mapping[AttributeType, Order]] = {
    AttributeType.NUMBER: "number",
    AttributeType.DATE: "date",
}
_ORDERS_OF_HIERARCHIES: Final[Mapping[str, Order]] = {
    "intervals": "number",
    "bounds": "number",
    "dates": "date",
    "ordered_groups": "listed",
}
"""By the kind of hierarchy of an attribute that is declared neither a number nor a date."""


@dataclass(frozen=True)
class CountQuestion:
    """How many records fulfil all of some predicates; all records without any."""

    where: tuple[Predicate, ...] = ()


@dataclass(frozen=True)
class AskCounts:
    """COUNT queries, and what is wanted of their answers."""

    queries: tuple[CountQuestion, ...]
    options: EstimateOptions = field(default_factory=EstimateOptions)

    def require_few(self) -> None:
        """Raise InvalidInput for more predicates than a request may have."""
        total = sum(len(own.where) for own in self.queries)
        if total > MOST_PREDICATES:
            raise InvalidInput.of(
                "/queries",
                "too-many-predicates",
                f"The queries have {total:,} predicates.",
                f"Ask with at most {MOST_PREDICATES:,} in a request.",
            )


@dataclass(frozen=True)
class UnderlyingError:
    """How far the estimate is off if the records themselves are a sample of something larger."""

    standard_error: Annotated[float, Example(2.4)]
    """Over samples and draws together; 0 where none or all of the records show one of the values."""
    low: Annotated[float, Example(2.8)]
    """Where the interval at the level begins."""
    high: Annotated[float, Example(12.2)]
    """Where it ends."""
    interval: Annotated[Literal["normal", "wilson", "bounded"], Example("normal")]
    """By which law: `wilson` where none or all of the records show one of the values; `bounded` where
    there are too few records for either.
    """


@dataclass(frozen=True)
class CountAnswer:
    """The answer to one query.

    What rests on chance is None of a release in which nothing was drawn, and where nothing is known of it;
    ``kind`` is None in the former.
    """

    estimate: float
    standard_error: float | None
    low: float | None
    high: float | None
    interval: Interval | None
    underlying: UnderlyingError | None
    records: float
    kind: Literal["micro", "aggregate"] | None
    is_spread: bool
    is_biased: bool


@dataclass(frozen=True)
class CountAnswers:
    """The answers to COUNT queries."""

    release: Annotated[str, MaxLen(100), Example("residents-perturbed")]
    """Name of the release."""
    drawn_attribute: Annotated[str | None, MaxLen(1_000), Example("education")]
    """The attribute that is counted through the transition matrix; null if none was drawn."""
    rows: Annotated[int, Ge(0), Example(24)]
    """Rows of the release."""
    level: Annotated[float, Example(0.95)]
    """Level of the intervals."""
    clip: Annotated[bool, Example(False)]
    """Whether they were clipped."""
    estimator: Annotated[Estimator, Example("unbiased")]
    """What was estimated by."""
    without_errors: Annotated[str | None, MaxLen(1_000), Example(None)]
    """Why no standard errors are told; null where they are."""
    answers: Annotated[tuple[CountAnswer, ...], MaxLen(MOST_QUERIES)]
    """One per query, in their order."""


class ReleaseCounts:
    """Answers queries from releases, which are kept in memory as they are counted."""

    def __init__(self, store: Store, loader: TableLoader) -> None:
        self._store = store
        self._loader = loader

    async def answers(self, tenant: TenantId, ref: str, request: AskCounts) -> CountAnswers:
        """The answers from the release of this id or name."""
        request.require_few()
        async with self._store.work(tenant) as work:
            release = await work.resources.get(Kind.RELEASE, ref)
        counted = await self._counted(tenant, release)
        return await asyncio.to_thread(_answered, release, counted, request)

    async def _counted(self, tenant: TenantId, release: Stored) -> CountedRelease:
        """The release as it is counted; Withdrawn or NotSupported where it cannot be."""
        if not is_drawn(release):
            counted: CountedRelease = await self._loader.release(
                tenant, release, "counted rows", lambda: self._under_rule(tenant, release)
            )
            return counted
        if hides_records(release):
            published: type[PublishedPrivately] = BY_NAME[release.summary["mechanism"]["name"]].published
            raise NotSupported(
                f"No count in the release {release.name!r} has a known error: {published.why_not_counted}.",
                f"Read its table: its rows are {published.what_rows_are}.",
            )
        drawn = await read_drawn_release(self._store, self._loader, tenant, release)

        async def load() -> tuple[CountedRelease, int]:
            attributes = await self._attributes(tenant, release, drawn.table)
            made = await asyncio.to_thread(CountedRelease.drawn, drawn, attributes)
            return made, made.n_bytes

        counted = await self._loader.release(tenant, release, "counted rows", load)
        return counted

    async def _under_rule(self, tenant: TenantId, release: Stored) -> tuple[CountedRelease, int]:
        async with self._store.work(tenant) as work:
            dataset = await work.resources.get(Kind.DATASET, release.uses[0])
            rule = await work.resources.get(Kind.RULE, release.uses[1])
        document = require_rule_of(rule, dataset)
        table = await self._loader.table(tenant, dataset)
        attributes = await self._attributes(tenant, release, table)

        def made() -> CountedRelease:
            released = release_of(table, rule_of(document, table))
            counts = np.bincount(released.row_of_line, minlength=released.n_classes)
            return CountedRelease.under_rule(released.codes, counts, table.sizes, attributes)

        counted = await asyncio.to_thread(made)
        return counted, counted.n_bytes

    async def _attributes(
        self, tenant: TenantId, release: Stored, table: Table
    ) -> tuple[AskedAttribute, ...]:
        """What can be asked of each attribute of the release."""
        async with self._store.work(tenant) as work:
            dataset = await work.resources.get(Kind.DATASET, release.uses[0])
            declared = {own.name: own for own in declarations_of(dataset)}
            kinds = {
                own.name: (await work.resources.described(Kind.HIERARCHY, own.hierarchy)).summary["kind"]
                for own in declared.values()
                if own.hierarchy is not None and own.role.is_disclosed and own.type not in _ORDERS
            }
        orders = {
            name: _ORDERS.get(own.type) or _ORDERS_OF_HIERARCHIES.get(kinds.get(name, ""))
            for name, own in declared.items()
        }
        # Whether the manifest tells that no value of an attribute is suppressed.
        rule = release.summary["rule"]
        told = not may_suppress_records(rule)
        return tuple(
            AskedAttribute(
                name,
                hierarchy,
                orders[name],
                top_is_missing=told and bool(rule["levels"][name] < hierarchy.height),
            )
            for name, hierarchy in zip(table.attributes, table.hierarchies, strict=True)
        )


def _answered(release: Stored, counted: CountedRelease, request: AskCounts) -> CountAnswers:
    queries = counted.read([own.where for own in request.queries])
    seconds = counted.seconds(queries)
    if seconds > MOST_SECONDS:
        raise InvalidInput.of(
            "/queries",
            "too-much-work",
            f"The {len(queries):,} queries are estimated to take {seconds:.3g} s; a request may take "
            f"{MOST_SECONDS:g} s.",
            "Ask fewer queries at once, or with predicates on fewer attributes.",
        )
    found = counted.estimates(queries, request.options)
    is_drawn_from = counted.drawn_attribute is not None
    return CountAnswers(
        release.name,
        counted.drawn_attribute,
        release.summary["rows"],
        request.options.level,
        request.options.clip,
        request.options.estimator,
        counted.without_errors,
        tuple(_answer(found, i, is_drawn_from) for i in range(len(queries))),
    )


def _answer(found: CountEstimates, i: int, is_drawn_from: bool) -> CountAnswer:
    """The answer to the query of this number."""
    error = float(found.standard_errors[i])
    has_error = is_drawn_from and not math.isnan(error)
    kind: Literal["micro", "aggregate"] = "micro" if found.is_one_group[i] else "aggregate"
    return CountAnswer(
        float(found.estimates[i]),
        error if has_error else None,
        float(found.low[i]) if has_error else None,
        float(found.high[i]) if has_error else None,
        ("bounded" if found.is_bounded[i] else "normal") if has_error else None,
        _underlying(found, i) if is_drawn_from else None,
        float(found.records[i]),
        kind if is_drawn_from else None,
        bool(found.is_spread[i]),
        bool(found.is_biased[i]),
    )


def _underlying(found: CountEstimates, i: int) -> UnderlyingError | None:
    error = float(found.underlying_errors[i])
    if math.isnan(error):
        return None
    ends = float(found.underlying_low[i]), float(found.underlying_high[i])
    few: Interval = "bounded" if found.is_underlying_bounded[i] else "normal"
    return UnderlyingError(error, *ends, "wilson" if found.is_wilson[i] else few)
