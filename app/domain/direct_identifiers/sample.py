"""The texts of a column that are looked at, and how many of its cells each stands for."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final
from zlib import crc32

import numpy as np

from app.domain.arrays import Bools, Floats, Longs

LOOKED_AT: Final = 5_000
"""Most distinct texts of a column that are looked at."""

COMMON: Final = 1_000
"""How many of these are the most frequent ones, if the column has more distinct texts than are looked at."""

LONGEST: Final = 500
"""Characters of a text that are looked at."""

FALSE_ALARM: Final = 1e-9
"""Chance at most that a check digit is seen in a column that has none, for each numbering scheme tried."""


_UNSEEN: Final = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
_FULL_WIDTH: Final = {0xFEE0 + own: chr(own) for own in range(33, 127)}
_MINUS: Final = "\u2212"


@dataclass(frozen=True, eq=False)
class Sample:
    """Distinct texts of a column in an order that says nothing, without blanks around them.

    Parameters
    ----------
    texts
        At most :data:`LOOKED_AT`, each cut at :data:`LONGEST` characters.
    weights
        float64, one per text: the share of the column's cells that it stands for. They add up to 1.
    counts
        int64, one per text: how many cells hold it.
    """

    texts: tuple[str, ...]
    weights: Floats
    counts: Longs

    def share(self, chosen: Bools) -> float:
        """Share of the column's cells whose texts are chosen; the weights are added in an exact sum."""
        return min(1.0, math.fsum(self.weights[chosen].tolist()))

    def where(self, holds: Callable[[str], bool]) -> Bools:
        """Which texts something holds of."""
        return np.fromiter((holds(text) for text in self.texts), dtype=bool, count=len(self.texts))

    def chosen(self, where: Bools) -> tuple[str, ...]:
        """Some of the texts."""
        return tuple(text for text, is_chosen in zip(self.texts, where.tolist(), strict=True) if is_chosen)

    def only(self, chosen: Bools) -> Sample:
        """The chosen texts, each with its share of all of the column's cells."""
        return Sample(self.chosen(chosen), self.weights[chosen], self.counts[chosen])


@dataclass(frozen=True, eq=False)
class Found:
    """The texts that are of a kind, and whether the column as a whole bears it out."""

    texts: Bools
    is_evident: bool


def sample_of(values: Sequence[str], counts: Longs) -> Sample:
    """The texts to look at: all, or the most frequent ones and a choice of the others by their hash.

    A choice by hash does not depend on the order of the values and, unlike every n-th one of a sorted list,
    cannot fall in step with check digits. Each chosen text of the others stands for as many cells as the
    share of the others that was chosen says.
    """
    order = sorted(range(len(values)), key=lambda at: (_hash(values[at]), values[at]))
    weights = np.asarray(counts, dtype=np.float64) / max(1, int(np.sum(counts)))
    if len(order) > LOOKED_AT:
        by_count = sorted(order, key=lambda at: -int(counts[at]))
        common = set(by_count[:COMMON])
        others = [at for at in order if at not in common]
        chosen = others[: LOOKED_AT - COMMON]
        looked_at = float(weights[chosen].sum())
        weights[chosen] *= float(weights[others].sum()) / looked_at if looked_at else 1.0
        kept = common.union(chosen)
        order = [at for at in order if at in kept]
    return Sample(
        tuple(as_read(values[at][:LONGEST]).strip() for at in order),
        weights[order],
        np.asarray(counts, dtype=np.int64)[order],
    )


def as_read(text: str) -> str:
    """The text as it looks: without signs that nobody sees, and with plain blanks, dashes and digits.

    Left out are format characters, such as zero-width joiners, variation selectors and fillers.
    """
    if text.isascii():
        return text
    return "".join(map(_sign_as_read, text.translate(_FULL_WIDTH)))


def _sign_as_read(sign: str) -> str:
    if sign.isascii():
        return sign
    category = unicodedata.category(sign)
    if category == "Cf" or sign in _UNSEEN or "\ufe00" <= sign <= "\ufe0f":
        return ""
    if category == "Zs":
        return " "
    if category == "Pd" or sign == _MINUS:
        return "-"
    return str(unicodedata.decimal(sign)) if category == "Nd" else sign


def _hash(text: str) -> int:
    return crc32(text.encode("utf-8", "surrogatepass"))


def chance_of_at_least(passed: int, of: int, chance: float) -> float:
    """Upper tail of the binomial distribution: at least ``passed`` successes ``of`` so many trials.

    By Hoeffding (1956) it also bounds trials of unequal chances with this mean, above the mean.
    """
    if passed <= 0 or chance >= 1.0:
        return 1.0
    if chance <= 0.0:
        return 0.0
    constant = math.lgamma(of + 1)
    terms = (
        math.exp(
            constant - math.lgamma(number + 1) - math.lgamma(of - number + 1)
            + number * math.log(chance) + (of - number) * math.log1p(-chance)
        )
        for number in range(passed, of + 1)
    )  # fmt: skip
    return min(1.0, math.fsum(terms))


def with_other_digits(text: str, number: int, kept: int) -> str:
    """The text with other digits behind the first ``kept`` ones.

    They have nothing to do with its own, and are the same each time for the same number.
    """
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
