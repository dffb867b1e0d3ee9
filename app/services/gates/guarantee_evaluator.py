"""A guarantee of a release that a mechanism made, as far as it stands."""

from __future__ import annotations

from app.domain.errors import NotSupported
from app.domain.gates.findings import Finding
from app.domain.gates.guarantees import finding_of_guarantees
from app.domain.mechanisms.guarantee import PrivacyGuarantee
from app.domain.policies.guarantee_condition import GuaranteeCondition
from app.domain.policies.policy import Requirement
from app.domain.rules.rule import Rule
from app.domain.search.budget import Halted, never
from app.services.gates.context import EvaluationContext
from app.services.gates.evaluator import Evaluator, EvaluatorCost
from app.services.gates.subject import Subject
from app.services.releases.standing_guarantees import guarantee_of


class GuaranteeEvaluator(Evaluator):
    """Reads what the mechanism promised and what is left of it; nothing is drawn or computed again."""

    def __init__(
        self,
        criterion: Requirement,
        condition: GuaranteeCondition,
        subject: Subject,
        context: EvaluationContext,
    ) -> None:
        super().__init__(criterion)
        if subject.released is None or not subject.released.is_drawn:
            made = "The release is a file, of which nobody knows how it was made"
            if subject.rule is not None:
                made = "The release is made by a rule"
            raise NotSupported(
                f"{made}: no mechanism promises anything of it.",
                "Require what its classes keep, by a privacy model or a measure, or evaluate a stored "
                "release that a mechanism made.",
            )
        if criterion.scope.attributes is not None or criterion.scope.groups is not None:
            raise NotSupported("A guarantee is of the whole release.", "Leave the scope out.")
        self._condition = condition
        self._sensitive = context.table.sensitive
        self._guarantees: list[PrivacyGuarantee] = [guarantee_of(own) for own in subject.released.guarantees]

    @property
    def cost(self) -> EvaluatorCost:
        """Next to nothing; raises NotSupported where it is not said what the guarantee is to be about."""
        self.find(None)
        return EvaluatorCost(1e-5, 0, "guarantee")

    def find(self, rule: Rule | None, halted: Halted = never) -> Finding:
        """Whether some guarantee is all that is asked for."""
        return finding_of_guarantees(self._condition, self._guarantees, self._sensitive)
