"""(k, e)-anonymity as a criterion: against loops, under merging, and in searches against every rule."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.classes.ratios import as_written
from app.domain.errors import InvalidInput
from app.domain.hierarchies.hierarchy import TOP, Hierarchy
from app.domain.losses.loss import LossChoice
from app.domain.models.judging import JudgedRecords
from app.domain.models.k_e_anonymity import KEAnonymity
from app.domain.search.full_domain.problem import AnonymityProblem
from app.domain.tables.table import Table
from tests.oracles.diversity_by_hand import partitions
from tests.oracles.effort import examples
from tests.oracles.least_loss import same_as_by_hand
from tests.oracles.search_instances import hierarchies

NUMBERS = Hierarchy.from_parents({"low": [None], "0": ["low"], "2": ["low"], "3": [None], "7": [None]})
FLAT = Hierarchy.from_parents({"x": [None], "y": [None]})
ENDS = {
    node: [int(NUMBERS.labels[leaf]) for leaf in NUMBERS.leaves.tolist() if NUMBERS.is_above(node, leaf)]
    for node in range(NUMBERS.n_nodes)
}
"""Node → the numbers under it."""


def certain_range(nodes):
    """The least range over every choice of whole numbers between the ends of what is shown."""
    choices = [range(min(ENDS[node]), max(ENDS[node]) + 1) for node in set(nodes)]
    return min(max(chosen) - min(chosen) for chosen in itertools.product(*choices))


def blocks(records, others):
    found = {}
    for node, other in records:
        found.setdefault(other if others == "in_classes" else None, []).append(node)
    return found.values()


def values(nodes):
    """What is shown, where a missing value counts as the most frequent of its class if that has another."""
    return set(nodes) - {TOP} or {TOP}


def passes(criterion, records):
    return all(
        len(values(own)) >= criterion.k and certain_range(own) >= as_written(criterion.e)
        for own in blocks(records, criterion.others)
    )


CRITERIA = [
    KEAnonymity(k, e, "s", others)
    for k in (1, 2, 3)
    for e in (0.0, 1.0, 2.5, 7.0)
    for others in ("apart", "in_classes")
]


def table_of(records):
    codes = np.array(records, dtype=np.int32).reshape(-1, 2)
    return Table(("s", "t"), (NUMBERS, FLAT), codes, sensitive=frozenset("st"))


record = st.tuples(st.integers(0, NUMBERS.n_nodes - 1), st.integers(1, 2))


@settings(max_examples=examples(12), deadline=None)
@given(st.lists(record, min_size=1, max_size=5), st.sampled_from(CRITERIA))
def test_verdicts_and_what_they_promise_hold_on_every_way_to_split_a_table(records, criterion):
    judged = JudgedRecords(table_of(records), np.arange(len(records), dtype=np.int32))
    whole_fails = not passes(criterion, records)
    least = int(criterion.unavoidable(judged.whole)[0])
    assert (criterion.impossible(judged.whole) is not None) == whole_fails == (least > 0)
    for way in map(np.array, partitions(records)):
        classes = judged.judged(way.astype(np.int64), int(way.max()) + 1)
        failing = criterion.failing(classes)
        of_class = [[records[i] for i in np.flatnonzero(way == g)] for g in range(classes.n_classes)]
        assert failing.tolist() == [not passes(criterion, own) for own in of_class]
        assert classes.sizes[failing].sum() >= least
        for own in criterion.implied(judged.whole):
            assert own.merging == "fewer_fail"
            assert not (own.failing(classes) & ~failing).any()
        if criterion.merging == "fewer_fail" and whole_fails:
            assert failing.all()


@settings(max_examples=examples(50), deadline=None)
@given(st.lists(record, min_size=1, max_size=6), st.lists(record, min_size=1, max_size=6))
def test_neither_values_nor_range_fall_when_classes_are_put_together(one, other):
    judged = JudgedRecords(table_of(one + other), np.arange(len(one + other), dtype=np.int32))
    apart = judged.judged(np.array([0] * len(one) + [1] * len(other), dtype=np.int64), 2)
    for k, e in itertools.product((1, 2, 3), (0.0, 2.0, 4.0)):
        criterion = KEAnonymity(k, e, "s", "apart")
        assert not criterion.failing(judged.whole)[0] or criterion.failing(apart).all()
    widest = KEAnonymity(1, 0.0, "s", "apart")
    assert widest.attained(judged.whole) >= widest.attained(apart)


@st.composite
def questions(draw):
    trees = [draw(hierarchies()) for _ in range(draw(st.integers(1, 2)))] + [NUMBERS]
    n = draw(st.integers(1, 10))
    codes = [[draw(st.integers(0, tree.n_nodes - 1)) for tree in trees] for _ in range(n)]
    names = (*(f"a{j}" for j in range(len(trees) - 1)), "s")
    table = Table(names, tuple(trees), np.array(codes, dtype=np.int32), sensitive=frozenset("s"))
    criterion = KEAnonymity(draw(st.integers(1, 3)), draw(st.sampled_from([0.0, 1.0, 2.5, 5.0])))
    limit = draw(st.sampled_from([0.0, 0.2, 0.5]))
    missing = draw(st.sampled_from(["own_category", "excluded"]))
    loss = LossChoice(draw(st.sampled_from(["geometric", "precision", "discernibility"])))
    return table, AnonymityProblem((criterion,), limit, loss, missing=missing)


@settings(max_examples=examples(40), deadline=None)
@given(questions())
def test_the_rule_of_least_loss_is_that_of_trying_them_all(question):
    same_as_by_hand(*question)


def test_an_attribute_of_words_is_refused_at_its_field():
    table = Table(("s",), (FLAT,), np.array([[1], [2]], dtype=np.int32), sensitive=frozenset("s"))
    judged = JudgedRecords(table, np.zeros(2, dtype=np.int32))
    with pytest.raises(InvalidInput) as caught:
        KEAnonymity(2, 1.0).failing(judged.whole)
    assert [(fault.pointer, fault.code) for fault in caught.value.faults] == [("/attribute", "not-numeric")]
