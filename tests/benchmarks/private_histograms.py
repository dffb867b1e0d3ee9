"""How fast exact noise is drawn and histograms are released, and what is left of Adult, beside other tools.

OpenDP is asked where ``PEERS_ENVIRONMENT`` names the environment that tests/peers/run makes for other tools.
"""

from __future__ import annotations

import itertools
import json
import os
import random
import secrets
import subprocess
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd

from app.domain.arrays import Floats, Ints, Levels
from app.domain.hierarchies.hierarchy import Hierarchy
from app.domain.mechanisms.declared_samples import generalisations_up_to_most
from app.domain.mechanisms.exact_noise import two_sided_geometric
from app.domain.mechanisms.mechanism import MechanismContext
from app.domain.mechanisms.noise_law import NoiseLaw
from app.domain.mechanisms.sampled_generalisation import SAMPLED_GENERALISATION, SampledGeneralisation
from app.domain.mechanisms.stability_histogram import STABILITY_HISTOGRAM, StabilityHistogram, cells_of
from app.domain.rules.rule import TableRule
from app.domain.tables.distinct import distinct_rows
from app.domain.tables.table import Table
from tests.benchmarks.anonymity import read_table
from tests.benchmarks.row import Report, Row, timed
from tests.oracles.noise_by_hand import geometric_by_hand

PEER: Final = Path(__file__).parents[1] / "peers" / "noise_calls.py"
REPEATS: Final = 5
ENTITIES: Final = 10_000
BY_HAND: Final = 2_000
DRAWS: Final = 100_000
DRAWS_BY_HAND: Final = 2_000
MICROSECONDS: Final = 25
RATE: Final = Fraction(1, 10)
RECORDS: Final = 1_000_000
LEAVES: Final = (50, 50, 40)
"""Three flat attributes with 100,000 combinations."""
HISTOGRAM: Final = StabilityHistogram(epsilon=1.0, delta=1e-8, least_records=RECORDS, rule_is_public=True)
NEAR: Final = 0.03
"""By how much of itself the mean magnitude of so much noise may be off: more than six standard errors."""

ADULT: Final = ("sex", "age", "race", "education")
SMALL: Final = ("sex", "race")
"""Of which the certified sampler can generalise so few records as Adult has."""
EPSILON, DELTA = 1.0, 1e-6


def rows(data: Path | None, report: Report) -> None:
    """Noise and histograms of generated records; what is left of Adult where the data are there."""
    for row in noise():
        report(row)
    report(histogram())
    report(histogram_of_choices())
    if data is not None and (data / "arx-adult").is_dir():
        adult = read_table(data / "arx-adult", "adult.csv", "adult_hierarchy_")
        report(histogram_of_adult(adult))
        report(sample_of_adult(adult))


def noise() -> Iterator[Row]:
    """Exact noise of many numbers, beside OpenDP and a loop as the source writes it."""
    ours = timed(lambda: two_sided_geometric(DRAWS, RATE, secrets.token_bytes), repeats=REPEATS)
    bar_seconds, bar = MICROSECONDS * 1e-6 * DRAWS, f"{MICROSECONDS} µs a number"
    system = random.SystemRandom()

    def by_hand() -> list[int]:
        return [geometric_by_hand(RATE, system.randrange) for _ in range(DRAWS_BY_HAND)]

    loop = timed(by_hand, repeats=REPEATS, warm_up=0).least * DRAWS / DRAWS_BY_HAND
    theirs = _opendp(DRAWS)
    beside = {"a loop in Python as the source writes it": loop}
    if theirs is not None:
        beside["OpenDP"] = theirs["seconds"]
    for name, seconds in beside.items():
        yield Row(
            f"exact noise for {DRAWS:,} counts, beside {name}",
            bar=bar,
            ours_seconds=ours.least,
            baseline=name,
            baseline_seconds=seconds,
            peak_bytes=ours.peak_bytes,
            counters={
                "microseconds_each": ours.least / DRAWS * 1e6,
                "theirs_microseconds_each": seconds / DRAWS * 1e6,
            },
            same_result=_is_near_mean(float(np.abs(ours.answer).mean()))
            and (theirs is None or _is_near_mean(theirs["mean"])),
            detail=f"least of {REPEATS} runs; the loop draws {DRAWS_BY_HAND:,}; mean magnitudes are compared",
            bar_seconds=bar_seconds,
        )


def _is_near_mean(mean: float) -> bool:
    expected = 2 * NoiseLaw(RATE).mean_above_zero
    return abs(mean - expected) < NEAR * expected


def _opendp(numbers: int, scale: float = float(1 / RATE)) -> dict[str, Any] | None:
    own = os.environ.get("PEERS_ENVIRONMENT")
    if own is None:
        return None
    command = [f"{own}/bin/python", str(PEER), repr(scale), str(numbers), str(REPEATS)]
    answer: dict[str, Any] = json.loads(
        subprocess.run(command, capture_output=True, text=True, check=True).stdout
    )
    return answer


def histogram() -> Row:
    """A noisy histogram of a million records, whole, beside pandas' counts with OpenDP's noise."""
    drawn = np.random.default_rng(1)
    trees = tuple(Hierarchy.from_rows([[f"v{number}"] for number in range(size)]) for size in LEAVES)
    codes = np.stack([own.leaves[drawn.integers(0, own.n_leaves, RECORDS)] for own in trees], axis=1)
    names = tuple("abc")
    people = MechanismContext(Table(names, trees, codes.astype(np.int32)), public=frozenset(names))
    ours = timed(lambda: STABILITY_HISTOGRAM.draw(people, HISTOGRAM, secrets.token_bytes), repeats=REPEATS)
    frame = pd.DataFrame(people.table.codes, columns=list(names))
    counted = timed(lambda: frame.groupby(list(names)).size(), repeats=REPEATS)
    theirs = _opendp(len(counted.answer), 1 / HISTOGRAM.epsilon)
    cells = distinct_rows([codes[:, j] for j in range(codes.shape[1])], people.table.sizes, RECORDS)
    return Row(
        f"stability_histogram of {RECORDS:,} records in {len(counted.answer):,} cells",
        bar="1.5 × pandas and OpenDP",
        ours_seconds=ours.least,
        baseline="pandas: counts" + ("" if theirs is None else ", and OpenDP: noise"),
        baseline_seconds=counted.least + (0.0 if theirs is None else theirs["seconds"]),
        peak_bytes=ours.peak_bytes,
        counters={}
        if theirs is None
        else {"pandas_seconds": counted.least, "opendp_seconds": theirs["seconds"]},
        same_result=cells.counts.tolist() == counted.answer.tolist(),
        detail=f"least of {REPEATS} runs; ours is the whole draw, with the threshold and the rows that are "
        "published; counts are compared",
        bar_seconds=1.5 * (counted.least + (0.0 if theirs is None else theirs["seconds"])),
    )


def histogram_of_choices() -> Row:
    """The whole draw against a dictionary, where nearly all records differ, beside a loop over records."""
    drawn = np.random.default_rng(1)
    leaves = list(itertools.product("01234", repeat=3))
    trees = (Hierarchy.from_rows([["".join(own[:depth]) for depth in (3, 2, 1)] for own in leaves]),) * 4
    codes, known = (
        np.stack([own.leaves[drawn.integers(0, own.n_leaves, n)] for own in trees], axis=1).astype(np.int32)
        for n in (RECORDS, ENTITIES)
    )
    names = tuple("abcd")
    people = MechanismContext(Table(names, trees, codes), public=frozenset(names))
    columns = {
        name: tuple(own.labels[at] for at in column)
        for name, own, column in zip(names, trees, known.T.tolist(), strict=True)
    }
    asked = replace(HISTOGRAM, rule_is_public=False, dictionary=columns, trade_off=0.5)
    ours = timed(lambda: STABILITY_HISTOGRAM.draw(people, asked, secrets.token_bytes), repeats=REPEATS)
    few = MechanismContext(Table(names, trees, codes[:BY_HAND]), public=people.public)
    baseline = timed(lambda: _choices_by_hand(few.table, known, asked.trade_off), repeats=1, warm_up=0)
    cells, of_cells = cells_of(few, asked)
    found = dict(zip(map(tuple, cells.tolist()), of_cells.tolist(), strict=True))
    return Row(
        f"stability_histogram of {RECORDS:,} records against {ENTITIES:,} entities, H = 256",
        bar="5 s of processor time",
        ours_seconds=ours.least_cpu_seconds,
        baseline="Python: the generalisations of every entity counted, and the best of each record looked up",
        baseline_seconds=baseline.cpu_seconds * RECORDS / BY_HAND,
        peak_bytes=ours.peak_bytes,
        counters={"wall_seconds": ours.least},
        same_result=found == baseline.answer,
        detail=f"least of {REPEATS} runs, with noise and threshold; the baseline by {BY_HAND:,} records; what"
        " these become is compared",
        bar_seconds=5.0,
    )


def _choices_by_hand(table: Table, known: Ints, trade_off: float) -> Counter[tuple[int, ...]]:
    """Φ is 1 and one more for each attribute that is shown, u how many levels of all are."""
    chains = [[sorted(own.up(node)) for node in range(own.n_nodes)] for own in table.hierarchies]
    depths = [own.depth.tolist() for own in table.hierarchies]

    def above(row: list[int]) -> Iterator[tuple[int, ...]]:
        return itertools.product(*(own[node] for own, node in zip(chains, row, strict=True)))

    below = Counter(itertools.chain.from_iterable(map(above, known.tolist())))

    def worth(x: tuple[int, ...]) -> float:
        levels: list[int] = [own[node] for own, node in zip(depths, x, strict=True)]
        return trade_off * max(below[x], 1) / (1 + sum(map(bool, levels))) + sum(levels)

    return Counter(max(above(row), key=worth) for row in table.codes.tolist())


@dataclass(frozen=True)
class Left:
    """What a release leaves: the records shown, their loss, and that of all, 1 for one that is not shown."""

    records: int
    loss_of_shown: float
    loss: float


def histogram_of_adult(adult: Table) -> Row:
    """The rule with the least loss, as if it had been declared, beside the largest k that loses no more."""
    table = _columns_of(adult, ADULT)
    asked = StabilityHistogram(
        epsilon=EPSILON, delta=DELTA, least_records=table.n_records, rule_is_public=True
    )
    # A cell is likely to be shown from the threshold on: this chooses the rule, not what is reported.
    rule = min(_rules(table), key=lambda own: _k_anonymous(table, own, asked.threshold).loss)
    people = MechanismContext(table, TableRule(rule), frozenset(ADULT))
    ours = timed(lambda: STABILITY_HISTOGRAM.draw(people, asked, secrets.token_bytes), repeats=REPEATS)
    return _row("stability_histogram", table, ours.least, ours.peak_bytes, _left(table, ours.answer.columns))


def sample_of_adult(adult: Table) -> Row:
    """The certified sampler, which shows a share of the records, beside the largest k that loses no more."""
    table = _columns_of(adult, SMALL)
    asked = SampledGeneralisation(
        epsilon=EPSILON,
        delta=DELTA,
        sampling_rate=0.1,
        least_records=table.n_records,
        trade_off=1 / table.n_records,
    )
    people = MechanismContext(table, public=frozenset(SMALL))
    ours = timed(lambda: SAMPLED_GENERALISATION.draw(people, asked, secrets.token_bytes), repeats=REPEATS)
    left = _left(table, ours.answer.columns)
    return _row(
        f"sampled_generalisation, H = {generalisations_up_to_most(people)}, s = 0.1",
        table,
        ours.least,
        ours.peak_bytes,
        left,
    )


def _row(name: str, table: Table, seconds: float, peak: int, left: Left) -> Row:
    own, k, theirs = _equal_loss(table, left.loss)
    return Row(
        f"Adult ({table.n_records:,} × {table.n_attributes}) by {name}, ε = {EPSILON:g}, δ = {DELTA:g}",
        bar="none",
        ours_seconds=seconds,
        peak_bytes=peak,
        counters={
            "records_shown": left.records,
            "loss_of_shown": left.loss_of_shown,
            "loss": left.loss,
            "k_of_no_greater_loss": k,
            "records_shown_at_k": theirs.records,
            "loss_at_k": theirs.loss,
        },
        same_result=theirs.loss <= left.loss or k == 1,
        detail="rows shown, and the mean over records and attributes of the share of other values that what "
        "is shown covers, 1 for records that are not shown; beside it the largest k for which a table-level "
        f"rule, {own}, loses no more, smaller classes suppressed",
    )


def _columns_of(adult: Table, names: tuple[str, ...]) -> Table:
    places = [adult.attributes.index(name) for name in names]
    return Table(names, tuple(adult.hierarchies[j] for j in places), adult.codes[:, places])


def _rules(table: Table) -> Iterator[Levels]:
    return itertools.product(*(range(own.height + 1) for own in table.hierarchies))


def _loss_of_nodes(table: Table, columns: tuple[Ints, ...]) -> Floats:
    """(rows,) the share of an attribute's other values that a node covers, mean of the attributes."""
    found = np.zeros(len(columns[0]))
    for own, nodes in zip(table.hierarchies, columns, strict=True):
        covered = (own.leaf_count[nodes] - 1) / max(1, own.n_leaves - 1)
        found += covered
    return np.asarray(found / len(columns))


def _left(table: Table, columns: tuple[Ints, ...]) -> Left:
    """Of rows that are shown for records; noise shows no more than there are."""
    shown = len(columns[0])
    lost = float(_loss_of_nodes(table, columns).sum())
    missing = max(0, table.n_records - shown)
    return Left(shown, lost / max(1, shown), (lost + missing) / (shown + missing))


def _k_anonymous(table: Table, rule: Levels, k: int) -> Left:
    columns = [
        own.ancestors_at(level)[table.codes[:, j]]
        for j, (own, level) in enumerate(zip(table.hierarchies, rule, strict=True))
    ]
    classes = distinct_rows(columns, table.sizes, table.n_records)
    is_shown = classes.counts >= k
    losses = _loss_of_nodes(table, tuple(classes.codes.T))
    shown = int(classes.counts[is_shown].sum())
    lost = float(losses[is_shown] @ classes.counts[is_shown])
    return Left(shown, lost / max(1, shown), (lost + table.n_records - shown) / table.n_records)


def _equal_loss(table: Table, loss: float) -> tuple[Levels, int, Left]:
    """The largest k, by halving, and the rule with the least loss at it."""

    def best(k: int) -> tuple[Left, Levels]:
        return min(((_k_anonymous(table, own, k), own) for own in _rules(table)), key=lambda one: one[0].loss)

    low, high = 1, table.n_records + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if best(middle)[0].loss <= loss else (low, middle)
    found, rule = best(low)
    return rule, low, found
