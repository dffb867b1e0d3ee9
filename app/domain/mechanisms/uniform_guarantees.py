"""What uniform replacement promises of one record and of groups, and what it rests on."""

from __future__ import annotations

import math
from typing import Final

from app.domain.catalogue.catalogue_types import Hypothesis
from app.domain.classes.reconstruction import greatest_posterior
from app.domain.classes.reconstruction_groups import BOUNDS, Test
from app.domain.hierarchies.numbers import ungrouped_amounts
from app.domain.mechanisms.common_hypotheses import (
    of_other_releases,
    one_record_per_person,
    shown_unperturbed,
)
from app.domain.mechanisms.guarantee import PrivacyGuarantee
from app.domain.mechanisms.public_domains import domain_is_public
from app.domain.mechanisms.uniform_column import UniformColumn

AMPLIFICATION: Final = "amplification"
RECONSTRUCTION: Final = "reconstruction_privacy"
"""Of probabilities of an error."""
RECONSTRUCTION_BOUND: Final = "reconstruction_bound"
"""Of upper bounds of these, which say nothing of the probabilities: a model of its own, so that no gate takes
the one for the other."""


def warnings_of(column: UniformColumn, beside: str) -> tuple[str, ...]:
    """Sentences on what is not protected, and on what is odd about the column.

    ``beside`` says what is released beside it.
    """
    own = column.attribute
    found = [
        beside,
        f"Many records alike tell what share of them has which {own!r}. Readers who join several groups, or "
        "whose groups are alike, learn from all of them.",
    ]
    amounts = ungrouped_amounts(own, column.table.hierarchies[column.column])
    if amounts is not None:
        found.append(amounts)
    if not column.known:
        found.append("The dataset has no quasi-identifier: all records are one group.")
    found += shown_unperturbed(column.table, own)
    error = column.replacement.least_error(column.table.n_records)
    if error >= 1:
        found.append(
            f"With p = {column.parameters.p:.6g} an estimated share has a standard error of {error:.3g} or "
            "more even over all records: neither shares nor counts can be told from the release."
        )
    nearly_all = column.replacement.nearly_all_kept()
    if nearly_all is not None:
        found.append(nearly_all)
    unused = column.m - int((column.counts.totals > 0).sum())
    if unused:
        found.append(f"{unused:,} values of {own!r} that no record has are published of some records.")
    return tuple(found)


def amplification_guarantee(column: UniformColumn) -> PrivacyGuarantee:
    """What one published value tells of its record, for every prior."""
    own, gamma = column.parameters, column.replacement.amplification
    parameters: dict[str, float | str] = {
        "gamma": gamma,
        "local_epsilon": math.log(gamma),
        "attribute": column.attribute,
    }
    sentence = (
        f"For who reads of a person only that record, no odds between two values of {column.attribute!r} "
        f"change by more than the factor {gamma:.6g}, whatever was believed before."
    )
    if own.rho_1 is not None and own.rho_2 is not None:
        reached = greatest_posterior(column.replacement, own.rho_1)
        parameters |= {"rho_1": own.rho_1, "rho_2": own.rho_2}
        sentence += f" What was at most {own.rho_1:.6g} likely becomes at most {reached:.6g} likely."
    return PrivacyGuarantee(
        model=AMPLIFICATION,
        parameters=parameters,
        sentence=sentence,
        status="certified",
        hypotheses=(
            _p_within_cap(column),
            domain_is_public(column.context, column.attribute),
            one_record_per_person(column.table),
            Hypothesis(
                "own_record_only",
                "assumed",
                "A reader who also counts in records of people alike learns more, which is what the "
                "guarantee of reconstruction privacy is about.",
            ),
            *of_other_releases(column.attribute),
        ),
    )


def guarantee_of_groups(
    column: UniformColumn,
    test: Test,
    sentence: str,
    tested: tuple[Hypothesis, ...],
    claimed_by_source: str,
) -> PrivacyGuarantee:
    """What estimates of shares in groups are bound by, of a test whose own hypotheses are ``tested``.

    A bound has one status, whatever draws the values: the source claims more of it than can be proved.
    """
    own, is_bound = column.parameters, test in BOUNDS
    return PrivacyGuarantee(
        model=RECONSTRUCTION_BOUND if is_bound else RECONSTRUCTION,
        parameters={
            "p": own.p,
            "epsilon": own.epsilon,
            "delta": own.delta,
            "criterion": test,
            "attribute": column.attribute,
        },
        sentence=sentence,
        status="as_published" if is_bound else "certified",
        hypotheses=(
            *tested,
            _p_within_cap(column),
            domain_is_public(column.context, column.attribute),
            one_record_per_person(column.table),
            Hypothesis(
                "plain_estimate",
                "assumed",
                "The reader is taken to use the unbiased estimate of one group. Who joins it with what is "
                "known of other groups may be nearer.",
            ),
            *of_other_releases(column.attribute),
        ),
        claimed_by_source=claimed_by_source,
    )


def _p_within_cap(column: UniformColumn) -> Hypothesis:
    own = column.parameters
    return Hypothesis("p_within_cap", "yes", f"p is {own.p:.9g}, the cap {own.cap(column.m):.9g}.")
