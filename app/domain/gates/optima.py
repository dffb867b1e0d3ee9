"""How far a rule is from the proven optimum of an objective.

The rule must meet what the objective requires of its rules; one that does not is infinitely far away, however
well it does otherwise. Rules of another kind than was searched may do better than the optimum: distance 0.
"""

from __future__ import annotations

import math
from typing import Final

from app.domain.analyses.information_loss import INFORMATION_LOSS, InformationLoss, InformationLossParameters
from app.domain.arrays import Floats
from app.domain.classes.grouping import Grouping, Missing
from app.domain.classes.released import Release
from app.domain.counting.counter import Counter
from app.domain.errors import NotSupported
from app.domain.gates.class_shares import failing_without, records_left_out, shown_though_lacking
from app.domain.losses.cells import cost_of_error
from app.domain.losses.counting import Counting
from app.domain.losses.loss import EQUAL, LossChoice, LossKind
from app.domain.losses.released import generalisation_height, shown_cells
from app.domain.models.entry import MeasureContext
from app.domain.risk.attackers import SetAssessment
from app.domain.risk.models import MODEL_I
from app.domain.risk.utility import Utility
from app.domain.rules.rule import Rule
from app.domain.search.context import SearchContext
from app.domain.search.full_domain.problem import AnonymityProblem
from app.domain.search.outcome import Score, score
from app.domain.search.problem import Problem
from app.domain.tables.numbers import tie_margin

_FIELDS: Final[dict[LossKind, str]] = {"precision": "precision_loss", "height": "generalisation_height"}
"""Where the measure ``information_loss`` tells a loss, if not by its kind; it has no squared errors."""

_OF_ATTRIBUTES: Final[dict[LossKind, str]] = {**_FIELDS, "geometric": "loss", "arithmetic": "loss"}


def require_figure(choice: LossChoice) -> None:
    """NotSupported for a loss that no release has as one figure, whatever rule made it."""
    if choice.aggregate == "rank":
        raise NotSupported(
            "A rank is no figure, so that a release cannot be compared with the least one.",
            "Require the optimum of the aggregate mean, sum or maximum.",
        )
    if choice.suppression_factor != EQUAL:
        raise NotSupported(
            "What a suppressed cell counts by a suppression factor depends on the rule, not on the release.",
            "Leave suppression_factor out.",
        )


def relative_gap(value: float, lower: float) -> float:
    """How far a value is above its lower bound, as a share of the value; ∞ above a bound at value 0 or ∞."""
    if value == lower or value - lower <= tie_margin(value):
        return 0.0
    if not math.isfinite(value) or value == 0.0:
        return math.inf
    return (value - lower) / abs(value)


def gap_of_rule(context: SearchContext, problem: Problem, rule: Rule, lower: float) -> float:
    """The gap of a rule to what the search proved that no rule falls below.

    ``lower`` bounds what is minimised: minus the objective where that is maximised. NotSupported for the
    aggregate objective, whose value is not one of a score.
    """
    if problem.objective.kind == "aggregate":
        raise NotSupported(
            "The aggregate objective is no figure of a score, so that a rule cannot be compared with it.",
            "Require the optimum of min_risk, max_utility, lagrangian or min_loss.",
        )
    found, value = score(context, problem, rule)
    if not _meets(context, problem, found):
        return math.inf
    return relative_gap(-value if problem.objective.is_maximised else value, lower)


def _meets(context: SearchContext, problem: Problem, found: Score) -> bool:
    """Whether the rule keeps the problem's threshold, of every record where it is one of every record."""
    each = problem.holds_per_record
    if problem.objective.kind == "min_risk":
        floor = problem.in_utility(context.utility).objective.lowest_utility
        one = found.assessment or (found.in_set.assessments[0] if found.in_set else None)
        return found.utility >= floor and not (
            each and one is not None and bool((one.records.utility < floor).any())
        )
    if problem.objective.kind == "max_utility":
        cap = problem.objective.highest_risk
        return found.risk <= cap and not (each and bool((_losses(found, problem) > cap).any()))
    return True


def _losses(found: Score, problem: Problem) -> Floats:
    if isinstance(found.in_set, SetAssessment):
        return found.in_set.view(problem.view).loss
    if found.assessment is None:
        raise ValueError("a score without an assessment")
    return found.assessment.records.loss


def gap_of_loss(
    release: Release,
    problem: AnonymityProblem,
    utility: Utility,
    lower: float,
    counter: Counter | None = None,
) -> float:
    """The gap of a rule's loss of information to the least that any rule was proven to need.

    Infinite unless the rule meets all criteria of the problem and suppresses no more records than it allows,
    those with a missing quasi-identifier among them where that is reason to. Both losses are those of the
    measure ``information_loss``, but for the height: under a rule without levels of its own the measure tells
    the greatest level of a cell that is shown changed, which is at most what the search counts.
    """
    if not _meets_privacy(release, problem, counter):
        return math.inf
    missing: Missing = "own_category"
    if problem.missing == "matches_everything":
        missing = problem.missing
    return relative_gap(loss_of_release(release, problem.loss, utility, missing), lower)


def _meets_privacy(release: Release, problem: AnonymityProblem, counter: Counter | None) -> bool:
    """Whether the release is one that the problem allows."""
    grouping = Grouping(missing=problem.missing, suppressed=problem.suppressed)
    if shown_though_lacking(release, grouping).any():
        return False
    suppressed = int(release.is_suppressed.sum())
    if suppressed > problem.suppression_allowed(release.table.n_records):
        return False
    without = records_left_out(release, grouping)
    return not any(
        failing_without(release, criterion, without, grouping, counter).any() for criterion in problem.privacy
    )


def loss_of_release(
    release: Release, choice: LossChoice, utility: Utility, missing: Missing = "own_category"
) -> float:
    """A release's loss of information as searches minimise it; NotSupported where it has none."""
    require_figure(choice)
    if choice.kind == "squared_error":
        return _squared_error(release, choice)
    context = MeasureContext(
        table=release.table,
        rule=release.rule,
        dictionary=None,
        sensitivity=None,
        failure=None,
        utility=utility,
        model=MODEL_I,
        absent_policy="zero",
        make_release=lambda table, rule: release,
    )
    parameters = InformationLossParameters(
        missing=missing, leaf_domain=choice.leaf_domain, numeric=choice.numeric
    )
    found = INFORMATION_LOSS.compute(context, parameters, lambda done: None)
    field = _FIELDS.get(choice.kind, choice.kind)
    if choice.leaves == "active" and choice.kind in ("geometric", "arithmetic"):
        field = f"{field}_active"
    if not choice.is_plain:
        return _counted(release, found, choice)
    loss = getattr(found, field)
    if loss is None:
        raise NotSupported(
            f"The loss {choice.kind} is not defined for this release.", "Require the optimum of another loss."
        )
    return float(loss)


def _counted(release: Release, found: InformationLoss, choice: LossChoice) -> float:
    """The loss with its weights and aggregate, from what each attribute loses."""
    names = [own.attribute for own in found.attributes]
    if choice.kind == "height":
        positions = map(release.table.position, names)
        losses = [float(generalisation_height(release, [position])) for position in positions]
    else:
        field = _OF_ATTRIBUTES.get(choice.kind, choice.kind)
        if field == "loss" and choice.leaves == "active":
            field = "loss_active"
        losses = [float(getattr(own, field)) for own in found.attributes]
    return Counting.of(names, choice).combined(choice.kind, losses)


def _squared_error(release: Release, choice: LossChoice) -> float:
    """The loss of squared errors, from the cells that are shown."""
    names, losses = [], []
    for j in release.table.quasi_identifiers:
        name, cells = release.table.attributes[j], shown_cells(release, j)
        cost = cost_of_error(name, cells.hierarchy, cells.records, choice.numeric, choice.leaves)
        names.append(name)
        losses.append(cells.lost(cost))
    return Counting.of(names, choice).combined(choice.kind, losses)
