"""What is known of a rule that was judged, and bounds over all sets of classes that it may suppress.

Sets matter to criteria of the whole table. A criterion that is a quotient of sums is met exactly if the
surpluses of the classes that are kept are not above 0 in sum (``Criterion.surpluses``). So what goes beside
the necessary classes has to take a known amount away. Classes without a surplus only make that harder: no set
is bounded too high by leaving them out. For costs w_c ≥ 0 and surpluses e_c > 0 of the others, Σ e_c ≥ E over
a set implies that Σ w_c is at least

* what parts of classes cost that together have E, those of least w_c / e_c first (the linear programme), and
* what the m cheapest classes cost, with m the number of greatest e_c that reach E.

Both are exact where one class is like the other. A loss that is Σ_j T_j(x_j) with T_j concave, x_j what the
cells of attribute j cost, is bounded by chords as in ``local_recoding.bounds``: for l_j ≤ x_j ≤ u_j it is at
least Σ_j T_j(l_j) + λ_j · (x_j − l_j), with λ_j the slope from l_j to u_j, and Σ_j λ_j · x_j is a cost of
classes. l_j is the bound of x_j alone, and u_j what x_j can be at most in a set that is better than a known
loss.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from dataclasses import astuple, dataclass
from typing import Final

import numpy as np

from app.domain.arrays import Bools, Floats, Ints, Levels, Longs
from app.domain.losses.loss import SummedLoss, Sums
from app.domain.models.criterion import Criterion
from app.domain.models.judging import JudgedClasses

_TOLD: Final = struct.Struct("<qq?q????")
SAME_SUM: Final = 1e-12
HALVINGS: Final = 40


@dataclass(frozen=True, eq=False)
class Choice:
    """The classes that a rule may suppress for criteria of the whole table, beside those that it must.

    Of C classes that help, some have to go: in each array of ``surpluses`` at least ``above`` in sum.

    Attributes
    ----------
    necessary
        (d,) distinct records that the rule suppresses, whatever it chooses.
    of_row
        (d,) class of each distinct record, −1 for those whose classes help nobody.
    surpluses, above
        (C,) what each class takes away of a sum, and how much of that is too much; none where nothing is
        known of other sets of classes.
    by_size
        All surpluses are the greater the fewer records a class has: the smallest classes are the best to go
        for every loss that grows with nothing but the records of those that go.
    """

    necessary: Bools
    of_row: Longs
    surpluses: tuple[Floats, ...]
    above: tuple[float, ...]
    by_size: bool


@dataclass(frozen=True)
class Told:
    """What searches decide by of a verdict; sets of records and of classes are looked up where they matter.

    Attributes
    ----------
    unavoidable, suppressed, allowed, more
        As in :class:`Verdict`.
    small_suppressed, small_lost
        The records that it suppresses, and that every more specific rule does, are those of small classes.
    chooses, by_size
        It has a choice; and that is best made by size.
    """

    unavoidable: int
    suppressed: int
    allowed: bool
    more: int
    small_suppressed: bool
    small_lost: bool
    chooses: bool
    by_size: bool

    def packed(self) -> bytes:
        """As bytes."""
        return _TOLD.pack(*astuple(self))

    @classmethod
    def of(cls, packed: bytes) -> Told:
        """From bytes."""
        return cls(*_TOLD.unpack(packed))


@dataclass(frozen=True, eq=False)
class Verdict:
    """What is known of a rule.

    Attributes
    ----------
    unavoidable
        Records that this rule and every more specific one suppress at least.
    suppressed
        Records that it suppresses; not all of them counted if ``unavoidable`` is too many.
    allowed
        It suppresses few enough, and what remains meets the criteria.
    suppressed_rows, lost
        (d,) distinct records that it suppresses, and that every more specific rule does; None: those of small
        classes, nothing else counting.
    more
        Records beside the ``lost`` ones that this rule and every more specific one suppress at least,
        whichever they are.
    choice
        What bounds the sets of classes that the rule might suppress instead; None if there is but one, or
        the rule may suppress no set.
    """

    unavoidable: int
    suppressed: int
    allowed: bool
    suppressed_rows: Bools | None = None
    lost: Bools | None = None
    more: int = 0
    choice: Choice | None = None

    @property
    def told(self) -> Told:
        """What searches decide by."""
        return Told(
            self.unavoidable,
            self.suppressed,
            self.allowed,
            self.more,
            self.suppressed_rows is None,
            self.lost is None,
            self.choice is not None,
            self.choice is not None and self.choice.by_size,
        )


def choice_of(judged: JudgedClasses, necessary: Bools, rows: Bools, criteria: Sequence[Criterion]) -> Choice:
    """What bounds the sets of classes that hold the ``necessary`` ones (G,), which are the ``rows`` (d,)."""
    remaining = judged.only(~necessary)
    found = [own.surpluses(remaining) for own in criteria]
    amounts = [(surplus, _above(surplus)) for own in found for surplus in own]
    asking = [(surplus, above) for surplus, above in amounts if above > 0]
    helps = np.zeros(remaining.n_classes, dtype=bool)
    for surplus, _ in asking:
        helps |= surplus > 0
    number = np.append(np.where(helps, np.cumsum(helps) - 1, -1), -1)
    return Choice(
        rows,
        number[remaining.class_of_group],
        tuple(np.maximum(surplus[helps], 0.0) for surplus, _ in asking),
        tuple(above for _, above in asking),
        # Of criteria that are not looked at, where classes overlap, nothing is known.
        bool(found) and all(found) and all(own.grows_by_size for own in criteria),
    )


def _above(surplus: Floats) -> float:
    """How much of a sum is too much, less what sums in other orders differ by."""
    return float(surplus.sum()) - SAME_SUM * (len(surplus) + float(np.abs(surplus).sum()))


def least_records(choice: Choice, counts: Longs) -> int:
    """Records that go at least, the necessary ones included; ``counts`` (d,) of the distinct ones."""
    inside = choice.of_row >= 0
    size = len(choice.surpluses[0]) if choice.surpluses else 0
    records = np.asarray(np.bincount(choice.of_row[inside], counts[inside], size), dtype=np.float64)
    return int(counts[choice.necessary].sum()) + math.ceil(least_cost(choice, records) * (1 - SAME_SUM))


def least_cost(choice: Choice, costs: Floats) -> float:
    """What classes of ``costs`` (C,) ≥ 0 that have to go cost at least."""
    least = 0.0
    for surplus, above in zip(choice.surpluses, choice.above, strict=True):
        useful = surplus > 0
        own, paid = surplus[useful], costs[useful]
        order = np.argsort(paid / own, kind="stable")
        taken, spent = np.cumsum(own[order]), np.cumsum(paid[order])
        last = min(int(np.searchsorted(taken, above)), len(own) - 1)
        rest = above - (float(taken[last - 1]) if last else 0.0)
        before = float(spent[last - 1]) if last else 0.0
        by_parts = before + float(paid[order[last]]) * min(1.0, rest / float(own[order[last]]))
        fewest = min(int(np.searchsorted(np.cumsum(-np.sort(-own)), above)) + 1, len(own))
        least = max(least, by_parts, float(np.sort(paid)[:fewest].sum()))
    return least * (1 - SAME_SUM)


class ChoiceBound:
    """Bounds the loss of a rule over all sets that it may suppress, for a loss that is a sum of terms.

    ``codes`` (d, q) are the distinct records.
    """

    def __init__(self, loss: SummedLoss, codes: Ints, counts: Longs) -> None:
        self._loss = loss
        self._counts = counts
        self._nodes = [
            np.searchsorted(nodes, column) for nodes, column in zip(loss.nodes, codes.T, strict=True)
        ]
        self._cheapest = [np.argsort(per_level, axis=1, kind="stable") for per_level in loss.uncovered]
        self._sorted = [np.sort(per_level, axis=1) for per_level in loss.uncovered]
        self._paid: dict[tuple[int, int], tuple[Floats, Floats]] = {}

    def least(self, levels: Levels, added: Sequence[Sums], choice: Choice, known: float) -> float:
        """What the rule loses at least, or more than ``known``; ``added`` is of the necessary records."""
        q, loss = range(len(levels)), self._loss
        begun = [float(added[j][levels[j]]) for j in q]
        if not choice.surpluses:
            return loss.of_sum(math.fsum(self._term(j, levels[j], begun[j]) for j in q))
        # Per attribute (C,) what the cells of each class cost more if it goes
        inside = choice.of_row >= 0
        of, counts, size = choice.of_row[inside], self._counts[inside], len(choice.surpluses[0])
        costs = []
        for per_level, level, nodes in zip(self._loss.uncovered, levels, self._nodes, strict=True):
            paid = np.asarray(per_level[level][nodes[inside]] * counts, dtype=np.float64)
            costs.append(np.asarray(np.bincount(of, paid, size), dtype=np.float64))
        low = [least_cost(choice, own) for own in costs]
        lowest = [self._term(j, levels[j], begun[j] + low[j]) for j in q]
        total = math.fsum(lowest)
        most = [float(own.sum()) for own in costs]
        if math.isfinite(known):
            spare = loss.sum_of(known) - total
            most = [self._most(j, levels[j], begun[j], (low[j], most[j]), lowest[j] + spare) for j in q]
        slopes = [
            (self._term(j, levels[j], begun[j] + most[j]) - lowest[j]) / (most[j] - low[j])
            if most[j] > low[j]
            else 0.0
            for j in q
        ]
        together = least_cost(choice, np.sum([s * own for s, own in zip(slopes, costs, strict=True)], axis=0))
        apart = math.fsum(s * own for s, own in zip(slopes, low, strict=True))
        return loss.of_sum(total + max(0.0, together - apart))

    def least_added(self, lost: Sequence[Longs], more: int) -> list[Sums]:
        """What ``more`` records add per attribute on each level at least, beside those ``lost`` per node."""
        found: list[Sums] = []
        for costs, records, gone, order in zip(
            self._sorted, self._loss.records, lost, self._cheapest, strict=True
        ):
            before = np.minimum(np.cumsum((records - gone)[order], axis=1), more)
            before[:, 1:] -= before[:, :-1].copy()
            found.append((costs * before).sum(axis=1))
        return found

    def least_of(self, levels: Levels, records: int) -> list[Sums]:
        """What so many suppressed ``records`` add per attribute to the loss of a rule at least."""
        found: list[Sums] = []
        for j, level in enumerate(levels):
            if (j, level) not in self._paid:
                amounts = self._loss.records[j][self._cheapest[j][level]]
                paid = np.concatenate(([0.0], np.cumsum(self._sorted[j][level] * amounts)))
                self._paid[j, level] = np.concatenate(([0.0], np.cumsum(amounts))), paid
            least = float(np.interp(records, *self._paid[j, level])) * (1 - SAME_SUM)
            found.append(np.full(level + 1, least))
        return found

    def _term(self, j: int, level: int, added: float) -> float:
        return float(self._loss.terms(j, np.full(level + 1, added))[level])

    def _most(self, j: int, level: int, begun: float, within: tuple[float, float], term: float) -> float:
        """The most that the cells can cost while the attribute's term is no more than ``term``."""
        low, high = within
        if self._term(j, level, begun + high) <= term:
            return high
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            if self._term(j, level, begun + middle) <= term:
                low = middle
            else:
                high = middle
        return high
