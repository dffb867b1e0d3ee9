"""Postal addresses: a street with the number of a house, as a dozen languages write them.

Streets alone are no addresses of anybody, and numbers with words are quantities: both must be there, the word
that says street in its language's place.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from app.domain.direct_identifiers.sample import Found, Sample

_NUMBER: Final = r"\d{1,5}(?: ?[a-z])?(?: ?[-/] ?\d{1,5} ?[a-z]?)?"
_WORD: Final = r"[^\W\d_][\w'’.-]*"
_WORDS: Final = rf"{_WORD}(?: {_WORD}){{0,5}}"
_INSIDE: Final = (
    "apt|suite|ste|unit|flat|app|apto|appartamento|piano|interno|scala|piso|puerta|planta|bloco|"
    "bloque|lok|bus"
)
_REST: Final = rf"(?:\s*[,;/\n]\s*.*|\s+\d{{4,6}}\b.*|\s+(?:{_INSIDE})\b.*|\s*#\s*\w+.*)?"

_BEHIND: Final = (
    "street st road rd avenue ave av lane ln drive dr boulevard blvd court ct terrace crescent close square "
    "sq place pl parkway pkwy highway hwy gardens grove mews way trail circle cir turnpike plaza"
)
"""12 Station Road."""

_JOINED: Final = (
    "straße strasse str weg allee gasse platz ring damm ufer steig pfad chaussee stieg straat laan gracht "
    "kade dijk plein singel steeg gatan vägen gränd gade vej gata veien katu tie utca"
)
"""Hauptstraße 12, also Am langen Weg 12."""

_BEFORE: Final = (
    "rue avenue boulevard place chemin allée impasse quai route cours passage via viale piazza corso largo "
    "vicolo calle avenida avda plaza paseo camino ronda carrer pasaje cuesta glorieta rua travessa praça "
    "estrada alameda ulica aleja plac strada bulevardul ulice náměstí"
)
"""Via Roma 12, 12 rue de la Paix."""

_SHORT: Final = r"(?:ul|al|os|pl|str|bd|av|c)[./]"


def _any(words: str) -> str:
    return "|".join(words.split())


_FORMS: Final = tuple(
    re.compile(form + _REST, re.IGNORECASE)
    for form in (
        rf"{_NUMBER},? (?:{_WORD} ){{1,4}}(?:{_any(_BEHIND)})\.?(?: [nsew]{{1,2}}\.?)?",
        rf"(?:{_WORD} ){{0,4}}[^\W\d_]*(?:{_any(_JOINED)})\.? {_NUMBER}",
        rf"(?:{_any(_BEFORE)}) {_WORDS}(?:, ?| )(?:n[°º.]? ?)?{_NUMBER}",
        rf"{_NUMBER},? (?:(?:bis|ter),? )?(?:{_any(_BEFORE)}) {_WORDS}",
        rf"{_SHORT} ?{_WORDS}(?:, ?| ){_NUMBER}",
    )
)
_SHAPES: Final = tuple(
    re.compile(shape + _REST, re.IGNORECASE)
    for shape in (rf"{_NUMBER},? {_WORDS}", rf"{_WORDS}(?:, ?| )(?:n[°º.]? ?)?{_NUMBER}")
)
"""A number before or behind words: what else a column of addresses holds."""

_LONGEST: Final = 120
_LEAST_TEXTS: Final = 3
_LEAST_SHARE: Final = 0.08


def postal_addresses(sample: Sample) -> Found:
    """Texts that begin with a street and a house number, whatever place follows.

    If three of the distinct texts and 8 % of them are, then every text counts that is words with a number.
    """
    found = sample.where(lambda text: _is_one_of(text, _FORMS))
    number = int(found.sum())
    if number >= max(_LEAST_TEXTS, _LEAST_SHARE * len(sample.texts)):
        return Found(found | sample.where(lambda text: _is_one_of(text, _SHAPES)), True)
    return Found(found, number >= _LEAST_TEXTS)


def _is_one_of(text: str, forms: Sequence[re.Pattern[str]]) -> bool:
    if len(text) > _LONGEST or not any(map(str.isdecimal, text)):
        return False
    plain = " ".join(text.split())
    return any(form.fullmatch(plain) for form in forms)
