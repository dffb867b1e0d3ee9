"""The score of one disclosure rule: risk, utility, what they rest on (specification 4.3, 6, 9, 15, 19.2)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from app.domain.anonymity import equivalence_k, matching_k
from app.domain.counting.counter import Cost, Counter, Engine
from app.domain.dictionaries import Dictionary
from app.domain.distinct import DistinctRows, Ints, Longs, distinct_rows
from app.domain.errors import InvalidInput
from app.domain.risk.loss import AbsentPolicy, identification_probability, loss, with_self
from app.domain.risk.summaries import (
    Histogram,
    histogram_of_counts,
    histogram_of_losses,
    mean,
    quantiles,
)
from app.domain.rules import RecordRule, Rule, TableRule, apply, apply_to_codes
from app.domain.sensitivity import Sensitivity
from app.domain.tables import Table
from app.domain.utility import Utility
from app.domain.weights import Floats

SECONDS_PER_ASSESSMENT = 1e-3
SECONDS_PER_ROW = 1.2e-7
SECONDS_PER_CELL = 1.5e-8


@dataclass(frozen=True, eq=False)
class RecordScores:
    """Per-record numbers, arrays (n,) in the table's order: |ρ|, p, Φ, ℓ, u."""

    counts: Longs
    probability: Floats
    phi: Floats
    loss: Floats
    utility: Floats


@dataclass(frozen=True)
class Monotone:
    """Which hypotheses of 6.3 hold: together they say that generalising further never raises a loss."""

    non_empty: bool
    phi_monotone: bool
    psi_le_phi: bool


@dataclass(frozen=True, eq=False)
class Assessment:
    """The score of one rule.

    Risks are in the unit of the weights and may be +∞. ``absent`` counts the records whose disclosed form no
    entity of the dictionary is consistent with, ``infinite`` those with infinite loss. ``min_consistent`` is
    the least |ρ| as the absent policy defines it. ``add_self_risk_average`` stands beside the average
    wherever there are absent records and the identifiers allow it: risk 0 from an incomplete dictionary is
    no safety. ``k_matching`` and ``k_equivalence`` are the two counts of section 15, ``classes`` the number
    of distinct disclosed records.
    """

    n_records: int
    n_entities: int
    absent_policy: AbsentPolicy
    risk_average: float
    risk_max: float
    risk_min: float
    loss_quantiles: Mapping[float, float]
    utility_average: float
    utility_min: float
    min_consistent: int
    absent: int
    infinite: int
    add_self_risk_average: float | None
    histogram_counts: Histogram
    histogram_losses: Histogram
    k_matching: int
    k_equivalence: int
    classes: int
    engine: Engine
    monotone: Monotone
    _scored: _Scored

    @cached_property
    def records(self) -> RecordScores:
        """The numbers of every record."""
        rows, place = self._scored, self._scored.row_of_record
        probability = identification_probability(rows.counts)
        return RecordScores(
            rows.counts[place], probability[place], rows.phi[place], rows.loss[place], rows.utility[place]
        )


@dataclass(frozen=True, eq=False)
class _Disclosed:
    """Distinct disclosed rows in canonical order, with what else the loss of a record depends on.

    ``is_split`` says that equal rows may stand apart because of that.
    """

    codes: Ints
    is_split: bool
    groups: Ints | None
    failure_groups: Ints | None
    own_consistent: npt.NDArray[np.bool_] | None
    records: Longs
    row_of_record: Ints


@dataclass(frozen=True, eq=False)
class _Scored:
    codes: Ints
    records: Longs
    row_of_record: Ints
    is_split: bool
    absent: int
    counts: Longs
    phi: Floats
    psi: Floats | None
    loss: Floats
    utility: Floats
    engine: Engine


def assess(
    table: Table,
    rule: Rule,
    dictionary: Dictionary,
    sensitivity: Sensitivity,
    utility: Utility,
    absent_policy: AbsentPolicy = "zero",
    *,
    failure: Sensitivity | None = None,
    counter: Counter | None = None,
) -> Assessment:
    """Score a rule.

    Parameters
    ----------
    sensitivity, failure
        Φ and Ψ, the harm if identification succeeds and if it fails (None: no harm).
    absent_policy
        What a record without consistent entities is worth: ``zero`` risk, ``add_self`` (the entity itself is
        always counted; needs comparable identifiers), or ``error``: InvalidInput if an original is absent.
    counter
        A counter of this table and dictionary from earlier, which keeps what it prepared; results are the
        same without.
    """
    counter = counter or Counter(table, dictionary)
    if absent_policy == "error":
        _refuse_absent(counter)
    scored = _score(counter, rule, sensitivity, utility, absent_policy, failure)
    beside = None
    if scored.absent and absent_policy != "add_self" and dictionary.comparable_ids:
        again = _score(counter, rule, sensitivity, utility, "add_self", failure)
        beside = mean(again.loss, again.records)
    levels = rule.levels if isinstance(rule, TableRule) else None
    classes = _classes(scored, table)
    k_equivalence = equivalence_k(classes)
    coincide = levels is not None and table.is_complete
    return Assessment(
        n_records=table.n_records,
        n_entities=dictionary.n_entities,
        absent_policy=absent_policy,
        risk_average=mean(scored.loss, scored.records),
        risk_max=float(scored.loss.max()),
        risk_min=float(scored.loss.min()),
        loss_quantiles=quantiles(scored.loss, scored.records),
        utility_average=mean(scored.utility, scored.records),
        utility_min=float(scored.utility.min()),
        min_consistent=int(scored.counts.min()),
        absent=scored.absent,
        infinite=int(scored.records[np.isposinf(scored.loss)].sum()),
        add_self_risk_average=beside,
        histogram_counts=histogram_of_counts(scored.counts, scored.records),
        histogram_losses=histogram_of_losses(scored.loss, scored.records),
        k_matching=k_equivalence if coincide else matching_k(counter.of_table_itself, classes, levels),
        k_equivalence=k_equivalence,
        classes=classes.size,
        engine=scored.engine,
        monotone=Monotone(
            non_empty=scored.absent == 0,
            phi_monotone=True,
            psi_le_phi=scored.psi is None or bool((scored.psi <= scored.phi).all()),
        ),
        _scored=scored,
    )


def estimate_cost(counter: Counter, rule: Rule, sensitivity: Sensitivity) -> Cost:
    """Seconds, bytes and engine of :func:`assess` for these inputs, without doing it."""
    table = counter.table
    whole = isinstance(rule, RecordRule) or sensitivity.is_personal
    rows = table.n_records if whole else table.reduced.size
    counting = counter.choose(rows, 1)
    width = table.n_attributes
    seconds = SECONDS_PER_ASSESSMENT + rows * (SECONDS_PER_ROW + width * SECONDS_PER_CELL)
    if not (isinstance(rule, TableRule) and table.is_complete):
        seconds += counter.of_table_itself.choose(rows, 1).seconds
    return Cost(counting.seconds + seconds, counting.bytes + 8 * rows * (2 * width + 12), counting.engine)


def _refuse_absent(counter: Counter) -> None:
    """Refuse tables with an original record that no entity is consistent with."""
    reduced = counter.table.reduced
    counts = counter.count_records(reduced.codes).values
    absent = np.flatnonzero(counts[reduced.inverse] == 0)
    if len(absent):
        rows = ", ".join(str(row + 1) for row in absent[:10])
        raise InvalidInput.of(
            "/absent_policy",
            "absent-records",
            f"{len(absent)} records have no consistent entity in the dictionary (first rows: {rows}).",
            "Complete the dictionary, or choose the policy zero or add_self.",
        )


def _disclose(
    counter: Counter, rule: Rule, sensitivity: Sensitivity, failure: Sensitivity | None, policy: AbsentPolicy
) -> _Disclosed:
    table, m = counter.table, counter.table.n_attributes
    own = counter.own_rows.consistent(apply(rule, table)) if policy == "add_self" else None
    extra = {
        "groups": _groups(sensitivity),
        "failure_groups": None if failure is None else _groups(failure),
        "own": None if own is None or bool(own.all()) else (own.astype(np.int32), 2),
    }
    carried = {name: column for name, column in extra.items() if column is not None}
    whole = isinstance(rule, RecordRule) or bool(carried)
    codes = apply(rule, table) if whole else apply_to_codes(rule, table, table.reduced.codes)
    columns: list[npt.NDArray[np.integer]] = [codes[:, j] for j in range(m)]
    columns += [column for column, _ in carried.values()]
    rows = distinct_rows(columns, [*table.sizes, *(size for _, size in carried.values())], len(codes))
    records, place = rows.counts, rows.inverse
    if not whole:
        records = np.bincount(place, table.reduced.counts, minlength=rows.size).astype(np.int64)
        place = place[table.reduced.inverse]
    found = {name: rows.codes[:, m + i] for i, name in enumerate(carried)}
    consistent = None if own is None else found.get("own", np.ones(rows.size, np.int32)).astype(bool)
    return _Disclosed(
        codes=rows.codes[:, :m],
        is_split=bool(carried),
        groups=found.get("groups"),
        failure_groups=found.get("failure_groups"),
        own_consistent=consistent,
        records=records,
        row_of_record=place,
    )


def _groups(sensitivity: Sensitivity) -> tuple[Ints, int] | None:
    """Weight group per record and their number, or None if everybody has the same weights."""
    if sensitivity.groups is None or not sensitivity.is_personal:
        return None
    return sensitivity.groups, sensitivity.n_groups


def _score(
    counter: Counter,
    rule: Rule,
    sensitivity: Sensitivity,
    utility: Utility,
    policy: AbsentPolicy,
    failure: Sensitivity | None,
) -> _Scored:
    rows = _disclose(counter, rule, sensitivity, failure, policy)
    counted = counter.count_records(rows.codes, rule.levels if isinstance(rule, TableRule) else None)
    counts = counted.values
    absent = int(rows.records[counts == 0].sum())
    if rows.own_consistent is not None:
        counts = with_self(counts, rows.own_consistent)
    phi = sensitivity.phi(rows.codes, rows.groups)
    psi = None if failure is None else failure.phi(rows.codes, rows.failure_groups)
    losses = loss(counts, phi, 0.0 if psi is None else psi)
    return _Scored(
        codes=rows.codes,
        records=rows.records,
        row_of_record=rows.row_of_record,
        is_split=rows.is_split,
        absent=absent,
        counts=counts,
        phi=phi,
        psi=psi,
        loss=losses,
        utility=utility.of(rows.codes),
        engine=counted.engine,
    )


def _classes(scored: _Scored, table: Table) -> DistinctRows:
    """Distinct disclosed records, whoever's they are."""
    if not scored.is_split:
        return DistinctRows(scored.codes, scored.records, scored.row_of_record)
    columns = [scored.codes[:, j] for j in range(table.n_attributes)]
    rows = distinct_rows(columns, table.sizes, len(scored.codes))
    records = np.bincount(rows.inverse, scored.records, minlength=rows.size).astype(np.int64)
    return DistinctRows(rows.codes, records, rows.inverse[scored.row_of_record])
