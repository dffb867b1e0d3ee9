"""The counts of all exchanges of a node, by bits: for nodes with many entities nearby.

Counts of pairs start as upper bounds and become exact where they are asked for. With g(up) entities gained by
the generalisation alone, a pair counts at most min(count(up), count(down) + g(up)): what it counts more than
``down`` alone was gained by ``up``.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from app.domain.counting.bitsets import Words, everybody, size_of
from app.domain.search.chains.chains import Chains, Ints
from app.domain.search.chains.least_weights import Longs
from app.domain.search.chains.near_rows import Exchanges, Steps


@dataclass(frozen=True, eq=False)
class BitExchanges(Exchanges):
    """As :class:`Exchanges`, entries outside ``exact`` being upper bounds until they are refined."""

    chains: Chains
    whole: Words
    others: dict[int, Words]
    missed: npt.NDArray[np.float64] | None
    exact: npt.NDArray[np.bool_]
    refined: list[int] = field(default_factory=list)

    @classmethod
    def of(cls, chains: Chains, steps: Steps, levels: Longs) -> BitExchanges:
        """Count the single steps of a node, and bound the pairs."""
        ups = np.flatnonzero(steps.level >= levels[steps.attribute])
        downs = np.flatnonzero(steps.level < levels[steps.attribute])
        up, up_level = steps.attribute[ups], steps.level[ups] + 1
        down, down_level = steps.attribute[downs], steps.level[downs]
        linked = {j: q for q, j in enumerate(chains.linked)}
        whole, others = _without_each(chains, levels, linked)
        counts = np.zeros((1 + len(up), 1 + len(down)))
        counts[0, 0] = size_of(whole)
        spare = np.empty_like(whole)
        for i, (j, level) in enumerate(zip(up.tolist(), up_level.tolist(), strict=True), start=1):
            rest = others.get(j, whole)
            counts[i, 0] = _size_with(chains, rest, linked, j, level, spare)
        for i, (j, level) in enumerate(zip(down.tolist(), down_level.tolist(), strict=True), start=1):
            counts[0, i] = _size_with(chains, whole, linked, j, level, spare)
        gained = counts[1:, :1] - counts[0, 0]
        counts[1:, 1:] = np.minimum(counts[1:, :1], counts[0, 1:] + gained)
        exact = np.zeros(counts.shape, dtype=bool)
        exact[0], exact[:, 0] = True, True
        missed = None
        if chains.own is not None:
            missed = _missed(chains.own, levels, (up, up_level), (down, down_level))
            counts += missed
        refined = [len(up) + len(down) + 1]
        return cls(counts, up, up_level, down, down_level, chains, whole, others, missed, exact, refined)

    @property
    def evaluated(self) -> int:
        """Nodes that were counted."""
        return sum(self.refined)

    def is_exact(self, row: int, column: int) -> bool:
        """Whether an entry is a count, not a bound."""
        return bool(self.exact[row, column])

    def refine(self, entries: Longs) -> None:
        """Count some entries, numbered row by row."""
        linked = {j: q for q, j in enumerate(self.chains.linked)}
        for row, column in (divmod(entry, self.counts.shape[1]) for entry in entries.tolist()):
            if self.exact[row, column]:
                continue
            j, i = int(self.up[row - 1]), int(self.down[column - 1])
            words = self.others.get(j, self.whole)
            words = _with(self.chains, words, linked, j, int(self.up_level[row - 1]))
            words = _with(self.chains, words, linked, i, int(self.down_level[column - 1]))
            self.counts[row, column] = size_of(words) + (
                0.0 if self.missed is None else self.missed[row, column]
            )
            self.exact[row, column] = True
            self.refined.append(1)


def _missed(
    own: Ints, levels: Longs, up: tuple[Longs, Longs], down: tuple[Longs, Longs]
) -> npt.NDArray[np.float64]:
    """1 where the own row misses a node, which then counts itself, else 0 (1 + ups, 1 + downs)."""
    short = (own > levels).astype(np.int64)
    ups, downs = ((own[j] > level).astype(np.int64) - short[j] for j, level in (up, down))
    none = np.zeros(1, dtype=np.int64)
    total = short.sum() + np.concatenate([none, ups])[:, None] + np.concatenate([none, downs])
    found: npt.NDArray[np.float64] = (total > 0).astype(np.float64)
    return found


def _with(chains: Chains, words: Words, linked: dict[int, int], attribute: int, level: int) -> Words:
    """Those of some entities that are consistent with one attribute on a level."""
    node = int(chains.nodes[attribute, level])
    if not node or attribute not in linked:
        return words
    return words & chains.index.of(linked[attribute], node)


def _size_with(
    chains: Chains, words: Words, linked: dict[int, int], attribute: int, level: int, spare: Words
) -> int:
    """How many :func:`_with` leaves; ``spare`` is overwritten."""
    node = int(chains.nodes[attribute, level])
    if not node or attribute not in linked:
        return size_of(words)
    return size_of(np.bitwise_and(words, chains.index.of(linked[attribute], node), out=spare))


def _without_each(chains: Chains, levels: Longs, linked: dict[int, int]) -> tuple[Words, dict[int, Words]]:
    """The entities consistent with a node, and, per attribute it discloses, with all others of it."""
    all_ = everybody(chains.index.n_entities)
    shown = [j for j in linked if chains.nodes[j, levels[j]]]
    prefixes = [all_]
    for j in shown:
        prefixes.append(_with(chains, prefixes[-1], linked, j, int(levels[j])))
    others, suffix = {}, all_
    for j, prefix in zip(reversed(shown), reversed(prefixes[:-1]), strict=True):
        others[j] = prefix & suffix
        suffix = _with(chains, suffix, linked, j, int(levels[j]))
    return prefixes[-1], others
