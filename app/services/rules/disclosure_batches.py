"""One batch of a sequential disclosure: its records, the levels that are chosen for them, the score."""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import numpy.typing as npt

from app.domain.arrays import Ints
from app.domain.errors import Fault, InvalidInput, NotSupported, refuse
from app.domain.hierarchies.hierarchy import UNKNOWN
from app.domain.risk.assessment import Assessment, assess
from app.domain.risk.loss import AbsentPolicy
from app.domain.rules.rule import RecordRule, Rule, TableRule, apply, record_rule, table_rule
from app.domain.rules.steps import steps_between
from app.domain.search.blocks import carry_out
from app.domain.search.context import SearchContext
from app.domain.search.objectives import MinRisk
from app.domain.search.plans import plan
from app.domain.search.problem import Problem
from app.domain.tables.table import Table
from app.services.rules.rule_building import rule_of_records
from app.services.rules.rule_definitions import RecordLevels
from app.services.scoring.scoring_inputs import Scoring

FAULTS_SHOWN: Final = 50
MOST_RECORDS: Final = 10_000
"""Most records of one batch."""

Levels = tuple[int, ...]


@dataclass(frozen=True)
class NewRecord:
    """A record to disclose; ``values`` by attribute, None or no entry where missing."""

    values: Mapping[str, str | None]
    entity: str | None = None
    weight: float = 1.0


@dataclass(frozen=True)
class ChosenLevels:
    """The same levels for every record of the batch; 0 for attributes that are not named."""

    levels: Mapping[str, int]


@dataclass(frozen=True)
class StepsOfRecords:
    """What is shown of every record of the batch, in its order: steps up from its own value, or a value."""

    records: tuple[RecordLevels, ...]


@dataclass(frozen=True)
class OptimalLevels:
    """For each record the levels of least risk at a utility of at least the floor."""

    utility_floor: float


@dataclass(frozen=True)
class ModalLevels:
    """The levels that were optimal most often so far at this floor; of several the first in order."""

    utility_floor: float


BatchRule = ChosenLevels | StepsOfRecords | OptimalLevels | ModalLevels


@dataclass(frozen=True, eq=False)
class ScoredBatch:
    """A batch with its rule and its score.

    Attributes
    ----------
    levels
        (r, m) what was chosen: of one level per attribute the levels, else steps, which may lead beyond ⊥;
        −1 where a hierarchy is no tree and a value above the record's own was chosen.
    steps
        (r, m) from the record's own value up to what is disclosed; −1 where that is no number.
    disclosed
        (r, m) nodes.
    """

    levels: npt.NDArray[np.int16]
    steps: npt.NDArray[np.int16]
    disclosed: Ints
    score: Assessment


def table_of_records(
    records: Sequence[NewRecord], table: Table, renamed: Mapping[str, Mapping[str, str]]
) -> Table:
    """The records as a table over the hierarchies of the dataset's.

    ``renamed`` are the dataset's declared replacements of values, by attribute. InvalidInput names every
    unknown attribute and value; either all records have an entity or none.
    """
    faults: list[Fault] = []
    codes = np.zeros((len(records), table.n_attributes), dtype=np.int32, order="F")
    for i, record in enumerate(records):
        faults += [
            Fault(
                f"/records/{i}/values/{name}",
                "unknown-attribute",
                f"The dataset discloses no attribute {name!r}.",
                "It discloses: " + ", ".join(table.attributes) + ".",
            )
            for name in record.values
            if name not in table.attributes
        ]
    for j, (attribute, hierarchy) in enumerate(zip(table.attributes, table.hierarchies, strict=True)):
        names = renamed.get(attribute, {})
        texts = [record.values.get(attribute) for record in records]
        codes[:, j], _ = hierarchy.encode([None if text is None else names.get(text, text) for text in texts])
        faults += [
            Fault(
                f"/records/{i}/values/{attribute}",
                "unknown-value",
                f"The hierarchy of {attribute!r} has no such value.",
                "Give one of its values, or null where it is missing.",
            )
            for i in np.flatnonzero(codes[:, j] == UNKNOWN)[:FAULTS_SHOWN].tolist()
        ]
    faults += _faults_of_entities(records)
    refuse(faults[:FAULTS_SHOWN])
    entities = [record.entity for record in records]
    ids = None if entities[0] is None else np.array(entities, dtype=object)
    return Table(table.attributes, table.hierarchies, codes, ids)


def score_batch(
    scoring: Scoring, batch: Table, rule: BatchRule, chosen_before: Mapping[str, int]
) -> ScoredBatch:
    """Choose the levels of the batch and score it.

    ``chosen_before`` are the level vectors that were optimal so far at the rule's floor, written ``0,1,2``,
    with the number of records of each. Infeasible floors and floors without history are InvalidInput.
    """
    context = scoring.context
    policy = scoring.options.absent_policy
    if policy == "add_self" and batch.entity_ids is None:
        raise InvalidInput.of(
            "/records",
            "missing-identifier",
            "The absent policy add_self needs to know which entity each record is of.",
            "Give every record its entity as the dictionary calls it.",
        )
    own = replace(context, table=batch)
    found = _levels(own, rule, chosen_before, policy)
    score = assess(
        batch,
        found,
        own.dictionary,
        own.sensitivity,
        own.utility,
        policy,
        failure=own.failure,
        model=own.model,
    )
    disclosed = apply(found, batch)
    steps = np.stack(
        [
            steps_between(hierarchy, batch.codes[:, j], disclosed[:, j])
            for j, hierarchy in enumerate(batch.hierarchies)
        ],
        axis=1,
    ).astype(np.int16)
    levels = steps
    if isinstance(found, RecordRule):
        levels = found.steps
    elif isinstance(found, TableRule):
        levels = np.broadcast_to(np.array(found.levels, dtype=np.int16), steps.shape)
    return ScoredBatch(levels, steps, disclosed, score)


def tally_of(levels: npt.NDArray[np.int16]) -> dict[str, int]:
    """Vectors of steps, written ``0,1,2``, with their number of records; only those that are numbers."""
    numbers = levels[(levels >= 0).all(axis=1)]
    return dict(sorted(Tally(",".join(map(str, row)) for row in numbers.tolist()).items()))


def floor_key(utility_floor: float) -> str:
    """How a floor is written where it is a key."""
    return repr(float(utility_floor))


def _levels(
    context: SearchContext, rule: BatchRule, chosen_before: Mapping[str, int], policy: AbsentPolicy
) -> Rule:
    if isinstance(rule, ChosenLevels):
        return table_rule(context.table, rule.levels, "/rule/levels")
    if isinstance(rule, StepsOfRecords):
        if len(rule.records) != context.table.n_records:
            raise InvalidInput.of(
                "/rule/records",
                "wrong-number",
                f"The rule says what is shown of {len(rule.records)} records; the batch has "
                f"{context.table.n_records}.",
                "Give one entry per record of the batch, in its order; an empty one shows all as it is.",
            )
        records = [replace(own, row=row) for row, own in enumerate(rule.records, start=1)]
        return rule_of_records(records, context.table)
    if isinstance(rule, ModalLevels):
        if not chosen_before:
            raise InvalidInput.of(
                "/rule/utility_floor",
                "no-history",
                f"No record was disclosed optimally at the utility floor {rule.utility_floor:g} yet.",
                "Append a batch with the rule optimal at this floor first.",
            )
        vectors = {tuple(int(level) for level in text.split(",")): n for text, n in chosen_before.items()}
        most = max(vectors.values())
        steps = np.array(min(levels for levels, n in vectors.items() if n == most), dtype=np.int16)
        return record_rule(context.table, np.tile(steps, (context.table.n_records, 1)), "/rule")
    search = plan(context, Problem(MinRisk(rule.utility_floor), "record_level", policy))
    outcome = carry_out(search)
    if outcome.rule is not None:
        return outcome.rule
    if outcome.shortfall is None:
        raise NotSupported(
            "Some record has infinite risk at every level of that utility.", "Lower the utility floor."
        )
    raise InvalidInput.of(
        "/rule/utility_floor",
        "infeasible",
        f"{outcome.shortfall.records} records cannot reach the utility {rule.utility_floor:g}: the least of "
        f"them has at most {outcome.shortfall.best:g}.",
        f"Lower the floor by {outcome.shortfall.by:g}.",
    )


def _faults_of_entities(records: Sequence[NewRecord]) -> list[Fault]:
    without = [i for i, record in enumerate(records) if record.entity is None]
    if 0 < len(without) < len(records):
        return [
            Fault(
                f"/records/{without[0]}/entity",
                "missing-identifier",
                "Some records of the batch have an entity and some have none.",
                "Give every record its entity, or none.",
            )
        ]
    first: dict[str, int] = {}
    return [
        Fault(
            f"/records/{i}/entity",
            "duplicate-identifier",
            f"The entity is that of record {first[record.entity]} too.",
            "Give every entity one record per batch.",
        )
        for i, record in enumerate(records)
        if record.entity is not None and first.setdefault(record.entity, i) != i
    ]
