"""What an attacker who knows the population believes of rows whose values were replaced at random.

The attacker takes the target for a person with the quasi-identifiers that the row shows, of whom the
population says a prior b, and reads the value v that is published there: the belief in i is in proportion to
b_i · PM[v][i] (Cao and Karras (2012), section 5; Definitions: perturbation).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from app.domain.arrays import Floats, Ints, Longs
from app.domain.mechanisms.drawn_release import DrawnRelease, PublishedMatrix
from app.domain.risk.bayes import PAIRS_AT_ONCE, BayesBlock
from app.domain.risk.population import Population, Units, likelihoods


class DrawnBeliefs:
    """Beliefs of units, which are rows that show the same, in blocks.

    Parameters
    ----------
    units
        Rows with the same quasi-identifiers and the same published value.
    population
        What the attacker knows of the quasi-identifiers and the attribute that was drawn.
    """

    def __init__(
        self, drawn: DrawnRelease, published: PublishedMatrix, units: Units, population: Population
    ) -> None:
        j = drawn.table.position(published.attribute)
        number = published.numbers(drawn.table.hierarchies[j])
        self.nodes: Ints = published.nodes(drawn.table.hierarchies[j])
        """(m,) node of each value that can be published; nobody has another one."""
        self.numbers: Longs = np.full(drawn.table.n_records, -1, dtype=np.int64)
        """(rows,) the most probable value of each row, once its block was found."""
        self._matrix, self._units, self._population = published.matrix, units, population
        rows = np.flatnonzero(units.of_record >= 0)
        self._published = np.zeros(units.n_units, dtype=np.int64)
        self._published[units.of_record[rows]] = number[drawn.table.codes[rows, j]]
        self._order = rows[np.argsort(units.of_record[rows], kind="stable")]
        self._ends = np.cumsum(units.records)

    def __iter__(self) -> Iterator[BayesBlock]:
        """A bounded number of (unit, value) pairs at a time."""
        at_once = max(1, PAIRS_AT_ONCE // len(self.nodes))
        for start in range(0, self._units.n_units, at_once):
            yield self._block(np.arange(start, min(start + at_once, self._units.n_units), dtype=np.int64))

    def _block(self, chosen: Longs) -> BayesBlock:
        u, m = len(chosen), len(self.nodes)
        found = likelihoods(self._population, self._units, np.repeat(chosen, m), np.tile(self.nodes, u))
        prior: Floats = found.prior.reshape(u, m)
        weights = prior * self._matrix.elsewhere
        places = np.arange(u), self._published[chosen]
        weights[places] = prior[places] * self._matrix.kept[places[1]]
        totals = weights.sum(axis=1)
        judged = totals > 0
        belief = np.divide(weights, totals[:, None], out=np.zeros((u, m)), where=judged[:, None])
        targets = np.zeros((u, m), dtype=np.int64)
        likeliest = belief.argmax(axis=1)
        targets[np.arange(u), likeliest] = self._units.records[chosen]
        first = int(self._ends[chosen[0]] - self._units.records[chosen[0]])
        rows = self._order[first : int(self._ends[chosen[-1]])]
        self.numbers[rows] = likeliest[self._units.of_record[rows] - chosen[0]]
        return BayesBlock(
            units=chosen,
            prior=np.where(judged[:, None], prior, 0.0),
            belief=belief,
            has_prior=np.ones(m, dtype=bool),
            targets=targets,
            is_contradicted=np.zeros(u, dtype=bool),
            is_inconsistent=~judged,
        )
