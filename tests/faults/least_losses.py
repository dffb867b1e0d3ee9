"""A real search for the recoding of least loss, each step of which takes a while."""

from __future__ import annotations

import time
from collections.abc import Mapping

import numpy as np

from app.domain.hierarchies.hierarchy import Hierarchy
from app.domain.models.k_anonymity import KAnonymity
from app.domain.search.answers import Answers
from app.domain.search.budget import never
from app.domain.search.full_domain.problem import AnonymityProblem
from app.domain.search.local_recoding.course import Course
from app.domain.search.local_recoding.plan import RecodingPlan
from app.domain.tables.table import Table
from app.services.fingerprints import sha256_of
from app.services.resources import Kind, NewResource
from app.services.runs.run_execution import Conclusion

STEP_SECONDS = 0.02
KEEP_SECONDS = 0.2
"""So often its worker keeps what it has found out."""


class LeastLoss:
    """The recoding of a table drawn from ``seed``; its result shows the block, and the attempt's steps."""

    n_blocks = 1
    seconds = 0.0
    time_limit = None

    def __init__(self, seed: int, step_seconds: float = STEP_SECONDS) -> None:
        rng = np.random.default_rng(seed)
        numbers = [f"{number:03}" for number in range(1000)]
        tree = Hierarchy.from_rows([(own, f"{own[:2]}*", f"{own[0]}**", "***") for own in numbers])
        leaves = tree.encode(numbers)[0]
        codes = leaves[rng.normal(500, 150, (400, 4)).clip(0, 999).astype(int)]
        table = Table(("a", "b", "c", "d"), (tree,) * 4, codes.astype(np.int32))
        self._plan = RecodingPlan(table, AnonymityProblem((KAnonymity(3),), 0.1, scope="record_level"))
        self.answers, self.units = self._plan.answers, self._plan.units
        self.steps = 0
        self._step_seconds = step_seconds

    def run_block(self, index: int, tick, halted=never) -> bytes:
        def step(done: int) -> None:
            self.steps += 1
            time.sleep(self._step_seconds)
            tick(done)

        return self._plan.run_block(index, step, halted)

    def conclude(self, blocks: Mapping[int, bytes]) -> Conclusion:
        return Conclusion({"block": blocks[0].hex(), "steps": self.steps})


def steps_in(state: bytes) -> int:
    """How many steps of the search were made before it was in a state."""
    answers = Answers()
    answers.recall_state(state)
    return Course(answers=answers)._notes[-1][1]


def least_loss(name: str, seed: int) -> NewResource:
    """The resource whose run searches for it."""
    document = {"seed": seed}
    return NewResource(Kind.OPTIMISATION, name, sha256_of(document), {}, document)
