"""Telephone numbers, by the numbering plans of all countries that libphonenumber knows.

A number with its country's code counts alone. One without counts only if the column shows the country: the
plan that most of the column's numbers fit. Plans accept many numbers that are none, so that the column must
fit better than chance. Beginnings are compared, each counted once, so that order numbers that begin alike
count once. The same texts with other digits behind those that all begin with, or behind the first, say how
often a number of that form fits. Numbers without a country's code that all have the same area's code may
therefore not be recognised.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Final

from phonenumbers import (
    SUPPORTED_REGIONS,
    NumberParseException,
    is_valid_number,
    is_valid_number_for_region,
    parse,
    region_code_for_number,
)

from app.domain.direct_identifiers.sample import (
    FALSE_ALARM,
    Found,
    Sample,
    chance_of_at_least,
    with_other_digits,
)

_INTERNATIONAL: Final = re.compile(r"(?<![\w+])\+\d(?:[ ()./-]{0,2}\d){6,14}(?!\d)")
_DIALLED: Final = re.compile(r"(?<![\w+])00(?=[1-9])(?:\d{1,3}[ ()./-]{1,2})(?:\d[ ()./-]{0,2}){6,13}(?!\d)")
"""With the sign for abroad of most countries, and a separator behind the country's code."""
_LABELLED: Final = re.compile(
    r"(?:tele(?:ph|f)on[eo]?|tel|phone|fon|mobile?|handy|cell(?:ular)?|gsm|(?:tele)?fax)\b\.?"
    r"(?:[ .-]?(?:no|nr)\b\.?)? ?[:=]? ?(?=[+(\d])(?:[+(]{0,2}\d(?:[ ()./-]{0,3}\d){5,14})(?!\d)",
    re.IGNORECASE,
)
_NATIONAL: Final = re.compile(r"\(?\d(?:[ ()./-]{0,2}\d){6,15}(?: ?(?:x|ext\.?) ?\d{1,6})?")
_NO_NUMBER: Final = re.compile(
    r"\d{4}[-/. ]\d{1,2}[-/. ]\d{1,2}|\d{1,2}[-/. ]\d{1,2}[-/. ]\d{4}|\d{1,3}(?:\.\d{1,3}){3}|\d+\.\d+"
    r"|(?:19|20)\d\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])(?:\d{4}|\d{6})?"
    r"|1[0-7]\d{8}(?:\d{3})?"
)
_ANY: Final = ""
_REGIONS: Final = (_ANY, *sorted(SUPPORTED_REGIONS))
_FEWEST: Final = 9
"""With fewer beginnings the test below cannot say yes."""
_FIRST_PROBE: Final = 12
_SECOND_PROBE: Final = 40
_REGIONS_KEPT: Final = 12
_NEARLY: Final = 0.9
_LEAST_WITH_CODE: Final = 0.1
_TESTED: Final = 200
_LEAST_SHARE: Final = 0.5
_BEGINNING_OF_DIGITS: Final = 4
_BEGINNING_OF_GROUPS: Final = 6


def telephones(sample: Sample) -> Found:
    """Numbers with a country's code anywhere in a text, behind a word for it, or of the column's country."""
    found = sample.where(lambda text: _holds_international(text) or _LABELLED.match(text) is not None)
    abroad = sample.chosen(found)
    national = [
        at for at, text in enumerate(sample.texts)
        if not found[at] and _NATIONAL.fullmatch(text) and not _NO_NUMBER.fullmatch(text)
    ]  # fmt: skip
    for digits_alone in (False, True):
        chosen = [at for at in national if sample.texts[at].isdecimal() is digits_alone]
        texts = [sample.texts[at] for at in chosen]
        region = _region_of_codes(abroad, texts) or _region_of(texts, digits_alone)
        if region is not None:
            found[[at for at in chosen if _fits(sample.texts[at], region)]] = True
    return Found(found, True)


def _holds_international(text: str) -> bool:
    if "+" in text and any(_is_valid(found[0]) for found in _INTERNATIONAL.finditer(text)):
        return True
    return "00" in text and any(_is_valid("+" + found[0][2:]) for found in _DIALLED.finditer(text))


def _is_valid(text: str) -> bool:
    try:
        return is_valid_number(parse(text, None))
    except NumberParseException:
        return False


def _fits(text: str, region: str) -> bool:
    """Whether a text is a number of the region; of no region, whether it is one that lacks only its plus."""
    if region == _ANY:
        return _is_valid("+" + text.removeprefix("00"))
    try:
        number = parse(text, region)
    except NumberParseException:
        return False
    return is_valid_number_for_region(number, region)


def _region_of_codes(abroad: Sequence[str], texts: Sequence[str]) -> str | None:
    """The region that most of the numbers with a country's code are of, if most of the others fit it."""
    if not texts or len(abroad) < _LEAST_WITH_CODE * (len(abroad) + len(texts)):
        return None
    numbers = [
        parse(found[0], None)
        for text in abroad[:_TESTED]
        if (found := _INTERNATIONAL.search(text)) and _is_valid(found[0])
    ]
    regions = Counter(region for own in numbers if (region := region_code_for_number(own)) is not None)
    if not regions:
        return None
    region = min(regions, key=lambda own: (-regions[own], own))
    tested = texts[:_TESTED]
    return region if sum(_fits(text, region) for text in tested) >= _LEAST_SHARE * len(tested) else None


def _region_of(texts: Sequence[str], digits_alone: bool) -> str | None:
    """The region whose plan the numbers follow beyond chance, or None."""
    beginning = _BEGINNING_OF_DIGITS if digits_alone else _BEGINNING_OF_GROUPS
    units = list({_digits(text)[:beginning]: text for text in reversed(texts)}.values())[::-1][:_TESTED]
    if len(units) < _FEWEST:
        return None
    regions = _best(_REGIONS, units[:_FIRST_PROBE])
    regions = _best(regions, units[:_SECOND_PROBE])[:_REGIONS_KEPT]
    kept = max(1, _common_beginning(list(map(_digits, units))))
    others = [with_other_digits(text, at, kept) for at, text in enumerate(units)]
    for region in _best(regions, units):
        passed = sum(_fits(text, region) for text in units)
        chance = (1 + sum(_fits(text, region) for text in others)) / (2 + len(others))
        if chance_of_at_least(passed, len(units), chance) <= FALSE_ALARM:
            return region
    return None


def _best(regions: Sequence[str], units: Sequence[str]) -> list[str]:
    """The regions whose plan nearly as many numbers follow as of the best one, and half of them at least."""
    numbers = {region: sum(_fits(text, region) for text in units) for region in regions}
    least = max(_LEAST_SHARE * len(units), _NEARLY * max(numbers.values(), default=0))
    return sorted((own for own in regions if numbers[own] >= least), key=lambda own: (-numbers[own], own))


def _digits(text: str) -> str:
    return "".join(filter(str.isdecimal, text))


def _common_beginning(texts: Sequence[str]) -> int:
    """How many signs all texts begin with alike."""
    first, last = min(texts), max(texts)
    return next(
        (at for at, (one, other) in enumerate(zip(first, last, strict=False)) if one != other), len(first)
    )
