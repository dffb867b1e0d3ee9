"""How the aggregate objective is maximised on the distinct records of a table: node by node, or lifted."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Protocol

import numpy as np
import numpy.typing as npt

from app.domain.counting.calibration import (
    SECONDS_PER_AGGREGATE_VALUE,
    SECONDS_PER_CLOSURE,
    SECONDS_PER_CLOSURE_CELL,
    SECONDS_PER_PAIR_OF_STEPS,
    SECONDS_PER_PAIR_OF_STEPS_AND_CELL,
    SECONDS_PER_PRODUCT,
    SECONDS_PER_READ_CELL,
    SECONDS_PER_READ_ENTITY,
    SECONDS_PER_RING_FAMILY,
)
from app.domain.errors import NotSupported
from app.domain.rules.rule import CellRule, RecordRule
from app.domain.search.aggregate.chain_records import (
    NODES_LIMIT,
    ChainRecords,
    is_additive,
    refusal_of_family,
)
from app.domain.search.aggregate.objective import (
    BoxObjective,
    Maximiser,
    aggregate_values,
    maximise_aggregate,
)
from app.domain.search.aggregate.submodular import (
    PRODUCTS_LIMIT,
    ClosureMaximiser,
    RingFamilyMaximiser,
    n_products,
    refuse_products,
)
from app.domain.search.budget import Budget, Halted, stop_if
from app.domain.search.context import SearchContext
from app.domain.search.objectives import AggregateObjective, Lagrangian
from app.domain.search.problem import Problem
from app.domain.search.record_rules.blocks import DistinctRecords
from app.domain.search.record_rules.instance import RecordInstance
from app.domain.search.selection import OPTIMAL, PROHIBITED, choose
from app.domain.search.solvers import Enumeration, Solver

Steps = npt.NDArray[np.int16]

SECONDS_PER_BLOCK = 2.0
SECONDS_WORTH_LIFTING = 0.5
BUDGET, HALTED = 1, 2
"""What ``truncated`` says ended the search of records that were not solved."""


def result_type(n_attributes: int) -> np.dtype[np.void]:
    """A row per distinct record; ``value`` and ``bound`` are f and what it cannot exceed."""
    return np.dtype(
        [
            ("steps", "<i2", (n_attributes,)), ("code", "<i1"), ("truncated", "<i1"), ("ties", "<i8"),
            ("value", "<f8"), ("bound", "<f8"), ("visited", "<i8"),
        ]
    )  # fmt: skip


def seconds_of_reading(context: SearchContext) -> float:
    """Estimated time of comparing one record with every distinct entity."""
    entities = context.dictionary.reduced.size
    return entities * (context.table.n_attributes * SECONDS_PER_READ_CELL + SECONDS_PER_READ_ENTITY)


class Records(DistinctRecords, Protocol):
    """The distinct records of a table and the way to maximise f on each."""

    name: str
    of_record: npt.NDArray[np.int32]
    n_absent: int

    @property
    def seconds(self) -> float:
        """Estimated time for all records."""

    @property
    def n_bytes(self) -> int:
        """Estimated memory."""

    @property
    def rows_per_block(self) -> int:
        """Distinct records to solve in one block of a run."""

    def solve(
        self, rows: range, found: npt.NDArray[np.void], tick: Callable[[int], None], halted: Halted
    ) -> None:
        """Fill a row of ``found`` per record; HaltedError or an early end leaves rows as they are."""

    def rule_of(self, steps: Steps) -> RecordRule | CellRule:
        """The rule of all records of the table from the steps of the distinct ones (d, m)."""


class EnumeratedRecords:
    """Every node of every lattice, counts shared between records; any Φ will do."""

    name = "enumeration"

    def __init__(self, context: SearchContext, problem: Problem, asked: AggregateObjective) -> None:
        self._instance = RecordInstance(context, problem.absent_policy, problem.view)
        self.context, self._asked = context, asked
        self.of_record, self.multiplicity = self._instance.of_record, self._instance.multiplicity
        self.mass, self.n_absent = self._instance.mass, self._instance.n_absent

    @property
    def rows_per_block(self) -> int:
        """As many as are quick, but no more than memory allows to count at once."""
        return self._instance.rows_per_block

    @property
    def seconds(self) -> float:
        """Estimated time: every node of every lattice once, and the counts of each block."""
        values = SECONDS_PER_AGGREGATE_VALUE * self._instance.n_nodes * self._instance.n_distinct
        return values + self._instance.seconds(math.ceil(self._instance.n_distinct / self.rows_per_block))

    @property
    def n_bytes(self) -> int:
        """Estimated memory: the instance's own."""
        return self._instance.n_bytes

    def solve(
        self, rows: range, found: npt.NDArray[np.void], tick: Callable[[int], None], halted: Halted
    ) -> None:
        """Look at every node; raises HaltedError between the records that are evaluated together."""
        instance = self._instance

        def visit() -> None:
            tick(0)
            stop_if(halted)

        instance.prepare(rows, visit)
        for start in range(rows.start, rows.stop, instance.rows_at_once):
            stop_if(halted)
            these = np.arange(start, min(rows.stop, start + instance.rows_at_once))
            part = found[start - rows.start : start - rows.start + len(these)]
            lattices = instance.evaluate(these)
            records = lattices.records
            values = aggregate_values(records.counts[0], records.phi, lattices.utility, self._asked)
            beyond = instance.beyond_top(these)
            if beyond is not None:
                values[beyond] = -np.inf
            choice = choose(-values, lattices.utility, Lagrangian(0.0))
            part["steps"] = np.stack(np.unravel_index(choice.node, instance.shape), axis=1)
            part["code"], part["ties"] = choice.code, choice.ties
            part["value"] = part["bound"] = values[choice.node, np.arange(len(these))]
            part["visited"] = instance.n_nodes
            tick(start - rows.start + len(these))

    def rule_of(self, steps: Steps) -> RecordRule | CellRule:
        """The rule of all records from the levels of the distinct ones (d, m)."""
        nodes = np.ravel_multi_index(tuple(steps.T.astype(np.int64)), self._instance.shape)
        return self._instance.rule_of(nodes[self.of_record])


class LiftedRecords:
    """A parametric search per record that maximises g_α by a minimum cut or over a ring family."""

    def __init__(
        self, context: SearchContext, problem: Problem, asked: AggregateObjective, budget: Budget, name: str
    ) -> None:
        self._records = ChainRecords(context, problem.absent_policy, problem.view)
        self.context, self._asked, self.name = context, asked, name
        self.of_record, self.multiplicity = self._records.of_record, self._records.multiplicity
        self.mass, self.n_absent = self._records.mass, self._records.n_absent
        self._budget = budget.shared_by(self._records.n_distinct)
        if name == "closure":
            refuse_products(sum(context.table.heights), asked.kappa)

    @property
    def _seconds_of_one(self) -> float:
        table, entities = self._records.context.table, self._records.context.dictionary.reduced.size
        n_steps, lattice = sum(table.heights), self.context.n_rules
        rows = min(entities, lattice)
        boxes = table.n_attributes if self._asked.phi_zero_policy == "exclude" else 1
        if self.name == "closure":
            products = n_products(n_steps, self._asked.kappa)
            cells = SECONDS_PER_CLOSURE_CELL * rows * table.n_attributes
            step = SECONDS_PER_CLOSURE + cells + SECONDS_PER_PRODUCT * products
        else:
            per_pair = (
                SECONDS_PER_PAIR_OF_STEPS + rows * table.n_attributes * SECONDS_PER_PAIR_OF_STEPS_AND_CELL
            )
            step = SECONDS_PER_RING_FAMILY + 0.8 * n_steps * n_steps * per_pair
        return seconds_of_reading(self._records.context) + boxes * 3 * step

    @property
    def rows_per_block(self) -> int:
        """Distinct records to solve in one block of a run: about as many as its seconds allow."""
        return max(1, int(SECONDS_PER_BLOCK / self._seconds_of_one))

    @property
    def seconds(self) -> float:
        """Estimated time: one parametric search per distinct record."""
        return self._records.n_distinct * self._seconds_of_one

    @property
    def n_bytes(self) -> int:
        """Estimated memory: the records, and the arcs of the network of one of them."""
        table = self._records.context.table
        rows = min(self._records.context.dictionary.reduced.size, self.context.n_rules)
        arcs = rows * (table.n_attributes + 1)
        if self.name == "closure":
            arcs += PRODUCTS_LIMIT
        return self._records.n_bytes + 200 * arcs

    def solve(
        self, rows: range, found: npt.NDArray[np.void], tick: Callable[[int], None], halted: Halted
    ) -> None:
        """Search record by record; ends early, and leaves the other rows, when halted."""
        for at, row in enumerate(rows):
            if halted():
                return
            best = maximise_aggregate(
                self._records.record(row),
                self._asked,
                partial(self._maximiser, halted=halted),
                self._budget,
                halted,
            )
            one = found[at : at + 1]
            one["code"] = PROHIBITED if best.levels is None else OPTIMAL
            one["steps"] = 0 if best.levels is None else best.levels
            one["value"], one["bound"], one["ties"] = best.value, best.bound, 1
            one["visited"] = best.evaluations
            if not best.proven:
                one["truncated"] = HALTED if halted() else BUDGET
            tick(at + 1)

    def _maximiser(self, objective: BoxObjective, halted: Halted) -> Maximiser:
        if self.name == "closure":
            return ClosureMaximiser(objective)
        return RingFamilyMaximiser(objective, halted=halted)

    def rule_of(self, steps: Steps) -> RecordRule:
        """The rule of all records from the levels of the distinct ones (d, m)."""
        return self._records.rule_of(steps)


def records_for(
    context: SearchContext, problem: Problem, asked: AggregateObjective, solver: Solver, budget: Budget
) -> Records:
    """By the method that was asked for; else whichever is estimated to take less time.

    NotSupported for a method that needs an additive Φ.
    """
    method = "enumeration" if isinstance(solver, Enumeration) else asked.method
    if method == "auto":
        # All nodes where that is quick or there is no other way, else what is estimated to take less
        # time
        n_nodes = context.n_rules
        if not is_additive(context):
            return EnumeratedRecords(context, problem, asked)
        allowed = NODES_LIMIT if budget.max_nodes is None else min(NODES_LIMIT, budget.max_nodes)
        if n_nodes > allowed:
            return LiftedRecords(context, problem, asked, budget, "closure")
        enumerated = EnumeratedRecords(context, problem, asked)
        if enumerated.seconds <= SECONDS_WORTH_LIFTING or not is_expandable(context, asked):
            return enumerated
        lifted = LiftedRecords(context, problem, asked, budget, "closure")
        return lifted if lifted.seconds < enumerated.seconds else enumerated
    if method == "enumeration":
        return EnumeratedRecords(context, problem, asked)
    reason = refusal_of_family(context)
    if reason is not None:
        raise NotSupported.because(f"The method {method} does not apply. {reason}")
    return LiftedRecords(context, problem, asked, budget, method)


def is_expandable(context: SearchContext, asked: AggregateObjective) -> bool:
    """Whether Φ·u^κ has few enough products for a minimum cut."""
    return n_products(sum(context.table.heights), asked.kappa) <= PRODUCTS_LIMIT
