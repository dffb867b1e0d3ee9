"""What the score of a rule says: answered, stored and described by the same dataclasses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Annotated, Any, Final, Literal, TypeVar

import numpy as np
from annotated_types import Ge, MaxLen, doc

from app.domain.catalogue.catalogue_types import ADDED_LATER, Example
from app.domain.errors import having
from app.domain.risk.assessment import Assessment, Monotone
from app.domain.risk.attackers import SetAssessment, View, ViewScore
from app.domain.risk.dictionary_order import BoundAnswer, Holds
from app.domain.risk.models import RiskModel
from app.domain.risk.summaries import Histogram, histogram_of_losses
from app.domain.risk.utility import Utility, rounded_half_away
from app.services.datasets.dictionary_sets import MOST_MEMBERS
from app.services.fingerprints import plain
from app.services.resources import JsonObject
from app.services.scoring.scoring_options import ScoringOptions, UtilitySpec

Count = Annotated[int, Ge(0)]
Row = Annotated[
    int | None,
    Ge(1),
    doc(
        "The first record that attains it, as a row of the dataset from 1; null in results from before "
        "records were named."
    ),
    Example(7),
    ADDED_LATER,
]
Position = Annotated[int | None, Ge(1)]

ESTIMATED: Final = (
    "The dictionary is an estimate: the risk is as good as the dictionary is close to what the attacker has."
)


@dataclass(frozen=True, kw_only=True)
class Risks:
    """A mean risk, and what never leaves it alone."""

    risk_average: Annotated[float, doc("Mean risk of the records."), Example(0.12)]
    risk_max: Annotated[float, doc("Risk of the worst record."), Example(0.8)]
    row_of_risk_max: Row = None
    risk_min: Annotated[float, doc("Risk of the best record."), Example(0.02)]
    row_of_risk_min: Row = None
    loss_quantiles: Annotated[Mapping[str, float], Example({"0.5": 0.1})]
    """Quantiles of the records' risks."""
    infinite: Annotated[Count, doc("Records of infinite risk."), Example(0)]


@dataclass(frozen=True, kw_only=True)
class ViewResult(Risks):
    """The risk in one view of an attacker who has one of several dictionaries."""

    at_average: Annotated[Position, doc("Dictionary of the mean.")]
    at_max: Annotated[Position, doc("Dictionary of the worst record.")]
    at_min: Annotated[Position, doc("Dictionary of the best record.")]
    monotone: Annotated[Monotone, doc("Hypotheses, for all dictionaries that count.")]


@dataclass(frozen=True, kw_only=True)
class Views:
    """The risk in every view of an attacker who has one of several dictionaries."""

    bayes: Annotated[ViewResult | None, doc("By the prior; null without one."), ADDED_LATER] = None
    worst_case: Annotated[ViewResult, doc("Under the dictionary that is worst for the rule.")]
    worst_case_per_record: ViewResult
    """Each record under the dictionary that is worst for it."""


@dataclass(frozen=True)
class Histograms:
    """How records are distributed."""

    counts: Annotated[Histogram | None, doc("By consistent entities; null for several dictionaries.")]
    losses: Annotated[Histogram, doc("By loss.")]


@dataclass(frozen=True)
class Hypothesis:
    """One hypothesis of the upper-bound theorem."""

    id: Annotated[str, MaxLen(40), doc("Which."), Example("dictionary_order")]
    holds: Annotated[Literal["yes", "no", "assumed"], doc("Whether it holds.")]
    reason: Annotated[str, MaxLen(1000), doc("Why.")]


@dataclass(frozen=True)
class BoundResult:
    """Whether the risk is an upper bound of the risk under the true dictionary."""

    claimed: Annotated[bool, doc("No hypothesis fails."), Example(True)]
    rests_on_assumptions: Annotated[bool, doc("Some hypotheses could not be checked."), Example(False)]
    hypotheses: Annotated[tuple[Hypothesis, ...], MaxLen(20), doc("All of them.")]

    @classmethod
    def of(cls, found: BoundAnswer) -> BoundResult:
        """What the domain has found (Definitions: upper bound)."""
        words: Mapping[Holds, Literal["yes", "no", "assumed"]]
        words = {"true": "yes", "false": "no", "assumed": "assumed"}
        hypotheses = tuple(Hypothesis(own.name, words[own.holds], own.reason) for own in found.hypotheses)
        return cls(found.claimed, found.rests_on_assumptions, hypotheses)


@dataclass(frozen=True, kw_only=True)
class Score(Risks):
    """The score of a rule."""

    n_records: Annotated[Count, doc("Records."), Example(12)]
    n_entities: Annotated[Count | None, doc("Entities of the dictionary; null for several."), Example(20)]
    absent_policy: Annotated[str, MaxLen(20), doc("Policy."), Example("zero")]
    risk_model: Annotated[str, MaxLen(20), doc("Risk model."), Example("I"), ADDED_LATER] = "I"
    utility_average: Annotated[float, doc("Mean utility."), Example(8.0)]
    utility_min: Annotated[float, doc("Utility of the worst record."), Example(7.0)]
    row_of_utility_min: Row = None
    min_consistent: Annotated[Count, doc("Least number of consistent entities of a record."), Example(1)]
    row_of_min_consistent: Row = None
    absent: Annotated[Count, doc("Records that no entity is consistent with (most of any dictionary).")]
    add_self_risk_average: float | None
    """Mean risk if every record's own entity counted; null where ids do not allow it."""
    histogram: Annotated[Histograms, doc("How records are distributed.")]
    person_risk_average: Annotated[float | None, Example(None), ADDED_LATER] = None
    """Mean over persons of the risk of each one's worst record; null where no column names persons, and for
    several dictionaries.
    """
    k_matching: Annotated[Count | None, Example(1)]
    """k by consistent records of the table; null where a column names persons: see `equivalence_classes`."""
    k_equivalence: Annotated[Count | None, doc("k by identical records; null likewise."), Example(1)]
    row_of_k_equivalence: Row = None
    classes: Annotated[Count, doc("Distinct disclosed records."), Example(12)]
    engine: Annotated[str, MaxLen(20), doc("What counted."), Example("cube")]
    weighted: Annotated[bool, doc("Means are by record weights."), Example(False), ADDED_LATER] = False
    monotone: Annotated[Monotone, doc("Hypotheses of monotonicity.")]
    not_monotone: Annotated[bool, Example(False), ADDED_LATER] = False
    """The risk model is known not to be monotone."""
    warnings: Annotated[tuple[str, ...], MaxLen(1000), Example([]), ADDED_LATER] = ()
    """What to know before using it."""


@dataclass(frozen=True, kw_only=True)
class DictionaryScore(Score):
    """The score under one dictionary of a set."""

    prior: Annotated[float | None, doc("Its probability."), Example(0.75)]


@dataclass(frozen=True, kw_only=True)
class AssessmentResult(Score):
    """The score of a rule in the view of the attacker that was asked for."""

    attacker_view: Annotated[View, doc("The view."), Example("known"), ADDED_LATER] = "known"
    information_loss_average: Annotated[float | None, ADDED_LATER] = None
    """Mean loss of information, for utilities that are losses."""
    information_loss_max: Annotated[float | None, doc("Greatest loss of information."), ADDED_LATER] = None
    utility_average_displayed: Annotated[float | None, ADDED_LATER] = None
    """Mean utility as it is displayed, where rounding was asked for."""
    information_loss_average_displayed: Annotated[float | None, ADDED_LATER] = None
    """Mean loss as it is displayed."""
    views: Annotated[Views | None, doc("All views of a dictionary set."), ADDED_LATER] = None
    dictionaries: Annotated[tuple[DictionaryScore, ...] | None, MaxLen(MOST_MEMBERS), ADDED_LATER] = None
    """The score under each dictionary of a set, in its order."""
    bound: Annotated[BoundResult | None, ADDED_LATER] = None
    """Whether the risk is an upper bound, where that was asked."""

    @property
    def document(self) -> JsonObject:
        """As it is stored: no ids and no times, infinities as "inf", null what has no meaning here."""
        document: JsonObject = plain(self)
        if self.views is not None and self.views.bayes is None:
            del document["views"]["bayes"]
        return document


S = TypeVar("S", bound=Score)


def result_of(
    found: Assessment | SetAssessment, options: ScoringOptions, utility: Utility
) -> AssessmentResult:
    """The score of a rule as its options ask for it: the attacker's view, and what is said of utility."""
    view = options.attacker_view or "known"
    first = found if isinstance(found, Assessment) else found.assessments[0]
    more = more_results(options.utility, utility, first.utility_average, first.utility_min)
    result = _score(AssessmentResult, first, attacker_view=view, **more)
    if isinstance(found, SetAssessment):
        return _of_set(result, found, view)
    return result if view != "estimated" else replace(result, warnings=(*result.warnings, ESTIMATED))


def more_results(spec: UtilitySpec, utility: Utility, average: float, minimum: float) -> dict[str, float]:
    """What a result says beside ``utility_average`` and ``utility_min``.

    ``information_loss_average`` and ``information_loss_max`` of the loss models (the least utility is the
    greatest loss), and with ``display_rounding`` the average as it is displayed.
    """
    found: dict[str, float] = {}
    if utility.is_loss:
        losses = utility.information_loss(np.array([average, minimum]))
        found |= {"information_loss_average": float(losses[0]), "information_loss_max": float(losses[1])}
    if spec.display_rounding == "nearest":
        shown = {"utility_average": average, **{k: v for k, v in found.items() if k.endswith("average")}}
        found |= {f"{key}_displayed": rounded_half_away(value) for key, value in shown.items()}
    return found


def _score(kind: type[S], found: Assessment, **more: Any) -> S:  # noqa: ANN401 - fields of the kind
    """The score of a rule against one dictionary; what both call the same is the same."""
    # Where a column names persons, k counts them: that is a measure of its own.
    counts_persons = found.persons is not None
    of_records = dict.fromkeys(("k_matching", "k_equivalence", "row_of_k_equivalence"))
    values: dict[str, Any] = {
        **_common(Score, found),
        # Rows are numbered from 1 for people.
        **{f"row_of_{extreme}": row + 1 for extreme, row in vars(found.extremes).items()},
        "risk_model": found.model.name,
        "histogram": Histograms(found.histogram_counts, found.histogram_losses),
        "not_monotone": found.model.name == "III_raw",
        "warnings": _warnings(found.model, found.absent, found.absent_policy, found.warnings),
        **(of_records if counts_persons else {}),
    }
    return kind(**values, **more)


def _of_set(first: AssessmentResult, found: SetAssessment, view: View) -> AssessmentResult:
    """The score of a rule against a set of dictionaries, in a view, from that under the first of them.

    The risks are those of the view. Of what depends on the dictionary, ``min_consistent`` is the least and
    ``absent`` the greatest of all; the rest is null, and stands in ``dictionaries``.
    """
    chosen, parts = found.view(view), found.assessments
    prior: Sequence[float | None] = found.prior or (None,) * len(parts)
    warnings = [
        f"Dictionary {number} of the set: {warning}"
        for number, part in enumerate(parts, start=1)
        for warning in part.warnings
    ]
    absent = max(part.absent for part in parts)
    fewest = min(parts, key=lambda part: part.min_consistent)
    losses = histogram_of_losses(chosen.loss, np.ones(len(chosen.loss), np.int64))
    return replace(
        first,
        **_risks(chosen),
        n_entities=None,
        min_consistent=fewest.min_consistent,
        row_of_min_consistent=fewest.extremes.min_consistent + 1,
        absent=absent,
        add_self_risk_average=None,
        person_risk_average=None,
        histogram=Histograms(None, losses),
        monotone=chosen.monotone,
        warnings=_warnings(parts[0].model, absent, parts[0].absent_policy, warnings),
        views=Views(
            bayes=None if found.bayes is None else _in_view(found.bayes),
            worst_case=_in_view(found.worst_case),
            worst_case_per_record=_in_view(found.worst_case_per_record),
        ),
        dictionaries=tuple(
            _score(DictionaryScore, part, prior=q) for q, part in zip(prior, parts, strict=True)
        ),
    )


def _in_view(score: ViewScore) -> ViewResult:
    # Dictionaries are numbered from 1 for people, as rows are.
    at = {name: getattr(score, name) for name in ("at_average", "at_max", "at_min")}
    values: dict[str, Any] = {name: None if number is None else number + 1 for name, number in at.items()}
    return ViewResult(**_risks(score), **values, monotone=score.monotone)


def _risks(score: ViewScore) -> dict[str, Any]:
    rows = {"row_of_risk_max": score.row_max + 1, "row_of_risk_min": score.row_min + 1}
    return _common(Risks, score) | rows


def _common(kind: type[Risks], found: Assessment | ViewScore) -> dict[str, Any]:
    """Field of a result → what the domain's score has under this name, None if nothing."""
    return {own.name: getattr(found, own.name, None) for own in fields(kind)}


def _warnings(model: RiskModel, absent: int, policy: str, found: Sequence[str]) -> tuple[str, ...]:
    warnings = list(found)
    if absent and policy == "zero":
        warnings.append(
            f"{having(absent, 'record')} no consistent entity in the dictionary: counted as never "
            "identified, with the risk of a failed attempt alone. That is no safety: the dictionary may lack "
            "the person."
        )
    if model.name == "III_raw":
        warnings.append("The risk model III_raw is not monotone: generalising further may raise it.")
    if model.name == "custom":
        warnings.append("The formula passed samples of the conditions for a risk model; that is no proof.")
    return tuple(warnings)
