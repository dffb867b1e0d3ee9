"""The search for the best rule as the work of a run."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from app.domain.models.class_suppression import ClassSuppression, SmallClasses
from app.domain.models.suppression import Order
from app.domain.rules.rule import Rule, TableRule, apply
from app.domain.search.blocks import BlockedSearch, SearchPlan
from app.domain.search.full_domain.problem import AnonymityOutcome, AnonymityProblem
from app.domain.search.objectives import MinLoss
from app.domain.search.outcome import Outcome
from app.domain.search.plans import LeastLossPlan, least_loss_plan, plan
from app.domain.tables.masks import rows_without_values
from app.domain.tables.numbers import to_json_number
from app.domain.tables.table import Table
from app.services.references import document_of, reference
from app.services.resources import JsonObject, Kind, NewResource, Stored, TenantId
from app.services.rules.rule_definitions import FEWEST_ALIKE
from app.services.rules.rule_documents import (
    DICTIONARY,
    POPULATION_SHA256,
    new_rule,
    population_suppressing_document,
    require_rule_of,
    rule_document,
    rule_of,
    suppressing_document,
)
from app.services.runs.run_execution import Conclusion
from app.services.scoring.assessment_documents import result_of
from app.services.scoring.scoring_inputs import Scoring, Sources, load_scoring
from app.services.scoring.scoring_options import ScoringOptions
from app.services.searches.objectives import SearchBudget, objective_of, scored_problem, solver_of
from app.services.searches.search_work import Asked, SearchPreparation, SearchWork


def result_of_search(outcome: Outcome, scoring: Scoring) -> JsonObject:
    """The result document: no ids, no times.

    ``rule`` is the document of the rule that was found, ``assessment`` its score, ``points`` the map of
    ``rules`` rules.
    """
    document = outcome.to_document()
    rule = None if outcome.rule is None else rule_document(outcome.rule, outcome.attributes)
    found = outcome.assessment or outcome.in_set
    score = None if found is None else result_of(found, scoring.options, scoring.utility)
    shown = outcome.map_document()
    return {
        **{key: value for key, value in document.items() if key not in ("levels", "n_rules")},
        "rule": rule,
        "assessment": score,
        "rules": document["n_rules"],
        "points": [] if shown is None else [_point(point, outcome.attributes) for point in shown["points"]],
    }


def result_of_anonymity(
    outcome: AnonymityOutcome, table: Table, search: LeastLossPlan, dictionary_sha256: str | None = None
) -> JsonObject:
    """The result document of a search for the least loss: no ids, no times.

    ``dictionary_sha256`` is of the population, where criteria compare with one.
    """
    rule = None
    if outcome.rule is not None:
        rule = _rule_of_least_loss(outcome, outcome.rule, table, search, dictionary_sha256)
    left_out = ("levels", "n_rules", "complete")
    return {
        **{key: value for key, value in outcome.to_document().items() if key not in left_out},
        "rule": rule,
        "rules": outcome.n_rules,
    }


def _rule_of_least_loss(
    outcome: AnonymityOutcome, rule: Rule, table: Table, search: LeastLossPlan, dictionary_sha256: str | None
) -> JsonObject:
    """The document of the rule, with what it suppresses beside its levels."""
    problem = outcome.problem
    if not isinstance(rule, TableRule) or not (outcome.suppression_allowed or outcome.suppressed_records):
        return rule_document(rule, outcome.attributes)
    is_any_silent = rows_without_values(apply(rule, table)[:, table.quasi_identifiers]).any()
    if is_any_silent and not outcome.suppressed_records:
        # Readers of a rule that suppresses classes take whoever shows nothing for suppressed.
        return rule_document(rule, outcome.attributes)
    order: Order = "class_by_class" if any(own.table_wide for own in problem.privacy) else "size_by_size"
    failing = ClassSuppression(problem.privacy, problem.missing, problem.suppressed, order)
    if failing.needs_population and dictionary_sha256 is not None:
        records = search.withheld(rule.levels)
        return population_suppressing_document(table, rule, failing, records, dictionary_sha256)
    # Small classes alone would say nothing of those who are suppressed with them.
    below = None if is_any_silent else suppression_below(table, problem)
    if below is None:
        return suppressing_document(table, rule, failing)
    return (
        rule_document(rule, outcome.attributes)
        if below < FEWEST_ALIKE
        else suppressing_document(table, rule, SmallClasses(below))
    )


def suppression_below(table: Table, problem: AnonymityProblem) -> int | None:
    """The least size of classes where that is all that suppression looks at."""
    sizes = [own.least_alike for own in problem.privacy if own.least_alike is not None]
    is_plain = (problem.missing, problem.suppressed) == ("own_category", "excluded")
    return max(sizes) if is_plain and len(sizes) == len(problem.privacy) and not table.sensitive else None


def how_it_was_found(outcome: Outcome | AnonymityOutcome, document: JsonObject) -> JsonObject:
    """What the search was asked to use and whether it would find the same again, for its result."""
    asked = document["solver"]
    gap = outcome.relative_gap
    return {
        "solver_parameters": {"kind": asked} if isinstance(asked, str) else asked,
        "budget": SearchBudget.of(document).shown(),
        "reproducible": outcome.complete,
        "relative_gap": None if gap is None else to_json_number(gap),
    }


def found_rule(result: JsonObject, name: str, sources: Sources, found_by: str | None) -> NewResource | None:
    """The rule to be stored under the optimisation's name, if one was found."""
    rule = result["rule"]
    if rule is None:
        return None
    if POPULATION_SHA256 in rule and sources.dictionary is not None:
        # A result holds no ids: the reference is of the stored rule.
        rule = {**rule, DICTIONARY: reference(sources.dictionary)}
    return new_rule(name, rule, sources.dataset, found_by=found_by)


def _point(point: dict[str, Any], attributes: Sequence[str]) -> JsonObject:
    return {**point, "levels": dict(zip(attributes, point["levels"], strict=True))}


class OptimisationWork(SearchWork):
    """The work of a run that searches for the best rule; subclasses say in which sense."""

    def __init__(self, search: BlockedSearch[object], asked: Asked, sources: Sources) -> None:
        self._document = document_of(asked)
        super().__init__(search, SearchBudget.of(self._document).time_limit_seconds)
        self._asked = asked
        self._sources = sources

    def _conclusion(self, outcome: Outcome | AnonymityOutcome, found: JsonObject) -> Conclusion:
        """The result, and the rule that was found.

        That of a search which was halted does not stand for the question: the same may find another one.
        """
        result = {**found, **how_it_was_found(outcome, self._document)}
        found_by = self._asked.sha256 if outcome.complete else None
        rule = found_rule(result, self._asked.name, self._sources, found_by)
        return Conclusion(result, rule, outcome.complete)


class ScoredWork(OptimisationWork):
    """The best rule by risk and utility."""

    def __init__(self, search: SearchPlan, scoring: Scoring, asked: Asked, sources: Sources) -> None:
        super().__init__(search, asked, sources)
        self._search = search
        self._scoring = scoring

    def conclude(self, blocks: Mapping[int, bytes]) -> Conclusion:
        """The result, and the rule that was found."""
        outcome = self._search.combine(blocks)
        return self._conclusion(outcome, result_of_search(outcome, self._scoring))


class AnonymityWork(OptimisationWork):
    """The rule that loses least among those that meet privacy criteria."""

    def __init__(self, search: LeastLossPlan, table: Table, asked: Asked, sources: Sources) -> None:
        super().__init__(search, asked, sources)
        self._search = search
        self._table = table

    def conclude(self, blocks: Mapping[int, bytes]) -> Conclusion:
        """The result, and the rule that was found."""
        outcome = self._search.combine(blocks)
        population = self._sources.dictionary
        sha256 = None if population is None else population.sha256
        return self._conclusion(outcome, result_of_anonymity(outcome, self._table, self._search, sha256))


class OptimisationPreparation(SearchPreparation):
    """Makes the work of an optimisation; a ``Prepare`` of run execution."""

    async def work(
        self, tenant: TenantId, asked: Asked, sources: Sources, options: ScoringOptions | None = None
    ) -> OptimisationWork:
        """Load what the optimisation rests on, and plan its search."""
        document = document_of(asked)
        objective, scope = objective_of(document["objective"]), document["scope"]
        budget = SearchBudget.of(document).counted
        if isinstance(objective, MinLoss):
            table = await self._loader.table(tenant, sources.dataset)
            dictionary = None
            if sources.dictionary is not None:
                dictionary = await self._loader.dictionary(tenant, sources.dictionary, sources.dataset)
            anonymity = AnonymityProblem.of(objective, scope)
            plan_of_loss = await asyncio.to_thread(least_loss_plan, table, anonymity, budget, dictionary)
            return AnonymityWork(plan_of_loss, table, asked, sources)
        stated = ScoringOptions.of(document)
        scoring = await load_scoring(self._loader, tenant, sources, options or stated)
        rules = await self._candidates(tenant, document, sources.dataset, scoring.table)
        problem = scored_problem(
            objective,
            scope,
            stated,
            document.get("constraint", "per_record"),
            document.get("aggregate", "average"),
        )
        search = await asyncio.to_thread(
            lambda: plan(
                replace(scoring.context, rules=rules), problem, solver_of(document["solver"]), budget
            )
        )
        return ScoredWork(search, scoring, asked, sources)

    async def _candidates(
        self, tenant: TenantId, document: JsonObject, dataset: Stored, table: Table
    ) -> Mapping[str, Rule]:
        """The rules that the solver is to choose from, by their hashes."""
        ids: Mapping[str, str] = document.get("candidates", {})
        if not ids:
            return {}
        async with self._store.work(tenant) as work:
            stored = {sha256: await work.resources.get(Kind.RULE, id_) for sha256, id_ in ids.items()}
        documents = {sha256: require_rule_of(rule, dataset) for sha256, rule in stored.items()}
        return await asyncio.to_thread(
            lambda: {sha256: rule_of(own, table) for sha256, own in documents.items()}
        )
