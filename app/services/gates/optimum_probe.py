"""How far the rule is from the proven optimum of an objective, found by the search of optimisations."""

from __future__ import annotations

from functools import cached_property

from app.domain.errors import NotSupported
from app.domain.gates.explanations import of_optimum
from app.domain.gates.findings import Finding, held
from app.domain.gates.optima import gap_of_loss, gap_of_rule
from app.domain.numbers import from_json_number
from app.domain.policies.policy import OptimumDemand, PolicyCriterion
from app.domain.rules.rule import Rule
from app.domain.search.budget import Halted, never
from app.domain.search.solvers import AUTO
from app.services.gates.bench import Bench
from app.services.gates.probe import UNALIGNED, Probe, ProbeCost, required
from app.services.gates.subject import Subject
from app.services.objectives import SearchBudget, anonymity_problem_of, objective_document
from app.services.optimisation_work import OptimisationPreparation, OptimisationWork, problem_of
from app.services.policy_documents import objective_of
from app.services.resources import JsonObject, Kind, NewResource, TenantId


class OptimumProbe(Probe):
    """Searches once, then holds rules against what the search proved."""

    def __init__(
        self,
        criterion: PolicyCriterion,
        demand: OptimumDemand,
        document: JsonObject,
        work: OptimisationWork,
        bench: Bench,
    ) -> None:
        super().__init__(criterion)
        self._demand = demand
        self._document = document
        self._work = work
        self._bench = bench
        self._complete = True
        self._result: JsonObject | None = None
        if criterion.scope.attributes is not None or criterion.scope.groups is not None:
            raise NotSupported("An optimum is of the whole release.", "Leave the scope out.")

    @cached_property
    def cost(self) -> ProbeCost:
        """Of the search."""
        if self._bench.rule is None:
            raise NotSupported(*UNALIGNED)
        cost = self._work.cost
        return ProbeCost(cost.seconds, cost.bytes, cost.engine)

    @property
    def complete(self) -> bool:
        """Whether the search came to its own end."""
        return self._complete

    def find(self, rule: Rule | None, halted: Halted = never) -> Finding:
        """The relative gap of the rule's value."""
        own = required(rule)
        gap = self._gap(own, self._searched(halted))
        part = held(gap, "at_most", float(self._demand.gap), self._demand.dictionary)
        return Finding(
            "at_most", float(self._demand.gap), (part,), "exact", of_optimum(gap, self._demand.gap)
        )

    def _gap(self, rule: Rule, result: JsonObject) -> float:
        bound = result["lower_bound"]
        if result["status"] == "infeasible":
            return float("inf")
        if bound is None:
            raise NotSupported(
                "The search proved no bound that the rule could be held against.",
                "Demand the optimum of an objective or scope that is solved exactly.",
            )
        lower = from_json_number(bound)
        scoring = self._bench.scoring(self._demand.dictionary)
        problem = anonymity_problem_of(self._document)
        if problem is None:
            return gap_of_rule(scoring.context, problem_of(self._document), rule, lower)
        counter = None
        if any(model.needs_population for model in problem.privacy):
            dictionary = self._bench.dictionary(self._demand.dictionary)
            counter = None if dictionary is None else self._bench.counter(dictionary)
        return gap_of_loss(self._bench.release(rule), problem, scoring.utility, lower, counter)

    def _searched(self, halted: Halted) -> JsonObject:
        """The result of the search, which is made once."""
        if self._result is None:
            work = self._work
            blocks = {
                index: work.run_block(index, lambda done: None, halted) for index in range(work.n_blocks)
            }
            conclusion = work.conclude(blocks)
            self._complete = conclusion.reproducible
            self._result = conclusion.result
        return self._result


async def optimum_probe(
    prepare: OptimisationPreparation,
    tenant: TenantId,
    criterion: PolicyCriterion,
    demand: OptimumDemand,
    subject: Subject,
    bench: Bench,
) -> OptimumProbe:
    """The probe with its search planned."""
    scoring = bench.scoring(demand.dictionary)
    sources = subject.base if demand.dictionary is None else subject.slots[demand.dictionary]
    document = {
        "objective": objective_document(objective_of(demand)),
        "scope": demand.scope,
        "solver": AUTO.name,
        **scoring.options.document(),
        **SearchBudget().document(),
    }
    asked = NewResource(Kind.OPTIMISATION, criterion.id, "", {}, document)
    work = await prepare.work(tenant, asked, sources, scoring.options)
    return OptimumProbe(criterion, demand, document, work, bench)
