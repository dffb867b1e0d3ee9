"""How far what can be reconstructed from a recoding is from the table: the KL divergence.

What a release of single records lets an analyst reconstruct of a value is the sum over all boxes that are
shown and contain it (``losses.kl_release``). Every record lies in the box of its own class; the others that
contain it only make its value more likely, so that with its own box alone the divergence is no smaller. That
number is a sum over classes and guides the moves. It is equal for rules of the whole table, whose boxes are
disjoint, and the answer's loss is the divergence itself.
"""

from __future__ import annotations

import numpy as np

from app.domain.classes.released import Release
from app.domain.distinct import Ints, Longs, group, row_keys
from app.domain.hierarchies.hierarchy import TOP
from app.domain.losses.kl_boxes import log_areas, shows_nothing
from app.domain.losses.kl_release import ReleaseDivergence
from app.domain.losses.loss import Floats, LeafDomain
from app.domain.search.recoding.cells import ALL, Bools, Cells, Steps
from app.domain.search.recoding.class_losses import ClassSums
from app.domain.search.recoding.demands import numbered
from app.domain.search.recoding.losses import Indices, Recoded


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
        self._areas: list[Floats] = []
        for i, j in enumerate(cells.attributes):
            hierarchy = table.hierarchies[j]
            records = np.bincount(cells.raw[:, i], cells.amounts, hierarchy.n_nodes).astype(np.int64)
            self._areas.append(log_areas(hierarchy, records, domain))
        of_value = np.zeros(cells.size)
        # Per sensitive attribute that records lack, what it adds if nobody who is disclosed has a value.
        self._open_values: list[tuple[Ints, Floats]] = []
        for j in self._sensitive:
            hierarchy, raw = table.hierarchies[j], table.reduced.codes[:, j]
            records = np.bincount(raw, cells.amounts, hierarchy.n_nodes).astype(np.int64)
            areas = log_areas(hierarchy, records, domain)
            known = np.where(raw == TOP, 0.0, areas[raw])
            of_value += known
            if (raw == TOP).any():
                self._open_values.append((raw, areas[TOP] - known))
        self._everything = float(sum(areas[TOP] for areas in self._areas))
        self._missing: Bools = cells.raw == TOP
        self._lacking: Bools = self._missing.any(axis=0)
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
            alike, n_classes = self._cells.alike(recoded.codes)
            of = alike.astype(np.int64)
        first = np.empty(n_classes, dtype=np.int64)
        first[of] = np.arange(len(of))
        shown = recoded.codes[first]
        withheld = (shown == TOP).all(axis=1)
        known = self._lacking & (shown[~withheld] != TOP).any(axis=0)
        area = self._area(shown)[of] - self._not_open(known, recoded.codes)
        area[withheld[of]] = self._everything
        kept = np.where(withheld[of], 0.0, self._alike(of, n_classes, slice(None), known))
        gone = np.flatnonzero(withheld[of])
        spread = np.bincount(self._value[gone], amounts[gone], self._n_values)[self._value]
        with np.errstate(divide="ignore"):
            density = np.log(kept) - area
            if len(gone):
                density = np.logaddexp(density, np.log(spread) - self._everything)
        terms = self._as_they_are - density
        for raw, more in self._open_values:
            if shows_nothing(raw, withheld[of]):
                terms += more
        return max(0.0, float(amounts @ terms) / int(amounts.sum()))

    def costs(self, at: Longs, n_classes: int, rows: Indices, steps: Steps) -> Floats:
        """Values in the record's box, as ln, less ln of its class's records with its sensitive values."""
        return self._boxes(rows, steps) - np.log(self._alike(at, n_classes, rows, self._lacking))

    def joining(self, rows: Indices, target: Steps, sizes: Floats, there: Floats) -> Floats:
        """As if all records of the class had the same sensitive values."""
        return self._boxes(rows, target) - np.log(sizes)

    def _boxes(self, rows: Indices, steps: Steps) -> Floats:
        """(r,) ln of how many values the box of each row has."""
        codes = self._cells.codes(steps, rows)
        area = self._area(codes) - self._not_open(self._lacking, codes, rows)
        return np.where(self.withholds(steps, rows), self._everything, area)

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

    def _alike(self, at: Longs, n_classes: int, rows: Indices | slice, known: Bools) -> Floats:
        """(r,) records in the box of each row with its sensitive values."""
        keys, limit = at * self._n_values + self._value[rows], n_classes * self._n_values
        for i in np.flatnonzero(known):
            keys, limit = numbered(2 * keys + self._missing[rows, i], 2 * limit)
        keys, limit = numbered(keys, limit)
        return np.asarray(np.bincount(keys, self._cells.amounts[rows], limit)[keys], dtype=np.float64)
