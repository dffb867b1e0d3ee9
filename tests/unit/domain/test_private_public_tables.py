"""Private releases of public tables: what is too small for a sample says so, with the size needed."""

from __future__ import annotations

import csv
import itertools
import math
import os
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from app.domain.errors import InvalidInput
from app.domain.hierarchies.hierarchy import Hierarchy
from app.domain.mechanisms.mechanism import MechanismContext
from app.domain.mechanisms.noise_law import NoiseLaw
from app.domain.mechanisms.sampled_generalisation import SAMPLED_GENERALISATION, SampledGeneralisation
from app.domain.mechanisms.stability_histogram import STABILITY_HISTOGRAM, StabilityHistogram
from app.domain.tables.table import Table
from tests.oracles.perturbation_by_hand import stream
from tests.oracles.real_frames import WITH_MISSING, WITHOUT_MISSING, frame
from tests.oracles.whole_adult import adult

DATA = os.environ.get("PRIVACY_RISK_DATA")
pytestmark = [
    pytest.mark.real_data,
    pytest.mark.skipif(DATA is None, reason="PRIVACY_RISK_DATA does not name the folder of real data"),
]
DECLARED = {
    "sex": Hierarchy.from_rows([[own, "*"] for own in ("0", "1")]),
    "educ": Hierarchy.from_rows(
        [[str(own), "school" if own < 9 else "college", "*"] for own in range(1, 17)]
    ),
    "race": Hierarchy.from_rows([[str(own), "*"] for own in range(1, 7)]),
    "married": Hierarchy.from_rows([[own, "*"] for own in ("0", "1")]),
}


def pums(name: str) -> MechanismContext:
    """Four columns with the hierarchies of their published codes; a missing value is ⊥."""
    with (Path(DATA or "") / "pums-sample" / name).open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    nodes = [
        [tree.node_of(row[column]) if row[column] else 0 for row in rows] for column, tree in DECLARED.items()
    ]
    table = Table(tuple(DECLARED), tuple(DECLARED.values()), np.array(nodes, dtype=np.int32).T)
    return MechanismContext(table, public=frozenset(DECLARED))


@pytest.mark.parametrize(("name", "records"), [("PUMS.csv", 1000), ("PUMS_null.csv", 1948)])
def test_a_sample_of_census_records_is_refused_with_the_size_needed(name, records):
    of = pums(name)
    assert of.table.n_records == records
    asked = {"epsilon": 1.0, "delta": 1e-6, "sampling_rate": 0.1, "trade_off": 1e-3, "phi_offset": 1.0}
    own = SampledGeneralisation(**asked, least_records=records)
    plan = SAMPLED_GENERALISATION.plan(of, own)
    (fault,) = plan.missing
    needed = math.ceil(plan.constants["records_needed"])
    assert (fault.code, needed > records) == ("database-too-small", True)
    assert f"{needed:,} are needed" in fault.message
    with pytest.raises(InvalidInput):
        SAMPLED_GENERALISATION.draw(of, own, stream("pums"))
    histogram = StabilityHistogram(epsilon=1.0, delta=1e-6, least_records=records)
    assert STABILITY_HISTOGRAM.plan(of, histogram).is_feasible
    assert len(STABILITY_HISTOGRAM.draw(of, histogram, stream("pums")).columns[0]) > records / 10


KNOWN = ("sex", "race", "marital-status", "education")


def people(name: str) -> MechanismContext:
    whole = adult()
    trees = tuple(whole.hierarchies[whole.attributes.index(own)] for own in KNOWN)
    codes = [tree.encode(frame(name)[own].tolist())[0] for own, tree in zip(KNOWN, trees, strict=True)]
    table = Table(KNOWN, trees, np.stack(codes, axis=1).astype(np.int32))
    return MechanismContext(table, public=frozenset(KNOWN))


def losses(table: Table) -> list[np.ndarray]:
    """Per attribute and node the share of the other leaves that it stands for."""
    found = []
    for tree in table.hierarchies:
        above = np.stack([tree.ancestors_at(level)[tree.leaves] for level in range(tree.height + 1)])
        below = np.array([(above == node).any(axis=0).sum() for node in range(tree.n_nodes)])
        found.append((below - 1) / (tree.n_leaves - 1))
    return found


def loss_of(columns: list[np.ndarray], shares: list[np.ndarray]) -> np.ndarray:
    return np.mean([own[column] for own, column in zip(shares, columns, strict=True)], axis=0)


def greatest_k(table: Table, most: float) -> int:
    """The greatest k that a rule of levels with suppression keeps without losing more than that."""
    shares, best = losses(table), 1
    rows, of_row = np.unique(table.codes, axis=0, return_counts=True)
    for levels in itertools.product(*(range(own + 1) for own in table.heights)):
        shown = [
            tree.ancestors_at(level)[rows[:, j]]
            for j, (tree, level) in enumerate(zip(table.hierarchies, levels, strict=True))
        ]
        classes, number = np.unique(np.stack(shown, axis=1), axis=0, return_inverse=True)
        counts = np.bincount(number.ravel(), of_row).astype(int)
        own = loss_of(list(classes.T), shares)
        order = np.argsort(counts)
        counts, own = counts[order], own[order]
        # With class i the smallest that is kept, all before it are lost.
        kept = np.cumsum((counts * (1 - own))[::-1])[::-1] / table.n_records
        ok = np.flatnonzero(1 - kept <= most)
        best = max([best, *counts[ok].tolist()])
    return best


@pytest.mark.parametrize(
    ("name", "of_histogram", "of_sample"),
    [
        (WITHOUT_MISSING, (28_579, 14), (6_022, 0.960, 25_933)),
        (WITH_MISSING, (47_030, 15), (9_738, 0.939, 41_762)),
    ],
)
def test_what_is_kept_of_adult_beside_k_anonymous_releases_of_the_same_loss(name, of_histogram, of_sample):
    """The figures of the documentation: ε = 1 and δ = 10⁻⁶, sex, race, marital status and education."""
    of = people(name)
    records = of.table.n_records
    law = NoiseLaw(Fraction(1))
    threshold = law.threshold(Fraction(1, 10**6))
    _, counts = np.unique(of.table.codes, axis=0, return_counts=True)
    kept = sum(own * float(law.tail(threshold - int(own))) for own in counts)
    found = round(kept), greatest_k(of.table, 1 - kept / records)
    own = SampledGeneralisation(
        epsilon=1.0, delta=1e-6, sampling_rate=0.2, least_records=30_000, trade_off=1e-5, phi_offset=1.0
    )
    drawn = SAMPLED_GENERALISATION.draw(of, own, stream("adult"))
    lost = 1 - (1 - loss_of(list(drawn.columns), losses(of.table))).sum() / records
    assert found == of_histogram
    assert (len(drawn.columns[0]), round(lost, 3), greatest_k(of.table, lost)) == of_sample
