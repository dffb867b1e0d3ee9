"""The ℓ-diversity family as criteria: the inpatients' lattice, refusals before searching, bad parameters."""

import itertools

import numpy as np
import pytest

from app.domain.errors import InvalidInput
from app.domain.models.alpha_k_anonymity import AlphaKAnonymity
from app.domain.models.disclosure_diversity import NpdRecursiveLDiversity, PdRecursiveLDiversity
from app.domain.models.distinct_l_diversity import DistinctLDiversity
from app.domain.models.entropy_l_diversity import EntropyLDiversity
from app.domain.models.judging import JudgedRecords
from app.domain.models.k_anonymity import KAnonymity
from app.domain.models.recursive_l_diversity import RecursiveLDiversity
from tests.unit.criteria.judged_classes import judged
from tests.unit.measures import diversity_tables as tables
from tests.unit.measures.diversity_tables import OCCUPATIONS, two_attributes


@pytest.fixture(scope="module")
def lattice():
    """Levels → classes for the 36 nodes of S2."""
    found = tables.inpatients(tables.zip_of_last_digits(), tables.age_of_two())
    nodes = itertools.product(range(6), range(3), range(2))
    return {levels: judged(found, (*levels, 0)) for levels in nodes}


@pytest.mark.spec("LD-S2", "LD-D09")
@pytest.mark.parametrize(
    ("criterion", "passing", "minimal"),
    [
        (KAnonymity(2), 14, {(0, 1, 1), (4, 2, 0)}),
        (KAnonymity(4), 10, {(1, 1, 1)}),
        (DistinctLDiversity(3), 10, {(1, 1, 1)}),
        (EntropyLDiversity(2.8), 10, {(1, 1, 1)}),
        (RecursiveLDiversity(2, 2), 10, {(1, 1, 1)}),
        (RecursiveLDiversity(2, 3), 2, {(4, 2, 1)}),
        (RecursiveLDiversity(2.5, 3), 10, {(1, 1, 1)}),
        (EntropyLDiversity(3), 0, set()),
    ],
    ids=str,
)
def test_the_rules_of_the_inpatients_that_meet_a_criterion(lattice, criterion, passing, minimal):
    passed = {levels for levels, classes in lattice.items() if criterion.satisfied(classes)}
    least = {
        v for v in passed if not any(w != v and all(np.array(w) <= np.array(v)) for w in passed)
    }  # fmt: skip
    assert (len(passed), least) == (passing, minimal)
    assert (criterion.impossible(lattice[5, 2, 1]) is None) == bool(passed)


@pytest.mark.spec("LD-S10", "LD-D09")
@pytest.mark.parametrize(
    ("criterion", "why"),
    [
        (EntropyLDiversity(10.57), "10.5669 equally frequent values, 0.00306 fewer than 10.57"),
        (RecursiveLDiversity(3, 12), "need a c above 4.92635 for ℓ = 12; 3 is 1.93 short of it"),
        (RecursiveLDiversity(3, 15), "not have enough different values for ℓ = 15 with any c"),
        (DistinctLDiversity(15), "have 14 different sensitive values, 1 fewer than 15"),
        (AlphaKAnonymity(0.1, 5), "One value has a share of 0.133121 of all records, 0.0331 more than 0.1"),
        (AlphaKAnonymity(0.5, 50_000), "There are 45222 records, 4778 fewer than one class must have"),
        (PdRecursiveLDiversity(0.1, 2, ("v00",)), "need a c above 0.153211"),
        (
            NpdRecursiveLDiversity(9, 2, protected=("v13", "v00"), least_percent=1),
            "have 0.03096 percent of some protected value, 0.969 less than 1",
        ),
        (EntropyLDiversity(10.56), None),
        (RecursiveLDiversity(3, 11), None),
        (DistinctLDiversity(14), None),
        (AlphaKAnonymity(0.14, 5), None),
        (PdRecursiveLDiversity(0.16, 2, ("v00",)), None),
        (NpdRecursiveLDiversity(9, 2, protected=("v13", "v00"), least_percent=0.03), None),
    ],
    ids=str,
)
def test_what_adult_occupations_cannot_be_is_said_before_searching_and_by_how_much(criterion, why):
    whole = judged(tables.one_class({f"v{i:02}": n for i, n in enumerate(OCCUPATIONS)}))
    said = criterion.impossible(whole)
    assert (said is None) if why is None else (why in said)
    assert (int(criterion.unavoidable(whole)[0]) > 0) == (why is not None)
    for own in criterion.implied(whole):
        assert why is not None or own.impossible(whole) is None


@pytest.mark.spec("LD-S3", "LD-D07")
def test_other_sensitive_attributes_split_the_classes_by_default():
    whole = judged(two_attributes())
    assert DistinctLDiversity(2, "S").failing(whole).tolist() == [True]
    assert DistinctLDiversity(2, "S", "apart").failing(whole).tolist() == [False]
    assert DistinctLDiversity(2, "S").impossible(whole) == (
        "Of all records as one class, those equal in the other sensitive attributes have 1 different "
        "sensitive values, 1 fewer than 2."
    )
    # The blocks of v1 and v2 have one value of S each, that of v3 has two.
    assert DistinctLDiversity(2, "S").unavoidable(whole).tolist() == [2]
    assert DistinctLDiversity(2, "S").merging == "passes_stay"
    assert DistinctLDiversity(2, "S", "apart").merging == DistinctLDiversity.merging == "fewer_fail"


def test_the_way_out_of_split_classes_is_named_where_it_is_one():
    whole = judged(two_attributes())
    assert "`others: apart`" in DistinctLDiversity(2, "S").alternative(whole)
    # Three values are all there are: with four asked for, the other attribute is not in the way.
    assert not DistinctLDiversity(4, "S").alternative(whole)
    assert not DistinctLDiversity(4, "S", "apart").alternative(whole)
    assert not DistinctLDiversity(5).alternative(judged(tables.one_class({"a": 1, "b": 1})))


def test_a_block_that_fails_takes_along_what_joins_its_class():
    """Why distinct values are no reason to prune when other attributes are in the classes."""
    rows = [("p", "a", "x"), ("p", "b", "x"), ("q", "a", "y")]
    hierarchies = (tables.flat("pq"), tables.flat("ab"), tables.flat("xy"))
    found = tables.table(("q", "s", "t"), hierarchies, rows, {"s", "t"})
    criterion = DistinctLDiversity(2, "s")
    apart, together = judged(found, (0, 0, 0)), judged(found, (1, 0, 0))
    assert apart.sizes[criterion.failing(apart)].tolist() == [1]
    assert together.sizes[criterion.failing(together)].tolist() == [3]


def test_no_classes_attain_nothing():
    found = tables.one_class({"a": 1})
    nobody = JudgedRecords(found, np.zeros(1, dtype=np.int32)).judged(np.array([-1]), 0)
    for criterion in (
        DistinctLDiversity(2),
        EntropyLDiversity(2),
        RecursiveLDiversity(2, 2),
        PdRecursiveLDiversity(2, 2),
        NpdRecursiveLDiversity(2, 2),
        AlphaKAnonymity(0.5, 2),
    ):
        assert criterion.attained(nobody) is None
        assert criterion.satisfied(nobody)
        assert criterion.unavoidable(nobody).tolist() == []


@pytest.mark.parametrize(
    ("build", "pointer"),
    [
        (lambda: DistinctLDiversity(0), "/l"),
        (lambda: EntropyLDiversity(0.5), "/l"),
        (lambda: RecursiveLDiversity(0, 2), "/c"),
        (lambda: RecursiveLDiversity(1, 0), "/l"),
        (lambda: PdRecursiveLDiversity(-1, 2), "/c"),
        (lambda: NpdRecursiveLDiversity(1, 2, least_percent=-1), "/least_percent"),
        (lambda: AlphaKAnonymity(0, 2), "/alpha"),
        (lambda: AlphaKAnonymity(0.5, 0), "/k"),
    ],
)
def test_numbers_out_of_range_are_refused_where_they_are(build, pointer):
    with pytest.raises(InvalidInput) as caught:
        build()
    assert [(fault.pointer, fault.code) for fault in caught.value.faults] == [(pointer, "out-of-range")]


@pytest.mark.parametrize(
    ("criterion", "pointer"),
    [
        (PdRecursiveLDiversity(1, 2, ("a", "z")), "/harmless/1"),
        (NpdRecursiveLDiversity(1, 2, protected=("z",), least_percent=1), "/protected/0"),
        (AlphaKAnonymity(0.5, 1, ("z",)), "/values/0"),
        (PdRecursiveLDiversity(1, 2, ("a", "b")), "/harmless"),
    ],
    ids=str,
)
def test_values_that_there_are_not_are_refused_where_they_are(criterion, pointer):
    with pytest.raises(InvalidInput) as caught:
        criterion.failing(judged(tables.one_class({"a": 1, "b": 2})))
    assert [fault.pointer for fault in caught.value.faults] == [pointer]
