"""A histogram of records of which each is generalised against a public dictionary, against loops."""

from __future__ import annotations

import functools
import itertools
import tracemalloc
from collections import Counter
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.hierarchies.hierarchy import Hierarchy
from app.domain.mechanisms.best_generalisations import BYTES_PER_NODE, MOST_CELLS, best_generalisations
from app.domain.mechanisms.generalised_records import GeneralisedRecords
from app.domain.mechanisms.mechanism import MechanismContext
from app.domain.mechanisms.public_dictionary import PublicDictionary
from app.domain.mechanisms.public_scores import PublicScores
from app.domain.mechanisms.stability_histogram import StabilityHistogram, best_of, cells_of
from app.domain.rules.rule import TableRule
from app.domain.tables.table import Table
from tests.oracles.effort import examples

SOME = settings(max_examples=examples(60), deadline=None)
NAMES = ("one", "two", "three")
IN_SMALL_PIECES = patch.multiple(
    "app.domain.mechanisms.best_generalisations", RECORDS_AT_ONCE=8, ROWS_AT_ONCE=3
)
WITHOUT_CELLS = patch("app.domain.mechanisms.best_generalisations.MOST_CELLS", 0)


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


def deeper_tree(random) -> Hierarchy:
    """Up to twelve nodes, each below one before it, up to four levels deep."""
    parents: dict[str, list[str | None]] = {"0": [None]}
    depths = {"0": 1}
    for node in range(1, int(random.integers(2, 12))):
        above = str(random.choice([own for own in depths if depths[own] < 4] + ["⊥"]))
        parents[str(node)] = [None if above == "⊥" else above]
        depths[str(node)] = depths.get(above, 0) + 1
    return Hierarchy.from_parents(parents)


def chosen_among(seed, kappa, trade_off):
    """Twenty records, fifteen entities of which one attribute is not known, and an objective."""
    random = np.random.default_rng(seed)
    trees = tuple(deeper_tree(random) for _ in range(4))
    depths = tuple(int(random.integers(1, own.height + 1)) for own in trees)
    weights, utilities = ([random.random(own.n_nodes).round(1) for own in trees] for _ in range(2))
    scores = PublicScores(tuple(weights), tuple(utilities), trade_off, kappa, 0.1)
    known = tuple(random.permutation(4)[:3].tolist())
    codes = [random.integers(0, own.n_nodes, 20).astype(np.int32) for own in trees]
    codes = [
        own.ancestors_at(own.height - most)[at] for own, most, at in zip(trees, depths, codes, strict=True)
    ]
    records = GeneralisedRecords(trees, depths, np.stack(codes, axis=1), np.ones(20, dtype=np.int64))
    entities = np.stack([random.integers(0, trees[j].n_nodes, 15) for j in known], axis=1).astype(np.int32)
    of_known = tuple(trees[j] for j in known)
    book = PublicDictionary(
        known,
        GeneralisedRecords(of_known, tuple(own.height for own in of_known), entities, np.ones(15, np.int64)),
    )
    return records, book, scores


@SOME
@given(st.integers(0, 2**32 - 1), st.integers(0, 3), st.sampled_from([0.02, 0.1, 0.3, 1.0]))
def test_a_record_becomes_the_same_alone_as_in_any_table(seed, kappa, trade_off):
    """To the last digit of worths that are rounded; in one piece or several, with cells or without."""
    records, book, scores = chosen_among(seed, kappa, trade_off)
    whole = np.stack(best_generalisations(records, book, scores), axis=1)
    with WITHOUT_CELLS, IN_SMALL_PIECES:
        assert (np.stack(best_generalisations(records, book, scores), axis=1) == whole).all()
    for row in range(0, len(whole), 4):
        alone = best_generalisations(records.of_rows(np.array([row])), book, scores)
        assert np.concatenate(alone).tolist() == whole[row].tolist()


def test_a_worth_that_is_no_number_is_refused_whatever_the_records_are():
    own = Hierarchy.from_parents({"a": [None], "b": [None]})
    none = GeneralisedRecords((own,), (1,), np.empty((0, 1), np.int32), np.empty(0, np.int64))
    one = GeneralisedRecords((own,), (1,), np.array([[1]], np.int32), np.ones(1, np.int64))
    fine, odd = np.array([0.0, 1.0, 1.0]), np.array([0.0, 1.0, np.nan])
    for weights, utilities, offset in ((odd, fine, 1.0), (fine, odd, 1.0), (fine, fine, 0.0)):
        scores = PublicScores((weights,), (utilities,), 1.0, 1, offset)
        with pytest.raises(ValueError, match="no finite number"):
            best_generalisations(none, PublicDictionary((0,), one), scores)


def test_a_dictionary_of_many_groups_takes_no_more_memory_than_is_estimated():
    """Each of 5,000 groups of two could meet any of 5,000 values of every other attribute."""
    own = Hierarchy.from_parents({str(leaf): [None] for leaf in range(5_000)})
    pairs = np.tile(np.arange(1, 5_001).repeat(2)[:, None], (1, 4)).astype(np.int32)
    entities = GeneralisedRecords((own,) * 4, (1,) * 4, pairs, np.ones(10_000, np.int64))
    depth = own.depth.astype(np.float64)
    scores = PublicScores((depth,) * 4, (depth,) * 4, 1e-4, 1, 1.0)
    tracemalloc.start()
    best = best_generalisations(
        entities.of_rows(np.array([0, 9_999])), PublicDictionary((0, 1, 2, 3), entities), scores
    )
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert [at.tolist() for at in best] == [[1, 5_000]] * 4
    # Far below the estimate, nearly all of which is of as many records as are looked at together.
    assert most < 4 * 2 * MOST_CELLS + BYTES_PER_NODE * 4 * 2 * own.n_nodes


@SOME
@given(st.integers(0, 2**32 - 1), st.integers(0, 3), st.sampled_from([0.02, 0.1, 0.3, 1.0]))
def test_the_best_is_that_of_a_table_of_all_generalisations(seed, kappa, trade_off):
    """Of worths that are rounded, to that; in pieces, without seams. Of one attribute nothing is known."""
    records, book, scores = chosen_among(seed, kappa, trade_off)
    trees, depths, known = records.hierarchies, records.depths, book.attributes
    entities, weights, utilities = book.entities.codes, scores.weights, scores.utilities
    with IN_SMALL_PIECES:
        found = np.stack(best_generalisations(records, book, scores), axis=1)
    below = [np.ones((own.n_nodes, 15), dtype=int) for own in trees]
    for j, column in zip(known, entities.T, strict=True):
        below[j] = np.array([[x in trees[j].up(at) for at in column] for x in range(trees[j].n_nodes)], int)
    counts = np.maximum(np.einsum("ae,be,ce,de->abcd", *below), 1)
    phi, use = (functools.reduce(np.add.outer, own) for own in (weights, utilities))
    worth = trade_off * counts / (0.1 + phi) + use**kappa
    for row, best in zip(records.codes.tolist(), found.tolist(), strict=True):
        chains = [chain(own, at, most) for own, at, most in zip(trees, row, depths, strict=True)]
        expected = max(itertools.product(*chains), key=lambda x: worth[x])
        assert tuple(best) == expected or worth[tuple(best)] >= worth[expected] * (1 - 1e-14)


def test_of_equals_the_more_general_is_shown():
    """One entity, Φ and u of depth 0 and 1: ⊥ is worth λ, the leaf λ/2 + 1."""
    own = Hierarchy.from_parents({"a": [None], "b": [None]})
    context = MechanismContext(Table(("x",), (own,), np.array([[1]], dtype=np.int32)), public=frozenset("x"))
    asked = {"epsilon": 1.0, "delta": 1e-3, "least_records": 1, "dictionary": {"x": ("a",)}}
    for trade_off, shown in ((1.99, 1), (2.0, 0), (2.01, 0)):
        found = StabilityHistogram(**asked, trade_off=trade_off)
        _, (best,) = best_of(context, found, asked["dictionary"])
        assert best.tolist() == [shown]
