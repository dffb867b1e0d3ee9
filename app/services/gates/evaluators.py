"""From the requirements of a policy to their evaluators."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from app.domain.errors import InvalidInput, NotSupported, refuse
from app.domain.policies.findings import Findings
from app.domain.policies.lint import check_requirement
from app.domain.policies.policy import Requirement
from app.services.gates.context import EvaluationContext
from app.services.gates.evaluator import OF_NOBODY, OF_RECORDS, Broken, Evaluator, are_quasi_identifiers
from app.services.gates.measure_evaluator import MeasureEvaluator
from app.services.gates.privacy_model_evaluator import PrivacyModelEvaluator
from app.services.gates.promised_evaluators import BudgetEvaluator, GuaranteeEvaluator
from app.services.gates.proven_evaluators import BoundEvaluator, OptimumEvaluator
from app.services.gates.score_evaluator import ScoreEvaluator

EVALUATORS: Final[Mapping[str, type[Evaluator]]] = {
    "measure": MeasureEvaluator,
    "score": ScoreEvaluator,
    "privacy_model": PrivacyModelEvaluator,
    "bound": BoundEvaluator,
    "optimum": OptimumEvaluator,
    "guarantee": GuaranteeEvaluator,
    "privacy_budget": BudgetEvaluator,
}
"""Kind of requirement on a release → what computes it; views are judged by their queries alone."""


async def evaluator_of(criterion: Requirement, context: EvaluationContext) -> Evaluator:
    """The requirement's evaluator; one that only says why, if it cannot be computed."""
    type_ = EVALUATORS[criterion.condition.kind]
    try:
        _refuse(criterion, context)
        if context.drawn is not None and not type_.of_draws:
            raise NotSupported(*OF_RECORDS)
        return await type_.prepared(criterion, context)
    except (InvalidInput, NotSupported) as error:
        return Broken(criterion, context, error)


def _refuse(criterion: Requirement, context: EvaluationContext) -> None:
    """Refuse a scope that the kind does not have, and rows of which nobody knows what or whose they are."""
    if context.doubt is not None:
        raise InvalidInput([context.doubt])
    if not criterion.scope.is_everything:
        found = Findings()
        check_requirement(context.subject.policy, criterion, "", found)
        refuse([own for own in found.lint().errors if own.pointer.startswith("/scope")])
    file = context.alone
    if file is None or context.table.persons is None:
        return
    asked = context.subject.parameters.get(criterion.id, criterion.condition)
    # Classes by fewer quasi-identifiers join those that were filled; other columns would split them.
    names = criterion.scope.attributes or getattr(asked, "quasi_identifiers", None)
    if (
        file.table.persons is None
        or not criterion.condition.shown_by_fewest_persons
        or asked.missing != "own_category"
        or not are_quasi_identifiers(file.table, names)
    ):
        raise NotSupported(*OF_NOBODY)
