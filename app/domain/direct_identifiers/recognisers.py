"""The kinds of direct identifiers there are.

Adding one takes a function from a column's sample to what it found, and one entry below.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from app.domain.direct_identifiers.checked_numbers import ibans, national_numbers, payment_cards, tax_numbers
from app.domain.direct_identifiers.free_text import free_texts
from app.domain.direct_identifiers.patterns import coordinates, emails, ip_addresses, mac_addresses, urls
from app.domain.direct_identifiers.personal_names import personal_names
from app.domain.direct_identifiers.postal_addresses import postal_addresses
from app.domain.direct_identifiers.sample import Found, Sample
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
