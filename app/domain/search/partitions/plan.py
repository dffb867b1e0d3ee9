"""Plans of searches that partition the records into classes, each cell shown as a class's least common node.

Classes that show the same are one for any reader: joined, they pass what both passed. Nobody is suppressed to
meet a criterion; a class of which every cell is ⊥ counts as suppressed where a rule is measured, and meets
the criteria like any other. The bound is that of all recodings of single records.
"""

from __future__ import annotations

import base64
import json
import math
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from app.domain.arrays import Bools, Levels, Longs
from app.domain.classes.gains import CAP_TOLERANCE, frequency_bounds
from app.domain.classes.persons import ONE_ROW
from app.domain.classes.quasi_part import hidden_further, required_quasi_identifiers, shown_at
from app.domain.classes.ratios import as_written
from app.domain.classes.released import Release
from app.domain.errors import Fault, NotSupported, having, refuse
from app.domain.losses.loss import OF_CELLS
from app.domain.losses.released import common_ancestors, shown_cells
from app.domain.models.criterion import Criterion, version_of
from app.domain.models.judging import JudgedRecords
from app.domain.models.suppression import failing_any
from app.domain.rules.rule import RecordRule
from app.domain.search.answers import Answers
from app.domain.search.budget import UNLIMITED, Budget, Halted, HaltedError, never, stop_if
from app.domain.search.full_domain.problem import (
    AnonymityOutcome,
    AnonymityProblem,
    Attained,
    BlockFound,
    Partitioned,
    refusals_of,
    sorted_criteria,
    told_of,
)
from app.domain.search.local_recoding.bounds import bound_of
from app.domain.search.local_recoding.cells import Cells, cell_loss_of
from app.domain.search.local_recoding.class_criteria import ClassCriteria
from app.domain.search.local_recoding.course import Course
from app.domain.search.local_recoding.plan import bounded
from app.domain.search.outcome import Counters
from app.domain.search.partitions import burel
from app.domain.search.partitions.mondrian import Axis, median_cuts
from app.domain.search.solvers import Burel, Mondrian
from app.domain.tables.distinct import distinct_rows, sort_with_positions, starts_of_runs
from app.domain.tables.table import Table

MARGINS: Final = (0.0, 0.05, 0.1, 0.2, 0.3)
"""What ``auto`` tries."""
BYTES_PER_CELL: Final = 120
SECONDS_PER_CELL: Final = 4e-7


@dataclass(frozen=True, kw_only=True)
class _Found(BlockFound):
    """What a block found: packed steps (n, m), None without a rule; and the least loss of all recodings."""

    steps: str | None = None
    bound: float = 0.0
    partition: tuple[int, int, int | None, float | None] | None = None


class PartitionPlan(ABC):
    """A search that partitions the records, its units; refuses what no partition is made of."""

    n_blocks = 1
    solver: str
    _instead: str
    _most_places: float = math.inf

    def __init__(self, table: Table, problem: AnonymityProblem, budget: Budget) -> None:
        self._require(table, problem, budget)
        self._whole, self._of_sensitive = table, problem.levels_of_sensitive(table)
        self._table = shown_at(table, self._of_sensitive)
        self._problem = problem
        self._loss = cell_loss_of(self._table, problem.loss)
        self._attributes = table.quasi_identifiers
        self._version = version_of(problem.privacy)
        everybody = np.zeros(table.n_records, dtype=np.int32)
        self._records = JudgedRecords(self._table, everybody, version=self._version)
        sorted_criteria(problem.privacy, self._records.whole)
        self._refusals = refusals_of(problem, self._records.whole, 0, 0, overlaps=False)
        self.answers = Answers()
        self.units = table.n_records
        self.seconds = SECONDS_PER_CELL * table.n_records * len(self._attributes)
        self.n_bytes = BYTES_PER_CELL * table.n_records * table.n_attributes

    @abstractmethod
    def partitions(self, tick: Callable[[int], None]) -> Iterator[tuple[Longs, int | None, float | None]]:
        """(n,) class of each record, in one way or several; of BUREL the buckets and the margin."""

    def run_block(self, index: int, tick: Callable[[int], None], halted: Halted = never) -> bytes:
        """The best partition and a bound, as JSON; all records as one class once it is halted."""

        def advance(done: int) -> None:
            stop_if(halted)
            tick(min(done, self.units))

        if self._refusals:
            return _Found().encoded()
        try:
            found = [self._described(*own) for own in self.partitions(advance)]
        except HaltedError:
            together = np.zeros(self._table.n_records, dtype=np.int64)
            return replace(self._described(together, None, None), complete=False).encoded()
        best = min(found, key=lambda own: own.loss)
        cells, criteria = Cells(self._table, self._loss), ClassCriteria(self._table, self._problem)
        bound = bound_of(cells, criteria, self._problem.loss, lambda: 0.0)
        bound.raise_by("little", best.loss, Course(halted=halted))
        return replace(best, bound=bound.least).encoded()

    def combine(self, blocks: Mapping[int, bytes]) -> AnonymityOutcome:
        """The rule and a bound of the least loss."""
        block = blocks[0] if 0 in blocks else self.run_block(0, lambda _: None, lambda: True)
        found = _Found(**json.loads(block))
        none = AnonymityOutcome(
            problem=self._problem,
            solver=self.solver,
            status="infeasible",
            rule=None,
            loss=None,
            suppressed_records=None,
            suppression_allowed=0,
            smallest_class=None,
            classes=None,
            bounds=None,
            complete=found.complete,
            n_rules=math.prod(self._table.heights[j] + 1 for j in self._attributes),
            counters=Counters(0, 0, 0),
            attributes=self._table.attributes,
            refusals=self._refusals,
        )
        if self._refusals or found.steps is None or found.partition is None:
            return none if self._refusals else bounded(none, None, found.bound)
        flat = np.frombuffer(zlib.decompress(base64.b64decode(found.steps)), dtype="<i2")
        rule = RecordRule(flat.reshape(self._table.codes.shape, order="F"))
        outcome = replace(
            none,
            rule=hidden_further(rule, self._whole, self._of_sensitive),
            loss=found.loss,
            suppressed_records=0,
            smallest_class=found.smallest_class,
            classes=found.classes,
            privacy=tuple(map(Attained, self._problem.privacy, found.attained)),
            partition=Partitioned(*found.partition),
        )
        return bounded(outcome, found.loss, found.bound)

    def suppressed_records(self, levels: Levels) -> Bools:
        """(n,) nobody: no rule of levels is the answer."""
        return np.zeros(self._table.n_records, dtype=bool)

    def _described(self, of: Longs, buckets: int | None, margin: float | None) -> _Found:
        """The rule that shows each class as least common nodes, checked by the criteria."""
        table, n_classes = self._table, int(of.max()) + 1
        ordered, order = sort_with_positions(of, n_classes)
        starts = starts_of_runs(ordered)
        steps = np.zeros(table.codes.shape, dtype=np.int16, order="F")
        shown = []
        for j in self._attributes:
            hierarchy, own = table.hierarchies[j], table.codes[:, j]
            shown.append(common_ancestors(hierarchy, own[order], starts))
            steps[:, j] = hierarchy.depth[own] - hierarchy.depth[shown[-1]][of]
        # Classes that show the same are one for any reader.
        joined = distinct_rows(shown, [table.sizes[j] for j in self._attributes], n_classes)
        records = JudgedRecords(table, joined.inverse[of], version=self._version)
        judged = records.judged(np.arange(joined.size), joined.size)
        if failing_any(judged, self._problem.privacy).any():
            raise RuntimeError(f"{self.solver} made a class that fails its criteria")
        release = Release(table, RecordRule(steps))
        costs = zip(self._attributes, self._loss.costs, strict=True)
        return _Found(
            steps=base64.b64encode(zlib.compress(steps.astype("<i2").tobytes("F"), 1)).decode("ascii"),
            loss=self._loss.of_totals([shown_cells(release, j).total(cost) for j, cost in costs]),
            partition=(n_classes, int(np.count_nonzero(release.is_suppressed)), buckets, margin),
            **told_of(judged, self._problem.privacy),
        )

    def _require(self, table: Table, problem: AnonymityProblem, budget: Budget) -> None:
        """Refuse what no partition is made of, with the remedy."""
        kinds = ", ".join(kind for kind in OF_CELLS if kind != "squared_error")
        wrong = {
            "/scope": (problem.scope != "record_level", "Ask for record_level."),
            "/objective/suppression_limit": (problem.suppression_limit > 0, "Nobody is suppressed."),
            "/objective/local_recoding": (problem.local_recoding, "Leave it out."),
            "/objective/loss/kind": (problem.loss.kind not in OF_CELLS, f"Choose one of: {kinds}."),
            "/budget": (budget != UNLIMITED, "Leave max_nodes and relative_gap out: no rules are visited."),
        }
        said = f"The solver {self.solver} does not take this."
        refuse([Fault(at, "not-applicable", said, own) for at, (is_so, own) in wrong.items() if is_so])
        if table.persons is not None:
            raise NotSupported(f"{self.solver} takes one record of each person.", f"Give {ONE_ROW}.")
        for j in required_quasi_identifiers(table):
            table.hierarchies[j].require_tree("A least common node", "leave the solver out")
            self._require_places(table, j)
        unfit = [own.kind for own in problem.privacy if not self._fits(own)]
        if unfit:
            raise NotSupported(f"The solver {self.solver} does not take {', '.join(unfit)}.", self._instead)

    def _require_places(self, table: Table, attribute: int) -> None:
        """Refuse an attribute with missing values, or with more values than an axis has places for."""
        name, values = table.attributes[attribute], len(table.used_nodes[attribute])
        missing = int(np.count_nonzero(table.is_missing(attribute)))
        if missing:
            raise NotSupported(
                f"{having(missing, 'record')} no value of {name!r}, and the solver {self.solver} needs one.",
                "Give what is missing a value of its own, such as 'unknown', or leave the solver out.",
            )
        if values > self._most_places:
            raise NotSupported(
                f"{name!r} has {values:,} values; an axis of the curve has {self._most_places:,} cells.",
                "Prepare the column with fewer values, or use the solver mondrian.",
            )

    @abstractmethod
    def _fits(self, criterion: Criterion) -> bool:
        """Whether the partition can see to a criterion."""


class MondrianPlan(PartitionPlan):
    """Median cuts as long as both halves pass."""

    solver = Mondrian.name
    _instead = "Take criteria whose classes pass together, of this table alone, or leave the solver out."

    def _fits(self, criterion: Criterion) -> bool:
        return not (criterion.merging == "none" or criterion.table_wide or criterion.needs_population)

    def partitions(self, tick: Callable[[int], None]) -> Iterator[tuple[Longs, int | None, float | None]]:
        """By median cuts, once."""
        table, rows = self._table, self._table.reduced
        records = JudgedRecords(table, rows.inverse, version=self._version)

        def passes(of: Longs, n_classes: int) -> Bools:
            return ~failing_any(records.judged(of, n_classes), self._problem.privacy)

        axes = [Axis.of(table.hierarchies[j], rows.codes[:, j]) for j in self._attributes]
        of = median_cuts(axes, rows.counts, passes, tick)
        yield of[rows.inverse], None, None


def along_curve(axes: Sequence[Axis]) -> tuple[list[int], Longs]:
    """The positions of records on the Hilbert curve, ascending, and the rank of each record's."""
    bits = burel.bits_for(max(len(axis.places) for axis in axes))
    cells = np.stack([burel.grid(axis.relative, bits)[axis.ranks] for axis in axes])
    positions, ranks = np.unique(burel.hilbert(cells, bits), return_inverse=True)
    return positions.tolist(), ranks.reshape(-1)


class BurelPlan(PartitionPlan):
    """BUREL for a criterion of β-likeness; k of k-anonymity is the least size of a class."""

    solver = Burel.name
    _most_places = 2**burel.MOST_BITS
    _instead = (
        "Take one criterion beta_likeness without groups and beta_negative, k_anonymity beside it for sizes, "
        "or the solver mondrian."
    )

    def __init__(self, table: Table, problem: AnonymityProblem, solver: Burel, budget: Budget) -> None:
        super().__init__(table, problem, budget)
        self._asked = solver
        found = [own.gain_bound for own in problem.privacy if own.gain_bound is not None]
        if len(found) != 1:
            raise NotSupported(f"There are {len(found)} criteria of β-likeness.", self._instead)
        self._gain = found[0]
        self._sensitive = self._records.position(self._records.index(self._gain.attribute))
        self._require_places(table, self._sensitive)
        if solver.slack_margin == "auto":
            self.seconds *= len(MARGINS)

    @property
    def notes(self) -> tuple[str, ...]:
        """What a single value, or one that occurs once, means for the classes."""
        counts, gain = self._records.whole.counts(self._gain.attribute), self._gain
        if counts.n_values == 1:
            return ("There is one sensitive value: without k_anonymity classes have one record.",)
        rarest = counts.totals.min(keepdims=True)
        share = frequency_bounds(rarest, counts.population, gain.beta, gain.kind)[0]
        least = f"{math.ceil((1 - CAP_TOLERANCE) / share):,} of {counts.population:,}"
        said = f"A sensitive value occurs once: its class has at least {least} records."
        return (said,) if rarest[0] == 1 else ()

    def _fits(self, criterion: Criterion) -> bool:
        return criterion.gain_bound is not None or criterion.least_class_size is not None

    def partitions(self, tick: Callable[[int], None]) -> Iterator[tuple[Longs, int | None, float | None]]:
        """By BUREL, once for each margin."""
        table, asked, beta, kind = self._table, self._asked, self._gain.beta, self._gain.kind
        k_min = max(own.least_class_size or 1 for own in self._problem.privacy)
        rows = table.distinct(self._attributes)
        axes = [Axis.of(table.hierarchies[j], rows.codes[:, i]) for i, j in enumerate(self._attributes)]
        positions, ranks = along_curve(axes)
        hierarchy, values = table.hierarchies[self._sensitive], table.codes[:, self._sensitive]
        values = hierarchy.as_read[values] if self._version > 1 else values
        per_node = np.bincount(values, minlength=hierarchy.n_nodes)
        numbers, totals = np.cumsum(per_node > 0) - 1, per_node[per_node > 0]
        for margin in MARGINS if asked.slack_margin == "auto" else (asked.slack_margin,):
            buckets = burel.bucketise(totals, beta, kind, as_written(margin))
            sizes = burel.class_sizes(buckets, beta, kind, asked.rounding, k_min)
            random = None if asked.start == "first" else np.random.default_rng(asked.seed)
            of_row, of_bucket = ranks[rows.inverse], buckets.of_value[numbers[values]]
            of = burel.retrieve(of_bucket, of_row, positions, sizes, random, tick)
            yield of, len(buckets.sizes), margin
