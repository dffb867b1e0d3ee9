"""What a perturbation promises, and what whoever publishes it must know."""

from __future__ import annotations

from typing import Final

from app.domain.catalogue.catalogue_types import Hypothesis
from app.domain.hierarchies.numbers import ungrouped_amounts
from app.domain.mechanisms.common_hypotheses import (
    found_by_the_rest,
    of_other_releases,
    one_record_per_person,
    shown_unperturbed,
)
from app.domain.mechanisms.guarantee import PrivacyGuarantee
from app.domain.mechanisms.guarantee_models import LIKENESS
from app.domain.mechanisms.perturbed_column import PerturbedColumn

WITHIN: Final = 1e-9
"""Share of its bound that a posterior may be above it: what rounding makes of an equality."""


def warnings_of(column: PerturbedColumn) -> tuple[str, ...]:
    """Sentences on what is not protected, and on what is odd about the column."""
    own = column.attribute
    found = [
        found_by_the_rest(own),
        f"Groups of many records tell what share of them has which {own!r}, whatever beta is: that is what "
        "the release is good for. If all of a group have the same value, it tells that of each.",
        *shown_unperturbed(column.table, own),
    ]
    amounts = ungrouped_amounts(own, column.table.hierarchies[column.column])
    if amounts is not None:
        found.append(amounts)
    if len(column.nodes) == 1:
        found.append(
            f"{own!r} has a single value, which everybody knows: there is nothing to hide or to draw."
        )
    return tuple(found)


def likeness_guarantee(column: PerturbedColumn) -> PrivacyGuarantee:
    """Enhanced β-likeness of the published values, with the posteriors of the column's matrix checked."""
    return PrivacyGuarantee(
        model=LIKENESS,
        parameters={
            "beta": column.parameters.beta,
            "bound": "enhanced",
            "attribute": column.attribute,
        },
        sentence=(
            f"For who knows how frequent each {column.attribute!r} is, and of a person only that record of "
            f"the release, no value becomes more than {1 + column.parameters.beta:.12g} times as likely as "
            "it was, and frequent values by less."
        ),
        status="certified",
        hypotheses=_hypotheses(column),
        claimed_by_source=(
            "Cao and Karras (2012), theorem 3, claims it for every prior, and definition 6 for readers of "
            "the whole release. The first is wrong where the published formula gives a retention below 0; "
            "the second holds only for who reads the one record."
        ),
    )


def _hypotheses(column: PerturbedColumn) -> tuple[Hypothesis, ...]:
    kept = bool((column.posteriors <= column.bounds * (1 + WITHIN)).all())
    used = float((column.posteriors / column.bounds).max())
    of_prior = (
        "Readers are taken to know the shares of the values in the table, which are published."
        if column.parameters.reference is None
        else "Readers are taken to know the shares of the reference, and no better."
    )
    return (
        Hypothesis(
            "posteriors_within_bounds",
            "yes" if kept else "no",
            f"The greatest posterior of each of {len(column.nodes):,} values was computed; the nearest to "
            f"its bound is {used:.6f} of it.",
        ),
        Hypothesis("prior_is_common", "assumed", of_prior),
        column.domain,
        one_record_per_person(column.table),
        Hypothesis(
            "own_record_only",
            "assumed",
            "A reader who also counts in records of people alike learns more, as from any statistic of them.",
        ),
        Hypothesis(
            "records_independent",
            "assumed",
            "What is known of one person is taken to tell nothing of another, such as a relative.",
        ),
        *of_other_releases(column.attribute),
    )
