"""The score of one disclosure rule: risk, utility, what they rest on (Definitions: loss, risk, utility)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from app.domain.arrays import Floats, Ints, Levels, Longs
from app.domain.counting.calibration import (
    SECONDS_PER_ASSESSMENT,
    SECONDS_PER_DISCLOSED_ROW,
    SECONDS_PER_INTERACTION,
    SECONDS_PER_MATCHED_CODE,
    SECONDS_PER_MATCHED_ENTITY,
    SECONDS_PER_RECODED_ROW,
    SECONDS_PER_RULE,
    SECONDS_PER_SCORED_ROW,
    SECONDS_PER_SCORED_VALUE,
    SECONDS_PER_SHOWN,
    SECONDS_PER_SORTED_RECORD,
)
from app.domain.counting.counter import Cost, Counter, Engine
from app.domain.counting.disclosed_rows import kinds_of_rows, rows_disclosed
from app.domain.dictionaries.dictionary import Dictionary
from app.domain.errors import InvalidInput, having
from app.domain.risk.loss import AbsentPolicy, identification_probability
from app.domain.risk.models import MODEL_I, RiskModel
from app.domain.risk.scored_rows import Harm, ScoredRows, score_rows
from app.domain.risk.summaries import Histogram, histogram_of_counts, histogram_of_losses, mean, quantiles
from app.domain.risk.utility import Utility
from app.domain.rules.rule import Rule, TableRule
from app.domain.sensitivity.sensitivity import Sensitivity
from app.domain.tables.distinct import DENSE_KEYS_PER_ROW, distinct_rows
from app.domain.tables.numbers import exact_sum
from app.domain.tables.table import Table


@dataclass(frozen=True, eq=False)
class RecordScores:
    """Per-record numbers, arrays (n,) in the table's order: |ρ|, p, Φ, ℓ (of the risk model), u, Ψ."""

    counts: Longs
    probability: Floats
    phi: Floats
    loss: Floats
    utility: Floats
    psi: Floats | None


@dataclass(frozen=True)
class ExtremeRecords:
    """The first record, counted from 0, at which each extreme of a score is attained."""

    risk_max: int
    risk_min: int
    utility_min: int
    min_consistent: int
    k_equivalence: int


@dataclass(frozen=True)
class Monotone:
    """Which hypotheses hold of those by which generalising raises no loss (Definitions: monotonicity).

    ``non_empty`` and ``psi_le_phi`` are those of the disclosed records, ``phi_monotone`` of Φ and Ψ,
    ``model_monotone`` of the risk model.
    """

    non_empty: bool
    phi_monotone: bool
    psi_le_phi: bool
    model_monotone: bool
    holds: bool = field(init=False)
    """Whether all of them hold."""

    def __post_init__(self) -> None:
        holds = self.non_empty and self.phi_monotone and self.psi_le_phi and self.model_monotone
        object.__setattr__(self, "holds", holds)


@dataclass(frozen=True, eq=False)
class Assessment:
    """The score of one rule.

    Risks are those of ``model`` in the unit of the weights and may be +∞ (−∞ for III_raw). ``absent`` counts
    the records whose disclosed form no entity of the dictionary is consistent with, ``infinite`` those with
    infinite loss. ``min_consistent`` is the least |ρ| as the absent policy defines it.
    ``add_self_risk_average`` stands beside the average wherever there are absent records and the identifiers
    allow it: p = 0 from an incomplete dictionary is no safety. ``k_matching`` and ``k_equivalence`` are the
    two counts (Definitions: k-anonymity), ``classes`` the number of distinct disclosed records.

    ``persons`` (n,) are those of the table, where a column names them: the two counts are of records then.

    Where the table's records are ``weighted``, averages, extremes and quantiles are over the records of
    positive weight; everything else is about all of them.
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
    model: RiskModel
    weighted: bool
    warnings: tuple[str, ...]
    _scored: ScoredRows
    _class_sizes: Longs
    _weights: Floats | None
    persons: Ints | None = None

    @cached_property
    def extremes(self) -> ExtremeRecords:
        """Which records attain the extremes; those of weight 0 are passed over where they do not count."""
        rows, place = self._scored, self._scored.row_of.record
        of_all = np.arange(len(place))
        first = _first_records(place, of_all, len(rows.counts))
        counted = first
        if self._weights is not None:
            counted = _first_records(place, np.flatnonzero(self._weights > 0), len(rows.counts))
        return ExtremeRecords(
            risk_max=int(counted[rows.loss == self.risk_max].min()),
            risk_min=int(counted[rows.loss == self.risk_min].min()),
            utility_min=int(counted[rows.utility == self.utility_min].min()),
            min_consistent=int(first[rows.counts == self.min_consistent].min()),
            k_equivalence=int(first[self._class_sizes == self.k_equivalence].min()),
        )

    @property
    def person_risk_average(self) -> float | None:
        """Mean over persons of the loss of each one's worst record; None where no column names persons."""
        if self.persons is None:
            return None
        worst = np.full(int(self.persons.max()) + 1, -np.inf)
        np.maximum.at(worst, self.persons, self.records.loss)
        return exact_sum(worst) / len(worst)

    @cached_property
    def records(self) -> RecordScores:
        """The numbers of every record."""
        rows, place = self._scored, self._scored.row_of.record
        probability = identification_probability(rows.counts)
        return RecordScores(
            rows.counts[place],
            probability[place],
            rows.phi[place],
            rows.loss[place],
            rows.utility[place],
            None if rows.psi is None else rows.psi[place],
        )


def assess(
    table: Table,
    rule: Rule,
    dictionary: Dictionary,
    sensitivity: Sensitivity,
    utility: Utility,
    absent_policy: AbsentPolicy = "zero",
    *,
    failure: Sensitivity | None = None,
    model: RiskModel = MODEL_I,
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
    model
        What Φ and the number of consistent entities amount to; Ψ has a meaning in model I only (InvalidInput
        otherwise).
    counter
        A counter of this table and dictionary from earlier, which keeps what it prepared; results are the
        same without.
    """
    if failure is not None and not model.takes_failure:
        raise InvalidInput.of(
            "/failure",
            "failure-without-meaning",
            f"The risk model {model.name} knows no harm of failed identification.",
            "Leave failure out, or choose model I.",
        )
    counter = counter or Counter(table, dictionary)
    if absent_policy == "error":
        # Refuse tables with an original record that no entity is consistent with
        reduced = counter.table.reduced
        counts = counter.count_records(reduced.codes).values
        absent = np.flatnonzero(counts[reduced.inverse] == 0)
        if len(absent):
            rows = ", ".join(str(row + 1) for row in absent[:10])
            raise InvalidInput.of(
                "/absent_policy",
                "absent-records",
                f"{having(len(absent), 'record')} no consistent entity in the dictionary "
                f"(first rows: {rows}).",
                "Complete the dictionary, or choose the policy zero or add_self.",
            )
    harm = Harm(sensitivity, failure, utility, model)
    scored = score_rows(counter, rule, harm, absent_policy)
    beside = None
    if scored.absent and absent_policy != "add_self" and dictionary.comparable_ids:
        again = score_rows(counter, rule, harm, "add_self")
        beside = mean(again.loss, again.mass)
    return _summary(counter, rule, harm, absent_policy, scored, beside)


def _summary(
    counter: Counter, rule: Rule, harm: Harm, policy: AbsentPolicy, scored: ScoredRows, beside: float | None
) -> Assessment:
    table = counter.table
    levels = rule.levels if isinstance(rule, TableRule) else None
    codes, records, class_sizes = _classes(scored, table)
    k_equivalence = int(records.min())
    coincide = levels is not None and table.is_complete
    counted = scored.mass > 0
    return Assessment(
        n_records=table.n_records,
        n_entities=counter.dictionary.n_entities,
        absent_policy=policy,
        risk_average=mean(scored.loss, scored.mass),
        risk_max=float(scored.loss[counted].max()),
        risk_min=float(scored.loss[counted].min()),
        loss_quantiles=quantiles(scored.loss, scored.mass),
        utility_average=mean(scored.utility, scored.mass),
        utility_min=float(scored.utility[counted].min()),
        min_consistent=int(scored.counts.min()),
        absent=scored.absent,
        infinite=int(scored.records[np.isposinf(scored.loss)].sum()),
        add_self_risk_average=beside,
        histogram_counts=histogram_of_counts(scored.counts, scored.records),
        histogram_losses=histogram_of_losses(scored.loss, scored.records),
        k_matching=k_equivalence if coincide else counter.of_table_itself.least(codes, records, levels),
        k_equivalence=k_equivalence,
        classes=len(records),
        engine=scored.engine,
        monotone=Monotone(
            non_empty=scored.absent == 0 or policy == "add_self",
            phi_monotone=harm.sensitivity.is_monotone and (harm.failure is None or harm.failure.is_monotone),
            psi_le_phi=scored.psi is None or bool((scored.psi <= scored.phi).all()),
            model_monotone=harm.model.is_monotone,
        ),
        model=harm.model,
        weighted=table.weights is not None,
        warnings=counter.dictionary.warnings_under(policy),
        _scored=scored,
        _class_sizes=class_sizes,
        _weights=table.weights,
        persons=table.persons,
    )


def estimate_cost(counter: Counter, rule: Rule, sensitivity: Sensitivity) -> Cost:
    """Seconds, bytes and engine of :func:`assess` for these inputs, without doing it."""
    table = counter.table
    by_record = not isinstance(rule, TableRule) or sensitivity.is_personal
    rows = table.n_records if by_record else table.reduced.size
    counting = counter.choose(rows, 1)
    width = table.n_attributes
    if isinstance(rule, TableRule) and not by_record:
        seconds = _seconds_of_table_rule(counter, rule.levels, counting)
    else:
        seconds = SECONDS_PER_ASSESSMENT + rows * (SECONDS_PER_SCORED_ROW + width * SECONDS_PER_SCORED_VALUE)
        seconds += counting.seconds
    seconds += rows * len(sensitivity.interactions) * SECONDS_PER_INTERACTION
    if not (isinstance(rule, TableRule) and table.is_complete):
        seconds += counter.of_table_itself.choose(rows, 1).seconds
    return Cost(seconds, counting.bytes + 8 * rows * (2 * width + 12), counting.engine)


def _seconds_of_table_rule(counter: Counter, levels: Levels, counting: Cost) -> float:
    """The same of a rule that all records share, most of which comes down to its distinct rows."""
    table = counter.table
    disclosed = rows_disclosed(table, levels)
    shown = sum(levels[j] < table.heights[j] for j in counter.linked)
    seconds = SECONDS_PER_RULE + table.reduced.size * SECONDS_PER_RECODED_ROW
    seconds += disclosed * SECONDS_PER_DISCLOSED_ROW
    if kinds_of_rows(table, levels) > DENSE_KEYS_PER_ROW * table.reduced.size:
        seconds += table.reduced.size * SECONDS_PER_SORTED_RECORD
    if counting.engine != "sorted_keys":
        return seconds + counting.seconds
    if shown:
        per_entity = SECONDS_PER_MATCHED_ENTITY + shown * SECONDS_PER_MATCHED_CODE
        seconds += shown * SECONDS_PER_SHOWN + counter.dictionary.reduced.size * per_entity
    return seconds


def _first_records(place: Ints, records: Longs, n_rows: int) -> Longs:
    """The first of some ascending ``records`` at each row (n_rows,) that ``place`` has them at.

    A row without any of them has the number of all records.
    """
    first = np.full(n_rows, len(place), dtype=np.int64)
    # Of several assignments to one place the last is kept.
    first[place[records[::-1]]] = records[::-1]
    return first


def _classes(scored: ScoredRows, table: Table) -> tuple[Ints, Longs, Longs]:
    """(d, m) distinct disclosed records, (d,) how many each is, and that of the one of each scored row."""
    if not scored.is_split:
        return scored.codes, scored.records, scored.records
    columns = [scored.codes[:, j] for j in range(table.n_attributes)]
    rows = distinct_rows(columns, table.sizes, len(scored.codes))
    records = np.bincount(rows.inverse, scored.records, minlength=rows.size).astype(np.int64)
    return rows.codes, records, records[rows.inverse]
