"""Sample-Point of Fouad (2012), algorithm 7, as far as it can be meant: a heuristic without a promise.

A point of the polytope of a record's lattice is drawn by hit-and-run with the density that the Lovász
extension of the scores gives, within one layer of the sensitivity, and rounded. No privacy follows: which
points are allowed, and how often a rounding is thrown away, depend on the data. No route releases it.

As printed the layers miss the factor φ_l, and records are counted the wrong way round; both are corrected.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np

from app.domain.arrays import Floats, Levels
from app.domain.search.aggregate.approximation import Outcome, draw, outcomes, point_of
from app.domain.search.aggregate.chain_records import ChainRecord

MOST_ROUNDINGS: Final = 1000
_BISECTIONS: Final = 40
_GRID: Final = 33


def layer_edges(least: float, greatest: float, ratio: float) -> tuple[float, ...]:
    """φ_l·(1+ε″)^i up to φ_u or beyond: half-open layers, of which the last is closed."""
    number = max(1, math.ceil(math.log(greatest / least) / math.log1p(ratio) - 1e-12))
    return tuple(least * (1.0 + ratio) ** i for i in range(number + 1))


def most_roundings(share: float, kept: float) -> float:
    """Expected roundings until one covers σ·t records, at most, by Markov's inequality."""
    return (1.0 - kept * share) / (share * (1.0 - kept))


def flat_law(chains: int) -> tuple[float, ...]:
    """Of a flat density on two-element chains: how likely a rounding raises a given j of them."""
    return tuple(1.0 / ((chains + 1) * math.comb(chains, j)) for j in range(chains + 1))


@dataclass(frozen=True, eq=False)
class Body:
    """What of the polytope is drawn from: T̂ ≥ crowd and Φ̂ between two edges of layers."""

    record: ChainRecord
    crowd: float
    lowest: float
    highest: float

    def outcomes(self, point: Floats) -> tuple[Outcome, ...]:
        """The level sets of a point."""
        return outcomes(point_of(point, self.record.heights))

    def covered(self, point: Floats) -> float:
        """T̂: every entity counts as much as the least of the steps from which it is below."""
        record = self.record
        least = np.ones(len(record.thresholds))
        for j, part in enumerate(np.split(point, np.cumsum(record.heights)[:-1])):
            least = np.minimum(least, np.concatenate([[1.0], part])[record.thresholds[:, j]])
        return float(least @ record.multiplicity)

    @cached_property
    def bounds(self) -> tuple[Floats, Floats]:
        """A·x ≤ b: within [0, 1], falling along each chain, and Φ̂ within the layer, which is linear."""
        record, n = self.record, self.record.n_steps
        rows, limits, at = [], [], 0
        for height in record.heights:
            for step in range(height + 1):
                row = np.zeros(n)
                if step < height:
                    row[at + step] = 1.0
                if step:
                    row[at + step - 1] = -1.0
                rows.append(row)
                limits.append(0.0 if step else 1.0)
            at += height
        slope = np.concatenate([np.diff(own) for own in record.weights])
        bottom = record.phi((0,) * len(record.heights))
        rows += [slope, -slope]
        limits += [self.highest - bottom, bottom - self.lowest]
        return np.array(rows), np.array(limits)

    def reach(self, point: Floats, way: Floats) -> float:
        """How far the body goes from a point of it in one direction."""
        rows, limits = self.bounds
        rise, room = rows @ way, np.maximum(limits - rows @ point, 0.0)
        far = float((room[rise > 0] / rise[rise > 0]).min(initial=math.inf))
        if self.crowd <= 0 or self.covered(point + far * way) >= self.crowd:
            return far
        inside = 0.0
        for _ in range(_BISECTIONS):
            middle = (inside + far) / 2.0
            inside, far = (
                (middle, far) if self.covered(point + middle * way) >= self.crowd else (inside, middle)
            )
        return inside


@dataclass(frozen=True)
class SamplePoint:
    """Hit-and-run on a body, with the density e^(scale · extension of λT + Φ·u^κ)."""

    body: Body
    scale: float
    trade_off: float
    kappa: int

    def height(self, point: Floats) -> float:
        """The logarithm of the density: the mean over level sets."""
        record = self.body.record
        return self.scale * sum(
            own.probability
            * (
                self.trade_off * record.count(own.levels)
                + record.phi(own.levels) * record.utility(own.levels) ** self.kappa
            )
            for own in self.body.outcomes(point)
        )

    def step(self, point: Floats, random: np.random.Generator) -> Floats:
        """One step: a direction, the segment within the body, and a point of it by rejection."""
        way = random.normal(size=len(point))
        low, high = (self.body.reach(point, sign * way) for sign in (-1.0, 1.0))
        if not self.scale:
            return np.asarray(point + random.uniform(-low, high) * way)
        places = np.linspace(-low, high, _GRID)
        top = max(self.height(point + own * way) for own in places)
        while True:
            place = random.uniform(-low, high)
            # A concave height between two points of the grid is not above the nearer of them by much.
            if math.log(random.random()) <= self.height(point + place * way) - top:
                return np.asarray(point + place * way)

    def drawn(
        self, start: Floats, kept: float, steps: int, random: np.random.Generator
    ) -> tuple[Levels, Floats]:
        """A rounding that covers a share ``kept`` of the crowd, ⊥ if none does; and the point it is of."""
        point = start
        for _ in range(steps):
            point = self.step(point, random)
        chances = self.body.outcomes(point)
        for _ in range(MOST_ROUNDINGS):
            levels = draw(chances, random)
            if self.body.record.count(levels) >= kept * self.body.crowd:
                return levels, point
        return self.body.record.heights, point


def bodies_of(record: ChainRecord, crowd: float, ratio: float) -> list[tuple[Body, Floats]]:
    """The layers that have a point with T̂ ≥ crowd, each with one; that of ⊥ among them.

    The greatest T̂ on a layer is on a segment between two nodes: one linear bound beside a concave function.
    """
    nodes = list(itertools.product(*(range(height + 1) for height in record.heights)))
    phis = np.array([record.phi(own) for own in nodes])
    counts = np.array([float(record.count(own)) for own in nodes])
    edges = layer_edges(float(phis.min()), float(phis.max()), ratio)
    found = []
    for low, high in itertools.pairwise(edges):
        body = Body(record, crowd, low, high)
        start = _start(nodes, phis, counts, body)
        if start is not None:
            found.append((body, start))
    return found


def _start(nodes: Sequence[Levels], phis: Floats, counts: Floats, body: Body) -> Floats | None:
    """The point between two nodes of the layer that covers most; None if that is below the crowd."""
    best: tuple[float, Floats] | None = None
    for one, other in itertools.combinations_with_replacement(range(len(nodes)), 2):
        apart = phis[other] - phis[one]
        shares = (
            {0.0, 1.0}
            if not apart
            else {0.0, 1.0, *((np.array([body.lowest, body.highest]) - phis[one]) / apart)}
        )
        for share in (own for own in shares if 0 <= own <= 1):
            phi = (1 - share) * phis[one] + share * phis[other]
            covered = (1 - share) * counts[one] + share * counts[other]
            is_within = body.lowest - 1e-12 <= phi <= body.highest + 1e-12
            if is_within and covered >= body.crowd and (best is None or covered > best[0]):
                heights = body.record.heights
                best = (
                    covered,
                    (1 - share) * _vertex(nodes[one], heights) + share * _vertex(nodes[other], heights),
                )
    return None if best is None else best[1]


def _vertex(levels: Levels, heights: Levels) -> Floats:
    """A node as a point: 1 for each step that it takes."""
    return np.concatenate(
        [
            (np.arange(height) < level).astype(np.float64)
            for level, height in zip(levels, heights, strict=True)
        ]
    )


@dataclass(frozen=True)
class PointQuestion:
    """ε″ of the layers, the shares θ and σ, and what the density is made of."""

    ratio: float
    share: float
    kept: float
    exponent: float
    trade_off: float
    kappa: int


def sample_point(
    record: ChainRecord, records: int, asked: PointQuestion, steps: int, random: np.random.Generator
) -> Levels:
    """One generalisation of a record, by a layer that is drawn among those that are not empty."""
    bodies = bodies_of(record, asked.share * records, asked.ratio)
    body, start = bodies[int(random.integers(len(bodies)))]
    scale = asked.exponent / (records * body.lowest)
    walk = SamplePoint(body, scale, asked.trade_off, asked.kappa)
    return walk.drawn(start, asked.kept, steps, random)[0]


def rounding_shares(chains: int, draws: int, seed: int) -> Sequence[float]:
    """How often roundings of a flat density raise j of so many two-element chains, by hit-and-run."""
    values = [np.array([1.0, 0.0])] * chains
    record = ChainRecord.of(values, values, np.zeros((1, chains), dtype=np.int64))
    walk = SamplePoint(Body(record, 0.0, 0.0, record.phi((0,) * chains)), 0.0, 1.0, 1)
    random, point = np.random.default_rng(seed), np.full(chains, 0.5)
    seen = np.zeros(chains + 1)
    for _ in itertools.repeat(None, draws):
        levels, point = walk.drawn(point, 1.0, chains * chains, random)
        seen[sum(levels)] += 1
    return [float(own) / draws for own in seen]
