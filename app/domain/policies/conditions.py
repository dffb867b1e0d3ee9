"""The kinds of requirements: each is a file, and a line here."""

from __future__ import annotations

from typing import Final, get_args

from app.domain.policies.bound_condition import BoundCondition
from app.domain.policies.budget_condition import BudgetCondition
from app.domain.policies.guarantee_condition import GuaranteeCondition
from app.domain.policies.measure_condition import MeasureCondition
from app.domain.policies.optimum_condition import OptimumCondition
from app.domain.policies.perfect_privacy_condition import PerfectPrivacyCondition
from app.domain.policies.privacy_model_condition import PrivacyModelCondition
from app.domain.policies.score_condition import ScoreCondition

AnyCondition = (
    MeasureCondition
    | ScoreCondition
    | PrivacyModelCondition
    | BoundCondition
    | OptimumCondition
    | GuaranteeCondition
    | BudgetCondition
    | PerfectPrivacyCondition
)
CONDITIONS: Final[tuple[type[AnyCondition], ...]] = get_args(AnyCondition)
