"""The risk and the utility of each rule of the case study, ten rules a block."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

from app.domain.risk.assessment import assess
from app.domain.risk.utility import build_utility
from app.domain.rules.rule import TableRule
from app.domain.search.budget import Halted, never
from app.domain.sensitivity.sensitivity import Sensitivity, build_sensitivity
from app.domain.sensitivity.weights import LeafWeights
from app.services.fingerprints import canonical_json
from app.services.runs.run_execution import Conclusion
from tests.benchmarks.case_study import CaseStudy

RULES_PER_BLOCK = 10


@dataclass(frozen=True, eq=False)
class RulesOfCaseStudy:
    """All rules for the whole table, scored one by one."""

    study: CaseStudy
    seconds: float = 60.0
    time_limit: float | None = None

    @cached_property
    def rules(self) -> list[tuple[int, ...]]:
        """Their levels, in lexicographic order."""
        return list(itertools.product(*(range(height + 1) for height in self.study.table.heights)))

    @property
    def units(self) -> int:
        """Rules."""
        return len(self.rules)

    @property
    def n_blocks(self) -> int:
        """Blocks of ten rules."""
        return -(-self.units // RULES_PER_BLOCK)

    @cached_property
    def _sensitivity(self) -> Sensitivity:
        weights = {name: LeafWeights(weight) for name, weight in self.study.weights.items()}
        return build_sensitivity(self.study.table, "multiplicative", weights)

    def run_block(self, index: int, tick: Callable[[int], None], halted: Halted = never) -> bytes:
        """Risk and utility of the block's rules."""
        study, found = self.study, []
        utility = build_utility(study.table)
        for levels in self.rules[index * RULES_PER_BLOCK : (index + 1) * RULES_PER_BLOCK]:
            own = assess(study.table, TableRule(levels), study.years, self._sensitivity, utility)
            found.append([list(levels), own.risk_average, own.utility_average])
            tick(len(found))
        return canonical_json(found)

    def conclude(self, blocks: Mapping[int, bytes]) -> Conclusion:
        """All rules."""
        return Conclusion({"rules": [rule for index in sorted(blocks) for rule in json.loads(blocks[index])]})
