"""How much memory it takes to write a table: the labels of all values, a block of its lines, and the file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from app.services.datasets.csv_text import FORMULA_STARTS
from app.services.releases.released_tables import rows_of_a_block

BYTES_PER_LABEL: Final = 8
"""Beside its text, in an array of texts."""
BYTES_ENCODED: Final = 140
"""Of each label beside its text twice, while such an array is made."""
TIMES_A_FIELD: Final = 4
"""So often a column of fields of CSV is there while it is made, beside the answer."""
TIMES_A_BLOCK: Final = 5
TIMES_THE_FILE: Final = 2
"""As it has grown, and as it is moved when it grows."""
MOST_IN_A_PARQUET_DICTIONARY: Final = 2**20
"""Bytes of different texts above which a block of a column is written text by text."""

_REWRITTEN: Final = (*',"\n\r', *(f"\0{own}" for own in FORMULA_STARTS))
"""What of texts, each with \\0 before it, is written otherwise in CSV: the whole column is then copied."""


@dataclass(frozen=True)
class Texts:
    """The labels of a column: how many, and their bytes in all and of the longest, as they are and in CSV."""

    n: int
    bytes: int
    longest: int
    fields: int
    """0 if all labels are in CSV as they are."""
    longest_field: int
    """At most."""

    @classmethod
    def of(cls, labels: Sequence[str]) -> Texts:
        """Of these labels."""
        n, text = len(labels), "\0".join(("", *labels))
        size = (len(text) if text.isascii() else len(text.encode())) - n
        longest = max(map(len, labels) if text.isascii() else (len(own.encode()) for own in labels))
        if not any(own in text for own in _REWRITTEN):
            return cls(n, size, longest, 0, longest)
        # With two quotes and an apostrophe.
        return cls(n, size, longest, size + text.count('"') + 3 * n, 2 * longest + 3)

    @property
    def held(self) -> int:
        """As arrays of texts and of fields."""
        fields = self.fields + BYTES_PER_LABEL * self.n if self.fields else 0
        return self.bytes + BYTES_PER_LABEL * self.n + fields

    @property
    def making(self) -> int:
        """While these are made, beside them."""
        fields = self.fields + BYTES_PER_LABEL * self.n if self.fields else 0
        return 2 * self.bytes + BYTES_ENCODED * self.n + TIMES_A_FIELD * fields

    def in_file(self, lines: int, n_blocks: int) -> int:
        """In Parquet, however badly it is compressed; each block of lines has different texts of its own."""
        own = self.bytes + 4 * self.n
        if own < MOST_IN_A_PARQUET_DICTIONARY:
            return min(lines * (self.longest + 4), n_blocks * own) + 2 * lines
        return lines * (self.longest + 8) + n_blocks * MOST_IN_A_PARQUET_DICTIONARY


def bytes_of_writing(labels: Sequence[Sequence[str]], lines: int) -> int:
    """What a table of so many lines takes at most while it is written as Parquet and CSV, whatever it shows.

    ``labels`` are those of all values, column by column. Not counted are the codes of its cells.
    """
    texts = [Texts.of(own) for own in labels]
    rows = min(lines, rows_of_a_block(own.longest for own in texts))
    block = rows * sum(own.longest_field + BYTES_PER_LABEL for own in texts)
    in_file = sum(own.in_file(lines, -(-lines // max(1, rows))) for own in texts)
    made = sum(own.held for own in texts) + max(own.making for own in texts)
    return made + TIMES_A_BLOCK * block + TIMES_THE_FILE * in_file
