"""Single records with seventy attributes among 400,000 entities: 10^37 ways to disclose each.

Warm: the tables are encoded, the code is loaded; the index of the entities is built anew by every search.
"""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from app.domain.counting.counter import Counter
from app.domain.search.context import SearchContext
from app.domain.search.large_lattices.chains import ChainInstance, Chains
from app.domain.search.large_lattices.exchanges import BitExchanges, first_rule
from app.domain.search.large_lattices.least_weights import Goal
from app.domain.search.large_lattices.near_entities import Steps
from app.domain.search.large_lattices.plan import Solved, solve
from app.domain.search.objectives import MinRisk
from app.domain.search.problem import Problem
from tests.benchmarks.item_table import item_context, item_table
from tests.benchmarks.row import PeakWatch, Report, Row, timed

RECORDS = 1_000
FEWER_RECORDS = 200
CANDIDATE_RECORDS = 10
SCANNED = 20
SEED = 70
FLOORS = ((0.5, RECORDS, "half"), (0.3, FEWER_RECORDS, "three tenths"), (0.1, FEWER_RECORDS, "a tenth"))


def rows(data: Path | None, report: Report) -> None:
    """All measurements; the data are generated."""
    context = item_context(item_table(), RECORDS)
    report(first_rules(context))
    for share, records, name in FLOORS:
        report(local_optima(context, share, records, name))
    report(candidates(context))


def floor_of(context: SearchContext, share: float) -> Problem:
    """Least risk at a share of the utility of a record as it is."""
    return Problem(MinRisk(float(round(share * sum(context.table.heights)))), "record_level")


def first_rules(context: SearchContext) -> Row:
    """A first rule of each record that keeps half of the utility."""
    problem, seconds = floor_of(context, 0.5), []
    watch = PeakWatch()
    instance = ChainInstance(context, "zero")
    feasible = 0
    for number in range(FEWER_RECORDS):
        start = time.perf_counter()
        found, _ = first_rule(Goal(problem, instance.chains(number)))
        seconds.append(time.perf_counter() - start)
        feasible += found is not None
    return Row(
        work=f"first feasible rule of a record, {_size(context)}",
        bar="5 ms",
        ours_seconds=statistics.median(seconds),
        peak_bytes=watch.peak(),
        counters={"records": FEWER_RECORDS, "feasible": feasible, "slowest_seconds": max(seconds)},
        same_result=feasible == FEWER_RECORDS,
        detail="median of the records; the sets of entities are made as they are first asked for",
        bar_seconds=5e-3,
    )


@dataclass(frozen=True)
class _Measured:
    solved: list[Solved]
    seconds: list[float]
    total: float
    processor: float
    peak: int


def local_optima(context: SearchContext, share: float, records: int, name: str) -> Row:
    """Records to a verified local optimum with a lower bound."""
    problem = floor_of(context, share)
    found = _measured(context, problem, records)
    evaluated = sum(one.risk_evaluations for one in found.solved)
    gaps = [1 - one.bound / one.risk for one in found.solved]
    is_headline = records == RECORDS
    return Row(
        work=f"{records:,} records to a verified local optimum with its bound, utility at least {name} of "
        f"each record's, {_size(context)}",
        bar="15 s; 60 ms a record" if is_headline else "60 ms a record",
        aim="5 s" if is_headline else "",
        ours_seconds=found.total,
        peak_bytes=found.peak,
        counters={
            "proved_optimal": sum(one.is_proved for one in found.solved),
            "local_optima": sum(one.is_local for one in found.solved),
            "median_relative_gap": statistics.median(gaps),
            "mean_relative_gap": statistics.fmean(gaps),
            "visited_nodes": sum(one.visited for one in found.solved),
            "risk_evaluations": evaluated,
            "seconds_per_candidate": found.total / evaluated,
            "slowest_record_seconds": max(found.seconds),
            "cpu_seconds": found.processor,
        },
        same_result=_agrees(context, problem, found.solved),
        detail="local: no change of the levels of two attributes improves it; the risks of the first records "
        "are compared with a scan of the dictionary",
        bar_seconds=15.0 if is_headline else 0.06 * records,
        aim_seconds=5.0 if is_headline else None,
    )


def _measured(context: SearchContext, problem: Problem, records: int) -> _Measured:
    for number in range(2):
        solve(ChainInstance(context, "zero").chains(number), problem)
    watch = PeakWatch()
    solved, seconds = [], []
    begun, processor = time.perf_counter(), time.process_time()
    instance = ChainInstance(context, "zero")
    for number in range(records):
        start = time.perf_counter()
        solved.append(solve(instance.chains(number), problem))
        seconds.append(time.perf_counter() - start)
    total, used = time.perf_counter() - begun, time.process_time() - processor
    return _Measured(solved, seconds, total, used, watch.peak())


def candidates(context: SearchContext) -> Row:
    """|ρ| of every single step from a node, beside a scan of the dictionary's columns for each."""
    instance = ChainInstance(context, "zero")
    problem = floor_of(context, 0.1)
    nodes: list[tuple[Chains, npt.NDArray[np.int64]]] = []
    for number in range(CANDIDATE_RECORDS):
        chains = instance.chains(number)
        first, _ = first_rule(Goal(problem, chains))
        if first is not None:
            nodes.append((chains, np.array(first.levels)))
    found = timed(lambda: [BitExchanges.of(one, Steps.of(one), levels) for one, levels in nodes], repeats=9)
    evaluated = sum(one.evaluated for one in found.answer)
    scanned, same = _scans(context, nodes, found.answer)
    return Row(
        work=f"count the entities of one candidate by bits, {_size(context)}",
        bar="12 µs",
        aim="7 µs",
        ours_seconds=found.seconds / evaluated,
        baseline="scan of the columns, numpy",
        baseline_seconds=scanned,
        peak_bytes=found.peak_bytes,
        counters={"candidates": evaluated, "bytes_moved": 2 * 8 * instance.index.n_words},
        same_result=same,
        detail=f"every single step from a first rule of {len(nodes)} records: generalisations by the bits of "
        f"the nodes, specialisations among the entities that these leave; the scan is that of "
        f"{SCANNED} of them",
        bar_seconds=12e-6,
        aim_seconds=7e-6,
    )


def _scans(
    context: SearchContext,
    nodes: list[tuple[Chains, npt.NDArray[np.int64]]],
    counted: list[BitExchanges],
) -> tuple[float, bool]:
    """Seconds of a scan, and whether the scans of some drawn steps agree with their counts."""
    rng = np.random.default_rng(SEED)
    scan = _Scan(context)
    seconds, same = [], True
    for _ in range(SCANNED):
        at = int(rng.integers(len(nodes)))
        chains, exchanges = nodes[at][0], counted[at]
        column = int(rng.integers(1, exchanges.counts.shape[1]))
        levels = nodes[at][1].copy()
        levels[exchanges.down[column - 1]] = exchanges.down_level[column - 1]
        start = time.perf_counter()
        count = scan.count(chains, levels)
        seconds.append(time.perf_counter() - start)
        same &= count == exchanges.counts[0, column]
    return statistics.median(seconds), bool(same)


class _Scan:
    """|ρ| by looking at every entity, attribute by attribute."""

    def __init__(self, context: SearchContext) -> None:
        self._compatibilities = Counter(context.table, context.dictionary).compatibilities
        self._n = context.dictionary.n_entities

    def count(self, chains: Chains, levels: npt.NDArray[np.int64]) -> int:
        """Entities consistent with a node."""
        held = np.ones(self._n, dtype=bool)
        for compatibility, j in zip(self._compatibilities, chains.linked, strict=True):
            node = np.array([chains.nodes[j, levels[j]]], dtype=np.int32)
            if node[0]:
                codes = np.arange(compatibility.link.n_codes, dtype=np.int32)
                passes = compatibility.consistent(np.repeat(node, len(codes)), codes)
                held &= passes[compatibility.link.column]
        return int(held.sum())


def _agrees(context: SearchContext, problem: Problem, solved: list[Solved]) -> bool:
    """Whether the first records' rules are feasible, with the risks that scans of the dictionary give."""
    instance, scan = ChainInstance(context, "zero"), _Scan(context)
    for number, one in enumerate(solved[:5]):
        chains = instance.chains(number)
        if one.levels is None or chains.utility_of(one.levels) < problem.objective.threshold - 1e-9:
            return False
        count = scan.count(chains, np.array(one.levels))
        if abs(chains.weight_of(one.levels) / count - one.risk) > 1e-12 * max(1.0, one.risk):
            return False
    return True


def _size(context: SearchContext) -> str:
    return f"{context.table.n_attributes} attributes, {context.dictionary.n_entities:,} entities"
