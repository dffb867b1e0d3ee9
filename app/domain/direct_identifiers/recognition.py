"""Which kinds of direct identifiers a column holds, from its texts alone.

Adding a kind takes a function from a column's sample to what it found, and one entry of :data:`RECOGNISERS`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Final

from annotated_types import doc

from app.domain.arrays import Longs
from app.domain.direct_identifiers.checked_numbers import ibans, national_numbers, payment_cards, tax_numbers
from app.domain.direct_identifiers.patterns import (
    coordinates,
    emails,
    free_texts,
    ip_addresses,
    mac_addresses,
    urls,
)
from app.domain.direct_identifiers.personal_names import personal_names
from app.domain.direct_identifiers.postal_addresses import postal_addresses
from app.domain.direct_identifiers.sample import Found, Sample, sample_of
from app.domain.direct_identifiers.telephone import telephones

_FEW: Final = 0.01
_SOME: Final = 0.1


@dataclass(frozen=True)
class Recogniser:
    """A kind of direct identifier.

    Parameters
    ----------
    kind, title
        The name in answers, and what people call it.
    source
        Where the rule is from.
    least_share
        A column looks like the kind if at least this share of its cells does and the column bears it out.
    find
        The texts of a sample that are of the kind.
    """

    kind: str
    title: str
    source: str
    least_share: float
    find: Callable[[Sample], Found]


RECOGNISERS: Final = (
    Recogniser("email", "e-mail addresses", "RFC 5322, dot-atom form", _FEW, emails),
    Recogniser("iban", "bank accounts (IBAN)", "ISO 13616, python-stdnum", _FEW, ibans),
    Recogniser("url", "web addresses", "RFC 3986", _FEW, urls),
    Recogniser("ip_address", "IP addresses", "RFC 791, RFC 4291", _FEW, ip_addresses),
    Recogniser("mac_address", "MAC addresses", "IEEE 802", _FEW, mac_addresses),
    Recogniser("coordinates", "coordinates of places", "ISO 6709 and decimal degrees", _FEW, coordinates),
    Recogniser(
        "payment_card", "payment cards", "ISO/IEC 7812, python-stdnum, prefixes of Faker", _FEW, payment_cards
    ),
    Recogniser("national_number", "national numbers of persons", "python-stdnum", _FEW, national_numbers),
    Recogniser("tax_number", "tax numbers", "python-stdnum", _FEW, tax_numbers),
    Recogniser("telephone", "telephone numbers", "phonenumbers (libphonenumber)", _FEW, telephones),
    Recogniser(
        "postal_address", "postal addresses", "words for streets in many languages", _FEW, postal_addresses
    ),
    Recogniser("personal_name", "names of people", "lists of names in Faker", _SOME, personal_names),
    Recogniser("free_text", "free text", "number of words, and how rarely a text repeats", _SOME, free_texts),
)
"""Such that a kind stands before those whose rule its texts may fit by accident."""

TITLES: Final = {recogniser.kind: recogniser.title for recogniser in RECOGNISERS}
"""Kind → what people call it."""


@dataclass(frozen=True)
class RecognisedKind:
    """Cells of one attribute that are of one kind."""

    kind: Annotated[str, doc("Which kind, such as email, telephone or personal_name.")]
    share: Annotated[float, doc("Share of the attribute's disclosed cells that are of the kind.")]
    is_direct_identifier: Annotated[
        bool, doc("Whether the attribute as a whole looks like a direct identifier of the kind.")
    ]


def recognised_kinds(values: Sequence[str], counts: Longs) -> tuple[RecognisedKind, ...]:
    """The kinds that cells of a column are of, in the recognisers' order; empty if of none.

    The column as a whole looks like a kind if at least the kind's least share of its cells does, and what the
    kind asks of the whole column holds. Cells of a kind that the column looks like are not looked at for the
    kinds behind it.

    A pure function of the set of pairs: neither their order nor a clock enters. Of a column with more than
    5,000 distinct texts the 1,000 most frequent ones and 4,000 of the others, chosen by hash, are looked at,
    and of each text its first 500 characters; shares are then estimates, for a kind that most of the others
    are of with a standard error below 0.008.

    A column of 1,000 distinct texts takes 0.03 s of processor time in the middle and 0.25 s at most, where it
    looks like telephone numbers; of a column with more, what is looked at is bounded. The first call loads
    lists of names and numbering plans, 0.5 s and 40 MB. Other versions of the libraries know other numbers
    and names.

    Parameters
    ----------
    values
        The distinct texts of the cells that are not missing.
    counts
        int64, one per text, above 0: in how many cells it stands.
    """
    sample = sample_of(values, counts)
    findings = []
    for recogniser in RECOGNISERS:
        found = recogniser.find(sample)
        share = sample.share(found.texts)
        is_direct = found.is_evident and share >= recogniser.least_share
        if share > 0:
            findings.append(RecognisedKind(recogniser.kind, share, is_direct))
        if is_direct:
            sample = sample.only(~found.texts)
    return tuple(findings)
