"""Names of people, by lists of first names and surnames.

Many names are words or places too ("April", "Baker", "Lincoln"), so that a cell alone says little. A column
is taken for names if most of its distinct texts are written as names are and consist of listed names.
"""

from __future__ import annotations

import unicodedata
from typing import Final

from app.domain.direct_identifiers.name_lists import NameLists, name_lists, plain
from app.domain.direct_identifiers.sample import Found, Sample, chance_of_at_least

_INSIDE: Final = frozenset("'’ʼ`-.\u200c\u200d")
_MOST_WORDS: Final = 6
_LONGEST_JOINED: Final = 6
_CHANCE_OF_ONE: Final = 0.35
_CHANCE_OF_SEVERAL: Final = 0.15
_FALSE_ALARM: Final = 1e-4
_LEAST_SHARE: Final = 0.4
_MOST_OTHERS: Final = 0.25


def personal_names(sample: Sample) -> Found:
    """Texts written as names, if the distinct ones are listed names far more often than other words are.

    Of the places, trades, months and other words that were tried, 35 % at most are listed as names, and
    15 % of those of several words. The column is evident if 40 % of the distinct texts are, and the chance
    of so many of that number is 0.0001 at most, by the exact binomial tail, unless a quarter hold a word
    of businesses or streets. Then every text written as a name counts, otherwise none.
    """
    lists = name_lists()
    written = sample.where(_is_written_as_name)
    listed = sample.where(lambda text: _is_listed(text, lists))
    number, candidates = int(listed.sum()), int(written.sum())
    is_evident = False
    others = sum(written & sample.where(lambda text: not lists.others.isdisjoint(_words_of(text))))
    if number >= max(1, _LEAST_SHARE * candidates) and others <= _MOST_OTHERS * candidates:
        several = int((written & sample.where(lambda text: len(_words_of(text)) > 1)).sum())
        chance = (several * _CHANCE_OF_SEVERAL + (candidates - several) * _CHANCE_OF_ONE) / candidates
        is_evident = chance_of_at_least(number, candidates, chance) <= _FALSE_ALARM
    return Found(written & is_evident, is_evident)


def _is_written_as_name(text: str) -> bool:
    words = text.replace(",", " ").split()
    return 0 < len(words) <= _MOST_WORDS and all(_is_word(word) for word in words)


def _is_word(word: str) -> bool:
    return word[0].isalpha() and all(
        sign.isalpha() or sign in _INSIDE or unicodedata.category(sign).startswith("M") for sign in word
    )


def _is_listed(text: str, lists: NameLists) -> bool:
    """Whether the words of a name are listed: one as either, of several one as first name and one as either.

    Titles and initials say nothing either way. At most one word of several may be unlisted.
    """
    if not _is_written_as_name(text):
        return False
    words = [word for word in _words_of(text) if word not in lists.titles]
    if len(words) == 1:
        return words[0] in lists.first or words[0] in lists.last or _is_joined(words[0], lists)
    listed = sum(word in lists.first or word in lists.last for word in words)
    return listed >= max(2, len(words) - 1) and any(word in lists.first for word in words)


def _words_of(text: str) -> list[str]:
    """The words that are no initials, as the lists write them."""
    words = plain(text).replace(",", " ").replace("-", " ").replace(".", " ").split()
    return [word for word in words if len(word) > 1 or not word.isascii()]


def _is_joined(word: str, lists: NameLists) -> bool:
    """Whether a surname and a first name follow one another without a blank, as in East Asian scripts."""
    if word.isascii() or len(word) > _LONGEST_JOINED:
        return False
    return any(word[:cut] in lists.last and word[cut:] in lists.first for cut in range(1, len(word)))
