"""Reconstruction privacy: how exactly the shares of a group can be computed after plain perturbation.

Wang et al. (2012): whoever knows all quasi-identifiers of a person looks at the randomised sensitive values
of the group with these, and estimates how frequent each value is there. A group is too large, or too uniform,
if that estimate is too good (Definitions: reconstruction privacy). What is judged is what perturbation
*would* leave to be seen: a release under a rule shows the sensitive values themselves.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Annotated, ClassVar, Final

import numpy as np
from annotated_types import Ge, Le, doc

from app.domain.arrays import Bools
from app.domain.catalogue.meanings import FAILING, FROM_ONE, FROM_ZERO, HIGH, MET, SHARE, STRICTER_UP
from app.domain.classes.reconstruction import UniformReplacement
from app.domain.classes.reconstruction_groups import (
    GroupsUnderTest,
    ReconstructionQuestion,
    Test,
    told_by_fewer,
)
from app.domain.errors import InvalidInput, NotSupported
from app.domain.hierarchies.numbers import ungrouped_amounts
from app.domain.mechanisms.sample_perturb_scale import PublishedSamples
from app.domain.models.criterion import Criterion, Merging
from app.domain.models.entry import Cost, Example, Measure, MeasureContext, Tick
from app.domain.models.judged import JudgedOn, judged_on
from app.domain.models.judging import JudgedClasses
from app.domain.models.perturbable_values import perturbable_values, unfit
from app.domain.models.reconstruction_asked import (
    RETENTION,
    Criteria,
    ReconstructionParameters,
    Releases,
    Retention,
    drawn_retention,
    fits_release,
    retention,
    sizing,
)
from app.domain.models.reconstruction_found import (
    Coinciding,
    CriterionFound,
    EstimateFound,
    GroupFound,
    GroupsListed,
    SizesFound,
)
from app.domain.models.reconstruction_modes import seconds_of_modes
from app.domain.models.sensitive_values import (
    Attribute,
    SensitiveValues,
    cost_of_counting,
    named,
)

SECONDS_BESIDE_COUNTING: Final = 2e-3
SECONDS_PER_RECORD: Final = 2e-8
"""What the lists and aggregates take beside counting the values and testing the groups."""


@dataclass(frozen=True)
class ReconstructionPrivacy(Criterion):
    """After plain perturbation no group's sensitive values could be estimated too exactly."""

    kind: ClassVar[str] = "reconstruction_privacy"
    title: ClassVar[str] = (
        "Reconstruction privacy: shares in a group are not too well told by perturbed values"
    )
    source: ClassVar[str] = "Wang et al. (2012), definition 4.5"
    merging: ClassVar[Merging] = "none"
    passes_by_fewer_values: ClassVar[bool] = False
    needs_partition: ClassVar[bool] = True

    p: Retention
    epsilon: Annotated[
        float,
        Ge(1e-9),
        Le(1000),
        STRICTER_UP,
        doc("ε: from which error on, as a part of the share, an estimate counts as bad."),
    ]
    delta: Annotated[float, Ge(0), Le(1), STRICTER_UP, doc("δ: what the criterion compares with.")]
    criterion: Criteria = "chernoff_simple"
    releases: Releases = 1
    attribute: Attribute = None

    @property
    def asks_nothing(self) -> bool:
        """Every bound and every probability is at least 0."""
        return self.delta == 0

    def failing(self, judged: JudgedClasses) -> Bools:
        """Classes that are too large, or too uniform; exactly at δ passes."""
        return self._tested(judged).failing(self.criterion)

    def failing_alone(self, alone: JudgedClasses) -> Bools:
        """None: it is about values that are perturbed later, and hides nothing of those that are shown."""
        return np.zeros(len(alone.records), dtype=bool)

    @property
    def failing_in_words(self) -> str:
        """That their group tells too much."""
        return (
            f"would be in classes that are too large or too uniform: by {self.criterion}, shares of "
            f"{named(self.attribute)} in them follow too exactly from values perturbed with p = {self.p:.6g}"
        )

    def worst_in_words(self, worst: float) -> str:
        """The level of their class."""
        return f"the worst-off attain δ = {worst:.6g} by {self.criterion}, {self.delta:.6g} is asked for"

    def attained(self, judged: JudgedClasses) -> float | None:
        """The greatest δ with which all classes pass."""
        levels = self._tested(judged).log_levels(self.criterion)
        return min(1.0, math.exp(levels.min())) if len(levels) else None

    def impossible(self, whole: JudgedClasses) -> str | None:
        """Whether the values can be perturbed at all: classes may pass apart and fail together."""
        return unfit(whole.counts(self.attribute), whole.hierarchy(self.attribute), named(self.attribute))

    def _tested(self, judged: JudgedClasses) -> GroupsUnderTest:
        counts, hierarchy = judged.counts(self.attribute), judged.hierarchy(self.attribute)
        reason = unfit(counts, hierarchy, named(self.attribute))
        if reason is not None:
            raise NotSupported(reason, "Choose another attribute, or change the data or the rule.")
        replacement = UniformReplacement(self.p, hierarchy.n_leaves)
        question = ReconstructionQuestion(replacement, self.epsilon, self.delta, self.releases)
        return GroupsUnderTest(counts, question)


@dataclass(frozen=True)
class ReconstructionPrivacyFound:
    """How exactly the shares of groups could be reconstructed if the values were perturbed."""

    judged: Annotated[JudgedOn, doc("Which records were judged, and how they were grouped.")]
    attribute: Annotated[str, doc("The sensitive attribute.")]
    values: Annotated[int, doc("m: leaves of its hierarchy, whether they occur or not.")]
    values_unused: Annotated[int, doc("Leaves that no record has: they could be drawn all the same.")]
    records_without_value: Annotated[int, doc("Records in groups that have no value to judge.")]
    amplification: Annotated[
        float,
        FROM_ONE,
        doc("γ: no odds change by more than this factor for who reads the one published value of a record."),
    ]
    criterion: Annotated[Test, doc("The criterion asked for, which the verdict and the lists go by.")]
    verdict: Annotated[str, doc("What the criterion says, and what that does not say.")]
    is_met: Annotated[bool, MET, doc("Whether every group passes it; exactly at δ it does.")]
    groups_failing: Annotated[int, FAILING, doc("Groups that do not.")]
    records_failing: Annotated[int, FAILING, doc("Records in these groups.")]
    share_of_groups_failing: Annotated[float, SHARE, doc("The part of all groups that does not pass.")]
    delta: Annotated[
        float | None, SHARE, HIGH, doc("The greatest δ with which all groups pass; null without groups.")
    ]
    greatest_epsilon: Annotated[
        float | None,
        FROM_ZERO,
        doc("The greatest ε with which all groups pass a Chernoff criterion; null for an exact one."),
    ]
    greatest_p: Annotated[
        float | None,
        SHARE,
        doc(
            "The largest p with which all groups pass a Chernoff criterion, 1: every p; null for an exact "
            "one, whose probabilities rise and fall with p."
        ),
    ]
    by_criterion: Annotated[
        tuple[CriterionFound, ...], doc("All four criteria beside one another, for the same p, ε and δ.")
    ]
    by_size: Annotated[
        tuple[SizesFound, ...],
        doc("The groups by their sizes, the smallest first: how many fail, and how well they are told."),
    ]
    coinciding: Annotated[
        Coinciding, doc("Groups that an aggregate over one quasi-identifier coincides with.")
    ]
    groups: Annotated[tuple[GroupFound, ...], doc("The groups of least δ, the worst first.")]
    worst_values: Annotated[
        tuple[EstimateFound, ...], doc("The values of the worst group, the most frequent first.")
    ]
    warnings: Annotated[tuple[str, ...], doc("What is odd about the question.")]


def _asked(
    context: MeasureContext, own: ReconstructionParameters
) -> tuple[SensitiveValues, ReconstructionQuestion]:
    """The values and what is asked about them; InvalidInput or NotSupported if they cannot be perturbed."""
    drawn = drawn_retention(context)
    values = perturbable_values(context, own, own.attribute if drawn is None else drawn.attribute)
    replacement = UniformReplacement(retention(context, own), values.hierarchy.n_leaves)
    return values, ReconstructionQuestion(replacement, own.epsilon, own.delta, own.releases)


def _cost(context: MeasureContext, own: ReconstructionParameters) -> Cost:
    """By the sizes of the groups, which nothing else tells; what will be refused has none to test."""
    beside = SECONDS_BESIDE_COUNTING + SECONDS_PER_RECORD * context.table.n_records
    with suppress(InvalidInput, NotSupported):
        values, question = _asked(context, own)
        tested = GroupsUnderTest(values.counts, question)
        beside += tested.seconds
        if own.by_mode:
            kept = sizing(context, own, question)
            beside += own.by_mode * seconds_of_modes(values.counts, tested.tops, *kept)
    return cost_of_counting(context, 1, beside)


def _compute(
    context: MeasureContext, parameters: ReconstructionParameters, tick: Tick
) -> ReconstructionPrivacyFound:
    values, question = _asked(context, parameters)
    table, own = context.table, parameters
    positions = values.classes.attributes
    told = told_by_fewer(values.classes.codes, tuple(table.sizes[j] for j in positions))
    listed = GroupsListed(values, question, told)
    by_criterion = listed.by_criterion()
    asked = next(found for found in by_criterion if found.criterion == own.criterion)
    names, worst = tuple(table.attributes[j] for j in positions), listed.worst(own.criterion, own.top)
    epsilon, p = _levels(listed.tested, own.criterion)
    n_groups = int(np.count_nonzero(values.judged))
    kept = sizing(context, own, question)
    tick(1)
    return ReconstructionPrivacyFound(
        judged=judged_on(table, own, values.classes),
        attribute=values.name,
        values=values.hierarchy.n_leaves,
        values_unused=values.hierarchy.n_leaves - values.counts.n_values,
        records_without_value=values.without_value,
        amplification=question.replacement.amplification,
        criterion=own.criterion,
        verdict=_verdict(values, own, question.replacement.p, by_criterion),
        is_met=asked.is_met,
        groups_failing=asked.groups_failing,
        records_failing=asked.records_failing,
        share_of_groups_failing=asked.groups_failing / max(1, n_groups),
        delta=asked.delta,
        greatest_epsilon=epsilon,
        greatest_p=p,
        by_criterion=by_criterion,
        by_size=listed.by_size(own.criterion),
        coinciding=listed.coinciding(listed.tested.failing(own.criterion)),
        groups=tuple(
            listed.group(own.criterion, group, names, kept if place < own.by_mode else None)
            for place, group in enumerate(worst)
        ),
        worst_values=listed.estimates_of(worst[0], own.top) if worst else (),
        warnings=tuple(_warnings(context, own, values, question)),
    )


def _levels(tested: GroupsUnderTest, test: Test) -> tuple[float | None, float | None]:
    if test == "chernoff_simple" or test == "chernoff_full":
        return tested.greatest_epsilon(test), tested.greatest_p(test)
    return None, None


def _verdict(
    values: SensitiveValues, own: ReconstructionParameters, p: float, found: tuple[CriterionFound, ...]
) -> str:
    """A sentence that names the criterion, and never takes a bound for a probability."""
    by_name = {one.criterion: one for one in found}
    asked, exact = by_name[own.criterion], by_name["exact_total"]
    n_groups = int(np.count_nonzero(values.judged))
    numbers = f"p = {p:.6g}, ε = {own.epsilon:.6g} and δ = {own.delta:.6g}"
    if not n_groups:
        return f"By {own.criterion}, there is no group to judge."
    if not asked.is_met:
        return (
            f"By {own.criterion}, {asked.groups_failing:,} of {n_groups:,} groups with "
            f"{asked.records_failing:,} records fail for {numbers}."
        )
    if own.criterion == "exact_min":
        return (
            f"By exact_min, in all {n_groups:,} groups the estimate of every value is too low by more than ε "
            f"of its share with a probability of at least δ, and too high with at least δ, for {numbers}."
        )
    if own.criterion == "exact_total":
        return (
            f"By exact_total, in all {n_groups:,} groups the estimate of every value is off by more than ε "
            f"of its share with a probability of at least δ, for {numbers}."
        )
    return (
        f"By {own.criterion}, all {n_groups:,} groups pass for {numbers}. That is an upper bound of a "
        f"probability and no guarantee: by exact_total, some estimate is off by more than ε of its share "
        f"with a probability of {exact.delta or 0.0:.3g}, and {exact.groups_failing:,} groups fail."
    )


def _warnings(
    context: MeasureContext,
    own: ReconstructionParameters,
    values: SensitiveValues,
    question: ReconstructionQuestion,
) -> Iterator[str]:
    drawn = drawn_retention(context)
    if isinstance(drawn, PublishedSamples):
        yield (
            f"The release draws values for samples of its larger groups, in the mode {drawn.mode}. What is "
            "judged is what plain perturbation of these groups with the same p would leave: by_mode tells of "
            "the mode balanced_fixed, whose sizes are published, what the samples leave."
        )
    amounts = ungrouped_amounts(values.name, values.hierarchy)
    if amounts is not None:
        yield amounts
    if not values.classes.attributes:
        yield (
            "No attribute has the role quasi_identifier: all records are one group, which everybody is known "
            "to be in. Name in quasi_identifiers what readers may know of a person, if they know anything."
        )
    error = question.replacement.least_error(max(1, int(values.counts.sizes.sum())))
    if error >= 1:
        yield (
            f"With p = {question.replacement.p:.6g} an estimated share has a standard error of {error:.3g} "
            "or more even over all records: next to nothing could be counted after such a perturbation."
        )
    nearly_all = question.replacement.nearly_all_kept()
    if nearly_all is not None:
        yield nearly_all
    if not own.criterion.startswith("chernoff"):
        return
    if not own.epsilon:
        yield (
            "With ε = 0 every estimate is bad that is not exactly right, and every group passes "
            f"{own.criterion} with any δ: that says nothing."
        )
    yield (
        f"As p grows towards 1, small groups pass {own.criterion} although nearly nothing is hidden: cap p "
        "by what a reader of one record may believe, and look at the probabilities."
    )


def _judged_by(own: ReconstructionParameters, value: str) -> ReconstructionPrivacy | None:
    if not own.epsilon:
        return None
    p = RETENTION if own.p is None else own.p
    return ReconstructionPrivacy(p, own.epsilon, own.delta, own.criterion, own.releases, own.attribute)


RECONSTRUCTION_PRIVACY: Final = Measure(
    name="reconstruction_privacy",
    title="Reconstruction privacy: what plain perturbation would leave to be computed",
    source="Wang et al. (2012), sections 4 and 5, with exact probabilities",
    guarantee="exact",
    parameters=ReconstructionParameters,
    result=ReconstructionPrivacyFound,
    cost=_cost,
    compute=_compute,
    example=Example(
        "how exactly would perturbed incomes still tell the shares in a group?",
        "proposal-reconstruction",
        parameters={"p": 0.5, "epsilon": 0.3, "delta": 0.3, "missing_sensitive": "excluded", "top": 3},
    ),
    criteria=(ReconstructionPrivacy,),
    judges=_judged_by,
    protects=False,
    supports=fits_release,
    reads=frozenset({"records", "groups"}),
)
