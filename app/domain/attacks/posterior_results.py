"""Beliefs before and after a release, as the answer of their measure says them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from annotated_types import doc

from app.domain.catalogue.catalogue_types import CellValue
from app.domain.catalogue.meanings import HIGH, LOW, LOW_AMOUNT, LOW_SHARE, SHARE
from app.domain.models.judged import ClassRef, JudgedOn


@dataclass(frozen=True)
class Believed:
    """Records of a class whom the attacker cannot tell apart, and what is believed of them."""

    records: Annotated[ClassRef, doc("The records.")]
    value: Annotated[CellValue, doc("The value that the belief is about.")]
    prior: Annotated[
        float | None,
        SHARE,
        doc("How probable it is for such a person without the release; null for a missing value."),
    ]
    belief: Annotated[float, SHARE, doc("How probable it is given the release.")]


@dataclass(frozen=True)
class PositiveDisclosure:
    """Records whose own value is believed too firmly."""

    records: Annotated[int, LOW, doc("Records whose value is believed above 1 − delta.")]
    share: Annotated[float, LOW_SHARE, doc("Their share of the records with a number.")]
    greatest_belief: Annotated[float, LOW_SHARE, doc("Strongest belief in the own value of a record.")]


@dataclass(frozen=True)
class NegativeDisclosure:
    """Records that are believed not to have some other value."""

    records: Annotated[int, LOW, doc("Records of whom another value is believed below epsilon.")]
    share: Annotated[float, LOW_SHARE, doc("Their share of the records with a number.")]
    records_ruled_out: Annotated[
        int,
        LOW,
        doc(
            "Of these, records of whom another value is ruled out: nobody of the class has it, or nobody "
            "like them in the population."
        ),
    ]


@dataclass(frozen=True)
class Breaches:
    """Beliefs that the release changes too much, in one direction."""

    pairs: Annotated[int, LOW, doc("Pairs of a kind of person in a class and a value.")]
    records: Annotated[int, LOW, doc("Records of whom a belief so changes, about any value.")]
    worst: Annotated[Believed | None, doc("The greatest change among them; null without one.")]


@dataclass(frozen=True)
class PosteriorBeliefs:
    """Beliefs before and after the release, and who is exposed by them."""

    judged: Annotated[JudgedOn, doc("Which records were judged, and how.")]
    attribute: Annotated[str, doc("The sensitive attribute.")]
    known: Annotated[tuple[str, ...], doc("Quasi-identifiers that the dictionary carries.")]
    entities: Annotated[int, doc("People of the dictionary whose values are all known exactly.")]
    entities_left_out: Annotated[int, doc("People of whom some value is missing or vague.")]
    records_with_number: Annotated[int, doc("Records of whom beliefs could be computed.")]
    records_contradicted: Annotated[
        int,
        doc(
            "Records without a number: their class shows a value that nobody in the dictionary has whom it "
            "may stand for."
        ),
    ]
    records_inconsistent: Annotated[
        int, doc("Records without a number: for people like them no value of the class is possible.")
    ]
    positive: Annotated[PositiveDisclosure, doc("Positive disclosures.")]
    negative: Annotated[NegativeDisclosure, doc("Negative disclosures.")]
    upward: Annotated[
        Breaches, doc("Values improbable before, probable after: prior < rho_1, belief > rho_2.")
    ]
    downward: Annotated[
        Breaches, doc("Values probable before, improbable after: prior > 1 − rho_1, belief < 1 − rho_2.")
    ]
    is_private: Annotated[
        bool | None, HIGH,
        doc("Whether there is no breach in either direction; null if there is none among the records with a "
            "number but there are records without."),
    ]  # fmt: skip
    greatest_increase: Annotated[
        float, LOW_SHARE, doc("Greatest belief − prior, over all persons and values.")
    ]
    greatest_decrease: Annotated[float, LOW_SHARE, doc("Greatest prior − belief.")]
    greatest_ratio: Annotated[float, LOW_AMOUNT, doc("Greatest belief / prior.")]
    exposed: Annotated[
        tuple[Believed, ...], doc("Records whose own value is believed most firmly, the firmest first.")
    ]
