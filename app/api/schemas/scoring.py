"""How a score is taken: the options that assessments, searches and measures share."""

from __future__ import annotations

from typing import Annotated, Any, Literal, get_args

from pydantic import Discriminator, Field, Tag

from app.api.schemas.common import Answer, Ref, Request, Text
from app.api.schemas.derived import Asked, Asking
from app.api.schemas.utility import ShownUtility, UtilitySpec, spec_of
from app.domain.dictionaries.consistency import Consistency, Mode
from app.domain.risk.attackers import View
from app.domain.risk.loss import AbsentPolicy
from app.domain.risk.models import MAX_LENGTH, MODEL_I, ModelName, RiskModel
from app.services.datasets.dictionary_sets import MOST_MEMBERS
from app.services.scoring import scoring_options
from app.services.scoring.scoring_options import ScoringOptions

Absent = Annotated[
    AbsentPolicy,
    Field(
        description="What a record is that no entity is consistent with: of risk `zero`, counted as if the "
        "dictionary held it (`add_self`), or an `error`."
    ),
]


class ConsistencyRule(Asked):
    """When a disclosed value and a dictionary's cell agree."""

    mode: Mode = "compatible"
    """`compatible`: some value lies under both. `subsumed`: the cell lies under the disclosed value. `jaro`:
    texts under both are similar.
    """
    threshold: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)] = 0.8
    """Least Jaro similarity, for `jaro`."""
    normalise: bool = False
    """For `jaro`: compare texts in one Unicode form, without case and margins."""

    def _made(self) -> Consistency:
        if self.mode != "jaro":
            return Consistency(self.mode)
        return Consistency(self.mode, self.threshold, self.normalise)


class ConsistencyOptions(Asking[scoring_options.ConsistencyOptions]):
    """Consistency by default and attribute by attribute."""

    default: ConsistencyRule = ConsistencyRule()
    """For every attribute that is not named."""
    attributes: Annotated[
        dict[Text, ConsistencyRule],
        Field(max_length=10_000, examples=[{"city": {"mode": "jaro", "threshold": 0.9}}]),
    ] = {}  # noqa: RUF012 - pydantic copies it
    """Attribute → its own consistency."""


class CustomRiskModel(Request):
    """A risk model of your own."""

    kind: Annotated[Literal["custom"], Field(description="Kind of model.")]
    formula: Annotated[str, Field(min_length=1, max_length=MAX_LENGTH, examples=["phi / sqrt(count)"])]
    """Risk of a record from `phi` (its harm), `count` (consistent entities) and `n` (all entities), with
    numbers, + - * / **, log, sqrt, exp, min and max. It must be at least 0, not fall as phi grows and not
    rise as count grows: refused if samples show otherwise.
    """

    def model(self) -> RiskModel:
        """The domain's value."""
        return RiskModel(self.kind, self.formula)


NamedRiskModel = Literal["I", "II", "III", "III_raw"]
if set(get_args(NamedRiskModel)) | {"custom"} != set(get_args(ModelName)):
    raise AssertionError("a risk model of the domain is not offered")


def _form(value: Any) -> str:  # noqa: ANN401 - whatever was sent
    return "custom" if isinstance(value, dict | CustomRiskModel) else "name"


RiskModelChoice = Annotated[
    Annotated[NamedRiskModel, Tag("name")] | Annotated[CustomRiskModel, Tag("custom")],
    Discriminator(_form),
    Field(
        description="How harm and consistent entities become a record's risk. `I`: harm / entities. `II`: "
        "1 / entities. `III`: harm · ln(all entities / entities). `III_raw`: harm · ln(1 / entities), not "
        "monotone, for evaluation. Or a formula of your own."
    ),
]

AttackerView = Annotated[
    View | None,
    Field(
        description="What is assumed of the attacker. One dictionary: `known` (he has it; the default) or "
        "`estimated` (he has something like it; the numbers are the same, their meaning is not). A "
        "dictionary set: `bayes` (by its prior; the default where it has one), `worst_case` (the worst "
        "dictionary for the whole table; the default without prior) or `worst_case_per_record` (the worst "
        "for each record)."
    ),
]


class ScoringFields(Request):
    """The options that every score has."""

    failure: Ref | None = None
    """Sensitivity profile of the harm where the attacker picks the wrong person; without one such a failure
    does no harm.
    """
    utility: UtilitySpec = "depth_sum"
    risk_model: RiskModelChoice = "I"
    absent_policy: Absent = "zero"
    consistency: ConsistencyOptions = ConsistencyOptions()
    """When a disclosed value and a dictionary's cell agree."""

    @property
    def options(self) -> ScoringOptions:
        """The value that the use cases take."""
        model = self.risk_model
        return ScoringOptions(
            utility=spec_of(self.utility),
            absent_policy=self.absent_policy,
            risk_model=RiskModel(model) if isinstance(model, str) else model.model(),
            consistency=self.consistency.request(),
            attacker_view=getattr(self, "attacker_view", None),
        )


class ShownScoring(Answer):
    """The options of a score, as summaries show them."""

    failure: Annotated[str | None, Field(max_length=100)] = None
    """Name of the sensitivity profile of failure."""
    utility: ShownUtility
    risk_model: Annotated[str | dict[str, Any], Field(examples=["I"])] = MODEL_I.name
    """How harm and entities become risk."""
    absent_policy: Absent
    consistency: Annotated[dict[str, Any], Field(examples=[scoring_options.NO_CONSISTENCY])] = (
        scoring_options.NO_CONSISTENCY
    )
    """When a disclosed value and a dictionary's cell agree."""


class ShownAttacker(ShownScoring):
    """What a score rests on, and its options, as summaries of assessments and searches show them."""

    dictionary: Annotated[str, Field(max_length=100, examples=["census"])]
    """Name of the dictionary or dictionary set."""
    dictionaries: Annotated[list[str], Field(max_length=MOST_MEMBERS, examples=[[]])] = []  # noqa: RUF012 - pydantic copies it
    """Names of a set's dictionaries, in the order of the result; empty for a single one."""
    sensitivity: Annotated[str, Field(max_length=100, examples=["members-harm"])]
    """Name of the sensitivity profile."""
    attacker_view: Annotated[View, Field(examples=["known"])] = "known"
    """What is assumed of the attacker."""
