"""Kinds told by how a text is written: e-mail, URL, IP and MAC address, coordinates, free text."""

from __future__ import annotations

import re
from ipaddress import AddressValueError, IPv6Address
from typing import Final
from urllib.parse import urlsplit

import numpy as np

from app.domain.direct_identifiers.sample import Found, Sample

_EMAIL: Final = re.compile(
    r"(?<![\w.+-])[\w+][\w.!#$%&'*+/=?^`{|}~-]{0,63}(?<!\.)@(?:[^\W_](?:[\w-]{0,61}[^\W_])?\.)+[^\W\d_][\w-]{0,61}[^\W_]"
)
_URL: Final = re.compile(r"(?:https?|ftps?|sftp)://[^\s<>\"]+|www\.[^\s<>\"]+\.[^\s<>\"]+", re.IGNORECASE)
_QUAD: Final = re.compile(r"(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})(?:/\d{1,2}|:\d{1,5})?")
_DOTTED: Final = re.compile(r"\d+(?:\.\d+){3}(?:[/:]\d{1,5})?")
_MAC: Final = re.compile(
    r"[0-9a-f]{2}([:-])(?:[0-9a-f]{2}\1){4}[0-9a-f]{2}|(?:[0-9a-f]{4}\.){2}[0-9a-f]{4}", re.I
)
_PAIR: Final = re.compile(
    r"(POINT ?)?[(\[]?\s*([+-]?\d{1,3}\.\d{3,})\s*(°?\s*[NS]?)\s*[,; ]"
    r"\s*([+-]?\d{1,3}\.\d{3,})\s*(°?\s*[EWO]?)\s*[)\]]?",
    re.IGNORECASE,
)
_PAIR_WITH_COMMAS: Final = re.compile(r"([+-]?\d{1,3}),(\d{4,})\s*(?:;|/|\|| )\s*([+-]?\d{1,3}),(\d{4,})")
_PRECISE: Final = 4
"""Decimal places from which two numbers are a place; prices have three at most."""
_ISO_6709: Final = re.compile(r"[+-]\d{2,6}(?:\.\d+)?[+-]\d{3,7}(?:\.\d+)?(?:[+-]\d+(?:\.\d+)?)?(?:CRS\w*)?/")
_DEGREES: Final = re.compile(
    r"[NS]?\s*\d{1,2}\s*[°º]\s*(?:\d{1,2}(?:\.\d+)?\s*['′’]\s*(?:\d{1,2}(?:\.\d+)?\s*(?:\"|″|”|''|′′)\s*)?)?[NS]?"
    r"\s*[,;/ ]?\s*"
    r"[EWO]?\s*\d{1,3}\s*[°º]\s*(?:\d{1,2}(?:\.\d+)?\s*['′’]\s*(?:\d{1,2}(?:\.\d+)?\s*(?:\"|″|”|''|′′)\s*)?)?[EWO]?",
    re.IGNORECASE,
)  # fmt: skip

_BYTES: Final = re.compile(r"[0-9a-f]{12}", re.I)
_MAKERS: Final = 30
_LETTERED_SHARE: Final = 0.9
_LARGE_OCTET: Final = 64
_LARGE_SHARE: Final = 0.3
_BROKEN_SHARE: Final = 0.05

_WORD: Final = re.compile(r"[^\W\d_]{2,}")
_WORDS: Final = 6
_LETTERS: Final = 25
_LETTERS_WITHOUT_BLANKS: Final = 20
_VARIETY: Final = 0.5
_LEAST_TEXTS: Final = 3
_LEAST_SHARE: Final = 0.05


def emails(sample: Sample) -> Found:
    """Texts that hold an e-mail address anywhere."""
    return Found(sample.where(lambda text: "@" in text and _EMAIL.search(text) is not None), True)


def urls(sample: Sample) -> Found:
    """Texts that are an address on the web, with its scheme or beginning with www."""
    return Found(sample.where(_is_url), True)


def _is_url(text: str) -> bool:
    if not _URL.fullmatch(text):
        return False
    try:
        host = urlsplit(text if "://" in text else f"//{text}").hostname
    except ValueError:
        return False
    return host is not None and ("." in host or host == "localhost")


def ip_addresses(sample: Sample) -> Found:
    """IPv6 addresses, and dotted quads if the column's are not numbers of versions.

    Each part of a version is small, or it exceeds 255 now and then. Dotted quads are taken for addresses if
    at least 30 % of the distinct ones have a part of 64 or more and at most 5 % of all numbers of four
    dotted parts are no quads.
    """
    quads = sample.where(_is_quad)
    dotted = int(sample.where(lambda text: _DOTTED.fullmatch(text) is not None).sum())
    number = int(quads.sum())
    large = sum(map(_has_large_octet, sample.chosen(quads)))
    if number and (large < _LARGE_SHARE * number or dotted - number > _BROKEN_SHARE * dotted):
        quads = np.zeros_like(quads)
    return Found(quads | sample.where(_is_ipv6), True)


def _is_quad(text: str) -> bool:
    found = _QUAD.fullmatch(text)
    return found is not None and all(
        int(part) <= 255 and (part == "0" or part[0] != "0") for part in found.groups()
    )


def _has_large_octet(text: str) -> bool:
    found = _QUAD.fullmatch(text)
    return found is not None and any(int(part) >= _LARGE_OCTET for part in found.groups())


def _is_ipv6(text: str) -> bool:
    if text.count(":") < 2 or len(text) < 6:
        return False
    try:
        IPv6Address(text.partition("/")[0].strip("[]"))
    except AddressValueError:
        return False
    return True


def mac_addresses(sample: Sample) -> Found:
    """Six bytes in hexadecimal with colons, hyphens or dots between them, or a column of them without.

    Any twelve hexadecimal digits may be anything. The first byte of a device's address is even, and so is
    that of every other number: thirty different makers (the first three bytes) say that it is no accident.
    """
    separated = sample.where(lambda text: _MAC.fullmatch(text) is not None)
    joined = sample.where(lambda text: _BYTES.fullmatch(text) is not None)
    texts = sample.chosen(joined)
    makers = {text[:6].lower() for text in texts}
    is_evident = len(makers) >= _MAKERS and not any(int(own[:2], 16) % 2 for own in makers)
    has_letters = sum(not text.isdecimal() for text in texts) >= _LETTERED_SHARE * len(texts)
    return Found(separated | (joined & (is_evident and has_letters)), True)


def coordinates(sample: Sample) -> Found:
    """A latitude with a longitude in one text: decimal with four places, in degrees, or by ISO 6709.

    With a sign of degrees or a point of the compass three places do.
    """
    return Found(sample.where(_are_coordinates), True)


def _are_coordinates(text: str) -> bool:
    if _DEGREES.fullmatch(text) or _ISO_6709.fullmatch(text):
        return True
    with_commas = _PAIR_WITH_COMMAS.fullmatch(text)
    found = _PAIR.fullmatch(text)
    if with_commas is not None:
        one, other = f"{with_commas[1]}.{with_commas[2]}", f"{with_commas[3]}.{with_commas[4]}"
    elif found is not None:
        one, other = found[2], found[4]
        is_marked = any(own and own.strip() for own in (found[1], found[3], found[5]))
        if not is_marked and min(len(own.partition(".")[2]) for own in (one, other)) < _PRECISE:
            return False
    else:
        return False
    first, second = abs(float(one)), abs(float(other))
    return max(first, second) <= 180 and min(first, second) <= 90


def free_texts(sample: Sample) -> Found:
    """Texts of six words and 25 letters or more, or of 20 letters in a script without blanks.

    Long labels of categories repeat. They count if they are three and one in twenty of the distinct
    texts at least, and each occurs in two cells at most on average.
    """
    long = sample.where(_is_long)
    texts = int(long.sum())
    is_varied = texts >= _VARIETY * int(sample.counts[long].sum())
    is_evident = is_varied and texts >= max(_LEAST_TEXTS, _LEAST_SHARE * len(sample.texts))
    return Found(long & is_evident, is_evident)


def _is_long(text: str) -> bool:
    words = _WORD.findall(text)
    letters = sum(map(len, words))
    if len(words) >= _WORDS and letters >= _LETTERS:
        return True
    return letters >= _LETTERS_WITHOUT_BLANKS and all(
        sign > _FIRST_UNSPACED for word in words for sign in word
    )


_FIRST_UNSPACED: Final = "\u0dff"
"""Thai, Lao, Burmese, Khmer, Chinese, Japanese and others behind it put no blanks between words."""
