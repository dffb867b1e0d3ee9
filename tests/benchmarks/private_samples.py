"""How fast private samples of generalised records are planned, counted and drawn; histograms beside them."""

from __future__ import annotations

import itertools
import math
import random
from collections import Counter
from pathlib import Path
from typing import Final

import numpy as np
import pandas as pd

from app.domain.arrays import Floats, Levels
from app.domain.counting.counter import dictionary_of
from app.domain.hierarchies.hierarchy import Hierarchy
from app.domain.mechanisms.declared_samples import records_of
from app.domain.mechanisms.generalised_records import GeneralisedRecords
from app.domain.mechanisms.mechanism import MechanismContext, MechanismPlan
from app.domain.mechanisms.mechanism_audit import (
    AuditedMechanism,
    hard_pairs,
    records_drawn,
    refutations_of,
)
from app.domain.mechanisms.sampled_constants import drifting
from app.domain.mechanisms.sampled_generalisation import SAMPLED_GENERALISATION, SampledGeneralisation
from app.domain.risk.utility import build_utility
from app.domain.search.context import SearchContext
from app.domain.search.objectives import Lagrangian
from app.domain.search.problem import Problem
from app.domain.search.table_rules.scores import TableScores
from app.domain.sensitivity.sensitivity import constant_sensitivity
from app.domain.tables.table import Table
from app.experiments.audited_mechanisms import SEED, audit_of_broken, bits_of, certified
from tests.benchmarks import private_histograms
from tests.benchmarks.row import Report, Row, timed

RECORDS: Final = 1_000_000
SHAPES: Final = ((3, 4), (3, 4), (4, 3), (5, 2))
"""Branches and levels of four hierarchies: 300 generalisations of a record."""
NAMES: Final = tuple("abcd")
PLAN_SECONDS: Final = 0.5
DRAW_SECONDS: Final = 20.0
AUDIT_SECONDS: Final = 60.0
RUNS: Final = 200_000
CONTROLS: Final = 4
BY_HAND: Final = 10_000
RULES_BY_PANDAS: Final = 15
REPEATS: Final = 5
ASKED: Final = SampledGeneralisation(
    epsilon=1.0, delta=1e-7, sampling_rate=0.1, least_records=RECORDS, trade_off=1e-6
)


def rows(data: Path | None, report: Report) -> None:
    """All measurements, on generated records; of Adult where it is there."""
    people = generated()
    report(plan(people))
    report(counts(people))
    report(counts_beside_scores(people))
    report(draw(people))
    private_histograms.rows(data, report)
    for own in certified():
        report(audit(own))


def generated() -> MechanismContext:
    """A million records with few frequent and many rare values."""
    trees = tuple(_tree(*shape) for shape in SHAPES)
    drawn = np.random.default_rng(1)
    columns = [
        own.leaves[np.minimum((drawn.pareto(1.0, RECORDS) * 3).astype(int), own.n_leaves - 1)]
        for own in trees
    ]
    table = Table(NAMES, trees, np.stack(columns, axis=1).astype(np.int32))
    return MechanismContext(table, public=frozenset(NAMES))


def _tree(branches: int, levels: int) -> Hierarchy:
    leaves = itertools.product("01234"[:branches], repeat=levels)
    return Hierarchy.from_rows([["".join(own[:depth]) for depth in range(levels, 0, -1)] for own in leaves])


def plan(people: MechanismContext) -> Row:
    """All constants, with those of five other sampling rates."""

    def planned() -> MechanismPlan:
        drifting.cache_clear()
        return SAMPLED_GENERALISATION.plan(people, ASKED)

    ours = timed(planned, repeats=REPEATS)
    return Row(
        "plan a private sample with the constants of five other rates",
        bar=f"{PLAN_SECONDS:g} s",
        ours_seconds=ours.least,
        peak_bytes=ours.peak_bytes,
        same_result=ours.answer.is_feasible,
        detail=f"least of {REPEATS} runs; no constants are kept between them",
        bar_seconds=PLAN_SECONDS,
    )


def counts(people: MechanismContext) -> Row:
    """Of every generalisation of every record how many records are below it."""

    def counted() -> dict[Levels, tuple[int, int]]:
        found = records_of(people).frequent(lambda own: own > 0)
        return {own.vector: (int(own.counts.min()), int(own.counts.max())) for own in found}

    ours = timed(counted, repeats=REPEATS)
    rules = list(ours.answer)[:: len(ours.answer) // RULES_BY_PANDAS]
    frame = pd.DataFrame(people.table.codes, columns=list(NAMES))

    def by_pandas() -> dict[Levels, tuple[int, int]]:
        found = {}
        for vector in rules:
            shown = {
                name: tree.ancestors_at(tree.height - depth)[frame[name]]
                for name, tree, depth in zip(NAMES, people.table.hierarchies, vector, strict=True)
            }
            sizes = pd.DataFrame(shown).groupby(list(NAMES)).size()
            found[vector] = int(sizes.min()), int(sizes.max())
        return found

    baseline = timed(by_pandas, repeats=1, warm_up=0)
    return Row(
        f"count all generalisations of {RECORDS:,} × 4 records, {len(ours.answer)} rules",
        bar="10 × faster than pandas",
        ours_seconds=ours.least,
        baseline="pandas: a group-by for every rule",
        baseline_seconds=baseline.least * len(ours.answer) / len(rules),
        peak_bytes=ours.peak_bytes,
        same_result=all(ours.answer[vector] == own for vector, own in baseline.answer.items()),
        detail=f"least of {REPEATS}, records reduced in each; the baseline by {len(rules)} rules; least and "
        "greatest counts are compared",
    )


def counts_beside_scores(people: MechanismContext) -> Row:
    """The same counts, beside the risks of the same rules, the table its own dictionary."""
    table = people.table

    def counted() -> dict[Levels, int]:
        found = records_of(people).frequent(lambda own: own > 0)
        return {own.vector: len(own.counts) for own in found}

    def scored() -> Floats:
        own = Table(table.attributes, table.hierarchies, table.codes)
        of = SearchContext(own, dictionary_of(own), constant_sensitivity(own), build_utility(own))
        scores = TableScores(of, Problem(Lagrangian(0.0)).absent_policy)
        return scores.to_table_order(scores.scores(0, 0, 1, lambda _: None))

    ours, theirs = timed(counted, repeats=REPEATS), timed(scored, repeats=REPEATS)
    # Of records that all weigh 1 the risk is the number of classes in that of records.
    classes = np.rint(theirs.answer * RECORDS).astype(int)
    levels = {
        tuple(height - depth for height, depth in zip(table.heights, vector, strict=True)): n
        for vector, n in ours.answer.items()
    }
    return Row(
        f"count all generalisations of {RECORDS:,} × 4 records, beside the risks of these rules",
        bar="no slower than the risks",
        ours_seconds=ours.least_cpu_seconds,
        baseline="this project's own walk over the lattice, which scores every rule",
        baseline_seconds=theirs.least_cpu_seconds,
        peak_bytes=ours.peak_bytes,
        counters={"ours_wall_seconds": ours.least, "theirs_wall_seconds": theirs.least},
        same_result=levels == dict(np.ndenumerate(classes)),
        detail=f"least processor time of {REPEATS} runs, records reduced in each; numbers of classes are "
        "compared",
        bar_seconds=theirs.least_cpu_seconds,
    )


def draw(people: MechanismContext) -> Row:
    """The whole draw, beside a loop over records."""
    system = random.SystemRandom()
    ours = timed(lambda: SAMPLED_GENERALISATION.draw(people, ASKED, system.randbytes), repeats=REPEATS)
    few = GeneralisedRecords(
        people.table.hierarchies,
        people.table.heights,
        people.table.codes[:BY_HAND],
        np.ones(BY_HAND, dtype=np.int64),
    )
    least = BY_HAND // 8
    baseline = timed(lambda: _by_hand(few, least, system), repeats=1, warm_up=0)
    found = {
        (own.vector, int(count)) for own in few.frequent(lambda own: own >= least) for count in own.counts
    }
    return Row(
        f"draw a private sample of {RECORDS:,} records, H = 300, s = 0.1",
        bar=f"{DRAW_SECONDS:g} s, 50 × faster than record by record",
        ours_seconds=ours.least,
        baseline="Python: all generalisations of every record counted, and one drawn for each sampled",
        baseline_seconds=baseline.least * RECORDS / BY_HAND,
        peak_bytes=ours.peak_bytes,
        same_result=found == baseline.answer,
        detail=f"least of {REPEATS} runs, exact noise and weights included, which the baseline lacks; it by "
        f"{BY_HAND:,} records; counts of frequent generalisations are compared",
        bar_seconds=DRAW_SECONDS,
    )


def audit(own: AuditedMechanism) -> Row:
    """All hard pairs of a mechanism that is called certified, and beside them what must be refuted."""
    ours = timed(lambda: refutations_of(own, RUNS, bits_of(SEED)), repeats=1, warm_up=0)
    refuted = {one.pair for one in audit_of_broken(RUNS) if one.is_refuted}
    return Row(
        f"audit {own.mechanism.name} by {RUNS:,} runs of each table",
        bar=f"{AUDIT_SECONDS:g} s",
        ours_seconds=ours.least,
        peak_bytes=ours.peak_bytes,
        same_result=not any(one.is_refuted for one in ours.answer) and len(refuted) == CONTROLS,
        detail=f"{len(hard_pairs(own))} pairs, {records_drawn(own, RUNS):,} records; one run; not refuted, "
        f"while {CONTROLS} that are broken on purpose are",
        bar_seconds=AUDIT_SECONDS,
    )


def _by_hand(records: GeneralisedRecords, least: int, system: random.SystemRandom) -> set[tuple[Levels, int]]:
    """Depths and counts of what is frequent; draws are made and thrown away."""
    below: Counter[tuple[int, ...]] = Counter()
    chains = []
    for row in records.codes.tolist():
        own = list(itertools.product(*map(_chain, records.hierarchies, row)))
        chains.append(own)
        below.update(own)
    for own in chains:
        if system.random() < ASKED.sampling_rate:
            options = [x for x in own if below[x] >= least]
            system.choices(options, [math.exp(below[x] / BY_HAND) for x in options])
    return {
        (tuple(int(tree.depth[v]) for tree, v in zip(records.hierarchies, x, strict=True)), n)
        for x, n in below.items()
        if n >= least
    }


def _chain(tree: Hierarchy, node: int) -> list[int]:
    found = [node]
    while found[-1]:
        found.append(int(tree.parent[found[-1]]))
    return found
