"""A requirement that a rule is near the proven optimum of an objective."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Self

from app.domain.catalogue.catalogue_types import Example
from app.domain.errors import InvalidInput
from app.domain.policies.condition import Condition, Hiding, Parameters, Share, SlotName
from app.domain.policies.findings import Checked
from app.domain.policies.objectives import OptimumScope, criteria_of, of_newest_version, problem_of
from app.domain.policies.privacy_model_condition import ASKS_K, reading_of_model
from app.domain.policies.reading import NOTHING_READ, Readable, Reading, model_protects, risk_cap_protects
from app.domain.search.full_domain.problem import AnonymityProblem
from app.domain.search.objectives import MinLoss


@dataclass(frozen=True)
class OptimumCondition(Condition):
    """The rule is within a gap of the proven optimum of an objective."""

    kind: ClassVar[str] = "optimum"
    of_whole = "An optimum is of the whole release."
    quantity = "distance from the proven optimum, as a share of it"
    objective: Annotated[Parameters, Example({"kind": "min_risk", "utility_floor": 6})]
    """The objective, as `POST optimisations` takes it."""
    scope: OptimumScope = "table_level"
    """Among which rules it is the best."""
    gap: Share = 0.0
    """Greatest relative distance from the proven bound."""
    dictionary: SlotName = None

    @property
    def is_scored(self) -> bool:
        """Whether the objective is of risk."""
        return bool(self.objective.get("kind") != MinLoss.kind)

    @property
    def class_sizes(self) -> Iterable[object]:
        """The k of its criteria."""
        return [own.get("k") for own in self.objective.get("privacy", ()) if own.get("kind") in ASKS_K]

    @property
    def questions(self) -> Iterable[object]:
        """Its criteria."""
        return criteria_of(self.objective.get("privacy", ()))

    def check(self, checked: Checked) -> None:
        """Note objectives that no search takes, and a dictionary that is missing."""
        problem = None
        with checked.found.refusals():
            problem = problem_of(self.objective, self.scope, f"{checked.at}/objective")
        if problem is None:
            return
        if isinstance(problem, AnonymityProblem):
            needed_by = "A privacy model of it" if problem.needs_population else None
        else:
            needed_by = f"The objective {problem.objective.kind}"
        checked.slot(self.dictionary, f"{checked.at}/dictionary", needed_by)

    def pinned(self, *, as_before: bool) -> Self:
        """It with the versions of its criteria."""
        if as_before or "privacy" not in self.objective:
            return self
        with contextlib.suppress(InvalidInput):
            criteria_of(self.objective["privacy"])
            privacy = [of_newest_version(own["kind"], own) for own in self.objective["privacy"]]
            return replace(self, objective={**self.objective, "privacy": privacy})
        return self

    def without_values(self, hiding: Hiding) -> Self:
        """It without the values that its criteria name."""
        if "privacy" not in self.objective:
            return self
        privacy = [hiding.model(own) for own in self.objective["privacy"]]
        return replace(self, objective={**self.objective, "privacy": privacy})

    def as_strict_as(self, other: Self) -> bool:
        """Whether the gap is no larger, of the same question."""
        return replace(self, gap=other.gap) == other and self.gap <= other.gap

    def takes_absence_for_safety(self, risk_of_absent_is_0: bool) -> bool:
        """If absent records have no risk, and the objective is of risk."""
        try:
            problem: Any = problem_of(self.objective, self.scope)
        except InvalidInput:
            return False
        return risk_of_absent_is_0 and not isinstance(problem, AnonymityProblem)

    def reading(self, readable: Readable) -> Reading:
        """What its objective's bound reads: the best of a bad lot protects nobody by itself."""
        problem, columns = problem_of(self.objective, self.scope), readable.columns
        if not isinstance(problem, AnonymityProblem):
            asked = problem.objective
            if asked.kind != "max_utility" or not risk_cap_protects(asked.threshold, columns.worst):
                return NOTHING_READ
            return Reading(readable.carried | columns.weighed, readable.carried)
        found, ungrouped = NOTHING_READ, replace(readable, grouped=columns.quasi_identifiers)
        for model in problem.privacy:
            if model_protects(model, columns.worst):
                found |= reading_of_model(model, ungrouped)
        return found
