"""What counts as a reason: words that a person wrote."""

from __future__ import annotations

from typing import Final

_BLANK_LETTERS: Final = frozenset("\u115f\u1160\u3164\uffa0")
"""Letters by Unicode's account that show nothing: the fillers of Hangul."""

_WRITTEN_BY_THE_PRODUCT: Final = (
    "Sensitive values, which leave as they are: nobody outside is thought to know them."
)
"""What generated policies once had in the place of a reason: nobody had thought it."""


def is_reason(text: str) -> bool:
    """Whether the text has a word, of letters or digits that can be seen, and is not the product's own."""
    has_word = any(own.isalnum() and own not in _BLANK_LETTERS for own in text)
    return has_word and " ".join(text.split()) != _WRITTEN_BY_THE_PRODUCT
