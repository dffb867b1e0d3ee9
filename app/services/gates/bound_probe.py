"""Whether the risk under a dictionary bounds the risk under what the attacker has."""

from __future__ import annotations

from functools import cached_property

from app.domain.errors import InvalidInput, NotSupported
from app.domain.gates.explanations import of_bound
from app.domain.gates.findings import Finding, Hypothesis, held
from app.domain.policies.policy import BoundDemand, PolicyCriterion
from app.domain.rules.rule import Rule
from app.domain.search.budget import Halted, never
from app.services.assessment_work import SECONDS_PER_COMPARED_ENTITY
from app.services.gates.bench import Bench
from app.services.gates.probe import UNALIGNED, Probe, ProbeCost, required

_WORDS = {"true": "yes", "false": "no", "assumed": "assumed"}


class BoundProbe(Probe):
    """Checks the hypotheses of the theorem of bounds."""

    def __init__(self, criterion: PolicyCriterion, demand: BoundDemand, bench: Bench) -> None:
        super().__init__(criterion)
        self._demand = demand
        self._bench = bench
        bench.dictionary(demand.dictionary)
        if bench.scoring(demand.dictionary).sensitivity is None:
            raise InvalidInput.of(
                "/sensitivity", "missing", "A bound is of risk, which needs the harm of a disclosure."
            )
        if criterion.scope.attributes is not None or criterion.scope.groups is not None:
            raise NotSupported("A bound is of the whole release.", "Leave the scope out.")

    @cached_property
    def cost(self) -> ProbeCost:
        """Of finding the records in the dictionary."""
        if self._bench.rule is None:
            raise NotSupported(*UNALIGNED)
        scoring = self._bench.scoring(self._demand.dictionary)
        entities = scoring.table.n_records + scoring.linked[0].n_entities
        return ProbeCost(entities * SECONDS_PER_COMPARED_ENTITY, 64 * entities, "comparison")

    def find(self, rule: Rule | None, halted: Halted = never) -> Finding:
        """Whether the bound is claimed, and rests on no more than the policy allows."""
        demand = self._demand
        found = self._bench.score(demand.dictionary, required(rule)).bound()
        may_rest = demand.may_rest_on_assumptions
        stands = found.claimed and (may_rest or not found.rests_on_assumptions)
        return Finding(
            "equals",
            True,
            (held(stands, "equals", True, demand.dictionary),),
            "exact",
            of_bound(demand.dictionary, found.claimed, found.rests_on_assumptions, may_rest),
            hypotheses=tuple(Hypothesis(own.name, _WORDS[own.holds], own.reason) for own in found.hypotheses),
        )
