"""A histogram of records of which each is generalised against a public dictionary, against loops."""

from __future__ import annotations

import itertools
from collections import Counter
from unittest.mock import patch

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.hierarchies.hierarchy import Hierarchy
from app.domain.mechanisms.mechanism import MechanismContext
from app.domain.mechanisms.stability_histogram import StabilityHistogram, best_of, cells_of
from app.domain.rules.rule import TableRule
from app.domain.tables.table import Table
from tests.oracles.effort import examples

SOME = settings(max_examples=examples(60), deadline=None)
NAMES = ("one", "two", "three")


def tree(random) -> Hierarchy:
    """Up to five leaves, of which some hang below groups and some directly below ⊥."""
    parents: dict[str, list[str | None]] = {"g": [None], "h": [None]}
    for leaf in range(int(random.integers(2, 6))):
        parents[f"l{leaf}"] = [[None, "g", "h"][int(random.integers(3))]]
    return Hierarchy.from_parents(parents)


def chain(own: Hierarchy, node: int, most: int) -> list[int]:
    """The ancestors of a node, ⊥ first, no deeper than that."""
    return sorted((at for at in own.up(node) if own.depth[at] <= most), key=lambda at: own.depth[at])


class ByHand:
    """What a record becomes, by a loop over its generalisations and one over all entities, in whole numbers.

    u is the sum of depths, κ = 1, and Φ a sum of powers of two: of such small numbers floating-point sums and
    products are exact, and quotients differ where the true ones do.
    """

    def __init__(self, random):
        self.trees = tuple(tree(random) for _ in NAMES)
        self.cut = tuple(int(random.integers(0, own.height + 1)) for own in self.trees)
        # Of what the rule suppresses no dictionary may tell.
        self.known = [j for j, own in enumerate(self.trees) if self.cut[j] < own.height]
        n = int(random.integers(1, 7))
        self.entities = [[int(random.integers(1, own.n_nodes)) for own in self.trees] for _ in range(n)]
        self.weights = [(0.0, *sorted((2.0 ** random.integers(-2, 3, 2)).tolist())) for _ in NAMES]
        self.trade_off = float(random.choice([0.25, 0.5, 1.0, 2.0]))

    def worth(self, x) -> float:
        depths = [int(own.depth[at]) for own, at in zip(self.trees, x, strict=True)]
        phi = 1.0 + sum(own[at] for own, at in zip(self.weights, depths, strict=True))
        known = self.known
        inside = sum(all(x[j] in self.trees[j].up(own[j]) for j in known) for own in self.entities)
        return self.trade_off * max(inside, 1) / phi + sum(depths)

    def becomes(self, record) -> tuple[int, ...]:
        chains = [
            chain(own, at, own.height - cut)
            for own, at, cut in zip(self.trees, record, self.cut, strict=True)
        ]
        return max(itertools.product(*chains), key=self.worth)  # the first of equals: the more general

    @property
    def asked(self) -> StabilityHistogram:
        told = {NAMES[j]: tuple(self.trees[j].labels[own[j]] for own in self.entities) for j in self.known}
        return StabilityHistogram(
            epsilon=1.0,
            delta=1e-3,
            least_records=1,
            rule_is_public=True,
            dictionary=told,
            trade_off=self.trade_off,
            sensitivity=dict(zip(NAMES, self.weights, strict=True)),
        )

    def context(self, rows) -> MechanismContext:
        table = Table(NAMES, self.trees, np.array(rows, dtype=np.int32).reshape(-1, len(NAMES)))
        return MechanismContext(table, TableRule(self.cut), frozenset(NAMES))


def counted(context, asked) -> Counter:
    """In pieces of two records, and these in pieces of one: there are no seams."""
    small = {"RECORDS_AT_ONCE": 2, "ROWS_AT_ONCE": 1}
    with patch.multiple("app.domain.mechanisms.best_generalisations", **small):
        nodes, counts = cells_of(context, asked)
    return Counter({tuple(own): n for own, n in zip(nodes.tolist(), counts.tolist(), strict=True)})


@SOME
@given(st.integers(0, 2**32 - 1), st.integers(2, 9))
def test_every_record_is_counted_as_its_best_whatever_the_others_are(seed, n):
    """As by hand; of neighbours one count differs, by one."""
    random = np.random.default_rng(seed)
    own = ByHand(random)
    if not own.known:
        return
    rows = [[int(random.integers(0, at.n_nodes)) for at in own.trees] for _ in range(n)]
    more = counted(own.context(rows), own.asked)
    assert more == Counter(map(own.becomes, rows))
    for left_out in range(n):
        less = counted(own.context(rows[:left_out] + rows[left_out + 1 :]), own.asked)
        assert more - less == Counter([own.becomes(rows[left_out])])
        assert not less - more


def test_of_equals_the_more_general_is_shown():
    """One entity, Φ and u of depth 0 and 1: ⊥ is worth λ, the leaf λ/2 + 1."""
    own = Hierarchy.from_parents({"a": [None], "b": [None]})
    context = MechanismContext(Table(("x",), (own,), np.array([[1]], dtype=np.int32)), public=frozenset("x"))
    asked = {"epsilon": 1.0, "delta": 1e-3, "least_records": 1, "dictionary": {"x": ("a",)}}
    for trade_off, shown in ((1.99, 1), (2.0, 0), (2.01, 0)):
        found = StabilityHistogram(**asked, trade_off=trade_off)
        _, (best,) = best_of(context, found, asked["dictionary"])
        assert best.tolist() == [shown]
