"""Sensitive values by what a person reads: against loops over spellings that are known to be one value."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.classes import diversity
from app.domain.classes.closeness import equal_distances
from app.domain.hierarchies.builders import flat
from app.domain.models.alpha_k_anonymity import AlphaKAnonymity
from app.domain.models.distinct_l_diversity import DistinctLDiversity
from app.domain.models.entropy_l_diversity import CorrectedEntropyLDiversity, EntropyLDiversity
from app.domain.models.judging import JudgedRecords
from app.domain.models.recursive_l_diversity import RecursiveLDiversity
from app.domain.tables.table import Table
from tests.oracles.effort import examples

SPELLINGS = {
    "flu": ("flu", "Flu", " FLU ", "f\u200blu", "ﬂu"),
    "cold": ("cold", "COLD", "с\u043eld", "СОLD", "ｃｏｌｄ", "cold\u00a0", "cοld"),
    "fièvre": ("fièvre", "fie\u0300vre", "FIÈVRE"),
    "1000": ("1000", "1000.0", "01000", "1e3"),
    "heart attack": ("heart attack", "Heart  Attack", "heart\u00a0attack", "hеаrt аttаck"),
    "5 µg": ("5 µg", "5 μg", "5 µG"),
    "5 mg": ("5 mg", "5 MG"),
}
READ = {text: value for value, texts in SPELLINGS.items() for text in texts}
TREE = flat(sorted(READ))
CELLS = st.sampled_from([*READ, None, None, "flu", "cold"])
ROWS = st.lists(st.tuples(st.integers(0, 2), CELLS), min_size=1, max_size=10)
FAMILY = (
    *(DistinctLDiversity(ell) for ell in (1, 2, 3)),
    *(EntropyLDiversity(ell) for ell in (1, 1.5, 2, 2.5)),
    *(RecursiveLDiversity(c, ell) for c in (0.5, 1, 2) for ell in (1, 2, 3)),
    *(AlphaKAnonymity(alpha, 1) for alpha in (0.3, 0.5, 0.75, 1)),
)


def with_version(criterion, version):
    fields = {name: getattr(criterion, name) for name in criterion.__match_args__}
    return type(criterion)(**fields, version=version)


def judged(rows, version=2):
    codes = np.array([[g, 0 if text is None else TREE.node_of(text)] for g, text in rows], dtype=np.int32)
    groups = np.unique(codes[:, 0], return_inverse=True)[1].reshape(-1).astype(np.int32)
    table = Table(("g", "ill"), (flat("012"), TREE), np.column_stack([codes[:, 0] + 1, codes[:, 1]]),
                  sensitive=frozenset({"ill"}))  # fmt: skip
    records = JudgedRecords(table, groups, version=version)
    return records.judged(np.arange(records.n_groups), records.n_groups)


def fails(criterion, values):
    """Whether some values (of one class, none missing) fail, by the definition."""
    ranks = sorted((values.count(own) for own in set(values)), reverse=True)
    match criterion:
        case DistinctLDiversity(ell):
            return len(ranks) < ell
        case EntropyLDiversity(ell):
            shares = [r / len(values) for r in ranks]
            return -sum(p * math.log(p) for p in shares) < math.log(ell) - 1e-12
        case RecursiveLDiversity(c, ell):
            return ell > 1 and not ranks[0] < c * sum(ranks[ell - 1 :])
        case AlphaKAnonymity(alpha):
            return ranks[0] > alpha * len(values) + 1e-12
    raise TypeError(criterion)


def fails_in_some_way(criterion, cells):
    """Whether a class fails whatever spelling is meant and for some value of the class that is missing."""
    known = [READ[text] for text in cells if text is not None]
    missing = len(cells) - len(known)
    ways = itertools.combinations_with_replacement(sorted(set(known)) or ["nothing"], missing)
    return any(fails(criterion, known + list(way)) for way in ways)


@pytest.mark.parametrize("value", SPELLINGS)
def test_spellings_that_look_the_same_are_one_and_others_are_not(value):
    nodes = {int(TREE.as_read[TREE.node_of(text)]) for text in SPELLINGS[value]}
    assert len(nodes) == 1
    others = {int(TREE.as_read[TREE.node_of(t)]) for t, own in READ.items() if own != value}
    assert not nodes & others


@settings(max_examples=examples(150), deadline=None)
@given(ROWS)
def test_classes_fail_as_they_do_by_hand_for_the_worst_that_missing_values_may_be(rows):
    found = judged(rows)
    classes = [[text for g, text in rows if g == own] for own in sorted({g for g, _ in rows})]
    for criterion in FAMILY:
        expected = [fails_in_some_way(criterion, cells) for cells in classes]
        assert criterion.failing(found).tolist() == expected, criterion


@settings(max_examples=examples(150), deadline=None)
@given(ROWS)
def test_no_class_is_more_diverse_than_by_its_spellings(rows):
    new, old = judged(rows), judged(rows, version=1)
    for criterion in (*FAMILY, CorrectedEntropyLDiversity(1.5), CorrectedEntropyLDiversity(2)):
        before = with_version(criterion, 1)
        assert (criterion.failing(new) | ~before.failing(old)).all(), criterion
    folded = DistinctLDiversity(2)._counts(new)
    as_before = old.counts("ill")
    assert (diversity.distinct_values(folded) <= diversity.distinct_values(as_before)).all()
    assert (diversity.effective_entropy(folded) <= diversity.effective_entropy(as_before) + 1e-12).all()
    assert (diversity.most_frequent(folded) >= diversity.most_frequent(as_before)).all()


@settings(max_examples=examples(150), deadline=None)
@given(ROWS)
def test_classes_that_pass_pass_together_and_who_failed_alone_passes_only_by_company(rows):
    """What searches conclude from one rule about another, with missing values and spellings."""
    apart, together = judged(rows), judged([(0, text) for _, text in rows])
    for criterion in FAMILY:
        if not criterion.failing(apart).any():
            assert not criterion.failing(together).any(), criterion
        assert criterion.unavoidable(together).sum() <= len(rows)
        if criterion.failing(together).any():
            failing = criterion.failing(apart)
            assert apart.records[failing].sum() >= criterion.unavoidable(together).sum(), criterion


@settings(max_examples=examples(100), deadline=None)
@given(ROWS)
def test_the_distance_of_classes_is_that_of_the_values_that_are_read(rows):
    """A baseline with the same values folded: of t-closeness a class may also come closer."""
    found = equal_distances(judged(rows).distributions("ill")).floats
    read = [(g, "" if text is None else READ[text]) for g, text in rows]
    for own, distance in zip(sorted({g for g, _ in rows}), found.tolist(), strict=True):
        cells = [value for g, value in read if g == own]
        every = [value for _, value in read]
        expected = sum(
            max(0.0, cells.count(v) / len(cells) - every.count(v) / len(every)) for v in set(every)
        )
        assert distance == pytest.approx(expected)
