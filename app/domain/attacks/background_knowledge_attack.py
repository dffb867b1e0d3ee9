"""Attackers who know something of their target or of others beside the release."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Final

import numpy as np
from annotated_types import Ge, Gt, Le, Len, Lt, doc

from app.domain.arrays import Bools, Longs
from app.domain.attacks.background_results import (
    BackgroundKnowledgeAttack,
    Corruption,
    Elimination,
    ExposedRecords,
    KnowledgeUsed,
    Step,
    StrongestStatement,
    TargetBelief,
    ValueBelief,
)
from app.domain.attacks.beliefs import Attacked, Pairs, attack, pairs_of, reach
from app.domain.attacks.elimination import Statement, eliminate
from app.domain.catalogue.catalogue_types import ADDED_LATER, CellValue, DictionaryRef
from app.domain.classes.grouping import EquivalenceClasses, SensitiveName, positions_of
from app.domain.errors import InvalidInput
from app.domain.hierarchies.hierarchy import Hierarchy
from app.domain.models.entry import Cost, Example, Measure, MeasureContext, Tick
from app.domain.models.judged import ROWS_NAMED, ClassRef, class_ref, judged_on
from app.domain.models.sensitive_values import GroupingOfValues
from app.domain.risk.population import Population, unlinked_reason
from app.domain.tables.table import Table

SECONDS_PER_ATTACK: Final = 2e-3
SECONDS_PER_CELL: Final = 4e-9
SECONDS_PER_PAIR: Final = 2e-7
SECONDS_PER_STATEMENTS: Final = 3e-4
SECONDS_PER_LISTED_RECORD: Final = 3e-9


@dataclass(frozen=True, kw_only=True)
class BackgroundParameters(GroupingOfValues):
    """What the attacker knows, and from which belief on a record is exposed."""

    attribute: SensitiveName = None
    confidence: Annotated[
        float, Gt(0), Le(1), doc("A record is exposed if the belief in its value reaches this, inclusive.")
    ] = 0.95
    negations: Annotated[
        int, Ge(0), Le(50), doc("Most true statements “the target does not have …” that the attacker holds.")
    ] = 1
    known_records: Annotated[
        tuple[Annotated[int, Ge(1)], ...],
        Len(0, 10_000),
        doc("Rows, from 1, whose sensitive value the attacker knows: friends, colleagues, himself."),
    ] = ()
    known_share: Annotated[
        float | None,
        ADDED_LATER,
        Gt(0),
        Lt(1),
        doc("Share of the other records whose value the attacker knows, drawn at random; null: none."),
    ] = None
    known_draws: Annotated[int, ADDED_LATER, Ge(1), Le(1000), doc("How often these are drawn.")] = 100
    known_seed: Annotated[int, ADDED_LATER, Ge(0), Le(2**63 - 1), doc("Seed of the draws.")] = 0
    knowledge: Annotated[
        DictionaryRef | None,
        doc(
            "Whose values are how probable: a dictionary that is linked to the sensitive attribute. null: "
            "the attacker knows no more than the release says."
        ),
    ] = None
    target: Annotated[
        int | None, Ge(1), doc("A row, from 1, of which to show what the attacker believes. null: none.")
    ] = None
    not_values: Annotated[
        tuple[Annotated[CellValue, Len(1, 10_000)], ...],
        Len(0, 1000),
        doc("Values that the attacker knows the target not to have."),
    ] = ()
    top: Annotated[int, Ge(1), Le(200), doc("Most groups of exposed records to list.")] = 10

    @property
    def folds(self) -> bool:
        """Not where values are compared with those of a population, which are as they are written."""
        return super().folds and self.knowledge is None


def _known_rows(context: MeasureContext, parameters: BackgroundParameters) -> Bools:
    n = context.table.n_records
    rows = (*parameters.known_records, *(() if parameters.target is None else (parameters.target,)))
    for row, field in zip(rows, ["known_records"] * len(parameters.known_records) + ["target"], strict=False):
        if row > n:
            raise InvalidInput.of(
                f"/measure/{field}", "no-such-row", f"There is no row {row}.", f"Rows are 1 to {n}."
            )
    if parameters.target in parameters.known_records:
        raise InvalidInput.of(
            "/measure/target",
            "contradiction",
            "The target is among the records whose value is known.",
            "Ask about a record that is not.",
        )
    is_known = np.zeros(n, dtype=bool)
    is_known[np.array(parameters.known_records, dtype=np.int64) - 1] = True
    return is_known


def _population(context: MeasureContext, parameters: BackgroundParameters, name: str) -> Population | None:
    if parameters.knowledge is None:
        return None
    table = context.table
    attributes = positions_of(table, parameters.quasi_identifiers)
    known = context.dictionaries[parameters.knowledge]
    return Population(table, known, attributes, table.position(name), context.memory_ceiling)


def _exposed(
    found: Attacked,
    classes: EquivalenceClasses,
    needed: Longs,
    hierarchy: Hierarchy,
    parameters: BackgroundParameters,
) -> tuple[ExposedRecords, ...]:
    beliefs = found.beliefs
    entries = np.flatnonzero((needed >= 0) & (needed <= parameters.negations) & (beliefs.targets > 0))
    posteriors = beliefs.posteriors[entries]
    order = np.lexsort((-beliefs.targets[entries], -posteriors, needed[entries]))[: parameters.top]
    after = {k: beliefs.after(k) for k in np.unique(needed[entries[order]]).tolist()}
    listed = []
    for entry, belief in zip(entries[order].tolist(), posteriors[order].tolist(), strict=True):
        rows, negations = found.rows_of(entry), int(needed[entry])
        listed.append(
            ExposedRecords(
                records=ClassRef(tuple((rows[:ROWS_NAMED] + 1).tolist()), len(rows)),
                among=int(classes.sizes[classes.of_record[rows[0]]]),
                value=CellValue(hierarchy.labels[found.nodes[beliefs.values[entry]]]),
                belief=belief,
                negations=negations,
                belief_after=float(after[negations][entry]),
            )
        )
    return tuple(listed)


def _statement(
    found: Statement | None, pairs: Pairs, classes: EquivalenceClasses, told: Hierarchy, learnt: Hierarchy
) -> StrongestStatement | None:
    if found is None:
        return None
    return StrongestStatement(
        told_of=class_ref(classes, found.class_),
        is_negation=found.is_negation,
        about=CellValue(told.labels[pairs.s_nodes[found.about]]),
        value=CellValue(learnt.labels[pairs.v_nodes[found.value]]),
        belief=found.belief,
    )


def _eliminations(
    context: MeasureContext, parameters: BackgroundParameters, name: str, is_known: Bools
) -> tuple[Elimination, ...]:
    table, release = context.table, context.release
    classes = release.classes(parameters)
    others = [o for o in release.other_sensitive(name) if table.position(o) not in classes.attributes]
    eliminations = []
    for told, learnt in (pair for other in others for pair in ((other, name), (name, other))):
        pairs = pairs_of(release, parameters, told, learnt, is_known)
        found = eliminate(pairs.counts, parameters.confidence)
        hierarchies = [table.hierarchies[table.position(own)] for own in (told, learnt)]
        eliminations.append(
            Elimination(
                told=told,
                learnt=learnt,
                records_exposed=found.exposed,
                records_exposed_without=found.exposed_without,
                by_value=_statement(found.positive, pairs, classes, *hierarchies),
                by_negation=_statement(found.negative, pairs, classes, *hierarchies),
            )
        )
    return tuple(eliminations)


def _target(
    found: Attacked, classes: EquivalenceClasses, parameters: BackgroundParameters, hierarchy: Hierarchy
) -> TargetBelief | None:
    for place, value in enumerate(parameters.not_values):
        if value not in hierarchy.labels:
            raise InvalidInput.of(
                f"/measure/not_values/{place}",
                "unknown-value",
                f"The sensitive attribute has no value {str(value)!r}.",
                "Name a value as the release shows it.",
            )
    ruled_out = frozenset(parameters.not_values)
    if parameters.target is None:
        if ruled_out:
            raise InvalidInput.of(
                "/measure/not_values", "no-target", "These values are of no target.", "Name the target's row."
            )
        return None
    row = parameters.target - 1
    unit = int(found.of_record[row])
    if unit < 0:
        raise InvalidInput.of(
            "/measure/target",
            "not-judged",
            f"Row {parameters.target} was left out: it is suppressed, or has a quasi-identifier missing.",
            "Choose own_block for suppressed records, another way with missing values, or another row.",
        )
    beliefs = found.beliefs
    entries = slice(int(beliefs.starts[unit]), int(beliefs.starts[unit + 1]))
    labels = [hierarchy.labels[node] for node in found.nodes[beliefs.values[entries]].tolist()]
    kept = np.array([label not in ruled_out for label in labels], dtype=bool)
    weights = np.where(kept, beliefs.weights[entries], 0)
    total = weights.sum()
    order = np.argsort(-weights, kind="stable").tolist() if total > 0 else []
    shares = [float(weights[i] / total) for i in order]
    return TargetBelief(
        row=parameters.target,
        among=class_ref(classes, int(classes.of_record[row])),
        beliefs=tuple(ValueBelief(CellValue(labels[i]), p) for i, p in zip(order, shares, strict=True)),
        is_confident=bool(order) and bool(reach(weights[order[:1]], total[None], parameters.confidence)[0]),
        is_inconsistent=not order,
    )


def _used(context: MeasureContext, found: Attacked, population: Population | None) -> KnowledgeUsed | None:
    if population is None:
        return None
    inconsistent = found.beliefs.is_inconsistent & ~found.is_contradicted
    return KnowledgeUsed(
        entities=population.n_entities,
        entities_left_out=population.n_left_out,
        known=tuple(context.table.attributes[j] for j in population.linked),
        records_contradicted=found.records_in(found.is_contradicted),
        records_inconsistent=found.records_in(inconsistent),
    )


def _corruption(
    own: BackgroundParameters, found: Attacked, knowing: Callable[[Bools], Attacked], known: Bools, tick: Tick
) -> Corruption | None:
    """Every draw is an attack with more known records."""
    if own.known_share is None:
        return None
    rng, others = np.random.default_rng(own.known_seed), np.flatnonzero(found.is_target)
    drawn, worst = round(own.known_share * len(others)), []
    for _ in range(own.known_draws):
        tick(1)
        is_known = known.copy()
        is_known[rng.choice(others, drawn, replace=False)] = True
        beliefs = knowing(is_known).beliefs
        worst.append(float(beliefs.posteriors[beliefs.targets > 0].max(initial=0.0)))
    quantiles = np.quantile(worst, [0, 0.25, 0.5, 0.75, 1], method="inverted_cdf")
    return Corruption(drawn, float(np.mean(worst)), tuple(quantiles.tolist()))


def _compute(
    context: MeasureContext, parameters: BackgroundParameters, tick: Tick
) -> BackgroundKnowledgeAttack:
    table, release = context.table, context.release
    name = release.sensitive(parameters.attribute)
    hierarchy = table.hierarchies[table.position(name)]
    is_known = _known_rows(context, parameters)
    population = _population(context, parameters, name)
    classes = release.classes(parameters)
    knowing = partial(attack, release, parameters, name, population=population)
    found = knowing(is_known)
    needed = found.beliefs.negations_needed(parameters.confidence)
    tick(1)
    beliefs, steps = found.beliefs, []
    attacked = int(np.count_nonzero(found.is_target))
    for negations in range(parameters.negations + 1):
        exposed = int(beliefs.targets[(needed >= 0) & (needed <= negations)].sum())
        strongest = beliefs.after(negations)[beliefs.targets > 0]
        share = exposed / attacked if attacked else 0.0
        steps.append(Step(negations, exposed, share, float(strongest.max(initial=0.0))))
    return BackgroundKnowledgeAttack(
        judged=judged_on(table, parameters, classes),
        attribute=name,
        confidence=parameters.confidence,
        records_attacked=int(np.count_nonzero(found.is_target)),
        steps=tuple(steps),
        exposed=_exposed(found, classes, needed, hierarchy, parameters),
        eliminations=_eliminations(context, parameters, name, is_known),
        knowledge=_used(context, found, population),
        target=_target(found, classes, parameters, hierarchy),
        corruption=_corruption(parameters, found, knowing, is_known, tick),
    )


def _supports(context: MeasureContext, parameters: BackgroundParameters) -> str | None:
    if parameters.knowledge is None:
        return None
    table = context.table
    sensitive = table.position(context.release.sensitive(parameters.attribute))
    attributes = positions_of(table, parameters.quasi_identifiers)
    return unlinked_reason(table, attributes, sensitive, context.dictionaries[parameters.knowledge])


def seconds_of_eliminations(table: Table) -> float:
    """What it takes to compare one sensitive attribute with each of the others, both ways."""
    ways = 2 * max(0, len(table.sensitive) - 1)
    return ways * (table.n_records * SECONDS_PER_PAIR + SECONDS_PER_STATEMENTS)


def _cost(context: MeasureContext, parameters: BackgroundParameters) -> Cost:
    table = context.table
    n, m = table.n_records, table.n_attributes
    pairs = 2 * n * max(0, len(table.sensitive) - 1)
    seconds = SECONDS_PER_ATTACK + n * (m + 10 + parameters.negations) * SECONDS_PER_CELL
    seconds += seconds_of_eliminations(table)
    weighed = 0
    if parameters.knowledge is not None:
        values = len(table.used_nodes[table.position(context.release.sensitive(parameters.attribute))])
        weighed = n * values + context.dictionaries[parameters.knowledge].n_entities
    seconds += weighed * SECONDS_PER_PAIR + n * parameters.top * SECONDS_PER_LISTED_RECORD
    if parameters.known_share is not None:
        seconds += parameters.known_draws * (n * 10 * SECONDS_PER_CELL + weighed * SECONDS_PER_PAIR)
    return Cost(seconds, 8 * n * (m + 20) + 40 * (pairs + weighed), 1, "classes")


BACKGROUND_KNOWLEDGE_ATTACK: Final = Measure(
    name="background_knowledge_attack",
    version=2,
    title="Attackers with background knowledge",
    source="Machanavajjhala (2008), sections 3.1.1 and 3.4",
    guarantee="exact",
    parameters=BackgroundParameters,
    result=BackgroundKnowledgeAttack,
    supports=_supports,
    cost=_cost,
    compute=_compute,
    example=Example(
        "what does a member learn who knows how incomes are distributed, and what somebody does not earn?",
        "proposal-background",
        rule="proposal",
        parameters={
            "known_records": [1],
            "knowledge": "members-themselves",
            "negations": 1,
            "confidence": 0.9,
        },
    ),
)
