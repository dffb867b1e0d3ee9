"""Uniform perturbation: every sensitive value is kept with one probability, else any value is drawn.

Wang et al. (2012), section 3.1. Quasi-identifiers stay as they are, or as a rule generalises them. What one
record tells is bounded by p alone; what a group of records tells is tested (Definitions: reconstruction
privacy).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Final

import numpy as np
from annotated_types import doc

from app.domain.catalogue.catalogue_types import Hypothesis
from app.domain.classes.reconstruction_groups import (
    BOUNDS,
    TESTS,
    GroupsUnderTest,
    ReconstructionQuestion,
    Test,
)
from app.domain.errors import NotSupported, refuse
from app.domain.mechanisms.common_hypotheses import found_by_the_rest
from app.domain.mechanisms.drawing import BYTES_PER_RECORD, RECORDS_AT_ONCE, replaced
from app.domain.mechanisms.drawn_release import PublishedRetention
from app.domain.mechanisms.guarantee import PrivacyGuarantee
from app.domain.mechanisms.mechanism import Bits, Drawn, Mechanism, MechanismContext, MechanismPlan
from app.domain.mechanisms.plan_constants import UNIFORM_CONSTANTS
from app.domain.mechanisms.transition_matrix import TransitionMatrix
from app.domain.mechanisms.uniform_column import UniformColumn, UniformReplacementParameters, unfit
from app.domain.mechanisms.uniform_guarantees import (
    AMPLIFICATION,
    RECONSTRUCTION,
    RECONSTRUCTION_BOUND,
    amplification_guarantee,
    guarantee_of_groups,
    warnings_of,
)

SECONDS_PER_RECORD: Final = 1e-7
SECONDS_PER_VALUE: Final = 2e-6
BYTES_PER_RECORD_OF_GROUPS: Final = 60
BYTES_PER_VALUE: Final = 200


@dataclass(frozen=True, kw_only=True)
class UniformPerturbation(UniformReplacementParameters):
    """How sensitive values are replaced, and by what the groups are tested."""

    criterion: Annotated[
        Test,
        doc(
            "`exact_total`: the estimate of every share in a group is bad with a probability of at least "
            "delta. `exact_min`: too low, and too high, with at least delta each. `chernoff_simple`, "
            "`chernoff_full`: an upper bound of the probability is at least delta, as published, which "
            "guarantees no error."
        ),
    ] = "exact_total"


@dataclass(frozen=True, eq=False)
class PublishedUniform(PublishedRetention):
    """What a reader needs to count: the values, whether a record has them or not, and p."""

    @cached_property
    def matrix(self) -> TransitionMatrix:
        """The matrix of the replacement."""
        return TransitionMatrix(np.full(len(self.values), self.p))


def _plan(context: MechanismContext, parameters: UniformPerturbation) -> MechanismPlan:
    column = UniformColumn.of(context, parameters)
    own = parameters
    question = ReconstructionQuestion(column.replacement, own.epsilon, own.delta, context.releases)
    tested, missing = GroupsUnderTest(column.counts, question), column.above_cap()
    n = context.table.n_records
    promised = (
        amplification_guarantee(column),
        _reconstruction_guarantee(column, tested, context.releases, own.criterion),
    )
    # What follows from p and m, and how many groups fail by each criterion
    replacement = column.replacement
    constants = column.constants | {"kept": replacement.kept, "elsewhere": replacement.elsewhere}
    for test in TESTS:
        failing = tested.failing(test)
        constants[f"groups_failing_{test}"] = int(np.count_nonzero(failing))
        constants[f"records_failing_{test}"] = int(column.counts.sizes[failing].sum())
        constants[f"delta_{test}"] = min(1.0, float(np.exp(tested.log_levels(test).min())))
    greatest = tested.greatest_p("chernoff_simple")
    constants["greatest_p_chernoff_simple"] = 1.0 if greatest is None else greatest
    return MechanismPlan(
        constants=constants | {"releases": context.releases},
        missing=missing,
        seconds=SECONDS_PER_RECORD * n + SECONDS_PER_VALUE * column.m + tested.seconds,
        bytes=BYTES_PER_RECORD_OF_GROUPS * n
        + BYTES_PER_VALUE * column.m
        + 6 * BYTES_PER_RECORD * RECORDS_AT_ONCE,
        guarantees=() if missing else promised,
        warnings=warnings_of(column, found_by_the_rest(column.attribute)),
    )


def _reconstruction_guarantee(
    column: UniformColumn, tested: GroupsUnderTest, releases: int, test: Test
) -> PrivacyGuarantee:
    together = "" if releases == 1 else f" for who has {releases} independent releases"
    failed, n_groups = int(np.count_nonzero(tested.failing(test))), column.counts.n_classes
    return guarantee_of_groups(
        column,
        test,
        _failed_in_words(column, test, failed, n_groups) if failed else _in_words(column, test),
        (
            Hypothesis(
                "groups_within_bound",
                "no" if failed else "yes",
                f"{failed:,} of {n_groups:,} groups fail by {test}{together}."
                if failed
                else f"All {n_groups:,} groups were tested by {test}{together}, every value that occurs.",
            ),
        ),
        "Wang et al. (2012), abstract, claims that such an estimate has a large error with a large "
        "probability where the bound is at least delta (Definitions: upper bounds of errors).",
    )


def _failed_in_words(column: UniformColumn, test: Test, failed: int, n_groups: int) -> str:
    """That nothing is said of estimates in groups, some of which fail."""
    own = column.parameters
    return (
        f"By {test}, {failed:,} of {n_groups:,} groups fail for epsilon = {own.epsilon:.6g} and delta = "
        f"{own.delta:.6g}: nothing is promised of estimates of {column.attribute!r} in groups."
    )


def _in_words(column: UniformColumn, test: Test) -> str:
    """What the groups are tested for."""
    own = column.parameters
    error = f"{own.epsilon:.6g} of it, for who knows all quasi-identifiers and has nothing else"
    if test in BOUNDS:
        return (
            f"By {test}, an upper bound of the probability that the estimate of the share of a "
            f"{column.attribute!r} in a group is off by more than {error}, is at least {own.delta:.6g}. This "
            "says nothing of the probability itself."
        )
    each = (
        "too low, and too high, by more than that with a probability of at least"
        if test == "exact_min"
        else "off by more than that with a probability of at least"
    )
    return (
        f"By {test}, the estimate of the share of any {column.attribute!r} in any group is {each} "
        f"{own.delta:.6g}; that is {error}."
    )


def _draw(context: MechanismContext, parameters: UniformPerturbation, bits: Bits) -> Drawn[PublishedUniform]:
    reason = unfit(context, parameters)
    if reason is not None:
        raise NotSupported.because(reason)
    column = UniformColumn.of(context, parameters)
    refuse(column.above_cap())
    published = PublishedUniform(column.attribute, column.values, parameters.p)
    drawn = replaced(column.numbers, published.matrix, bits)
    columns = [column.shown[:, j] for j in range(column.shown.shape[1])]
    columns[column.column] = column.leaves.take(drawn).astype(np.int32)
    return Drawn(tuple(columns), published)


UNIFORM_PERTURBATION: Final = Mechanism(
    name="uniform_perturbation",
    title="Uniform perturbation: sensitive values kept with one probability, else drawn from all",
    source="Wang et al. (2012), section 3.1, with exact tests (Definitions: reconstruction privacy)",
    family="perturb",
    parameters=UniformPerturbation,
    published=PublishedUniform,
    guarantees=(AMPLIFICATION, RECONSTRUCTION, RECONSTRUCTION_BOUND),
    constants=UNIFORM_CONSTANTS,
    supports=unfit,
    plan=_plan,
    draw=_draw,
)
