"""What a sample is worth on average: the law of the toy database, and how far noise can be from it."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from app.domain.hierarchies.hierarchy import Hierarchy
from app.domain.mechanisms.declared_samples import records_of, scores_of
from app.domain.mechanisms.expected_value import expected_value
from app.domain.mechanisms.mechanism import MechanismContext
from app.domain.mechanisms.noise_law import NoiseLaw
from app.domain.mechanisms.sampled_generalisation import (
    SAMPLED_GENERALISATION,
    SampledGeneralisation,
    constants_of,
)
from app.domain.tables.table import Table

CITIES = Hierarchy.from_parents({"Laf": ["IN"], "Day": ["IN"], "Chi": ["IL"], "IN": [None], "IL": [None]})
JOBS = Hierarchy.from_parents({"Eng": [None], "Nur": [None]})
TOY = [
    ("Laf", "Eng"), ("Laf", "Eng"), ("Laf", "Nur"), ("Day", "Eng"),
    ("Day", "Nur"), ("Chi", "Nur"), ("Chi", "Nur"), ("Chi", "Eng"),
]  # fmt: skip


def context(rows):
    codes = np.array([(CITIES.node_of(c), JOBS.node_of(j)) for c, j in rows], dtype=np.int32)
    table = Table(("city", "job"), (CITIES, JOBS), codes)
    return MechanismContext(table, None, public=frozenset(("city", "job")))


def asked(**more):
    usual = {
        "epsilon": 1.0, "delta": 1e-6, "sampling_rate": 0.1, "least_records": 4000, "trade_off": 0.1,
        "sensitivity": {"city": (0.1, 0.3, 0.6), "job": (0.1, 0.5)}, "phi_offset": 0.0,
    }  # fmt: skip
    return SampledGeneralisation(**usual | more)


def values_by_hand(rows, trade_off):
    """Of each record f by generalisation, with how many records that has."""
    weights = ({2: 0.6, 1: 0.3, 0: 0.1}, {1: 0.5, 0: 0.1})
    chains = {"Laf": "IN", "Day": "IN", "Chi": "IL"}
    for city, job in rows:
        found = {}
        for x in itertools.product((city, chains[city], "*"), (job, "*")):
            depth = ({city: 2, "*": 0}.get(x[0], 1), {job: 1, "*": 0}[x[1]])
            below = sum((x[0] in (c, chains[c], "*")) and (x[1] in (j, "*")) for c, j in rows)
            phi = weights[0][depth[0]] + weights[1][depth[1]]
            found[x] = (below, trade_off * below / phi + sum(depth))
        yield found


def test_the_mean_is_that_of_the_law_written_out():
    """Vector V2: with 2.4 records or more and ε' = 2 the first record is worth 2.709330."""
    of = context(TOY)
    told = expected_value(
        records_of(of), 0.25, lambda below: below >= 2.4, lambda below: np.zeros(len(below)),
        scores_of(of, asked()).score, 2 / 8,
    )  # fmt: skip
    means, bests, all_bests = [], [], []
    for found in values_by_hand(TOY, 0.1):
        kept = [f for below, f in found.values() if below >= 2.4]
        powers = [math.exp(2 * f / 8) for f in kept]
        means.append(sum(p * f for p, f in zip(powers, kept, strict=True)) / sum(powers))
        bests.append(max(kept))
        all_bests.append(max(f for _, f in found.values()))
    assert means[0] == pytest.approx(2.709330, abs=1e-6)
    assert told.objective == pytest.approx(0.25 * sum(means) / 8, rel=1e-12)
    assert (told.best_frequent, told.best) == pytest.approx((sum(bests) / 8, sum(all_bests) / 8), rel=1e-12)
    assert (told.rows, told.error_at_most) == (2, 0)


@pytest.mark.parametrize("threshold", [2, 4, 6])
def test_what_noise_can_change_is_within_the_bound(threshold):
    """Every outcome of the noise on one attribute of two leaves, with its exact probability."""
    leaves = Hierarchy.from_parents({"a": [None], "b": [None]})
    codes = np.array([[leaves.node_of(own)] for own in "aaabbbbb"], dtype=np.int32)
    of = MechanismContext(Table(("x",), (leaves,), codes), None, public=frozenset("x"))
    law = NoiseLaw(Fraction(1, 2))

    def in_doubt(below):
        steps = np.where(below >= threshold, below - threshold + 1, threshold - below)
        return np.array([float(law.tail(int(own))) for own in steps])

    scores = scores_of(of, asked(sensitivity={"x": (0.5, 1.0)}, trade_off=0.4))
    told = expected_value(records_of(of), 1.0, lambda below: below >= threshold, in_doubt, scores.score, 0.7)
    exact = 0.0
    for count in (3, 5):
        passes = float(law.tail(threshold - count))
        root, own = 0.4 * 8 / 0.5, 0.4 * count / 1.0 + 1
        weight = 1 / (1 + math.exp(0.7 * (root - own)))
        exact += count / 8 * (passes * (weight * own + (1 - weight) * root) + (1 - passes) * root)
    assert abs(exact - told.objective) <= told.error_at_most
    assert told.error_at_most < 0.9 * (told.best - 1.0)


def test_of_a_large_table_noise_changes_next_to_nothing():
    of = context(TOY * 600)
    own = asked(trade_off=1e-4)
    told = SAMPLED_GENERALISATION.value(of, own)
    assert 0 < told.error_at_most < 1
    assert told.objective + told.error_at_most < 0.1 * told.best_frequent
    exponent = constants_of(of, own).exponent / 4800
    assert told.objective == pytest.approx(
        expected_value(
            records_of(of), 0.1, lambda below: below >= constants_of(of, own).threshold,
            lambda below: np.zeros(len(below)), scores_of(of, own).score, exponent,
        ).objective
    )  # fmt: skip
    dictionary = {"city": ("Laf", "Chi", "Chi"), "job": ("Eng", "Nur", "Eng")}
    public = SAMPLED_GENERALISATION.value(of, asked(trade_off=0.1, dictionary=dictionary, exponent_range=0.2))
    assert public.best_frequent <= public.best
    assert public.objective <= 0.1 * public.best_frequent
