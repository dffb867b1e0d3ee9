"""The records of highest loss, each with its reason: the fewest attributes that single it out as much.

Records are named by row, never by entity: identifiers are personal data.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Final

import numpy as np
from annotated_types import Ge, Le, doc

from app.domain.analyses.scoring import cost_of_scores, score_of
from app.domain.arrays import Bools, Ints, Longs
from app.domain.catalogue.meanings import RISK
from app.domain.models.criterion import BY_ROWS
from app.domain.models.entry import Cost, Example, Measure, MeasureContext, Tick, given
from app.domain.rules.rule import apply
from app.domain.tables.masks import shows_nothing

MOST_ATTRIBUTES: Final = 12
"""Above so many disclosed attributes that the attacker knows, the smallest set is not searched for."""

SECONDS_PER_CELL: Final = 1.5e-8
SECONDS_PER_SET: Final = 1e-6


@dataclass(frozen=True)
class RiskiestParameters:
    """How many records to show."""

    top: Annotated[int, Ge(1), Le(200), doc("Most records to list.")] = 10


@dataclass(frozen=True)
class RiskyRecord:
    """One record and why its loss is what it is."""

    row: Annotated[int, doc("Row of the record in the dataset, from 1.")]
    loss: Annotated[float, doc("Its loss.")]
    phi: Annotated[float, doc("Its sensitivity: the harm if it is tied to its owner.")]
    probability: Annotated[float, doc("Probability that the attacker names its owner: 1 / consistent.")]
    consistent: Annotated[
        int, doc("Entities that remain consistent with all that is disclosed of it, by the absent policy.")
    ]
    singled_out_by: Annotated[
        tuple[str, ...],
        doc("Attributes that alone leave no more entities than all of them together; of several such sets of "
            "equal size the first in schema order; empty if nothing narrows the dictionary."),
    ]  # fmt: skip
    is_smallest: Annotated[
        bool,
        doc("Whether no smaller set does it; false if more than 12 attributes are disclosed: then no "
            "attribute of the set can be spared, but there may be a smaller set."),
    ]  # fmt: skip
    alone: Annotated[
        Mapping[str, int],
        doc("Entities that remain if only this one attribute is disclosed, per disclosed attribute that the "
            "dictionary carries."),
    ]  # fmt: skip


@dataclass(frozen=True)
class RiskiestRecords:
    """The records of highest loss, highest first, equal ones by row."""

    n_records: Annotated[int, doc("Records of the dataset.")]
    n_entities: Annotated[int, doc("Entities of the dictionary.")]
    risk_average: Annotated[float, RISK, doc("Mean loss over all records, to compare with.")]
    records: Annotated[tuple[RiskyRecord, ...], doc("The records.")]


class _Candidates:
    """The entities consistent with one disclosed record, for every set of its attributes.

    ``positions`` are the disclosed attributes that the dictionary carries, in schema order; sets are given
    by indices into them.
    """

    def __init__(self, context: MeasureContext, codes: Ints, row: int) -> None:
        counter = context.counter
        linked = {j: i for i, j in enumerate(counter.linked)}
        self.positions = [j for j in np.flatnonzero(~shows_nothing(codes)).tolist() if j in linked]
        reduced = counter.dictionary.reduced
        self._entities: Longs = reduced.counts
        self._fits: list[Bools] = []
        self._own_fits: list[bool] | None = None
        self._adds_self = context.absent_policy == "add_self"
        own = int(counter.own_rows.row[row]) if self._adds_self else -1
        own_fits = []
        for j in self.positions:
            compatibility = counter.compatibilities[linked[j]]
            of_code = compatibility.fitting(int(codes[j]))
            self._fits.append(of_code[reduced.codes[:, linked[j]]])
            own_fits.append(own >= 0 and bool(of_code[compatibility.link.column[own]]))
        if own >= 0:
            self._own_fits = own_fits

    def count(self, chosen: Iterable[int]) -> int:
        """Entities that remain if only the chosen attributes are disclosed."""
        indices = list(chosen)
        fits = np.ones(len(self._entities), dtype=bool)
        for index in indices:
            fits &= self._fits[index]
        return int(self._entities[fits].sum()) + self._correction(indices)

    def smallest(self) -> tuple[tuple[int, ...], bool]:
        """A smallest set that leaves as few entities as all attributes do, and whether that is proven."""
        q = len(self.positions)
        least = self.count(range(q))
        if q > MOST_ATTRIBUTES:
            kept = list(range(q))
            for index in reversed(range(q)):
                fewer = [i for i in kept if i != index]
                if self.count(fewer) == least:
                    kept = fewer
            return tuple(kept), False
        of_mask = self._of_masks()
        for size in range(q + 1):
            for chosen in itertools.combinations(range(q), size):
                if int(of_mask[sum(1 << i for i in chosen)]) + self._correction(chosen) == least:
                    return chosen, True
        raise AssertionError("the set of all attributes leaves as many as itself")

    def _of_masks(self) -> Longs:
        """Consistent entities of the dictionary per set of attributes, as a bit mask."""
        masks = np.zeros(len(self._entities), dtype=np.int64)
        for index, fits in enumerate(self._fits):
            masks |= fits.astype(np.int64) << index
        counts = np.bincount(masks, self._entities, minlength=1 << len(self._fits)).astype(np.int64)
        for index in range(len(self._fits)):
            # An entity that agrees on more attributes is consistent with every part of them.
            halves = counts.reshape(-1, 2, 1 << index)
            halves[:, 0] += halves[:, 1]
        return counts

    def _correction(self, chosen: Iterable[int]) -> int:
        """What ``add_self`` adds: 1, unless the record's own entity is among those counted."""
        if not self._adds_self:
            return 0
        counted = self._own_fits is not None and all(self._own_fits[i] for i in chosen)
        return 0 if counted else 1


def _compute(context: MeasureContext, parameters: RiskiestParameters, tick: Tick) -> RiskiestRecords:
    table, rule = context.table, given(context.rule)
    plain = score_of(context, rule)
    scores = plain.records
    # Stable: equal losses stay in the order of their rows.
    rows = np.argsort(-scores.loss, kind="stable")[: parameters.top].tolist()
    disclosed = apply(rule, table)
    records = []
    for done, row in enumerate(rows, start=1):
        candidates = _Candidates(context, disclosed[row], row)
        names = [table.attributes[j] for j in candidates.positions]
        chosen, is_smallest = candidates.smallest()
        records.append(
            RiskyRecord(
                row=row + 1,
                loss=float(scores.loss[row]),
                phi=float(scores.phi[row]),
                probability=float(scores.probability[row]),
                consistent=int(scores.counts[row]),
                singled_out_by=tuple(names[i] for i in chosen),
                is_smallest=is_smallest,
                alone={name: candidates.count([i]) for i, name in enumerate(names)},
            )
        )
        tick(done)
    return RiskiestRecords(table.n_records, plain.n_entities, plain.risk_average, tuple(records))


def _cost(context: MeasureContext, parameters: RiskiestParameters) -> Cost:
    plain, counter = cost_of_scores(context, 1), context.counter
    records = min(parameters.top, context.table.n_records)
    q, size = len(counter.linked), counter.dictionary.reduced.size
    sets = 1 << q if q <= MOST_ATTRIBUTES else q
    each = size * (2 * q + 1) * SECONDS_PER_CELL + sets * SECONDS_PER_SET * (q + 1)
    copies = context.table.codes.nbytes + 40 * context.table.n_records
    return Cost(plain.seconds + records * each, plain.bytes + copies + size * (q + 16), records, plain.engine)


RISKIEST_RECORDS: Final = Measure(
    name="riskiest_records",
    title="The records of highest loss and why",
    source="Definitions: loss, identification probability",
    guarantee="exact",
    parameters=RiskiestParameters,
    result=RiskiestRecords,
    needs=frozenset({"rule", "dictionary", "sensitivity"}),
    cost=_cost,
    compute=_compute,
    example=Example(
        "whose records are at risk, and why?",
        "proposal-riskiest",
        rule="proposal",
        dictionary="census",
        sensitivity="members-harm",
        parameters={"top": 3},
    ),
    by_persons=BY_ROWS,
)
