"""Risk when the attacker links records with an auxiliary source first (Definitions: record linkage)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from typing import Annotated, Final, Literal

import numpy as np
from annotated_types import Ge, Le, MaxLen, doc

from app.domain.analyses.linkage_units import (
    MOST_LINKS,
    GivenLink,
    GivenLinks,
    LinkageUnits,
    given_links,
    units_of,
)
from app.domain.arrays import Bools, Floats, Ints, Longs
from app.domain.catalogue.catalogue_types import ADDED_LATER, DictionaryRef
from app.domain.catalogue.meanings import FROM_ZERO, HIDING, HIGH, LOW_ASIDE, LOW_SHARE, RISK, SHARE
from app.domain.dictionaries.consistency import Consistency, under
from app.domain.dictionaries.dictionary import Dictionary
from app.domain.errors import InvalidInput
from app.domain.models.entry import Cost, Example, Measure, MeasureContext, Tick, given
from app.domain.risk.linkage import Candidates, FailedLink, Joiner, Links, losses_with_links
from app.domain.risk.loss import identification_probability
from app.domain.risk.summaries import mean, quantiles
from app.domain.rules.rule import apply

PAIRS_PER_BLOCK: Final = 500_000
SECONDS_PER_RECORD: Final = 1e-5
SECONDS_PER_SEARCH: Final = 1e-4
SECONDS_PER_COMPARISON: Final = 2e-9
SECONDS_PER_LINKED_CELL: Final = 2.5e-7
BYTES_PER_ENTITY: Final = 120  # its row of the auxiliary source, and whose it is


@dataclass(frozen=True)
class LinkageParameters:
    """Where the attacker links, how, and what of it succeeds."""

    auxiliary: Annotated[DictionaryRef,
        doc("The auxiliary source: a dictionary linked to the dataset's hierarchies.")]  # fmt: skip
    estimator: Annotated[
        Literal["uniform", "own_row", "given"],
        doc("uniform: every auxiliary row consistent with the disclosed record is as likely. own_row: the "
            "row of the record's own entity, found by its identifier; none if it has none. given: the pairs "
            "in links, with the probabilities that these say."),
    ] = "uniform"  # fmt: skip
    mode: Annotated[
        Literal["compatible", "subsumed", "jaro"],
        doc("When an auxiliary row is consistent with a disclosed record, for the estimator uniform."),
    ] = "compatible"
    threshold: Annotated[float, Ge(0), Le(1), doc("Least similarity, for the mode jaro.")] = 0.8
    probability_correct: Annotated[
        float | None, Ge(0), Le(1),
        doc("Probability that a link is to the same entity. null: known from the identifiers."),
    ] = None  # fmt: skip
    on_failed_link: Annotated[
        FailedLink, doc("Loss of a wrong link: zero, or fallback to that of the record as it is disclosed.")
    ] = "zero"
    on_conflict: Annotated[
        Literal["reject", "drop_conflicts"],
        doc("A link of values that exclude each other: an error, or no link. Only rows that are merely "
            "similar, found by identifier or given, can conflict."),
    ] = "reject"  # fmt: skip
    probability_nobody: Annotated[
        float, Ge(0), Le(1), ADDED_LATER,
        doc("Probability that a record is linked to nobody though it could be, for the estimators uniform "
            "and own_row. With given links it is what their probabilities leave."),
    ] = 0.0  # fmt: skip
    links: Annotated[
        tuple[GivenLink, ...] | None, MaxLen(MOST_LINKS), ADDED_LATER,
        doc("The possible links, for the estimator given; records without any are linked to nobody."),
    ] = None  # fmt: skip


@dataclass(frozen=True)
class RecordLinkage:
    """Risk with linking beside the risk without, and what an attacker who links really gets right."""

    risk_linked: Annotated[float, RISK, doc("R_link: mean expected loss when records are linked first.")]
    risk_linked_max: Annotated[float, RISK, doc("Greatest expected loss of a record when linked.")]
    loss_quantiles_linked: Annotated[Mapping[str, float], RISK, doc("Quantiles of the expected losses.")]
    risk: Annotated[float, RISK, doc("Risk of the release alone.")]
    risk_max: Annotated[float, RISK, doc("Greatest loss of a record of the release alone.")]
    increase: Annotated[
        float | None, LOW_ASIDE,
        doc("risk_linked − risk; wrong links can make it negative. null if both are infinite."),
    ]  # fmt: skip
    share_linked: Annotated[float, SHARE, doc("Share of records with at least one possible link.")]
    mean_candidates: Annotated[
        float, FROM_ZERO, HIDING, doc("Mean number of auxiliary rows that a record may be linked to.")
    ]
    probability_no_link: Annotated[float, SHARE, HIGH, doc("Mean probability that a record is not linked.")]
    probability_conflict: Annotated[
        float, SHARE, doc("The part of it that comes from links dropped because values exclude each other.")
    ]
    probability_emptied: Annotated[
        float, SHARE,
        doc("Mean probability of a link after which no entity of the dictionary is consistent: "
            "identification fails, the loss counts as 0."),
    ]  # fmt: skip
    absent: Annotated[int, LOW_ASIDE, doc("Records that no entity is consistent with even unlinked.")]
    reidentification_rate: Annotated[
        float | None, LOW_SHARE,
        doc("Share of records that an attacker names rightly who follows a link at random and then picks one "
            "consistent entity at random; null unless the dictionary's identifiers are the dataset's."),
    ]  # fmt: skip
    reidentification_rate_unlinked: Annotated[float | None, LOW_SHARE, doc("The same without linking.")]
    own_entity_consistent: Annotated[
        float | None, SHARE,
        doc("Share of records whose own entity is consistent with the release; null as above."),
    ]  # fmt: skip
    own_entity_consistent_linked: Annotated[
        float | None, SHARE, doc("Probability that it still is after linking, on average over records.")
    ]
    row_of_risk_max: Annotated[
        int | None,
        doc("The record of risk_max, the first of equals, as a row of the dataset from 1. null: measured "
            "before it was told."),
    ] = None  # fmt: skip
    row_of_risk_linked_max: Annotated[int | None, doc("The same of risk_linked_max.")] = None


@dataclass(frozen=True, eq=False)
class _Found:
    """Per unit (u,), what linking comes to: losses, probabilities, and what is true of the own entity."""

    unlinked: Floats
    linked: Floats
    absent: Bools
    candidates: Floats
    no_link: Floats
    conflict: Floats
    emptied: Floats
    named: Floats
    named_linked: Floats
    consistent: Floats
    consistent_linked: Floats


class _Linking:
    """The attacker's two steps over blocks of units."""

    def __init__(self, context: MeasureContext, parameters: LinkageParameters) -> None:
        self.context, self.parameters = context, parameters
        auxiliary = _auxiliary(context, parameters)
        self.pairs = _pairs(context, parameters)
        self.units = units_of(context, auxiliary, self.pairs)
        self.candidates = Candidates(context.table, auxiliary, context.memory_ceiling)
        self.joiner = Joiner(
            context.table, given(context.dictionary), auxiliary, self.units.codes, context.memory_ceiling
        )

    def blocks(self) -> Iterator[tuple[slice, Links]]:
        """Runs of units with all their possible links, a bounded number of links at a time."""
        units, of_units, start, held = self.units, [], 0, 0
        for unit in range(units.size):
            rows = self._rows_of(unit)
            of_units.append(rows)
            held += len(rows)
            if held >= PAIRS_PER_BLOCK or unit == units.size - 1:
                yield slice(start, unit + 1), self._links(start, of_units)
                of_units, start, held = [], unit + 1, 0

    def _rows_of(self, unit: int) -> Longs:
        if self.pairs is not None:
            own_pairs = self.pairs.of(int(self.units.first[unit]))
            return self.candidates.row_of_entity[self.pairs.entity[own_pairs]]
        if self.parameters.estimator == "uniform":
            return self.candidates.of(self.units.codes[unit])
        own = self.units.own_auxiliary[unit]
        return self.candidates.row_of_entity[[own]] if own >= 0 else np.empty(0, dtype=np.int64)

    def _links(self, start: int, of_units: list[Longs]) -> Links:
        """Links of consecutive units, records numbered from 0; a row stands for all entities alike."""
        record = np.repeat(np.arange(len(of_units)), [len(rows) for rows in of_units])
        row = np.concatenate(of_units)
        if self.pairs is not None:
            of = [self.pairs.of(first) for first in self.units.first[start + np.unique(record)].tolist()]
            places = np.concatenate([np.empty(0, np.int64), *(np.arange(o.start, o.stop) for o in of)])
            known = (self.pairs.entity[places] == self.units.own_auxiliary[start + record]).astype(np.float64)
            constant = self.parameters.probability_correct
            usual = known if constant is None else np.full(len(row), constant)
            said = self.pairs.correct[places]
            return Links(record, row, self.pairs.probability[places], np.where(np.isnan(said), usual, said))
        own = self.units.own_auxiliary[start + record]
        is_own = (own >= 0) & (self.candidates.row_of_entity[own] == row)
        copies = self._copies(row)
        total = np.bincount(record, copies, minlength=len(of_units))
        known = is_own / copies
        constant = self.parameters.probability_correct
        correct = known if constant is None else np.full(len(row), constant)
        somebody = 1.0 - self.parameters.probability_nobody
        return Links(record, row, somebody * copies / total[record], correct)

    def _copies(self, row: Longs) -> Floats:
        """How many links each row of a unit's stands for."""
        if self.parameters.estimator != "uniform":
            return np.ones(len(row))
        return self.candidates.copies[row].astype(np.float64)

    def work(self, block: slice, links: Links) -> _Found:
        """What linking comes to for a block of units."""
        units, joiner = self.units, self.joiner
        alone, n = joiner.alone(units.codes[block]), block.stop - block.start
        unlinked, counts = self._losses(alone, np.arange(block.start, block.stop))
        candidates = links.sums(self._copies(links.row), n)
        joined, conflicts = joiner.join(
            units.codes[block.start + links.record], self.candidates.entity[links.row]
        )
        conflicting = links.record[conflicts]
        if len(conflicting) and self.parameters.on_conflict == "reject":
            raise InvalidInput.of(
                "/measure/on_conflict",
                "conflicting-links",
                f"{len(np.unique(conflicting))} or more distinct disclosed records are linked to auxiliary "
                "rows whose values exclude theirs.",
                "Choose drop_conflicts, which counts them as no link, or correct the auxiliary source.",
            )
        conflict = links.sums(links.probability * conflicts, n)
        kept = ~conflicts
        joined = joined[kept]
        links = Links(links.record[kept], links.row[kept], links.probability[kept], links.correct[kept])
        unit = block.start + links.record
        linked, linked_counts = self._losses(joined, unit)
        own = joiner.own_consistent(alone, units.own_entity[block]).astype(np.float64)
        own_linked = joiner.own_consistent(joined, units.own_entity[unit]).astype(np.float64)
        named = own * identification_probability(counts)
        named_linked = own_linked * identification_probability(linked_counts)
        followed = replace(links, correct=np.ones(len(unit)))
        return _Found(
            unlinked=unlinked,
            linked=losses_with_links(unlinked, links, linked, self.parameters.on_failed_link),
            absent=counts == 0,
            candidates=candidates,
            no_link=np.maximum(1.0 - links.sums(links.probability, n), 0.0),
            conflict=conflict,
            emptied=links.sums(links.probability * (linked_counts == 0), n),
            named=named,
            named_linked=losses_with_links(named, followed, named_linked, "zero"),
            consistent=own,
            consistent_linked=losses_with_links(own, followed, own_linked, "zero"),
        )

    def _losses(self, nodes: Ints, unit: Longs) -> tuple[Floats, Longs]:
        """Loss and |ρ| of rows of the extended hierarchies that belong to units."""
        context, units = self.context, self.units
        counts = self.joiner.counter.count_records(nodes).values
        valued = self.joiner.covers(nodes)
        phi = given(context.sensitivity).phi(valued, None if units.groups is None else units.groups[unit])
        psi = None
        if context.failure is not None:
            groups = units.failure_groups
            psi = context.failure.phi(valued, None if groups is None else groups[unit])
        return context.model.of(counts, phi, psi, given(context.dictionary).n_entities), counts


def _auxiliary(context: MeasureContext, parameters: LinkageParameters) -> Dictionary:
    consistency = Consistency(parameters.mode, parameters.threshold)
    return under(context.dictionaries[parameters.auxiliary], consistency)


def _pairs(context: MeasureContext, parameters: LinkageParameters) -> GivenLinks | None:
    """The given links, None for the other estimators; InvalidInput unless the two go together."""
    is_given = parameters.estimator == "given"
    if is_given != (parameters.links is not None):
        raise InvalidInput.of(
            "/measure/links",
            "missing" if is_given else "not-wanted",
            "Links and the estimator given go together.",
            "Give the links, or choose another estimator." if is_given else "Choose the estimator given.",
        )
    if is_given and parameters.probability_nobody:
        raise InvalidInput.of(
            "/measure/probability_nobody",
            "not-wanted",
            "With given links the probability of nobody is what their probabilities leave.",
            "Leave it out, or choose another estimator.",
        )
    if parameters.links is None:
        return None
    auxiliary = context.dictionaries[parameters.auxiliary]
    return given_links(parameters.links, context.table.n_records, auxiliary.n_entities)


def _supports(context: MeasureContext, parameters: LinkageParameters) -> str | None:
    if context.absent_policy != "zero":
        return "Record linkage knows the absent policy zero only; choose it."
    if context.dictionaries[parameters.auxiliary].comparable_ids:
        return None
    wanted = []
    if parameters.estimator == "own_row":
        wanted.append("the estimator own_row")
    unsaid = any(link.correct is None for link in parameters.links) if parameters.links else True
    if parameters.probability_correct is None and unsaid:
        wanted.append("knowing which links are right")
    if not wanted:
        return None
    return (
        f"{' and '.join(wanted).capitalize()} needs identifiers of the auxiliary source that mean the same "
        "entities as the dataset's. Declare same_entities_as there, or choose the estimator uniform or given "
        "with a probability_correct."
    )


def _cost(context: MeasureContext, parameters: LinkageParameters) -> Cost:
    table, auxiliary = context.table, _auxiliary(context, parameters)
    candidates = Candidates(table, auxiliary, context.memory_ceiling)
    codes = apply(given(context.rule), table)
    n, rows = table.n_records, len(candidates.copies)
    pairs = _pairs(context, parameters)
    links = n if pairs is None else len(pairs.record)
    searches = 0
    if parameters.estimator == "uniform":
        links = int(candidates.counter.count_records(codes).values.sum())
        searches = candidates.meanings(codes)
    cells = table.n_attributes + given(context.dictionary).reduced.size / PAIRS_PER_BLOCK
    counting = context.counter.choose(min(links, PAIRS_PER_BLOCK), 1 + links // PAIRS_PER_BLOCK)
    seconds = n * SECONDS_PER_RECORD + searches * (SECONDS_PER_SEARCH + rows * SECONDS_PER_COMPARISON)
    seconds += links * cells * SECONDS_PER_LINKED_CELL + counting.seconds
    held = min(links, PAIRS_PER_BLOCK + rows) * (3 * table.n_attributes + 20) + rows * len(auxiliary.links)
    size = 8 * held + candidates.bytes_kept(searches, links) + counting.bytes
    size += BYTES_PER_ENTITY * auxiliary.n_entities
    return Cost(seconds, size, n, counting.engine)


def _compute(context: MeasureContext, parameters: LinkageParameters, tick: Tick) -> RecordLinkage:
    linking = _Linking(context, parameters)
    parts, done = [], 0
    for block, links in linking.blocks():
        parts.append(linking.work(block, links))
        done += int(linking.units.records[block].sum())
        tick(done)
    found = _Found(*(np.concatenate([getattr(part, f.name) for part in parts]) for f in fields(_Found)))
    weight, records = linking.units.weight, linking.units.records
    counted = weight > 0
    risk, risk_linked = mean(found.unlinked, weight), mean(found.linked, weight)
    comparable = given(context.dictionary).comparable_ids
    shares = [
        mean(values, weight) if comparable else None
        for values in (found.named, found.named_linked, found.consistent, found.consistent_linked)
    ]
    return RecordLinkage(
        risk_linked=risk_linked,
        risk_linked_max=float(found.linked[counted].max()),
        loss_quantiles_linked={str(q): v for q, v in quantiles(found.linked, weight).items()},
        risk=risk,
        risk_max=float(found.unlinked[counted].max()),
        increase=None if np.isinf(risk) and np.isinf(risk_linked) else risk_linked - risk,
        share_linked=mean((found.no_link < 1.0).astype(np.float64), weight),
        mean_candidates=mean(found.candidates.astype(np.float64), weight),
        probability_no_link=mean(found.no_link, weight),
        probability_conflict=mean(found.conflict, weight),
        probability_emptied=mean(found.emptied, weight),
        absent=int(records[found.absent].sum()),
        reidentification_rate=shares[1],
        reidentification_rate_unlinked=shares[0],
        own_entity_consistent=shares[2],
        own_entity_consistent_linked=shares[3],
        row_of_risk_max=_first_row(linking.units, found.unlinked),
        row_of_risk_linked_max=_first_row(linking.units, found.linked),
    )


def _first_row(units: LinkageUnits, losses: Floats) -> int:
    """The first record, as a row from 1, of the greatest loss (u,) of those that count in means."""
    counted = np.where(units.weight > 0, losses, -np.inf)
    return int(units.first[counted == counted.max()].min()) + 1


RECORD_LINKAGE: Final = Measure(
    name="record_linkage",
    title="Risk when records are linked with a second source first",
    source="Lebanon et al. (2009), section 6; Definitions: record linkage",
    guarantee="exact",
    parameters=LinkageParameters,
    result=RecordLinkage,
    needs=frozenset({"rule", "dictionary", "sensitivity"}),
    supports=_supports,
    cost=_cost,
    compute=_compute,
    example=Example(
        "what if the attacker first links the release with a register?",
        "proposal-linkage",
        rule="proposal",
        dictionary="census",
        sensitivity="members-harm",
        parameters={"auxiliary": "register"},
    ),
)
