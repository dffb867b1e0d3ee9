"""What the releases of a table have spent of what may be told of it, the judged one included."""

from __future__ import annotations

from app.domain.errors import NotSupported
from app.domain.gates.findings import Finding
from app.domain.gates.spending_kept import TableSpending, finding_of_spending
from app.domain.policies.budget_condition import BudgetCondition
from app.domain.policies.policy import Requirement
from app.domain.rules.rule import Rule
from app.domain.search.budget import Halted, never
from app.services.gates.evaluator import Evaluator, EvaluatorCost
from app.services.gates.subject import Subject
from app.services.releases.ledgers import spending_of_document


class BudgetEvaluator(Evaluator):
    """Reads the ledger as it stood when the evaluation was asked for."""

    def __init__(self, criterion: Requirement, condition: BudgetCondition, subject: Subject) -> None:
        super().__init__(criterion)
        if subject.released is None or subject.released.spending is None:
            raise NotSupported(
                "No differentially private mechanism made the release here: it spends no ε and no δ.",
                "Evaluate a stored release of a differentially private mechanism, or drop the requirement.",
            )
        if criterion.scope.attributes is not None or criterion.scope.groups is not None:
            raise NotSupported("A budget is of the whole table.", "Leave the scope out.")
        self._condition = condition
        self._spending: TableSpending = spending_of_document(subject.released.spending)

    @property
    def cost(self) -> EvaluatorCost:
        """Next to nothing."""
        return EvaluatorCost(1e-5, 0, "privacy_budget")

    def find(self, rule: Rule | None, halted: Halted = never) -> Finding:
        """Whether the sums are within the limits."""
        return finding_of_spending(self._condition, self._spending)
