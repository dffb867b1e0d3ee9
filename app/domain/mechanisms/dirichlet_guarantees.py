"""What a Dirichlet-multinomial synthesis promises, what it rests on, and what it does not protect.

Neighbours differ in the drawn attribute of one record, so in one partition: as (ε, δ)-differential privacy δ
is that of a partition. The probabilistic form is about outputs that could betray anybody, which is a union
over partitions: their δ add up (Machanavajjhala (2008), definitions 4.5 and 4.6, corrected).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from app.domain.catalogue.catalogue_types import Hypothesis
from app.domain.mechanisms.common_hypotheses import not_shown_otherwise
from app.domain.mechanisms.guarantee import PrivacyGuarantee
from app.domain.mechanisms.guarantee_models import BOUNDED_PRIVACY, PROBABILISTIC_PRIVACY
from app.domain.mechanisms.mechanism import MechanismContext
from app.domain.mechanisms.private_release import LARGE_EPSILON, factor_told, private_hypotheses
from app.domain.mechanisms.public_cells import PublicCells
from app.domain.mechanisms.public_dictionary import DICTIONARY_IS_PUBLIC
from app.domain.mechanisms.public_domains import domain_is_public

TOTALS_ARE_PUBLIC: Final = "totals_are_public"
VALUES_ARE_DECLARED: Final = "values_are_declared"


def guarantees_of(
    context: MechanismContext,
    partition: Sequence[str],
    delta: float,
    name: str,
    numbers: Mapping[str, float],
    epsilon: float,
    cells: PublicCells,
) -> tuple[PrivacyGuarantee, ...]:
    """Differential privacy of one value and, with a δ, the probabilistic form that is proved first.

    ``name`` is the attribute that is drawn, ``numbers`` are the constants of the plan, ``cells`` are what
    people are drawn from.
    """
    each = f"each combination of {', '.join(map(repr, partition))}" if partition else "the whole table"
    declared = Hypothesis(
        VALUES_ARE_DECLARED,
        "yes" if cells.has_outside else "assumed",
        f"Whoever has a {name!r} that is not in the list is drawn as suppressed, whatever it is."
        if cells.has_outside
        else f"Every record is taken to have a declared {name!r}, whatever else it is. It is checked before "
        "anything is drawn: a table with another value is refused, which tells that one bit.",
    )
    hypotheses = (
        Hypothesis(
            TOTALS_ARE_PUBLIC,
            "assumed",
            f"Neighbours are two tables that differ in the {name!r} of one record. How many records "
            f"{each} has is published exactly, and taken to be public.",
        ),
        domain_is_public(context, name),
        *((DICTIONARY_IS_PUBLIC,) if cells.is_listed else ()),
        *private_hypotheses(context),
        not_shown_otherwise(name),
        declared,
    )
    slack = "" if delta == 0 else f", apart from a slack of δ = {delta:.6g}"
    bounded = PrivacyGuarantee(
        model=BOUNDED_PRIVACY,
        parameters={
            "epsilon": epsilon,
            "delta": delta,
            "attribute": name,
            "neighbours": "replace_drawn_value",
        },
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
    of_one, of_all = numbers["delta_of_partition"], numbers["delta_of_table"]
    probabilistic = PrivacyGuarantee(
        model=PROBABILISTIC_PRIVACY,
        parameters={**bounded.parameters, "delta": of_all, "delta_of_partition": of_one},
        sentence=(
            f"The probability of drawing people of a partition by whom some {name!r} of one of them could be "
            f"told from another by more than a factor {factor_told(epsilon)} is at most "
            f"{of_one:.6g}; that of any of {numbers['partitions']:,} partitions is at most "
            f"{of_all:.6g}. That holds of the table as it is, and not of everything that is made of it."
        ),
        status="certified",
        hypotheses=hypotheses,
        claimed_by_source="The δ of one partition holds for the table (Machanavajjhala (2008), section 4.4).",
    )
    return bounded, probabilistic


def warnings_of(name: str, numbers: Mapping[str, float], epsilon: float, cells: PublicCells) -> Iterator[str]:
    """Sentences for whoever publishes the table."""
    yield (
        "Of one record more or less nothing is promised, since totals are published exactly: against that "
        "relation the release spends without bound, and the sum of the table's releases promises nothing "
        f"beside it. Of replacing the {name!r} of one record, a release with ε and δ of records counts with "
        "2ε and (1 + e^ε)·δ."
    )
    about, spread = ("At most", "those kept") if cells.chances else ("About", f"{numbers['values']:,} values")
    evenly = "evenly " if cells.units == len(cells.nodes) else ""
    yield (
        f"{about} {100 * numbers['noise_share']:.3g} % of the drawn people are expected to be of the prior, "
        f"which is spread {evenly}over {spread}."
    )
    if cells.chances:
        spent = -math.log(cells.chances[0][0])
        yield f"Of ε, {spent:.4g} and ⌈α⌉·ln 2 are spent on cells that need not be kept."
    if cells.has_outside:
        yield f"People whose {name!r} is not in the list are shown as suppressed; their number has noise."
    if numbers["partitions_of_one"]:
        yield (
            f"{numbers['partitions_of_one']:,} of {numbers['partitions']:,} partitions have one person: no δ "
            "helps there, and their prior is that of the certificate pure."
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
