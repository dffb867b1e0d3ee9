"""Free text: what somebody wrote in sentences, which may say anything about anybody."""

from __future__ import annotations

import re
from typing import Final

from app.domain.direct_identifiers.sample import Found, Sample

_WORD: Final = re.compile(r"[^\W\d_]{2,}")
_WORDS: Final = 6
_LETTERS: Final = 25
_LETTERS_WITHOUT_BLANKS: Final = 20
_VARIETY: Final = 0.5
_LEAST_TEXTS: Final = 3


def free_texts(sample: Sample) -> Found:
    """Texts of six words and 25 letters or more, or of 20 letters in a script without blanks.

    Long labels of categories repeat. They count if the column has three at least, and each occurs in two
    cells at most on average.
    """
    long = sample.where(_is_long)
    texts = int(long.sum())
    is_evident = texts >= _LEAST_TEXTS and texts >= _VARIETY * int(sample.counts[long].sum())
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
