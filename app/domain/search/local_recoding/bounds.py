"""Lower bounds of the least loss of all recodings.

A loss is a growing function of Σ_j T_j(x_j), with x_j what the cells of attribute j cost over all records and
T_j growing and concave: a logarithm for the geometric loss, linear for the others. A recoding that is better
than the best known has x_j ≤ u_j for some u_j, at first for all of them what suppressing everything costs.
Between x_j as the records are and u_j the chord of T_j is below it, so that

    Σ_j T_j(x_j) ≥ Σ_j T_j(as they are) + Σ_j slope_j · (x_j − as they are),

and the last sum is one over records of weighted costs of their cells: at least that of the cheapest cells of
each alone, and at least that of prices (``record_costs``), which are no lower and take more work. With
attribute j weighing nothing the former bounds what all others contribute, hence T_j(x_j) and u_j: chords
over smaller ranges are steeper.

Losses that are no sums over cells have bounds of their own. Discernibility and average class size follow from
the least records of a class. Ambiguity is bounded by each record alone, as losses of cells are: its product
over attributes is a sum of logarithms. Then each group of attributes is priced for what it multiplies the
least product of all others with. The height of a recoding is bounded by that of the best table-level rule
under the criteria that stay met when classes are joined, for the rule of the recoding's greatest levels joins
its classes and suppresses no record that the recoding discloses.

The KL divergence is bounded from the densest boxes that records may lie in. Let p_x be the share of the n
records with the values x, and q_x what a release lets reconstruct of it: the mean over records j of 1 /
a(v_j) where x is under the nodes v_j that j is disclosed as, with a(v) the number of values under v, and 0
elsewhere.

*Theorem.* For all t_x > 0, and D_j ≥ Σ_{x under v} (p_x / t_x) / a(v) for all nodes v that j may be disclosed
as, Σ_x p_x ln(p_x / q_x) ≥ Σ_x p_x ln(p_x / t_x) − ln(mean of the D_j).

*Proof.* By concavity Σ_x p_x ln(q_x / t_x) ≤ ln Σ_x p_x q_x / t_x. With q_x as above the sum is the mean over
j of Σ_{x under v_j} (p_x / t_x) / a(v_j), no more than that of the D_j. ∎

A record may be disclosed as ⊥, or as nodes above it under which all records together meet what is necessary
(as for each record alone). The divergence of some attributes is no more than that of all of them with the
sensitive ones: what is reconstructed of them is the sum over the others, of boxes again. So the attributes
are those of one group, and of these the ones all of whose cells are leaves: then all values under a node are
leaves, and nothing depends on whether a reader knows the level of a cell or that its value was missing.

Any t will do. The first is p; then each t_x is multiplied with the D of who has x, which takes from where
records cannot be as dense as t says and gives to where they can.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Final, Literal

import numpy as np

from app.domain.arrays import Floats, Longs
from app.domain.hierarchies.hierarchy import TOP
from app.domain.losses.loss import LeafDomain, LossChoice
from app.domain.search.local_recoding.cells import Cells, Pairs, Side
from app.domain.search.local_recoding.class_criteria import ClassCriteria, numbered
from app.domain.search.local_recoding.course import Course, HeldArrays
from app.domain.search.local_recoding.record_costs import GoesOn, cheapest_alone, record_prices

Work = Literal["little", "some", "much"]

ROUNDS: Final[Mapping[Work, int]] = {"little": 40, "some": 400, "much": 20_000}
"""Levels of a group of attributes at most."""
MOST_WORK: Final = 4e8
"""Levels of a group times distinct records at most."""
SLACK: Final = 1e-10
"""More than sums of costs in another order differ by, as a share: bounds are lowered by it."""
HALVINGS: Final = 60

MOST_EXACT: Final = 2.0**52
"""Whole numbers below it are doubles."""

SWEEPS: Final[Mapping[Work, int]] = {"little": 1, "some": 2, "much": 3}
"""How many t are tried."""


class Bound:
    """What no recoding loses less than; ``least`` is the bound found so far."""

    def __init__(self, least: float) -> None:
        self.least = least

    def raise_by(self, work: Work, best: float, course: Course) -> None:
        """Bound the loss with so much work; ``best`` is the loss of a known recoding, ∞ if none is.

        Of a bound that is known beforehand nothing is left to do.
        """


class LossBound(Bound):
    """A bound of a sum over cells, narrowed step by step."""

    def __init__(self, cells: Cells, criteria: ClassCriteria) -> None:
        self._cells = cells
        self._criteria = criteria
        q = range(cells.n_attributes)
        self._from = [cells.least_total(i) for i in q]
        self._to = [cells.greatest_total(i) for i in q]
        self._terms = [cells.term(i, total) for i, total in zip(q, self._from, strict=True)]
        self.least = cells.of_terms(self._terms)

    def raise_by(self, work: Work, best: float, course: Course) -> None:
        """Bound the loss with so much work; ``best`` is the loss of a known recoding, ∞ if none is.

        Work that was done before makes what follows bound better.
        """
        if self._criteria.necessary and course.goes_on():
            groups = groups_of_attributes(self._cells, most_levels(self._cells, work))
            if work == "much":
                self._price(groups, course)
            else:
                # Only where terms bend do ranges matter, and rounds that narrow them.
                self._narrow(groups, best if self._cells.loss.kind == "geometric" else None, course)
        self.least = min(self.least, best)

    def _price(self, groups: Sequence[Sequence[int]], course: Course) -> None:
        """Bound the loss by the prices of records in groups of attributes."""
        slopes, amounts = self._slopes(), self._cells.amounts

        def priced(own: Sequence[int]) -> float:
            prices = record_prices(self._cells, self._criteria, own, slopes[list(own)], course.goes_on)
            return float(prices @ amounts) * (1 - SLACK)

        self._raise_to([course.of(partial(priced, own)) for own in groups])

    def _narrow(self, groups: Sequence[Sequence[int]], best: float | None, course: Course) -> None:
        """Bound the loss by the records alone in groups of attributes; with a best loss ranges, too."""
        slopes, added = self._slopes(), []

        def least_of(own: Sequence[int], weights: Floats) -> list[float]:
            least = cheapest_alone(self._cells, self._criteria, own, weights, course.goes_on)
            return [float(sum_) for sum_ in (least @ self._cells.amounts) * (1 - SLACK)]

        for own in groups:
            weights = slopes[list(own)][None, :]
            if best is not None:
                # All rows but the first leave out an attribute each.
                weights = np.tile(weights, (len(own) + 1, 1))
                weights[1:][np.diag_indices(len(own))] = 0.0
            added.append(course.of(partial(least_of, own, weights)))
        terms = math.fsum(self._terms)
        total = self._raise_to([bounds[0] for bounds in added])
        if best is None or math.isinf(best):
            return
        for own, bounds in zip(groups, added, strict=True):
            for place, i in enumerate(own):
                others = terms - self._terms[i] + total - bounds[0] + bounds[place + 1]
                self._lower(i, self._cells.loss.sum_of(best) - others)

    def _raise_to(self, added: Sequence[float]) -> float:
        """Bound the loss by what groups of attributes add at least to the terms; the sum of that."""
        total = math.fsum(added)
        found = math.fsum(self._terms) + total
        self.least = max(self.least, self._cells.loss.of_sum(found - SLACK * abs(found)))
        return total

    def _slopes(self) -> Floats:
        return np.array([self._slope(i) for i in range(self._cells.n_attributes)])

    def _slope(self, i: int) -> float:
        width = self._to[i] - self._from[i]
        return (self._cells.term(i, self._to[i]) - self._terms[i]) / width if width > 0 else 0.0

    def _lower(self, i: int, most: float) -> None:
        """Attribute i contributes at most so much to the sum of terms."""
        most += SLACK * max(1.0, abs(most))
        low, high = self._from[i], self._to[i]
        if self._cells.term(i, high) <= most:
            return
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            if self._cells.term(i, middle) <= most:
                low = middle
            else:
                high = middle
        self._to[i] = high


def most_levels(cells: Cells, work: Work) -> int:
    """Levels that a group of attributes may have for so much work."""
    return min(ROUNDS[work], int(MOST_WORK / cells.size))


def groups_of_attributes(cells: Cells, most: int) -> list[list[int]]:
    """The attributes in groups of at most so many levels together (or one alone), the most telling first."""
    heights = cells.heights
    telling = [
        len(np.unique(column)) if height else 0 for column, height in zip(cells.raw.T, heights, strict=True)
    ]
    found: list[list[int]] = []
    rules: list[int] = []
    for i in sorted(range(len(heights)), key=lambda i: (-telling[i], i)):
        if found and rules[-1] * (heights[i] + 1) <= most:
            found[-1].append(i)
            rules[-1] *= heights[i] + 1
        else:
            found.append([i])
            rules.append(heights[i] + 1)
    return found


class AmbiguityBound(Bound):
    """Σ over records of the least product of leaves that each may show alone."""

    def __init__(self, cells: Cells, criteria: ClassCriteria, domain: LeafDomain) -> None:
        self._cells = cells
        self._criteria = criteria
        self._as_they_are = np.zeros(cells.size)
        for i, leaves in enumerate(cells.leaves(domain)):
            self._as_they_are += np.log(leaves[cells.raw[:, i]])
        self.least = self._of(np.exp(self._as_they_are))

    def raise_by(self, work: Work, best: float, course: Course) -> None:
        """Take the attributes in greater groups the more work may be done."""
        if not self._criteria.necessary or not course.goes_on():
            return
        cells, criteria, goes_on = self._cells, self._criteria, course.goes_on
        groups = groups_of_attributes(cells, most_levels(cells, work))
        added = HeldArrays()

        def alone(number: int) -> None:
            own = groups[number]
            least = cheapest_alone(cells, criteria, own, np.ones((1, len(own))), goes_on)
            added[str(number)] = least[0]

        def priced(number: int) -> float:
            own = groups[number]
            others = self._as_they_are + sum(added[str(n)] for n in range(len(groups))) - added[str(number)]
            return self._of(record_prices(cells, criteria, own, np.ones(len(own)), goes_on, others))

        with course.holding(added):
            for number in range(len(groups)):
                course.of(partial(alone, number))
            found = [course.of(lambda: self._of(np.exp(self._as_they_are + sum(added.values()))))]
            if work == "much":
                found += [course.of(partial(priced, number)) for number in range(len(groups))]
        self.least = max(self.least, *found)

    def _of(self, of_records: Floats) -> float:
        found = float(of_records @ self._cells.amounts) * (1 - SLACK)
        # Products of leaves are whole numbers.
        return float(math.ceil(found)) if found < MOST_EXACT else found


def least_discernibility(cells: Cells, criteria: ClassCriteria) -> float:
    """Records in as many classes as may be, all about as large, however many others are suppressed."""
    n, suppressed, classes = _classes_at_most(cells, criteria)
    small, larger = np.divmod(n - suppressed, np.maximum(classes, 1))
    squares = larger * (small + 1) ** 2 + (classes - larger) * small**2
    return float((squares + n * suppressed)[_possible(n, suppressed, classes)].min(initial=n * n))


def least_average_class_size(cells: Cells, criteria: ClassCriteria) -> float:
    """Records over the most classes that there can be, the suppressed records being one."""
    n, suppressed, classes = _classes_at_most(cells, criteria)
    most = (classes + (suppressed > 0))[_possible(n, suppressed, classes)].max(initial=1)
    return n / int(most)


def _classes_at_most(cells: Cells, criteria: ClassCriteria) -> tuple[int, Longs, Longs]:
    """Records, how many may be suppressed (w,), and how many classes the others make then at most (w,)."""
    n = int(cells.amounts.sum())
    suppressed = np.arange(int(cells.amounts[criteria.left_out].sum()), max(criteria.allowed, 0) + 1)
    return n, suppressed, (n - suppressed) // criteria.least


def _possible(n: int, suppressed: Longs, classes: Longs) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    """(w,) whether the records that are not suppressed make a class, if there are any."""
    return np.asarray((classes > 0) | (suppressed == n))


class DivergenceBound(Bound):
    """What no recoding diverges less than, in nats."""

    def __init__(self, cells: Cells, criteria: ClassCriteria, domain: LeafDomain) -> None:
        self._cells = cells
        self._criteria = criteria
        self._areas = cells.areas(domain)
        self._are_leaves = []
        for i, tree in enumerate(cells.trees):
            records = cells.records_of(i)
            self._are_leaves.append(not records[TOP] and bool(tree.is_leaf[records > 0].all()))
        self.least = 0.0

    def raise_by(self, work: Work, best: float, course: Course) -> None:
        """Bound the divergence with so much work; ``best`` is that of a known recoding, ∞ if none is."""
        groups = groups_of_attributes(self._cells, most_levels(self._cells, work))
        own = [i for i in groups[0] if self._are_leaves[i]] if groups else []
        if self._criteria.necessary and own:
            densest = _Densest(self._cells, self._criteria, own, [self._areas[i] for i in own])
            said = HeldArrays(said=densest.share)
            with course.holding(said):
                for _ in range(SWEEPS[work]):
                    found = course.of(lambda: self._divergence(densest, said, course.goes_on))
                    if found is None:
                        break
                    self.least = max(self.least, found)
        self.least = min(self.least, best)

    def _divergence(self, densest: _Densest, said: HeldArrays, goes_on: GoesOn) -> float | None:
        """The bound for the t that is held, in whose place the next one is put; None if it has to end."""
        share = self._cells.amounts / int(self._cells.amounts.sum())
        found = densest.over(share / said["said"], goes_on)
        if found is None:
            return None
        given = float(share @ np.log(densest.share / said["said"]))
        dense = math.log(share @ found)
        said["said"] = said["said"] * found
        return given - dense - SLACK * (1.0 + abs(given) + abs(dense))


class _Densest:
    """The boxes of some attributes that each record may lie in.

    Attributes
    ----------
    share
        (d,) share of the records that have the values of each distinct record.
    """

    def __init__(
        self, cells: Cells, criteria: ClassCriteria, attributes: Sequence[int], areas: list[Floats]
    ) -> None:
        self._cells = cells
        self._criteria = criteria
        middle = len(attributes) // 2
        weights = np.ones((1, len(attributes)))
        self._left = Side(cells, attributes[:middle], weights[:, :middle])
        self._right = Side(cells, attributes[middle:], weights[:, middle:])
        self._of_left, self._of_right = areas[:middle], areas[middle:]
        keys = self._left.of * self._right.size + self._right.of
        of, size = numbered(keys, self._left.size * self._right.size)
        self.share: Floats = (np.bincount(of, cells.amounts, size) / cells.amounts.sum())[of]

    def over(self, weights: Floats, goes_on: GoesOn) -> Floats | None:
        """(d,) the greatest weight of the records in a box per value of the box; None if it has to end."""
        everything = sum(float(own[TOP]) for own in (*self._of_left, *self._of_right))
        found = np.full(self._cells.size, float(weights.sum()) * math.exp(-everything))
        for levels in self._left.rules():
            if not goes_on():
                return None
            pairs = Pairs(self._cells, self._criteria, (self._left, levels), self._right)
            area = np.empty(pairs.size)
            area[pairs.of] = self._left.of_nodes(levels, self._of_left)[self._left.of]
            of_pairs = self._of_pairs(
                pairs, area, np.bincount(pairs.of, weights, pairs.size).astype(np.float64)
            )
            np.maximum(found, of_pairs[pairs.of], out=found)
        return found

    def _of_pairs(self, pairs: Pairs, area: Floats, weights: Floats) -> Floats:
        """(p,) the same per pair, at all levels of the right side."""
        found = np.zeros(pairs.size)
        for levels in self._right.rules():
            of, n_groups = pairs.groups(levels)
            inside = np.where(pairs.fit(of, n_groups), np.bincount(of, weights, n_groups), 0.0)[of]
            areas = area + self._right.of_nodes(levels, self._of_right)[pairs.right]
            np.maximum(found, inside * np.exp(-areas), out=found)
        return found


def bound_of(
    cells: Cells, criteria: ClassCriteria, choice: LossChoice, least_height: Callable[[], float]
) -> Bound:
    """A lower bound of the loss of all recodings; ``least_height`` bounds the height where that is asked."""
    match choice.kind:
        case "discernibility":
            return Bound(least_discernibility(cells, criteria))
        case "average_class_size":
            return Bound(least_average_class_size(cells, criteria))
        case "ambiguity":
            return AmbiguityBound(cells, criteria, choice.leaves)
        case "kl_divergence":
            return DivergenceBound(cells, criteria, choice.leaves)
        case "height":
            return Bound(least_height())
        case _:
            return LossBound(cells, criteria)
