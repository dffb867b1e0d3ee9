"""The search for the best rule as the work of a run."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from app.domain.policies.objectives import objective_of
from app.domain.rules.rule import Rule
from app.domain.search.alternatives.plan import AlternativesPlan
from app.domain.search.blocks import BlockedSearch, SearchPlan
from app.domain.search.full_domain.problem import AnonymityOutcome, AnonymityProblem
from app.domain.search.least_loss import LeastLossPlan, least_loss_plan
from app.domain.search.objectives import Alternatives, MinLoss
from app.domain.search.outcome import Outcome
from app.domain.search.partitions.plan import BurelPlan
from app.domain.search.plans import plan
from app.domain.search.problem import Problem
from app.domain.search.solvers import AUTO, Solver
from app.domain.tables.numbers import to_json_number
from app.domain.tables.table import Table
from app.services.fingerprints import plain
from app.services.named import ending_of
from app.services.ports import UnitOfWork
from app.services.resources import (
    JsonObject,
    Kind,
    NewResource,
    Run,
    Stored,
    TenantId,
    document_of,
    reference,
)
from app.services.rules.rule_documents import (
    DICTIONARY,
    POPULATION_SHA256,
    new_rule,
    require_rule_of,
    rule_document,
    rule_of,
)
from app.services.runs.run_execution import Conclusion
from app.services.scoring.assessment_results import result_of
from app.services.scoring.scoring_inputs import Scoring, Sources, load_scoring
from app.services.scoring.scoring_options import ScoringOptions
from app.services.searches.alternatives import compared
from app.services.searches.least_loss import result_of_anonymity, rule_of_least_loss
from app.services.searches.objectives import SearchBudget, scored_problem, solver_of
from app.services.searches.searches import SearchPreparation, SearchQuestion, SearchWork


def result_of_search(outcome: Outcome, scoring: Scoring) -> JsonObject:
    """The result document: no ids, no times.

    ``rule`` is the document of the rule that was found, ``assessment`` its score, ``points`` the map of
    ``rules`` rules.
    """
    document = outcome.to_document()
    rule = None if outcome.rule is None else rule_document(outcome.rule, outcome.attributes)
    found = outcome.assessment or outcome.in_set
    score = None if found is None else result_of(found, scoring.options, scoring.utility).document
    shown = outcome.map_document() or {"points": []}
    return {
        **{key: value for key, value in document.items() if key not in ("levels", "n_rules")},
        "rule": rule,
        "assessment": score,
        "rules": document["n_rules"],
        "points": [
            {**point, "levels": dict(zip(outcome.attributes, point["levels"], strict=True))}
            for point in shown["points"]
        ],
    }


def how_it_was_found(
    outcome: Outcome | AnonymityOutcome, budget: SearchBudget, asked: str | JsonObject
) -> JsonObject:
    """What the search was asked to use and whether it would find the same again, for its result."""
    gap = outcome.relative_gap
    return {
        "solver_parameters": {"kind": asked} if isinstance(asked, str) else asked,
        "budget": budget.shown(),
        "reproducible": outcome.complete,
        "relative_gap": None if gap is None else to_json_number(gap),
    }


def found_rules(result: JsonObject, name: str, sources: Sources, found_by: str | None) -> list[NewResource]:
    """The rules to be stored: one under the optimisation's name, or each alternative under its own."""
    found = {name: result["rule"]} if "rule" in result else {
        f"{name}{ending_of(own['id'])}": own["rule"] for own in result["alternatives"]
    }  # fmt: skip
    rules = []
    for own_name, rule in found.items():
        if rule is None:
            continue
        if POPULATION_SHA256 in rule and sources.dictionary is not None:
            # A result holds no ids: the reference is of the stored rule.
            rule = {**rule, DICTIONARY: reference(sources.dictionary)}
        rules.append(new_rule(own_name, rule, sources.dataset, found_by=found_by))
    return rules


@dataclass(frozen=True)
class OptimisationQuestion(SearchQuestion):
    """An optimisation, with the problem that it poses.

    ``solver`` names the rules that it is to choose from by their hashes, and ``candidates`` has them.
    """

    problem: Problem | AnonymityProblem | Alternatives
    budget: SearchBudget
    solver: Solver = AUTO
    candidates: Mapping[str, Stored] = field(default_factory=dict)


class OptimisationWork(SearchWork):
    """The work of a run that searches for the best rule; subclasses say in which sense."""

    def __init__(self, search: BlockedSearch[object], question: OptimisationQuestion) -> None:
        super().__init__(search, question.budget.time_limit_seconds)
        self._question = question

    def _conclusion(self, outcome: Outcome | AnonymityOutcome, found: JsonObject) -> Conclusion:
        """The result, and the rule that was found.

        That of a search which was halted does not stand for the question: the same may find another one.
        """
        question = self._question
        asked = question.asked
        result = {**found, **how_it_was_found(outcome, question.budget, document_of(asked)["solver"])}
        rules = found_rules(result, asked.name, question.sources, asked.sha256 if outcome.complete else None)
        return Conclusion(result, rules[0] if rules else None, outcome.complete)


class ScoredWork(OptimisationWork):
    """The best rule by risk and utility."""

    def __init__(self, search: SearchPlan, scoring: Scoring, question: OptimisationQuestion) -> None:
        super().__init__(search, question)
        self._search = search
        self._scoring = scoring

    def conclude(self, blocks: Mapping[int, bytes]) -> Conclusion:
        """The result, and the rule that was found."""
        outcome = self._search.combine(blocks)
        return self._conclusion(outcome, result_of_search(outcome, self._scoring))


class AnonymityWork(OptimisationWork):
    """The rule that loses least among those that meet privacy criteria."""

    def __init__(self, search: LeastLossPlan, table: Table, question: OptimisationQuestion) -> None:
        super().__init__(search, question)
        self._search = search
        self._table = table
        self.notes = search.notes if isinstance(search, BurelPlan) else ()

    def conclude(self, blocks: Mapping[int, bytes]) -> Conclusion:
        """The result, and the rule that was found."""
        outcome = self._search.combine(blocks)
        population = self._question.sources.dictionary
        sha256 = None if population is None else population.sha256
        return self._conclusion(outcome, result_of_anonymity(outcome, self._table, self._search, sha256))


class AlternativesWork(OptimisationWork):
    """Several rules of little loss, each stored under a name of its own."""

    def __init__(
        self, search: AlternativesPlan, table: Table, asked: Alternatives, question: OptimisationQuestion
    ) -> None:
        super().__init__(search, question)
        self._search = search
        self._table = table
        self._asked = asked

    def conclude(self, blocks: Mapping[int, bytes]) -> Conclusion:
        """The result, and every rule that was found."""
        question, outcome = self._question, self._search.combine(blocks)
        population, asked = question.sources.dictionary, question.asked
        sha256 = None if population is None else population.sha256

        def written(own: AnonymityOutcome, rule: Rule) -> JsonObject:
            return rule_of_least_loss(own, rule, self._table, self._search, sha256)

        made = compared(outcome, self._asked, self._table, written, question.budget.shown())
        result = plain(made)
        found_by = asked.sha256 if outcome.complete else None
        rules = found_rules(result, asked.name, question.sources, found_by)

        async def store(work: UnitOfWork, run: Run) -> None:
            for rule in rules:
                await work.resources.add(rule)

        return Conclusion(result, None, outcome.complete, store)


class OptimisationPreparation(SearchPreparation[OptimisationQuestion]):
    """Makes the work of an optimisation; a ``Prepare`` of run execution."""

    async def _question(self, work: UnitOfWork, stored: Stored, sources: Sources) -> OptimisationQuestion:
        document = document_of(stored)
        objective, scope = objective_of(document["objective"], printed=False), document["scope"]
        budget = SearchBudget.of(document)
        if isinstance(objective, Alternatives):
            return OptimisationQuestion(stored, sources, ScoringOptions(), objective, budget)
        if isinstance(objective, MinLoss):
            problem = AnonymityProblem.of(objective, scope)
            solver = solver_of(document["solver"])
            return OptimisationQuestion(stored, sources, ScoringOptions(), problem, budget, solver)
        options = ScoringOptions.of(document)
        constraint, aggregate = document.get("constraint", "per_record"), document.get("aggregate", "average")
        return OptimisationQuestion(
            stored,
            sources,
            options,
            scored_problem(objective, scope, options, constraint, aggregate),
            budget,
            solver_of(document["solver"]),
            {
                sha256: await work.resources.get(Kind.RULE, id_)
                for sha256, id_ in document.get("candidates", {}).items()
            },
        )

    async def work(self, tenant: TenantId, question: OptimisationQuestion) -> OptimisationWork:
        """Load what the optimisation rests on, and plan its search."""
        sources, problem, budget = question.sources, question.problem, question.budget.counted
        if isinstance(problem, AnonymityProblem | Alternatives):
            table = await self._loader.table(tenant, sources.dataset)
            dictionary = None
            if sources.dictionary is not None:
                dictionary = await self._loader.dictionary(tenant, sources.dictionary, sources.dataset)
            if isinstance(problem, Alternatives):
                search = await asyncio.to_thread(AlternativesPlan, table, problem, budget, dictionary)
                return AlternativesWork(search, table, problem, question)
            least = await asyncio.to_thread(
                least_loss_plan, table, problem, budget, dictionary, question.solver
            )
            return AnonymityWork(least, table, question)
        scoring = await load_scoring(self._loader, tenant, sources, question.options)

        def planned() -> SearchPlan:
            rules = {
                sha256: rule_of(require_rule_of(rule, sources.dataset), scoring.table)
                for sha256, rule in question.candidates.items()
            }
            context = replace(scoring.context, rules=rules, threads=self._threads)
            return plan(context, problem, question.solver, budget)

        return ScoredWork(await asyncio.to_thread(planned), scoring, question)
