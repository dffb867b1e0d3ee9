"""How many records have to go for an estimate of uniques, against parts of random samples."""

from __future__ import annotations

import numpy as np
import pytest

from app.domain.classes.least_uniqueness import least_gone
from app.domain.classes.uniqueness import pitman, sample_of, zayatz
from tests.oracles.effort import examples


def estimates(records, people):
    """The share that Zayatz estimates, and that of Pitman where he has a solution, else the same."""
    sample = sample_of(records, people)
    by_zayatz, by_pitman = zayatz(sample).uniques, pitman(sample).uniques
    return by_zayatz / people, (by_zayatz if by_pitman is None else by_pitman) / people


def divided(rng, records):
    """The classes of a more specific rule: some fall into two."""
    cut = np.array([int(rng.integers(0, size)) if rng.random() < 0.3 else 0 for size in records.tolist()])
    parts = np.concatenate([records - cut, cut])
    return parts[parts > 0]


@pytest.mark.parametrize("by_pitman", [False, True])
def test_whatever_goes_is_as_many_records_at_least_where_an_estimate_is_low_enough(by_pitman):
    """Also at rules that divide the classes further; most bounds say more than that nobody goes."""
    rng = np.random.default_rng(23)
    told = 0
    for _ in range(examples(400)):
        size = int(rng.choice([4, 20, 60, 200]))
        records = np.minimum(rng.zipf(float(rng.choice([1.3, 1.7, 2.5])), size), 40)
        n, people_per_record = int(records.sum()), float(rng.choice([1.0, 1.5, 3.0, 10.0, 80.0]))
        people = round(n * people_per_record)
        finer = divided(rng, records) if rng.random() < 0.5 else records
        # Those of fewest records go, but for some that stay.
        order = np.argsort(finer + 0.5 * rng.random(len(finer)) + 50 * (rng.random(len(finer)) < 0.1))
        kept = finer[order[int(rng.integers(0, max(1, int(0.6 * len(finer))))) :]]
        left = int(kept.sum())
        share = estimates(kept, max(1, round(people * left / n)))[by_pitman]
        unique = int(np.count_nonzero(records == 1))
        fewest = least_gone(len(records), unique, n, people, share, by_pitman)
        assert fewest <= n - left
        told += least_gone(len(records), unique, n, people, share / 3, by_pitman) > 0
    assert told > examples(400) / 10


def test_a_table_of_uniques_alone_has_to_lose_many_of_them():
    """Of 1,000 unique records, each of ten people, hardly any may be kept at a hundredth."""
    assert least_gone(1000, 1000, 1000, 10_000, 0.01, by_pitman=False) > 900
    assert least_gone(900, 850, 1000, 10_000, 0.01, by_pitman=True) > 500
    assert least_gone(10, 0, 1000, 10_000, 0.0, by_pitman=True) == 0
