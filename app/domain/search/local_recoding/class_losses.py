"""What recodings lose by their classes: discernibility, class size, ambiguity and the KL divergence.

The first three are sums over records of what a record costs in its class.

The KL divergence is how far what can be reconstructed from a recoding is from the table. What a release of
single records lets an analyst reconstruct of a value is the sum over all boxes that are shown and contain it
(``losses.kl_release``). Every record lies in the box of its own class; the others that contain it only make
its value more likely, so that with its own box alone the divergence is no smaller. That number is a sum over
classes and guides the moves. It is equal for rules of the whole table, whose boxes are disjoint, and the
answer's loss is the divergence itself.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar, Final

import numpy as np

from app.domain.arrays import Bools, Floats, Indices, Ints, Longs
from app.domain.classes.released import Release
from app.domain.classes.wildcards import matching_records
from app.domain.hierarchies.hierarchy import TOP
from app.domain.losses.counting import Counting
from app.domain.losses.kl_boxes import is_hidden, log_areas
from app.domain.losses.loss import LeafDomain, LossChoice
from app.domain.losses.released import ReleaseDivergence
from app.domain.search.local_recoding.cells import ALL, Cells, Steps
from app.domain.search.local_recoding.class_criteria import ToldApart, codes_by_row, numbered, told_apart
from app.domain.search.local_recoding.losses import (
    After,
    CellSums,
    GainsOfSplits,
    Recoded,
    RecodingLoss,
    Split,
)
from app.domain.tables.distinct import group, one_of_each, row_keys
from app.domain.tables.masks import rows_without_values, shows_nothing
from app.domain.tables.numbers import exact_sum

NEXT_TO_NOTHING: Final = 1e-9
"""What a step down is worth per record that splits no class: the step after it may."""


class ClassSums(RecodingLoss):
    """A loss that is told by what each record costs in its class."""

    def __init__(self, cells: Cells) -> None:
        self._cells = cells

    @abstractmethod
    def costs(self, at: Longs, n_classes: int, rows: Indices, steps: Steps) -> Floats:
        """(r,) what a record of each of some rows (r,) costs with its steps (r, q) in its class ``at``."""

    def after(self, recoded: Recoded) -> After:
        """Numbers by grouping anew, which is exact."""

        def found(rows: Indices, target: Steps) -> float:
            """The loss with these rows at other steps."""
            steps = recoded.steps.copy(order="F")
            steps[rows] = target
            codes = recoded.codes.copy(order="F")
            codes[rows] = self._cells.codes(target, rows)
            of, n_classes = self._cells.classes(codes)
            return self.weighed(Recoded(steps, codes, of.astype(np.int64), n_classes))

        return found

    def gains_of_splits(self, recoded: Recoded) -> GainsOfSplits:
        """Estimates from what all records of a class cost before and after its split."""
        return lambda split: self._gains_of(recoded, split)

    def _gains_of(self, recoded: Recoded, split: Split) -> Floats:
        steps, amounts = recoded.steps[split.rows], self._cells.amounts[split.rows]
        before = self.costs(split.of, split.n_classes, split.rows, steps) * amounts
        moving = split.may[split.passes]
        # Who stays behind is in a class of what is left.
        at = split.n_groups + split.of
        at[moving] = split.groups[split.passes]
        steps[moving, split.i] -= 1
        after = self.costs(at, split.n_groups + split.n_classes, split.rows, steps) * amounts
        steps_down = np.bincount(split.of[moving], amounts[moving], split.n_classes)
        gain = np.bincount(split.of, before - after, split.n_classes)
        return np.asarray(gain + NEXT_TO_NOTHING * steps_down)

    def gains(self, recoded: Recoded, rows: Indices, target: Steps, changed: Sequence[int]) -> Floats:
        """As if each record came to the records that are there alone, after those from larger classes."""
        cells = self._cells
        now = self.costs(recoded.of, recoded.n_classes, np.arange(cells.size), recoded.steps)
        whose = np.concatenate([np.arange(cells.size), rows])
        numbers = cells.classes(np.concatenate([recoded.codes, cells.codes(target, rows)]), whose)[0]
        at, joined = numbers[: cells.size].astype(np.int64), numbers[cells.size :].astype(np.int64)
        there = np.bincount(at, cells.amounts, int(numbers.max(initial=-1)) + 1)
        order = np.lexsort((-now[rows], joined))
        amounts = cells.amounts[rows[order]]
        ends = np.cumsum(amounts)
        starts = np.append(True, joined[order][1:] != joined[order][:-1])
        first = np.maximum.accumulate(np.where(starts, ends - amounts, 0))
        sizes = np.empty(len(rows))
        sizes[order] = there[joined[order]] + ends - first
        joining = self.joining(rows, target, sizes, there[joined].astype(np.float64))
        return np.asarray(now[rows] - joining)

    @abstractmethod
    def joining(self, rows: Indices, target: Steps, sizes: Floats, there: Floats) -> Floats:
        """(r,) what a record costs in a class that has so many records with it, ``there`` before."""

    def suppresses(self, steps: Steps, rows: Indices) -> Bools:
        """(r,) rows all of whose quasi-identifiers are ⊥ at their steps."""
        return np.asarray((steps == self._cells.most[rows]).all(axis=1))

    def told_apart(self, recoded: Recoded, missing: Bools) -> ToldApart:
        """The classes that are told apart where what is missing (d, q) matches everything."""
        shown = codes_by_row(recoded.of, recoded.n_classes, recoded.codes)(np.arange(recoded.n_classes))
        return told_apart(recoded.of, shown, missing)


class Discernibility(ClassSums):
    """Σ f² over classes + n · (suppressed records): a record costs the size of its class, a suppressed one n.

    Where classes overlap, the size counts whoever matches the class; moves are chosen by its own records.
    """

    def of(self, recoded: Recoded) -> float:
        """Pairs of records that a reader cannot tell apart, n for each suppressed record."""
        amounts, missing = self._cells.amounts, self._cells.missing
        of, n_classes = recoded.of, recoded.n_classes
        suppressed = int(amounts[self._cells.is_suppressed(recoded.steps)].sum())
        if missing is None:
            records = np.bincount(of, amounts, n_classes).astype(np.int64)
            pairs = int(records @ records)
        else:
            told = self.told_apart(recoded, missing)
            records = np.bincount(told.of, amounts, told.size).astype(np.int64)
            pairs = int(records @ matching_records(told.shown, told.is_wildcard, records))
        # The suppressed ones are a class by themselves.
        return float(pairs - suppressed**2 + int(amounts.sum()) * suppressed)

    def costs(self, at: Longs, n_classes: int, rows: Indices, steps: Steps) -> Floats:
        """Records of the class; n for suppressed ones."""
        sizes = np.bincount(at, self._cells.amounts[rows], n_classes)
        return np.where(self.suppresses(steps, rows), float(self._cells.amounts.sum()), sizes[at])

    def joining(self, rows: Indices, target: Steps, sizes: Floats, there: Floats) -> Floats:
        """Records of the class, and one more for each that is there."""
        # Who is there costs one more, too.
        return sizes + (there > 0)


class AverageClassSize(ClassSums):
    """n / classes, the suppressed records being one: a record of f gains 1/f of a class."""

    def of(self, recoded: Recoded) -> float:
        """Records per class."""
        missing, n_classes = self._cells.missing, recoded.n_classes
        if missing is not None:
            n_classes = self.told_apart(recoded, missing).size
        return int(self._cells.amounts.sum()) / n_classes if n_classes else 0.0

    def costs(self, at: Longs, n_classes: int, rows: Indices, steps: Steps) -> Floats:
        """The record's share in its class, negative: the more classes the better."""
        sizes = np.bincount(at, self._cells.amounts[rows], n_classes)
        return -1.0 / sizes[at]

    def joining(self, rows: Indices, target: Steps, sizes: Floats, there: Floats) -> Floats:
        """Nothing in a class that is there; the share in a new one, negative."""
        # Only who founds a class adds one.
        return np.where(there > 0, 0.0, -1.0 / sizes)


class Ambiguity(ClassSums):
    """Σ over records of Π_j (leaves under the cell)."""

    adds_up: ClassVar[bool] = True

    def __init__(self, cells: Cells, domain: LeafDomain) -> None:
        super().__init__(cells)
        self._leaves = cells.leaves(domain)

    def of(self, recoded: Recoded) -> float:
        """Combinations of leaves that all records together may stand for."""
        return exact_sum(self._products(recoded.codes) * self._cells.amounts)

    def costs(self, at: Longs, n_classes: int, rows: Indices, steps: Steps) -> Floats:
        """Combinations of leaves that the record may stand for, whoever is in its class."""
        return self._products(self._cells.codes(steps, rows))

    def joining(self, rows: Indices, target: Steps, sizes: Floats, there: Floats) -> Floats:
        """The same: who else is there is no matter."""
        return self._products(self._cells.codes(target, rows))

    def gains(self, recoded: Recoded, rows: Indices, target: Steps, changed: Sequence[int]) -> Floats:
        """Exactly what is saved, since records cost the same in any class."""
        return self._products(recoded.codes[rows]) - self._products(self._cells.codes(target, rows))

    def _products(self, codes: Ints) -> Floats:
        found = np.ones(len(codes))
        for i, leaves in enumerate(self._leaves):
            found *= leaves[codes[:, i]]
        return found


class Height(RecodingLoss):
    """Sum over attributes of the greatest level of a changed cell of a record that is not suppressed.

    Single moves hardly ever lower it: ``heights`` searches for it.

    Parameters
    ----------
    counting
        The attributes' weights, and whether their levels are added up.
    """

    def __init__(self, cells: Cells, counting: Counting) -> None:
        self._cells = cells
        self._counting = counting

    def of(self, recoded: Recoded) -> float:
        """The sum over attributes of the greatest level shown, or what else is made of these levels."""
        return self._counting.combined("height", [float(level) for level in self.caps(recoded)])

    def caps(self, recoded: Recoded) -> tuple[int, ...]:
        """Per quasi-identifier the greatest level of a changed cell of a record that is not suppressed."""
        cells = self._cells
        kept = ~cells.is_suppressed(recoded.steps)
        found = []
        for i, hierarchy in enumerate(cells.trees):
            shown = recoded.codes[kept & (recoded.steps[:, i] > 0), i]
            found.append(hierarchy.height - int(hierarchy.depth[shown].min(initial=hierarchy.height)))
        return tuple(found)

    def after(self, recoded: Recoded) -> After:
        """How many records are suppressed, which is what a search within given levels lowers."""
        suppressed = int(self._cells.amounts[self._cells.is_suppressed(recoded.steps)].sum())

        def found(rows: Indices, target: Steps) -> float:
            amounts = self._cells.amounts[rows]
            gone = amounts[(target == self._cells.most[rows]).all(axis=1)].sum()
            was = amounts[self._cells.is_suppressed(recoded.steps)[rows]].sum()
            return float(suppressed - was + gone)

        return found

    def gains_of_splits(self, recoded: Recoded) -> GainsOfSplits:
        """Nothing: no split of single classes is known to lower it."""
        return lambda split: np.zeros(split.n_classes)

    def gains(self, recoded: Recoded, rows: Indices, target: Steps, changed: Sequence[int]) -> Floats:
        """Nothing: no move of single records is known to lower it."""
        return np.zeros(len(rows))


class Divergence(ClassSums):
    """Nats from the table to what can be reconstructed.

    Raises NotSupported if the hierarchy of a sensitive attribute is no tree.
    """

    def __init__(self, cells: Cells, domain: LeafDomain) -> None:
        super().__init__(cells)
        table = cells.table
        self._domain = domain
        names = sorted(table.sensitive)
        self._sensitive = [j for j in map(table.position, names) if j not in cells.attributes]
        for j in self._sensitive:
            table.hierarchies[j].require_tree("A divergence")
        columns = [table.reduced.codes[:, j] for j in self._sensitive]
        keys, limit = row_keys(columns, [table.sizes[j] for j in self._sensitive], cells.size)
        first, inverse = group(keys, limit)
        self._value: Longs = inverse.astype(np.int64)
        self._n_values = len(first)
        self._areas = cells.areas(domain)
        of_value = np.zeros(cells.size)
        # Per sensitive attribute that records lack, what it adds if nobody who is disclosed has a value.
        self._open_values: list[tuple[Ints, Floats]] = []
        for j in self._sensitive:
            hierarchy, raw = table.hierarchies[j], table.reduced.codes[:, j]
            records = np.bincount(raw, cells.amounts, hierarchy.n_nodes).astype(np.int64)
            areas = log_areas(hierarchy, records, domain)
            missing = table.reduced_missing[:, j]
            known = np.where(missing, 0.0, areas[raw])
            of_value += known
            if missing.any():
                self._open_values.append((raw, areas[TOP] - known))
        self._everything = float(sum(areas[TOP] for areas in self._areas))
        self._missing: Bools = table.reduced_missing[:, cells.attributes]
        self._lacking = np.asarray(self._missing.any(axis=0))
        self._as_they_are = np.log(cells.amounts) + of_value

    def of(self, recoded: Recoded) -> float:
        """Nats, as the measure says them of the rule."""
        table = self._cells.table
        release = Release(table, self._cells.rule(recoded.steps))
        attributes = self._cells.attributes
        return ReleaseDivergence(release, attributes, self._sensitive, self._domain).divergences().spread

    def weighed(self, recoded: Recoded) -> float:
        """Nats without making the rule: what the measure says is never above."""
        amounts, of, n_classes = self._cells.amounts, recoded.of, recoded.n_classes
        if self._cells.missing is not None:
            # What is reconstructed is told by what is shown, whatever it is taken to match.
            of_codes, n_classes = self._cells.classes_of_codes(recoded.codes)
            of = of_codes.astype(np.int64)
        shown = recoded.codes[one_of_each(of, n_classes)]
        suppressed = rows_without_values(shown)
        known = self._lacking & ~shows_nothing(shown[~suppressed]).all(axis=0)
        area = self._area(shown)[of] - self._not_open(known, recoded.codes)
        area[suppressed[of]] = self._everything
        kept = np.where(suppressed[of], 0.0, self._in_same_box(of, n_classes, slice(None), known))
        gone = np.flatnonzero(suppressed[of])
        spread = np.bincount(self._value[gone], amounts[gone], self._n_values)[self._value]
        with np.errstate(divide="ignore"):
            density = np.log(kept) - area
            if len(gone):
                density = np.logaddexp(density, np.log(spread) - self._everything)
        terms = self._as_they_are - density
        for raw, more in self._open_values:
            if is_hidden(raw, suppressed[of]):
                terms += more
        return max(0.0, float(amounts @ terms) / int(amounts.sum()))

    def costs(self, at: Longs, n_classes: int, rows: Indices, steps: Steps) -> Floats:
        """Values in the record's box, as ln, less ln of its class's records with its sensitive values."""
        return self._boxes(rows, steps) - np.log(self._in_same_box(at, n_classes, rows, self._lacking))

    def joining(self, rows: Indices, target: Steps, sizes: Floats, there: Floats) -> Floats:
        """As if all records of the class had the same sensitive values."""
        return self._boxes(rows, target) - np.log(sizes)

    def _boxes(self, rows: Indices, steps: Steps) -> Floats:
        """(r,) ln of how many values the box of each row has."""
        codes = self._cells.codes(steps, rows)
        area = self._area(codes) - self._not_open(self._lacking, codes, rows)
        return np.where(self.suppresses(steps, rows), self._everything, area)

    def _area(self, codes: Ints) -> Floats:
        """(r,) ln of how many values some disclosed nodes (r, q) have."""
        found = np.zeros(len(codes))
        for i, areas in enumerate(self._areas):
            found += areas[codes[:, i]]
        return found

    def _not_open(self, known: Bools, codes: Ints, rows: Indices | slice = ALL) -> Floats:
        """(r,) ln of how many fewer that are if what is missing in the ``known`` attributes (q,) is shown."""
        found = np.zeros(len(codes))
        for i in np.flatnonzero(known):
            found[self._missing[rows, i]] += self._areas[i][TOP]
        return found

    def _in_same_box(self, at: Longs, n_classes: int, rows: Indices | slice, known: Bools) -> Floats:
        """(r,) records in the box of each row with its sensitive values."""
        keys, limit = at * self._n_values + self._value[rows], n_classes * self._n_values
        for i in np.flatnonzero(known):
            keys, limit = numbered(2 * keys + self._missing[rows, i], 2 * limit)
        keys, limit = numbered(keys, limit)
        return np.asarray(np.bincount(keys, self._cells.amounts[rows], limit)[keys], dtype=np.float64)


def recoding_loss_of(cells: Cells, choice: LossChoice) -> RecodingLoss:
    """The loss of recodings; NotSupported if it is the divergence and a hierarchy is no tree."""
    match choice.kind:
        case "discernibility":
            return Discernibility(cells)
        case "average_class_size":
            return AverageClassSize(cells)
        case "ambiguity":
            return Ambiguity(cells, choice.leaves)
        case "kl_divergence":
            return Divergence(cells, choice.leaves)
        case "height":
            names = [cells.table.attributes[j] for j in cells.attributes]
            return Height(cells, Counting.of(names, choice))
        case _:
            return CellSums(cells)
