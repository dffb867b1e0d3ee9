"""An evaluation as the work of a run: blocks for the risk under each slot, each criterion, changes, columns.

Blocks do not depend on each other: that of the changes computes the criteria again if another process has
done them before. A block that is missing because the run was stopped is a criterion that is not computed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from app.domain.search.budget import Halted, never
from app.services.datasets.tables import TableLoader
from app.services.fingerprints import canonical_json
from app.services.gates.completion import Completion
from app.services.gates.coverage import broken_coverage
from app.services.gates.evaluation import Evaluation, prepare_evaluation
from app.services.gates.stored import subject_of
from app.services.ports import Store
from app.services.references import document_of
from app.services.resources import Stored, TenantId
from app.services.runs.run_execution import Conclusion


class EvaluationWork:
    """The work of a run that evaluates one subject; a unit is a block."""

    time_limit = None

    def __init__(self, evaluation: Evaluation, stored: Stored, rules: int, completion: Completion) -> None:
        self._evaluation = evaluation
        self._stored = stored
        self._rules = rules
        self._completion = completion
        self._risks = len(evaluation.slots)

    @property
    def n_blocks(self) -> int:
        """Slots, criteria, one for the changes, and one for the columns."""
        return self._risks + self._evaluation.n_criteria + 2

    @property
    def units(self) -> int:
        """Blocks."""
        return self.n_blocks

    @property
    def seconds(self) -> float:
        """Estimated time of the criteria."""
        return self._evaluation.cost.seconds

    def run_block(self, index: int, tick: Callable[[int], None], halted: Halted = never) -> bytes:
        """The documents of one block, and whether they depend on when the work was halted."""
        evaluation = self._evaluation
        found: Any
        complete = True
        if index < self._risks:
            found = evaluation.risk(index)
        elif index < self._risks + evaluation.n_criteria:
            found = evaluation.criterion(index - self._risks, halted)
            complete = evaluation.complete
        elif index < self.n_blocks - 1:
            found, complete = evaluation.changes(self._rules, halted)
        else:
            found = evaluation.coverage(halted)
            complete = evaluation.complete
        tick(1)
        return canonical_json({"found": found, "complete": complete})

    def conclude(self, blocks: Mapping[int, bytes]) -> Conclusion:
        """The verdict, and what is stored with it."""
        read = {index: json.loads(block) for index, block in blocks.items()}
        evaluation, first = self._evaluation, self._risks
        criteria = [
            read[first + number]["found"] if first + number in read else evaluation.stopped(number)
            for number in range(evaluation.n_criteria)
        ]
        risks = [read[number]["found"] if number in read else None for number in range(first)]
        changes, columns = read.get(self.n_blocks - 2), read.get(self.n_blocks - 1)
        result = evaluation.result(
            criteria,
            risks,
            [] if changes is None else changes["found"],
            broken_coverage("the work was stopped before.") if columns is None else columns["found"],
        )
        complete = len(read) == self.n_blocks and all(own["complete"] for own in read.values())
        also = self._completion.of(evaluation.subject, self._stored, result)
        return Conclusion(result, None, complete, also)


class EvaluationPreparation:
    """Makes the work of a stored evaluation; a ``Prepare`` of run execution."""

    def __init__(self, store: Store, loader: TableLoader, completion: Completion) -> None:
        self._store = store
        self._loader = loader
        self._completion = completion

    async def __call__(self, tenant: TenantId, stored: Stored) -> EvaluationWork:
        """Load what the evaluation rests on."""
        async with self._store.work(tenant) as work:
            subject = await subject_of(work, stored)
        evaluation = await prepare_evaluation(self._store, self._loader, tenant, subject)
        return EvaluationWork(evaluation, stored, document_of(stored)["change_rules"], self._completion)
