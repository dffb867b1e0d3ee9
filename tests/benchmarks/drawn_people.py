"""How fast the workers of a state are drawn anew, beside a draw of every cell's probability by NumPy."""

from __future__ import annotations

import math
import secrets
from pathlib import Path
from typing import Final

import numpy as np

from app.domain.arrays import Floats, Ints, Longs
from app.domain.hierarchies.hierarchy import Hierarchy
from app.domain.mechanisms.dirichlet_multinomial import DIRICHLET_MULTINOMIAL, DirichletMultinomial
from app.domain.mechanisms.mechanism import MechanismContext
from app.domain.tables.table import Table
from tests.benchmarks.row import Report, Row, timed

DESTINATIONS: Final = 100_000
BLOCKS: Final = 120_690
"""Of Machanavajjhala (2008), section 4.6: cells within 100 miles."""
BY_NUMPY: Final = 100
REPEATS: Final = 5
ASKED: Final = DirichletMultinomial(partition=("work",), epsilon=4.6, delta=1e-5, certificate="exact_tail")


def rows(data: Path | None, report: Report) -> None:
    """The plan, whose priors are not known yet, and the draw."""
    people = _state()
    planned = timed(lambda: DIRICHLET_MULTINOMIAL.plan(people, ASKED), repeats=1, warm_up=0)
    ours = timed(lambda: DIRICHLET_MULTINOMIAL.draw(people, ASKED, secrets.token_bytes), repeats=REPEATS)
    n = people.table.n_records
    counts = np.bincount(people.table.codes[:, 0], minlength=DESTINATIONS + 1)
    codes = people.table.codes
    homes = {node: codes[codes[:, 0] == node, 1] for node in np.flatnonzero(counts)[:BY_NUMPY].tolist()}
    priors = dict(zip(ours.answer.published.sizes, ours.answer.published.priors, strict=True))
    baseline = timed(lambda: _by_numpy(people.table, homes, priors), repeats=1, warm_up=0)
    drawn = np.bincount(ours.answer.columns[0], minlength=DESTINATIONS + 1)
    copied = _share_at_home(people.table, np.stack(ours.answer.columns, axis=1))
    by_numpy = _share_at_home(people.table, baseline.answer)
    report(
        Row(
            f"dirichlet_multinomial of {n:,} people at {DESTINATIONS:,} destinations, {BLOCKS:,} values",
            bar="1.5 s",
            ours_seconds=ours.least,
            baseline="NumPy: Dirichlet and multinomial of all values",
            baseline_seconds=baseline.least * DESTINATIONS / BY_NUMPY,
            peak_bytes=ours.peak_bytes,
            counters={
                "plan_seconds": planned.least,
                "sizes": len(priors),
                "share_of_occurring_pairs": copied,
                "share_of_occurring_pairs_by_numpy": by_numpy,
            },
            same_result=np.array_equal(drawn, counts) and abs(copied - by_numpy) < 0.1,
            detail=f"least of {REPEATS} runs, with priors that the plan takes {planned.least:.3g} s to find; "
            f"the baseline draws {BY_NUMPY:,} destinations and is extrapolated from these, its draws are not "
            "exact. Totals are compared, and the share of drawn people whose pair occurs among the people",
            bar_seconds=1.5,
        )
    )


def _state() -> MechanismContext:
    """About fifteen workers a destination, and homes nearer to it more often."""
    rng = np.random.default_rng(1)
    sizes = np.maximum(1, rng.lognormal(math.log(15) - 0.98, 1.4, DESTINATIONS).astype(np.int64))
    trees = tuple(
        Hierarchy.from_rows([[f"{kind}{number}"] for number in range(size)])
        for kind, size in (("w", DESTINATIONS), ("h", BLOCKS))
    )
    works = np.repeat(rng.permutation(DESTINATIONS), sizes)
    homes = (works + (rng.pareto(1.0, len(works)) * 20).astype(np.int64)) % BLOCKS
    codes = np.stack([trees[0].leaves[works], trees[1].leaves[homes]], axis=1)
    table = Table(("work", "home"), trees, codes[rng.permutation(len(codes))])
    return MechanismContext(table, public=frozenset({"home"}))


def _by_numpy(table: Table, of_nodes: dict[int, Ints], priors: dict[int, float]) -> Longs:
    """(rows, 2) drawn people of the homes at each destination, by a vector over all values for each."""
    rng, found = np.random.default_rng(2), []
    leaves = table.hierarchies[1].leaves
    for node, homes in of_nodes.items():
        weights: Floats = np.full(BLOCKS, priors[len(homes)])
        np.add.at(weights, np.searchsorted(leaves, homes), 1.0)
        times = rng.multinomial(len(homes), rng.dirichlet(weights))
        drawn = np.repeat(leaves, times)
        found.append(np.stack([np.full(len(drawn), node), drawn], axis=1))
    return np.concatenate(found)


def _share_at_home(table: Table, drawn: Longs) -> float:
    """The share of rows that some record equals."""
    one, other = (own.astype(np.int64) @ (2**32, 1) for own in (table.codes, drawn))
    return float(np.isin(other, one).mean())
