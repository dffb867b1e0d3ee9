"""The score of one rule: computed, written down, and as the work of a run."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from typing import Any

import numpy.typing as npt

from app.domain.assessment import Assessment, assess, estimate_cost
from app.domain.counting.counter import MEMORY_CEILING, Cost, Counter
from app.domain.numbers import to_json_number
from app.domain.risk.loss import AbsentPolicy
from app.domain.risk.summaries import Histogram
from app.domain.rules import Rule
from app.domain.search.context import SearchContext
from app.services.fingerprints import canonical_json
from app.services.ports import Store
from app.services.references import document_of
from app.services.resources import JsonObject, Kind, Stored, TenantId
from app.services.rule_documents import require_rule_of, rule_of
from app.services.run_execution import Conclusion
from app.services.scoring_inputs import find_sources, load_context
from app.services.tables import TableLoader


class RuleScore:
    """One rule to be scored in one context; what counting needs is prepared once."""

    def __init__(
        self,
        context: SearchContext,
        rule: Rule,
        policy: AbsentPolicy,
        memory_ceiling: int,
    ) -> None:
        self._context = context
        self._rule = rule
        self._policy: AbsentPolicy = policy
        self._counter = Counter(context.table, context.dictionary, memory_ceiling)

    @property
    def units(self) -> int:
        """Distinct records as they are: what there is to count for."""
        return self._context.table.reduced.size

    @property
    def entity_ids(self) -> npt.NDArray[Any] | None:
        """Identifiers of the records, if the dataset has any."""
        return self._context.table.entity_ids

    def estimate(self) -> Cost:
        """The cost, computing no score; InvalidInput if the policy needs identifiers that there are not."""
        if self._policy == "add_self":
            _ = self._counter.own_rows
        return estimate_cost(self._counter, self._rule, self._context.sensitivity)

    def compute(self) -> Assessment:
        """The score."""
        context = self._context
        return assess(
            context.table,
            self._rule,
            context.dictionary,
            context.sensitivity,
            context.utility,
            self._policy,
            counter=self._counter,
        )


def result_of(found: Assessment) -> JsonObject:
    """The result document: no ids and no times, infinities as "inf"."""
    beside = found.add_self_risk_average
    return {
        "n_records": found.n_records,
        "n_entities": found.n_entities,
        "absent_policy": found.absent_policy,
        "risk_average": to_json_number(found.risk_average),
        "risk_max": to_json_number(found.risk_max),
        "risk_min": to_json_number(found.risk_min),
        "loss_quantiles": {str(q): to_json_number(loss) for q, loss in found.loss_quantiles.items()},
        "utility_average": to_json_number(found.utility_average),
        "utility_min": to_json_number(found.utility_min),
        "min_consistent": found.min_consistent,
        "absent": found.absent,
        "infinite": found.infinite,
        "add_self_risk_average": None if beside is None else to_json_number(beside),
        "histogram": {
            "counts": _histogram(found.histogram_counts),
            "losses": _histogram(found.histogram_losses),
        },
        "k_matching": found.k_matching,
        "k_equivalence": found.k_equivalence,
        "classes": found.classes,
        "engine": found.engine,
        "monotone": {
            "non_empty": found.monotone.non_empty,
            "phi_monotone": found.monotone.phi_monotone,
            "psi_le_phi": found.monotone.psi_le_phi,
        },
    }


def _histogram(histogram: Histogram) -> JsonObject:
    return {
        "edges": [to_json_number(edge) for edge in histogram.edges],
        "records": list(histogram.records),
        "infinite": histogram.infinite,
    }


class AssessmentWork:
    """The work of a run that scores one rule: a single block, since nothing of a score is worth keeping."""

    n_blocks = 1

    def __init__(self, score: RuleScore) -> None:
        self._score = score

    @property
    def units(self) -> int:
        """Distinct records."""
        return self._score.units

    def run_block(self, index: int, tick: Callable[[int], None]) -> bytes:
        """The result as canonical JSON."""
        result = canonical_json(result_of(self._score.compute()))
        tick(self.units)
        return result

    def conclude(self, blocks: Sequence[bytes]) -> Conclusion:
        """The result."""
        result: dict[str, Any] = json.loads(blocks[0])
        return Conclusion(result)


class AssessmentPreparation:
    """Makes the score that a stored assessment asks for, and its work; a ``Prepare`` of run execution."""

    def __init__(self, store: Store, loader: TableLoader, memory_ceiling: int = MEMORY_CEILING) -> None:
        self._store = store
        self._loader = loader
        self._memory_ceiling = memory_ceiling

    async def __call__(self, tenant: TenantId, assessment: Stored) -> AssessmentWork:
        """Load what the assessment rests on."""
        return AssessmentWork(await self.score(tenant, assessment))

    async def score(self, tenant: TenantId, assessment: Stored) -> RuleScore:
        """The score, ready to be computed."""
        document = document_of(assessment)
        async with self._store.work(tenant) as work:
            sources = await find_sources(work, assessment.uses[:3])
            rule_document = document["rule"]
            if rule_document is None:
                stored_rule = await work.resources.get(Kind.RULE, assessment.uses[3])
                rule_document = require_rule_of(stored_rule, sources.dataset)
        context = await load_context(self._loader, tenant, sources, document["utility"])
        rule = await asyncio.to_thread(rule_of, rule_document, context.table)
        policy = document["absent_policy"]
        return await asyncio.to_thread(RuleScore, context, rule, policy, self._memory_ceiling)
