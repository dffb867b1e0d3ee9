"""The distinct rows that a rule discloses, with their |ρ|, Φ, Ψ, loss and utility (Definitions: loss)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from app.domain.arrays import Floats, Integers, Ints, Longs
from app.domain.counting.counter import Counter, Engine
from app.domain.risk.loss import AbsentPolicy, with_self
from app.domain.risk.models import RiskModel
from app.domain.risk.utility import Utility
from app.domain.rules.rule import Rule, TableRule, apply, recodings
from app.domain.sensitivity.sensitivity import Sensitivity
from app.domain.tables.distinct import distinct_rows, recoded_rows


@dataclass(frozen=True, eq=False)
class Harm:
    """What a disclosed record and its count amount to: Φ, Ψ (None: no harm of failure), u, the risk model."""

    sensitivity: Sensitivity
    failure: Sensitivity | None
    utility: Utility
    model: RiskModel


@dataclass(frozen=True, eq=False)
class RowOf:
    """The disclosed row of each record: ``row`` (n,), or ``row`` of what ``of_record`` (n,) numbers."""

    row: Ints
    of_record: Ints | None

    @cached_property
    def record(self) -> Ints:
        """Row per record (n,); made only where single records are asked for."""
        return self.row if self.of_record is None else self.row[self.of_record]


@dataclass(frozen=True, eq=False)
class _Disclosed:
    """Distinct disclosed rows in canonical order, with what else the loss of a record depends on.

    ``is_split`` says that equal rows may stand apart because of that; ``own`` is one of the states below.
    """

    codes: Ints
    is_split: bool
    groups: Ints | None
    failure_groups: Ints | None
    own: Ints | None
    records: Longs
    row_of: RowOf


NO_OWN_ROW, OWN_ROW_INCONSISTENT, OWN_ROW_CONSISTENT = range(3)


@dataclass(frozen=True, eq=False)
class ScoredRows:
    """R distinct rows with their scores, arrays over rows; they stand apart where their harm does.

    Attributes
    ----------
    codes
        (R, m) disclosed nodes.
    records, mass
        Records of each row, and their number or the sum of their weights.
    row_of
        The row of each record of the table.
    is_split
        Whether rows of equal codes may stand apart.
    absent
        Records of the table that no entity is consistent with as they are disclosed.
    counts, phi, psi, loss, utility
        |ρ| as the absent policy counts it, Φ, Ψ (None: no harm of failure), ℓ of the risk model, u.
    engine
        What counted.
    """

    codes: Ints
    records: Longs
    mass: Longs | Floats
    row_of: RowOf
    is_split: bool
    absent: int
    counts: Longs
    phi: Floats
    psi: Floats | None
    loss: Floats
    utility: Floats
    engine: Engine


def score_rows(counter: Counter, rule: Rule, harm: Harm, policy: AbsentPolicy) -> ScoredRows:
    """Apply the rule, count whom each row is consistent with, and score it.

    The policy ``add_self`` counts each record's own entity; the others leave |ρ| as it is.
    """
    rows = _disclose(counter, rule, harm, policy)
    counted = counter.count_records(rows.codes, rule.levels if isinstance(rule, TableRule) else None)
    counts, entities = counted.values, np.full(len(rows.records), float(counter.dictionary.n_entities))
    absent = int(rows.records[counts == 0].sum())
    if rows.own is not None:
        counts = with_self(counts, rows.own == OWN_ROW_CONSISTENT)
        entities += rows.own == NO_OWN_ROW
    phi = harm.sensitivity.phi(rows.codes, rows.groups)
    psi = None if harm.failure is None else harm.failure.phi(rows.codes, rows.failure_groups)
    mass: Longs | Floats = rows.records
    if counter.table.weights is not None:
        mass = np.bincount(rows.row_of.record, counter.table.weights, len(mass)).astype(np.float64)
    return ScoredRows(
        codes=rows.codes,
        records=rows.records,
        mass=mass,
        row_of=rows.row_of,
        is_split=rows.is_split,
        absent=absent,
        counts=counts,
        phi=phi,
        psi=psi,
        loss=harm.model.of(counts, phi, psi, entities),
        utility=harm.utility.of(rows.codes),
        engine=counted.engine,
    )


def _disclose(counter: Counter, rule: Rule, harm: Harm, policy: AbsentPolicy) -> _Disclosed:
    table, m = counter.table, counter.table.n_attributes
    own = _own_states(counter, rule, harm.model) if policy == "add_self" else None
    carried: dict[str, tuple[Ints, int]] = {}
    for name, weights in (("groups", harm.sensitivity), ("failure_groups", harm.failure)):
        if weights is not None and weights.personal_groups is not None:
            carried[name] = weights.personal_groups, weights.n_groups
    if own is not None and bool((own != own[0]).any()):
        carried["own"] = own, OWN_ROW_CONSISTENT + 1
    if isinstance(rule, TableRule) and not carried:
        reduced = table.reduced
        rows = recoded_rows(
            [reduced.codes[:, j] for j in range(m)], recodings(rule, table), table.used_nodes, reduced.size
        )
        records = np.bincount(rows.inverse, reduced.counts, minlength=rows.size).astype(np.int64)
        row_of = RowOf(rows.inverse, reduced.inverse)
    else:
        codes = apply(rule, table)
        columns: list[Integers] = [codes[:, j] for j in range(m)]
        columns += [column for column, _ in carried.values()]
        rows = distinct_rows(columns, [*table.sizes, *(size for _, size in carried.values())], len(codes))
        records, row_of = rows.counts, RowOf(rows.inverse, None)
    found = {name: rows.codes[:, m + i] for i, name in enumerate(carried)}
    if own is not None:
        found.setdefault("own", np.full(rows.size, own[0], dtype=np.int32))
    return _Disclosed(
        codes=rows.codes[:, :m],
        is_split=bool(carried),
        groups=found.get("groups"),
        failure_groups=found.get("failure_groups"),
        own=found.get("own"),
        records=records,
        row_of=row_of,
    )


def _own_states(counter: Counter, rule: Rule, model: RiskModel) -> Ints:
    """Per record how the dictionary holds its own entity; absence is told apart only where it matters."""
    levels = rule.levels if isinstance(rule, TableRule) else None
    consistent = counter.own_rows.consistent(apply(rule, counter.table), levels)
    held = counter.own_rows.row >= 0 if model.depends_on_entities else np.zeros(len(consistent), dtype=bool)
    return np.where(consistent, OWN_ROW_CONSISTENT, np.where(held, OWN_ROW_INCONSISTENT, NO_OWN_ROW)).astype(
        np.int32
    )
