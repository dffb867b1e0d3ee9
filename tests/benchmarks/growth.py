"""How time grows with records, entities, attributes and nodes: the exponent of a power law fitted to it.

The specification (19.7) promises at most O(n · N · k) for the score of a rule, and O(N · k + k · L) per
record for a lattice of L nodes. To search single records on lattices beyond enumeration is NP-hard in the
number of attributes: of that it promises nothing.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import psutil

from app.domain.classes.reconstruction import UniformReplacement
from app.domain.classes.reconstruction_groups import TESTS, GroupsUnderTest, ReconstructionQuestion
from app.domain.dictionaries.dictionary import Dictionary
from app.domain.mechanisms.mechanism import MechanismContext
from app.domain.mechanisms.perturbation import PERTURBATION
from app.domain.mechanisms.perturbed_column import Perturbation
from app.domain.mechanisms.sample_perturb_scale import SAMPLE_PERTURB_SCALE, SamplePerturbScale
from app.domain.risk.assessment import assess
from app.domain.risk.utility import build_utility
from app.domain.rules.rule import TableRule
from app.domain.search.context import SearchContext
from app.domain.search.large_lattices.chains import ChainInstance
from app.domain.search.large_lattices.plan import solve as solve_chains
from app.domain.search.objectives import MinRisk
from app.domain.search.problem import Problem
from app.domain.search.solvers import Enumeration
from app.domain.tables.table import Table
from app.experiments.census import flat_hierarchy
from app.experiments.solving import solve
from app.experiments.stand_in_census import ATTRIBUTES as CENSUS
from app.experiments.stand_in_census import EDUCATION, SIZES, base_table, stand_in
from app.experiments.synthetic import generate
from tests.benchmarks.item_table import item_context, item_table
from tests.benchmarks.row import Report, Row, timed

ENTITIES = (50_000, 100_000, 200_000, 400_000)
RECORDS = (25_000, 50_000, 100_000, 200_000)
ATTRIBUTES = (5, 10, 20, 40)
ROWS = (1_250_000, 2_500_000, 5_000_000, 10_000_000)
BYTES_PER_ROW = 200
"""More than any of the works on so many rows holds, their table included."""
MANY_ENTITIES = (50_000, 100_000, 200_000)
MANY_RECORDS = (25, 50, 100)
MANY_ATTRIBUTES = (18, 35, 70)
BRANCHING = ((3, 4, 4), (2, 3), (4, 3, 5), (3, 3, 2))
LATTICES = (2, 3, 4, 5, 6)
NO_PROMISE = "none: NP-hard in the number of attributes"

Work = Callable[[], object]


def rows(data: Path | None, report: Report) -> None:
    """All fits; the data are generated. Of many rows only the sizes that fit into half of the free memory."""
    fitting = [size for size in ROWS if size * BYTES_PER_ROW <= psutil.virtual_memory().available / 2]
    if len(fitting) > 1:
        report(_fit("draw of perturbed values", "rows", fitting, _perturb, "1"))
        report(_fit("draw in copies of samples of a fixed size", "rows", fitting, _sample, "1"))
        report(_fit("groups by six attributes under all tests", "rows", fitting, _test_groups, "1"))
    report(_fit("score of a table-level rule", "entities N", ENTITIES, _score_entities, "1"))
    report(_fit("score of a table-level rule", "records n", RECORDS, _score_records, "1"))
    report(_fit("score of a table-level rule", "attributes k", ATTRIBUTES, _score_attributes, "1"))
    nodes = [3**attributes for attributes in LATTICES]
    report(_fit("optimum per record by enumeration", "nodes L", nodes, _enumerate, "1"))
    report(_fit("optimum per record by enumeration", "entities N", ENTITIES, _enumerate_entities, "1"))
    report(_fit("local optimum of a record", "entities N", MANY_ENTITIES, _many_entities, NO_PROMISE))
    report(_fit("local optima", "records n", MANY_RECORDS, _many_records, NO_PROMISE))
    report(_fit("local optimum of a record", "attributes k", MANY_ATTRIBUTES, _many_attributes, NO_PROMISE))


def _fit(work: str, what: str, sizes: Sequence[int], make: Callable[[int], Work], promise: str) -> Row:
    """Time the work at every size and fit seconds = a · size^exponent."""
    seconds, peak = [], 0
    for size in sizes:
        found = timed(make(size), repeats=3)
        seconds.append(found.least)
        peak = max(peak, found.peak_bytes)
    exponent = float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])
    counters: dict[str, int | float] = {"exponent": round(exponent, 3)}
    counters |= {f"seconds_at_{size}": taken for size, taken in zip(sizes, seconds, strict=True)}
    return Row(
        work=f"{work}: growth with {what}, {sizes[0]:,} to {sizes[-1]:,}",
        bar=f"exponent {promise}" if promise != NO_PROMISE else promise,
        ours_seconds=seconds[-1],
        peak_bytes=peak,
        counters=counters,
        detail="least of three runs at each size; what does not grow pulls the exponent down",
    )


def _census(size: int) -> MechanismContext:
    """Records of the stand-in census, of which education is drawn."""
    order = [*(j for j in range(len(SIZES)) if j != EDUCATION), EDUCATION]
    columns = stand_in(size).columns
    codes = np.stack([columns[j] for j in order], axis=1)
    hierarchies = tuple(flat_hierarchy(SIZES[j]) for j in order)
    names = tuple(CENSUS[j] for j in order)
    return MechanismContext(Table(names, hierarchies, codes, sensitive=frozenset({names[-1]})))


def _perturb(size: int) -> Work:
    context, asked = _census(size), Perturbation(4.0)
    return lambda: PERTURBATION.draw(context, asked, os.urandom)


def _sample(size: int) -> Work:
    context, asked = _census(size), SamplePerturbScale(p=0.5, p_cap=0.5, epsilon=0.5, delta=0.3)
    return lambda: SAMPLE_PERTURB_SCALE.draw(context, asked, os.urandom)


def _test_groups(size: int) -> Work:
    """From the records on, by all four criteria; the groups are then as large as they are in the census."""
    people, order = stand_in(size), np.arange(size, dtype=np.int32)
    question = ReconstructionQuestion(UniformReplacement(0.5, SIZES[EDUCATION]), 0.5, 0.3)

    def tested() -> list[int]:
        groups = GroupsUnderTest(base_table(people, EDUCATION, order).counts, question)
        return [int(groups.failing(test).sum()) for test in TESTS]

    return tested


def _score(n_entities: int, n_records: int, attributes: int) -> Work:
    data = item_table(n_entities, attributes)
    context = item_context(data, n_records)
    rule = TableRule(tuple(height // 2 for height in context.table.heights))
    _reduce(context.table, context.dictionary)
    return lambda: assess(context.table, rule, context.dictionary, context.sensitivity, context.utility)


def _reduce(table: Table, dictionary: Dictionary) -> int:
    """Reduce both to their distinct rows, which are then kept; how many there are."""
    return table.reduced.size + dictionary.reduced.size


def _score_entities(size: int) -> Work:
    return _score(size, 10_000, 10)


def _score_records(size: int) -> Work:
    return _score(200_000, size, 10)


def _score_attributes(size: int) -> Work:
    return _score(50_000, 10_000, size)


def _small(n_entities: int, n_records: int, branching: Sequence[Sequence[int]]) -> SearchContext:
    data = generate(1, n_entities, branching)
    table = data.table(n_records)
    dictionary = data.dictionary(0, n_entities)
    _reduce(table, dictionary)
    return SearchContext(table, dictionary, data.sensitivity(table, "linear_personal"), build_utility(table))


def _enumerate(nodes: int) -> Work:
    """Trees of height 2: 3 nodes per attribute."""
    attributes = round(np.log(nodes) / np.log(3))
    context = _small(20_000, 2_000, [(4, 4)] * attributes)
    problem = Problem(MinRisk(float(attributes)), "record_level")
    return lambda: solve(context, problem, Enumeration())


def _enumerate_entities(size: int) -> Work:
    context = _small(size, 2_000, BRANCHING)
    return lambda: solve(context, Problem(MinRisk(5.0), "record_level"), Enumeration())


def _many(n_entities: int, n_records: int, attributes: int) -> Work:
    context = item_context(item_table(n_entities, attributes), n_records)
    problem = Problem(MinRisk(float(sum(context.table.heights) // 2)), "record_level")

    def work() -> None:
        instance = ChainInstance(context, "zero")
        for number in range(n_records):
            solve_chains(instance.chains(number), problem)

    return work


def _many_entities(size: int) -> Work:
    return _many(size, 20, 70)


def _many_records(size: int) -> Work:
    return _many(50_000, size, 70)


def _many_attributes(size: int) -> Work:
    return _many(50_000, 20, size)
