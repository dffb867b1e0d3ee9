"""Lattices of single records on which searches are compared: every risk is a scan of the dictionary.

That is the setting of the papers (Definitions: lattice of a record): risk is the expensive function, utility
a sum of k look-ups, and no node is evaluated before a search asks for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from app.domain.arrays import Levels
from app.experiments.synthetic import Synthetic

Thresholds = npt.NDArray[np.int16]


@dataclass(frozen=True)
class CountedLattice:
    """One record against one dictionary that holds it.

    Parameters
    ----------
    weights, utilities
        ``w_j[s]`` and ``d_j[s]`` of each attribute after s steps, length h_j + 1, non-increasing.
    thresholds
        (N, k): the fewest steps per attribute after which the record is consistent with each entity.
    """

    weights: tuple[tuple[float, ...], ...]
    utilities: tuple[tuple[float, ...], ...]
    thresholds: Thresholds

    @property
    def heights(self) -> Levels:
        """Largest level of each attribute."""
        return tuple(len(chain) - 1 for chain in self.weights)

    def risks(self, levels: Levels) -> tuple[float, float]:
        """Φ / |ρ|, and the same as the bound of what lies below, since the record itself is consistent."""
        consistent = (self.thresholds <= np.array(levels, dtype=np.int16)).all(axis=1)
        harm = sum(chain[level] for chain, level in zip(self.weights, levels, strict=True))
        risk = harm / int(np.count_nonzero(consistent))
        return risk, risk

    def utility(self, levels: Levels) -> float:
        """Sum over the attributes."""
        return sum(chain[level] for chain, level in zip(self.utilities, levels, strict=True))


def lattice_of(data: Synthetic, row: int) -> CountedLattice:
    """An entity of the synthetic data against all of them: harmonic weights, depth-sum utility."""
    weights, utilities, thresholds = [], [], []
    for j, tree in enumerate(data.hierarchies):
        leaves = data.leaves[:, j]
        chain = [tree.ancestors_at(steps) for steps in range(tree.height + 1)]
        thresholds.append(sum((up[leaves] != up[leaves[row]]).astype(np.int16) for up in chain))
        above = [int(up[leaves[row]]) for up in chain]
        # Equal leaves under harmonic weights: w / number of leaves, ⊥ nothing.
        shares = [1 / int(tree.leaf_count[node]) for node in above[:-1]]
        weights.append((*(float(data.weights[row, j]) * share for share in shares), 0.0))
        utilities.append(tuple(float(tree.depth[node]) for node in above))
    return CountedLattice(tuple(weights), tuple(utilities), np.stack(thresholds, axis=1).astype(np.int16))


def random_lattice(heights: Sequence[int], entities: int, rng: np.random.Generator) -> CountedLattice:
    """Uniform thresholds, weights that fall by uniform amounts, depth-sum utility; entity 0 is the record."""
    falls = [rng.random(height) for height in heights]
    weights = tuple((*np.cumsum(fall[::-1])[::-1].tolist(), 0.0) for fall in falls)
    utilities = tuple(tuple(float(height - step) for step in range(height + 1)) for height in heights)
    thresholds = rng.integers(np.array(heights) + 1, size=(entities, len(heights))).astype(np.int16)
    thresholds[0] = 0
    return CountedLattice(weights, utilities, thresholds)


def generated_lattice(seed: int, heights: Sequence[int], entities: int) -> CountedLattice:
    """A pseudo-random instance: falls of weight and utility per step, and thresholds of entities."""
    state = seed

    def draw(below: int) -> int:
        nonlocal state
        state = (1103515245 * state + 12345) % 2**31
        return (state // 2**16) % below

    def chain(height: int, below: int) -> tuple[float, ...]:
        falls = [draw(below) + 1 for _ in range(height)]
        return tuple(float(sum(falls[step:])) for step in range(height + 1))

    weights, utilities = [], []
    for height in heights:
        utilities.append(chain(height, 6))
        weights.append(chain(height, 9))
    thresholds = [[0] * len(heights)]
    thresholds += [[draw(height + 1) for height in heights] for _ in range(entities - 1)]
    return CountedLattice(tuple(weights), tuple(utilities), np.array(thresholds, dtype=np.int16))


def frontier_size(heights: Sequence[int], floor: int) -> int:
    """Frontier nodes of depth-sum utility: coefficient of z^floor in ∏(1 + … + z^h) (Definitions: ARUBA).

    0 for a floor of 0 or less, which the top meets, and for one that nothing meets.
    """
    coefficients = [1]
    for height in heights:
        wider = [0] * (len(coefficients) + height)
        for power, coefficient in enumerate(coefficients):
            for step in range(height + 1):
                wider[power + step] += coefficient
        coefficients = wider
    return coefficients[floor] if 0 < floor < len(coefficients) else 0
