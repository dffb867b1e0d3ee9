"""Requirements on what mechanisms promise: a guarantee as far as it stands, and the sum of all of a table."""

from __future__ import annotations

from typing import ClassVar

from app.domain.errors import NotSupported
from app.domain.gates.findings import Finding
from app.domain.gates.guarantees import finding_of_guarantees
from app.domain.gates.spending_kept import finding_of_spending
from app.domain.policies.budget_condition import BudgetCondition
from app.domain.policies.guarantee_condition import GuaranteeCondition
from app.domain.policies.policy import Requirement
from app.domain.rules.rule import Rule
from app.domain.search.budget import Halted, never
from app.services.gates.context import EvaluationContext
from app.services.gates.evaluator import Evaluator, EvaluatorCost
from app.services.releases.ledgers import spending_of_document
from app.services.releases.standing_guarantees import guarantee_of


class GuaranteeEvaluator(Evaluator):
    """Reads what the mechanism promised and what is left of it; nothing is drawn or computed again."""

    of_draws: ClassVar[bool] = True
    condition: GuaranteeCondition

    def __init__(self, criterion: Requirement, context: EvaluationContext) -> None:
        super().__init__(criterion, context)
        released = context.subject.released
        if released is None or not released.is_drawn:
            made = "The release is a file, of which nobody knows how it was made"
            if context.subject.rule is not None:
                made = "The release is made by a rule"
            raise NotSupported(
                f"{made}: no mechanism promises anything of it.",
                "Require what its classes keep, by a privacy model or a measure, or evaluate a stored "
                "release that a mechanism made.",
            )
        self._guarantees = [guarantee_of(own) for own in released.guarantees]

    @property
    def cost(self) -> EvaluatorCost:
        """Next to nothing; raises NotSupported where it is not said what the guarantee is to be about."""
        self.find(None)
        return EvaluatorCost(1e-5, 0, "guarantee")

    def find(self, rule: Rule | None, halted: Halted = never) -> Finding:
        """Whether some guarantee is all that is asked for."""
        return finding_of_guarantees(self.condition, self._guarantees, self.context.table.sensitive)


class BudgetEvaluator(Evaluator):
    """Reads the ledger as it stood when the evaluation was asked for."""

    of_draws: ClassVar[bool] = True
    condition: BudgetCondition

    def __init__(self, criterion: Requirement, context: EvaluationContext) -> None:
        super().__init__(criterion, context)
        released = context.subject.released
        if released is None or released.spending is None:
            raise NotSupported(
                "No differentially private mechanism made the release here: it spends no ε and no δ.",
                "Evaluate a stored release of a differentially private mechanism, or drop the requirement.",
            )
        self._spending = spending_of_document(released.spending)

    @property
    def cost(self) -> EvaluatorCost:
        """Next to nothing."""
        return EvaluatorCost(1e-5, 0, "privacy_budget")

    def find(self, rule: Rule | None, halted: Halted = never) -> Finding:
        """Whether the sums are within the limits."""
        return finding_of_spending(self.condition, self._spending)
