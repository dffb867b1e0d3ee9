"""What a Dirichlet-multinomial synthesis promises, what it rests on, and what it does not protect.

Neighbours are two tables that differ in the drawn attribute of one record. They differ in one partition, and
the others have one law: as (ε, δ)-differential privacy δ is that of a partition. The probabilistic form is
about outputs that some person's neighbour could betray, which is a union over partitions: their δ add up
(Machanavajjhala (2008), definitions 4.5 and 4.6, corrected).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from app.domain.catalogue.catalogue_types import Hypothesis
from app.domain.mechanisms.common_hypotheses import not_shown_otherwise
from app.domain.mechanisms.guarantee import PrivacyGuarantee
from app.domain.mechanisms.guarantee_models import BOUNDED_PRIVACY, PROBABILISTIC_PRIVACY
from app.domain.mechanisms.mechanism import MechanismContext
from app.domain.mechanisms.private_release import LARGE_EPSILON, factor_told, private_hypotheses
from app.domain.mechanisms.public_domains import domain_is_public

TOTALS_ARE_PUBLIC: Final = "totals_are_public"
VALUES_ARE_DECLARED: Final = "values_are_declared"
MUCH_NOISE: Final = 0.5


@dataclass(frozen=True)
class PeopleDrawn:
    """Who is drawn: of public numbers alone.

    ``of_one`` are the partitions of one person, ``cells`` the values that can be drawn, ``noise_share`` the
    share of drawn people who are expected to be of the prior.
    """

    attribute: str
    partition: tuple[str, ...]
    partitions: int
    people: int
    of_one: int
    cells: int
    delta_of_partition: float
    delta_of_table: float
    noise_share: float

    @property
    def partition_told(self) -> str:
        """Such as: each combination of 'town', 'age'."""
        names = ", ".join(map(repr, self.partition[:5])) + (", …" if len(self.partition) > 5 else "")
        return f"each combination of {names}" if names else "the whole table"


def guarantees_of(
    context: MechanismContext, drawn: PeopleDrawn, epsilon: float, delta: float
) -> tuple[PrivacyGuarantee, ...]:
    """Differential privacy of one value and, with a δ, the probabilistic form that is proved first."""
    name = drawn.attribute
    hypotheses = (
        Hypothesis(
            TOTALS_ARE_PUBLIC,
            "assumed",
            f"Neighbours are two tables that differ in the {name!r} of one record. How many records "
            f"{drawn.partition_told} has is published exactly, and taken to be public: nothing is promised "
            "of it.",
        ),
        domain_is_public(context, name),
        *private_hypotheses(context),
        not_shown_otherwise(name),
        Hypothesis(
            VALUES_ARE_DECLARED,
            "assumed",
            f"Every record is taken to have a declared {name!r}, whatever else it is. It is checked before "
            "anything is drawn: a table with another value is refused, which tells that one bit.",
        ),
    )
    stated: dict[str, float | str] = {
        "epsilon": epsilon,
        "attribute": name,
        "neighbours": "replace_drawn_value",
    }
    slack = "" if delta == 0 else f", apart from a slack of δ = {delta:.6g}"
    bounded = PrivacyGuarantee(
        model=BOUNDED_PRIVACY,
        parameters={**stated, "delta": delta},
        sentence=(
            f"Whichever {name!r} one person has, whatever is known of everybody else, the chance of any "
            f"particular published table, and of any set of them, changes by at most a factor "
            f"{factor_told(epsilon)}{slack}. That holds of whatever is made of the table, too."
        ),
        status="certified",
        hypotheses=hypotheses,
    )
    if delta == 0:
        return (bounded,)
    of_all = drawn.delta_of_table
    probabilistic = PrivacyGuarantee(
        model=PROBABILISTIC_PRIVACY,
        parameters={**stated, "delta": of_all, "delta_of_partition": drawn.delta_of_partition},
        sentence=(
            f"The probability of drawing people of a partition by whom some {name!r} of one of them could be "
            f"told from another by more than a factor {factor_told(epsilon)} is at most "
            f"{drawn.delta_of_partition:.6g}; that of any of {drawn.partitions:,} partitions is at most "
            f"{of_all:.6g}. That holds of the table as it is, and not of everything that is made of it."
        ),
        status="certified",
        hypotheses=hypotheses,
        claimed_by_source=(
            "Machanavajjhala (2008), section 4.4, claims the δ of one partition of the whole table; over its "
            "partitions the probabilities add up."
        ),
    )
    return bounded, probabilistic


def warnings_of(drawn: PeopleDrawn, epsilon: float) -> tuple[str, ...]:
    """Sentences for whoever publishes the table."""
    return tuple(_warnings(drawn, epsilon))


def _warnings(drawn: PeopleDrawn, epsilon: float) -> Iterator[str]:
    name = drawn.attribute
    yield (
        "Of one record more or less nothing is promised, since totals are published exactly: against that "
        "relation the release spends without bound, and the sum of the table's releases promises nothing "
        f"beside it. Of replacing the {name!r} of one record, a release with ε and δ of records counts with "
        "2ε and (1 + e^ε)·δ."
    )
    yield (
        f"About {100 * drawn.noise_share:.3g} % of the drawn people are expected to be of the prior, which "
        f"is spread evenly over {drawn.cells:,} values: of n people, k with a value, (k + α)·n / (n + "
        "values·α) are expected to show it."
    )
    if drawn.noise_share > MUCH_NOISE:
        yield (
            "Most of them are noise. Give a greater ε, a certificate with a δ, larger partitions, or a rule "
            f"with a more general level of {name!r}."
        )
    if drawn.of_one:
        yield (
            f"{drawn.of_one:,} of {drawn.partitions:,} partitions have one person: no δ helps there, and "
            "nearly everybody drawn is of the prior unless ε is large."
        )
    if drawn.delta_of_table >= 1:
        yield (
            "The δ of all partitions add up to 1 or more: that some partition shows an output that tells "
            "more is not excluded. That of one partition bounds attacks on one given person."
        )
    yield (
        "Nothing is promised of what the data tell of people in general: where nearly all of a partition "
        "have one value, anybody in it is believed to have it."
    )
    if epsilon > LARGE_EPSILON:
        yield (
            f"ε = {epsilon:.6g} is large: the factor is {math.exp(epsilon):.6g}. Above 3 a promise is weak; "
            "choose at most 1 where you can."
        )
