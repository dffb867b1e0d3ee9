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
from collections.abc import Sequence
from typing import Final

from phonenumbers import (
    SUPPORTED_REGIONS,
    NumberParseException,
    is_valid_number,
    is_valid_number_for_region,
    parse,
)

from app.domain.direct_identifiers.sample import FALSE_ALARM, Found, Sample, chance_of_at_least

_INTERNATIONAL: Final = re.compile(r"(?<![\w+])\+\d(?:[ ()./-]{0,2}\d){6,14}(?!\d)")
_NATIONAL: Final = re.compile(r"\(?\d(?:[ ()./-]{0,2}\d){6,12}(?: ?(?:x|ext\.?) ?\d{1,6})?")
_NO_NUMBER: Final = re.compile(
    r"\d{4}[-/. ]\d{1,2}[-/. ]\d{1,2}|\d{1,2}[-/. ]\d{1,2}[-/. ]\d{4}|\d{1,3}(?:\.\d{1,3}){3}|\d+\.\d+"
    r"|\d{1,3}(?:[ .]\d{3})+|(?:19|20)\d\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])(?:\d{4}|\d{6})?"
    r"|1[0-7]\d{8}(?:\d{3})?"
)
_ANY: Final = ""
_REGIONS: Final = (_ANY, *sorted(SUPPORTED_REGIONS))
_FEWEST: Final = 9
"""With fewer beginnings the test below cannot say yes."""
_FIRST_PROBE: Final = 12
_SECOND_PROBE: Final = 60
_REGIONS_KEPT: Final = 4
_TESTED: Final = 200
_LEAST_SHARE: Final = 0.5
_BEGINNING_OF_DIGITS: Final = 4
_BEGINNING_OF_GROUPS: Final = 6


def telephones(sample: Sample) -> Found:
    """Numbers with a country's code anywhere in a text, and numbers of the column's country."""
    found = sample.where(_holds_international)
    national = [
        at for at, text in enumerate(sample.texts)
        if not found[at] and _NATIONAL.fullmatch(text) and not _NO_NUMBER.fullmatch(text)
    ]  # fmt: skip
    for digits_alone in (False, True):
        chosen = [at for at in national if sample.texts[at].isdecimal() is digits_alone]
        texts = [sample.texts[at] for at in chosen]
        region = _region_of(texts, digits_alone)
        if region is not None:
            found[[at for at in chosen if _fits(sample.texts[at], region)]] = True
    return Found(found, True)


def _holds_international(text: str) -> bool:
    return "+" in text and any(_is_valid(found[0]) for found in _INTERNATIONAL.finditer(text))


def _is_valid(text: str) -> bool:
    try:
        return is_valid_number(parse(text, None))
    except NumberParseException:
        return False


def _fits(text: str, region: str) -> bool:
    """Whether a text is a number of the region; of no region, whether it is one that lacks only its plus."""
    if region == _ANY:
        return _is_valid("+" + text)
    try:
        number = parse(text, region)
    except NumberParseException:
        return False
    return is_valid_number_for_region(number, region)


def _region_of(texts: Sequence[str], digits_alone: bool) -> str | None:
    """The region whose plan the numbers follow beyond chance, or None."""
    beginning = _BEGINNING_OF_DIGITS if digits_alone else _BEGINNING_OF_GROUPS
    units = list({_digits(text)[:beginning]: text for text in reversed(texts)}.values())[::-1]
    if len(units) < _FEWEST:
        return None
    regions: Sequence[str] = _REGIONS
    for probed, kept in ((_FIRST_PROBE, _REGIONS_KEPT), (_SECOND_PROBE, 1)):
        shares = {region: sum(_fits(text, region) for text in units[:probed]) for region in regions}
        regions = sorted(shares, key=lambda region: (-shares[region], region))[:kept]
    tested = units[:_TESTED]
    passed = sum(_fits(text, regions[0]) for text in tested)
    if passed < _LEAST_SHARE * len(tested):
        return None
    kept = max(1, _common_beginning(list(map(_digits, tested))))
    others = [_with_other_digits(text, at, kept) for at, text in enumerate(tested)]
    chance = (1 + sum(_fits(text, regions[0]) for text in others)) / (2 + len(others))
    return regions[0] if chance_of_at_least(passed, len(tested), chance) <= FALSE_ALARM else None


def _digits(text: str) -> str:
    return "".join(filter(str.isdecimal, text))


def _common_beginning(texts: Sequence[str]) -> int:
    """How many signs all texts begin with alike."""
    first, last = min(texts), max(texts)
    return next(
        (at for at, (one, other) in enumerate(zip(first, last, strict=False)) if one != other), len(first)
    )


def _with_other_digits(text: str, number: int, kept: int) -> str:
    """The text with digits behind the first ones that have nothing to do with its own, the same each time."""
    state, seen, written = number + 1, 0, []
    for sign in text:
        other = sign
        if sign.isdecimal():
            seen += 1
            state = (state * 1_103_515_245 + 12_345) % 2**31
            if seen > kept:
                other = str(state // 65_536 % 10)
        written.append(other)
    return "".join(written)
