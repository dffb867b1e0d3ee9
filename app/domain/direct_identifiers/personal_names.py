"""Names of people, by lists of first names and surnames.

Many names are words or places too ("April", "Baker", "Lincoln"), so that a cell alone says little. A column
is taken for names if most of its distinct texts are written as names are and consist of listed names: first
names and surnames of some seventy languages and countries. Of Faker only the lists are read, never its
generator; they are loaded when names are asked for first.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType
from typing import Final

from app.domain.direct_identifiers.libraries import importing
from app.domain.direct_identifiers.sample import Found, Sample, chance_of_at_least

_INSIDE: Final = frozenset("'’ʼ`-.")
_MOST_WORDS: Final = 6
_LONGEST_JOINED: Final = 6
_CHANCE_OF_ONE: Final = 0.3
_CHANCE_OF_SEVERAL: Final = 0.15
_LEAST_LISTED: Final = 0.4
_CHANCE_OF_FIRST: Final = 0.5
_LEAST_OF_FIRST: Final = 0.7
_FALSE_ALARM: Final = 1e-4
_MOST_OTHERS: Final = 0.25

_FEWEST_LETTERS: Final = 2


@dataclass(frozen=True)
class NameLists:
    """Single words in the form that :func:`plain` gives.

    Parameters
    ----------
    first, last
        First names and surnames.
    titles
        What stands before or behind a name.
    """

    first: frozenset[str]
    last: frozenset[str]
    titles: frozenset[str]


def plain(text: str) -> str:
    """A text without case, accents and signs that nobody sees, for comparison with the lists."""
    folded = text.casefold()
    if folded.isascii():
        return folded
    decomposed = unicodedata.normalize("NFKD", folded)
    unseen = (s for s in set(decomposed) if unicodedata.combining(s) or unicodedata.category(s) == "Cf")
    return unicodedata.normalize("NFC", decomposed.translate(dict.fromkeys(map(ord, unseen))))


@cache
def name_lists() -> NameLists:
    """The lists: about 59,000 names, some 15 MB and 0.4 s at the first call."""
    with importing:
        from faker.providers import person

        first, last = _listed(person, "first_name"), _listed(person, "last_name")
        titles = _listed(person, "prefix") | _listed(person, "suffix")
    return NameLists(first, last, titles - first - last)


@cache
def business_words() -> frozenset[str]:
    """What stands only in the names of businesses and streets, which are often called after people."""
    lists = name_lists()
    with importing:
        from faker.providers import address, company

        others = _listed(company, "company_suffix") | _listed(address, "street_")
    return others - lists.first - lists.last - lists.titles


def _listed(providers: ModuleType, name: str) -> frozenset[str]:
    """The words of all lists that are called so."""
    texts: list[str] = []
    for module in iter_modules(providers.__path__):
        if module.ispkg:
            provider = import_module(f"{providers.__name__}.{module.name}").Provider
            for attribute in dir(provider):
                listed = getattr(provider, attribute) if name in attribute else None
                if isinstance(listed, list | tuple | Mapping | set):
                    texts.extend(_texts(listed))
    # All at once: one by one they take three times as long.
    words = plain("\n".join(texts)).replace("-", " ").replace(".", " ").split()
    return frozenset(word for word in words if len(word) >= _FEWEST_LETTERS or not word.isascii())


def _texts(listed: Iterable[object]) -> Iterator[str]:
    """The texts of a list; some lists hold lists, or pairs of a name and how often it occurs."""
    for entry in listed:
        if isinstance(entry, str):
            yield entry
        elif isinstance(entry, Iterable):
            yield from _texts(entry)


def personal_names(sample: Sample) -> Found:
    """Texts written as names, if the distinct ones are listed names far more often than other words are.

    Of the places, trades, months and other words that were tried, 35 % at most are listed as names, and of
    those of several words 15 %; 62 % of the latter begin or end with a first name. The column is evident if
    40 % of the distinct texts are listed, or 70 % of those of several words begin or end with a first name,
    and the chance of so many is 0.0001 at most, by the binomial tail for chances of 0.3, 0.15 and 0.5; unless
    a quarter hold a word of businesses or streets. Then every text written as a name counts, otherwise none.
    """
    written = sample.where(_is_written_as_name)
    if not written.any():
        return Found(written, False)
    lists = name_lists()
    texts = map(_words_of, sample.chosen(written))
    is_evident = _are_names([words for words in texts if words], lists)
    return Found(written & is_evident, is_evident)


def _are_names(texts: Sequence[Sequence[str]], lists: NameLists) -> bool:
    """Whether the column's texts, in words, are listed beyond chance, and are of no businesses or streets."""
    if not _are_listed(texts, lists):
        return False
    others = business_words()
    return sum(not others.isdisjoint(words) for words in texts) <= _MOST_OTHERS * len(texts)


def _are_listed(texts: Sequence[Sequence[str]], lists: NameLists) -> bool:
    several = [words for words in texts if len(words) > 1]
    expected = len(several) * _CHANCE_OF_SEVERAL + (len(texts) - len(several)) * _CHANCE_OF_ONE
    listed = sum(_is_listed(words, lists) for words in texts)
    if _is_beyond(listed, len(texts), expected, _LEAST_LISTED):
        return True
    first = sum(words[0] in lists.first or words[-1] in lists.first for words in several)
    return 2 * len(several) >= len(texts) and _is_beyond(
        first, len(several), len(several) * _CHANCE_OF_FIRST, _LEAST_OF_FIRST
    )


def _is_beyond(number: int, of: int, expected: float, least: float) -> bool:
    return number >= max(1, least * of) and chance_of_at_least(number, of, expected / of) <= _FALSE_ALARM


def _unpunctuated(text: str) -> str:
    """With blanks in the place of what stands between surname and first name."""
    return text.replace(",", " ").replace(";", " ")


def _is_written_as_name(text: str) -> bool:
    words = _unpunctuated(text).split()
    return 0 < len(words) <= _MOST_WORDS and all(_is_word(word) for word in words)


def _is_word(word: str) -> bool:
    return word[0].isalpha() and all(
        sign.isalpha() or sign in _INSIDE or unicodedata.category(sign).startswith("M") for sign in word
    )


def _is_listed(text: Sequence[str], lists: NameLists) -> bool:
    """Whether the words of a name are listed: one as either, of several one as first name and one as either.

    Titles and initials say nothing either way. At most one word of several may be unlisted.
    """
    words = [word for word in text if word not in lists.titles]
    if len(words) == 1:
        return words[0] in lists.first or words[0] in lists.last or _is_joined(words[0], lists)
    listed = sum(word in lists.first or word in lists.last for word in words)
    return listed >= max(2, len(words) - 1) and any(word in lists.first for word in words)


def _words_of(text: str) -> list[str]:
    """The words that are no initials, as the lists write them."""
    words = _unpunctuated(plain(text)).replace("-", " ").replace(".", " ").split()
    return [word for word in words if len(word) > 1 or not word.isascii()]


def _is_joined(word: str, lists: NameLists) -> bool:
    """Whether a surname and a first name follow one another without a blank, as in East Asian scripts."""
    if word.isascii() or len(word) > _LONGEST_JOINED:
        return False
    return any(word[:cut] in lists.last and word[cut:] in lists.first for cut in range(1, len(word)))
