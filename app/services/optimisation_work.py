"""The search for the best rule as the work of a run."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from app.domain.errors import InvalidInput
from app.domain.search.budget import Budget, Halted, never
from app.domain.search.context import SearchContext
from app.domain.search.outcome import Outcome
from app.domain.search.plans import SearchPlan, plan
from app.domain.search.problem import THRESHOLD_NAMES, Problem
from app.domain.search.solvers import Auto, BranchAndBound, Enumeration, Solver
from app.services.assessment_documents import result_of
from app.services.ports import Store
from app.services.references import document_of
from app.services.resources import JsonObject, NewResource, Stored, TenantId
from app.services.rule_documents import new_rule, rule_document
from app.services.run_execution import Conclusion
from app.services.scoring_inputs import Scoring, find_sources, load_scoring, refs_of
from app.services.scoring_options import ScoringOptions
from app.services.tables import TableLoader


def problem_of(document: JsonObject) -> Problem:
    """The problem that an optimisation's document states; InvalidInput for a threshold out of range."""
    options, is_loss = ScoringOptions.of(document), "loss_cap" in document["objective"]
    try:
        return _problem(document, options, is_loss)
    except InvalidInput as error:
        # The domain names its own option; it was sent as one of the utility.
        raise InvalidInput(
            [replace(f, pointer=f.pointer.replace("/round_", "/utility/round_")) for f in error.faults]
        ) from None


def _problem(document: JsonObject, options: ScoringOptions, is_loss: bool) -> Problem:
    objective = document["objective"]
    return Problem(
        objective["kind"],
        objective["loss_cap" if is_loss else THRESHOLD_NAMES[objective["kind"]]],
        document["scope"],
        options.absent_policy,
        view=options.attacker_view or "known",
        constraint=document.get("constraint", "per_record"),
        aggregate=document.get("aggregate", "average"),
        round_utility=options.utility.round_before_constraint,
        threshold_is_loss=is_loss,
    )


PLAIN_SOLVERS: dict[str, Solver] = {
    solver.name: solver for solver in (Auto(), Enumeration(), BranchAndBound())
}


def solver_of(document: JsonObject) -> tuple[Solver, Budget]:
    """The solver that an optimisation's document names, and what it may use."""
    return PLAIN_SOLVERS[document["solver"]], Budget(document["max_nodes"])


def plan_search(context: SearchContext, document: JsonObject) -> SearchPlan:
    """The search that an optimisation's document asks for."""
    return plan(context, problem_of(document), *solver_of(document))


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


def found_rule(result: JsonObject, optimisation: Stored, dataset: Stored) -> NewResource | None:
    """The rule to be stored under the optimisation's name, if one was found."""
    if result["rule"] is None:
        return None
    return new_rule(optimisation.name, result["rule"], dataset, found_by=optimisation.sha256)


def _point(point: dict[str, Any], attributes: Sequence[str]) -> JsonObject:
    return {**point, "levels": dict(zip(attributes, point["levels"], strict=True))}


class OptimisationWork:
    """The work of a run that searches for the best rule."""

    time_limit = None

    def __init__(self, search: SearchPlan, scoring: Scoring, optimisation: Stored, dataset: Stored) -> None:
        self._search = search
        self._scoring = scoring
        self._optimisation = optimisation
        self._dataset = dataset

    @property
    def n_blocks(self) -> int:
        """Blocks of the search."""
        return self._search.n_blocks

    @property
    def units(self) -> int:
        """Rules, or distinct records."""
        return self._search.units

    @property
    def seconds(self) -> float:
        """Estimated time."""
        return self._search.seconds

    def run_block(self, index: int, tick: Callable[[int], None], halted: Halted = never) -> bytes:
        """Search one block."""
        return self._search.run_block(index, tick, halted)

    def conclude(self, blocks: Mapping[int, bytes]) -> Conclusion:
        """The result, and the rule that was found."""
        result = result_of_search(self._search.combine(blocks), self._scoring)
        return Conclusion(result, found_rule(result, self._optimisation, self._dataset))


class OptimisationPreparation:
    """Makes the work of a stored optimisation; a ``Prepare`` of run execution."""

    def __init__(self, store: Store, loader: TableLoader) -> None:
        self._store = store
        self._loader = loader

    async def __call__(self, tenant: TenantId, optimisation: Stored) -> OptimisationWork:
        """Load what the optimisation rests on, and plan its search."""
        document = document_of(optimisation)
        async with self._store.work(tenant) as work:
            sources = await find_sources(work, refs_of(optimisation))
        scoring = await load_scoring(self._loader, tenant, sources, ScoringOptions.of(document))
        search = await asyncio.to_thread(lambda: plan_search(scoring.context, document))
        return OptimisationWork(search, scoring, optimisation, sources.dataset)
