"""Numbers told by their check digits: IBAN, payment cards, national numbers of persons, tax numbers.

The rules are those of python-stdnum. A single check digit fits one number in ten by chance, so that a cell
alone says nothing: the whole column must. The test asks of each number for how many of the possible last
characters it would be valid; if the last characters were no check digits, that is the chance to be so. The
number of valid ones must exceed this by far: the exact binomial tail is at most
:data:`~app.domain.direct_identifiers.sample.FALSE_ALARM` for each scheme, and of the column's numbers of that
length half must be valid, of those that could be with another last character four in five. With one decimal
check digit this takes nine distinct numbers at the least. Numbers of books (ISBN) have the check of British
health numbers; columns in which some end in the X of the former are not taken for the latter.

Six schemes (those of Belgium, Denmark, Korea, Norway, Sweden, South Africa) refuse dates of birth after the
present day, so that a column of people who are born in future would be answered otherwise then.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache
from importlib import import_module
from typing import Any, Final

import numpy as np
from stdnum import iban, isbn, luhn

from app.domain.arrays import Bools
from app.domain.direct_identifiers.libraries import importing
from app.domain.direct_identifiers.sample import (
    FALSE_ALARM,
    Found,
    Sample,
    chance_of_at_least,
    with_other_digits,
)

Check = Callable[[str], bool]

NATIONAL: Final = (
    "at.vnr", "be.nn", "bg.egn", "bg.pnf", "br.cpf", "ca.bc_phn", "ca.sin", "ch.ssn", "cl.rut", "cn.ric",
    "cu.ni", "cz.rc", "do.cedula", "ec.ci", "ee.ik", "es.dni", "es.nie", "fi.hetu", "fr.nir", "gb.nhs",
    "gr.amka", "hr.oib", "il.idnr", "in_.aadhaar", "in_.vid", "is_.kennitala", "it.codicefiscale", "jp.in_",
    "kr.rrn", "lt.asmens", "lv.pvn", "md.idno", "mu.nid", "mx.curp", "nl.bsn", "no.fodselsnummer", "pe.cui",
    "pl.pesel", "ro.cnp", "se.personnummer", "si.emso", "th.pin", "tr.tckimlik", "ua.rntrc",
    "za.idnr",
)  # fmt: skip
"""Modules of python-stdnum for numbers of persons with a check."""

SHAPED: Final = ("dk.cpr", "pk.cnic", "us.itin", "us.ssn")
"""Numbers of persons without a check digit that are told by where their separators stand."""

TAX: Final = (
    "ar.cuit", "at.tin", "au.abn", "au.tfn", "az.voen", "br.cnpj", "by.unp", "ch.uid", "co.nit", "de.idnr",
    "de.stnr", "do.rnc", "ec.ruc", "es.nif", "eu.vat", "fr.nif", "gb.utr", "gt.nit", "hu.anum", "id.npwp",
    "in_.gstin", "ie.pps", "it.iva", "mk.edb", "mx.rfc", "nz.ird", "pe.ruc", "pl.nip", "pt.nif", "py.ruc",
    "ro.cf", "rs.pib", "ru.inn", "si.ddv", "sv.nit", "th.tin", "tr.vkn", "uy.rut", "ve.rif", "vn.mst",
    "za.tin",
)  # fmt: skip
"""Modules of python-stdnum for tax numbers with a check."""

_NUMBER: Final = re.compile(r"(?=(?:\D*\d){5})[0-9A-Z][0-9A-Z ./+-]{5,28}[0-9A-Z]", re.IGNORECASE)
_DATE: Final = re.compile(r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{4}")
_RANGE: Final = re.compile(r"(\d+) ?- ?(\d+)")
_IBAN: Final = re.compile(r"(?<![0-9A-Z])[A-Z]{2}\d{2}(?:[ -]?[0-9A-Z]{2,4}){3,8}(?![0-9A-Z])", re.IGNORECASE)
_DIGITS: Final = "0123456789"
_LETTERS: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_PROBED: Final = 24
_PROBED_SHARE: Final = 0.25
_LEAST_PASSED: Final = 5
_TESTED: Final = 200
_LEAST_SHARE: Final = 0.8
_LEAST_SHARE_OF_ALL: Final = 0.5
_MUCH_STRICTER: Final = 0.5
_SHAPED_SHARE: Final = 0.95
_SHAPED_VALUES: Final = 9
_CARD: Final = re.compile(r"\d(?:[ .-]?\d){11,18}")


def ibans(sample: Sample) -> Found:
    """Texts that hold an IBAN anywhere, by its two check digits and its country's length."""
    return Found(sample.where(_holds_iban), True)


def _holds_iban(text: str) -> bool:
    return any(iban.is_valid(found[0], check_country=False) for found in _IBAN.finditer(text))


def payment_cards(sample: Sample) -> Found:
    """Numbers that begin as an issuer's do, have its length and, the column over, Luhn's check digit."""
    return _by_check(sample, [_is_card])


def _is_card(text: str) -> bool:
    if not _CARD.fullmatch(text):
        return False
    digits = "".join(filter(str.isdecimal, text))
    return luhn.is_valid(digits) and any(
        length == len(digits) and start.match(digits) for start, length in _card_starts()
    )


@cache
def _card_starts() -> Sequence[tuple[re.Pattern[str], int]]:
    """How the numbers of each kind of card begin, and their length."""
    # Imported here: Faker looks through all that it has, which takes as long as much of the work here.
    with importing:
        from faker.providers.credit_card import Provider

    return [
        (re.compile(prefix.replace("#", r"\d").replace("%", r"[1-9]")), card.length)
        for card in Provider.credit_card_types.values()
        for prefix in card.prefixes
    ]


def national_numbers(sample: Sample) -> Found:
    """Numbers that a state gives to persons: by their check, or by their separators where there is none."""
    rivals = [_check_of(name) for name in TAX]
    checked = _by_check(sample, [_check_of(name) for name in NATIONAL], rivals)
    shaped = np.zeros(len(sample.texts), dtype=bool)
    for name in SHAPED:
        shaped |= _by_shape(sample, name)
    return Found(checked.texts | shaped, checked.is_evident or bool(shaped.any()))


def tax_numbers(sample: Sample) -> Found:
    """Numbers under which persons or businesses are taxed, by their check."""
    return _by_check(sample, [_check_of(name) for name in TAX])


@cache
def _scheme(name: str) -> Any:  # noqa: ANN401 - a module
    with importing:
        return import_module(f"stdnum.{name}")


@cache
def _check_of(name: str) -> Check:
    is_valid: Check = _scheme(name).is_valid

    def check(text: str) -> bool:
        if name == "it.codicefiscale" and text.isdecimal():
            return False  # the tax number of a business, which may stand in for a person's
        try:
            return is_valid(text)
        except Exception:  # a scheme of the library that stumbles over a text does not know it
            return False

    return check


def _by_check(sample: Sample, checks: Sequence[Check], rivals: Sequence[Check] = ()) -> Found:
    """Texts valid under any scheme that the column's numbers follow beyond chance, and no stricter rival."""
    found = np.zeros(len(sample.texts), dtype=bool)
    by_length: dict[int, list[int]] = {}
    for at, text in enumerate(sample.texts):
        if _NUMBER.fullmatch(text) and not _DATE.fullmatch(text):
            by_length.setdefault(sum(map(str.isalnum, text)), []).append(at)
    for numbers in by_length.values():
        texts = [sample.texts[at] for at in numbers]
        if _are_books(texts) or _are_ranges(texts):
            continue
        for check in checks:
            if _is_followed(texts, check) and not _is_outdone(texts, check, rivals):
                found[[at for at in numbers if check(sample.texts[at])]] = True
    return Found(found, bool(found.any()))


def _are_books(texts: Sequence[str]) -> bool:
    probed = texts[:_TESTED]
    books = sum(map(isbn.is_valid, probed))
    return books >= _LEAST_SHARE * len(probed) and any(text[-1] in "Xx" for text in probed)


def _are_ranges(texts: Sequence[str]) -> bool:
    """Whether all are bands as 10000-19999, whose last digits are alike and may fit a check by accident."""
    found = [_RANGE.fullmatch(text) for text in texts]
    return all(own is not None and int(own[1]) < int(own[2]) for own in found)


def _is_followed(texts: Sequence[str], check: Check) -> bool:
    """Whether the numbers obey a check far more often than other last characters would."""
    probed = texts[:_PROBED]
    if sum(map(check, probed)) < max(_LEAST_PASSED, _PROBED_SHARE * len(probed)):
        return False
    tested = texts[:_TESTED]
    chances, passed = [], 0
    for text in tested:
        last = text[-1].upper()
        alphabet = _DIGITS if last in _DIGITS else _LETTERS
        valid = [check(text[:-1] + other) for other in alphabet]
        if any(valid):
            chances.append(sum(valid) / len(alphabet))
            passed += valid[alphabet.index(last)]
    if not passed or passed < max(_LEAST_SHARE * len(chances), _LEAST_SHARE_OF_ALL * len(tested)):
        return False
    return chance_of_at_least(passed, len(chances), sum(chances) / len(chances)) <= FALSE_ALARM


def _is_outdone(texts: Sequence[str], check: Check, rivals: Sequence[Check]) -> bool:
    """Whether the numbers also follow a rival that accepts far fewer numbers of their form."""
    stricter = _MUCH_STRICTER * _accepted(texts, check)
    return any(_is_followed(texts, own) and _accepted(texts, own) < stricter for own in rivals)


def _accepted(texts: Sequence[str], check: Check) -> int:
    """How many of 300 numbers of the form of these are valid by chance."""
    return sum(check(with_other_digits(texts[at % len(texts)], at, 0)) for at in range(300))


def _by_shape(sample: Sample, name: str) -> Bools:
    """Texts written as the scheme writes them, if nearly all that are written so are valid."""
    module = _scheme(name)
    shape = re.compile(re.sub(r"\d", r"\\d", module.format("1" * _LENGTHS[name])))
    written = sample.where(lambda text: shape.fullmatch(text) is not None)
    valid = np.zeros_like(written)
    valid[[at for at in np.flatnonzero(written).tolist() if module.is_valid(sample.texts[at])]] = True
    enough = valid.sum() >= max(_SHAPED_VALUES, _SHAPED_SHARE * int(written.sum()))
    return valid if enough else np.zeros_like(written)


_LENGTHS: Final = {"dk.cpr": 10, "pk.cnic": 13, "us.itin": 9, "us.ssn": 9}
