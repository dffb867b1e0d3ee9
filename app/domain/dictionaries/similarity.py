"""Jaro similarity of strings: threshold and comparison of many with many (Definitions: Jaro similarity).

The similarities are those of rapidfuzz, which has the same definition. Its own cut-off is not
used: it rejects pairs whose similarity is the threshold but for the rounding of doubles.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt
from rapidfuzz.distance import Jaro
from rapidfuzz.process import cdist

from app.domain.arrays import Ints
from app.domain.tables.numbers import lowest_accepted

PAIRS_AT_ONCE = 1 << 22


def jaro(a: str, b: str) -> float:
    """Jaro similarity in [0, 1]: 1 iff equal, two empty strings included; symmetric."""
    return float(Jaro.similarity(a, b))


def normalised(text: str) -> str:
    """The text in Unicode normal form C, case-folded, without surrounding white space."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold()).strip()


def similar_pairs(
    queries: Sequence[str], choices: Sequence[str], threshold: float
) -> Iterator[tuple[int, Ints, Ints]]:
    """All pairs with similarity ≥ ``threshold`` − 1e-9, in blocks of queries.

    Yields the number of the block's first query, the queries' positions within the block and the choices'
    positions, ordered by query and then by choice. A block holds at most ``PAIRS_AT_ONCE`` similarities.
    """
    height = max(1, PAIRS_AT_ONCE // max(1, len(choices)))
    for first in range(0, len(queries), height):
        block = queries[first : first + height]
        similarity: npt.NDArray[np.float64] = cdist(
            block, choices, scorer=Jaro.similarity, dtype=np.float64, score_cutoff=None
        )
        rows, found = np.nonzero(similarity >= lowest_accepted(threshold))
        yield first, rows.astype(np.int32), found.astype(np.int32)
