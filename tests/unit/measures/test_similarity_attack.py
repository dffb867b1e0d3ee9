"""The similarity attack: groups of values and windows of numbers, negations, likeness of groups."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from app.domain.attacks.similarity_attack import SIMILARITY_ATTACK, sets_of_windows, windows_of, worst_beliefs
from app.domain.classes.diversity import ranked
from app.domain.classes.diversity import worst_posterior as worst_posterior_of_values
from app.domain.classes.value_groups import tree_groups
from app.domain.errors import InvalidInput, NotSupported
from tests.oracles.closeness_by_hand import counts_of, random_classes, worst_posterior
from tests.oracles.effort import examples
from tests.unit.measures.closeness_tables import of_classes
from tests.unit.measures.diversity_tables import measured

ILLNESS = {
    "dyspepsia": ["stomach"], "gastritis": ["stomach"], "ulcer": ["stomach"],
    "flu": ["lungs"], "asthma": ["lungs"], "hiv": ["blood"],
    "stomach": [None], "lungs": [None], "blood": [None],
}  # fmt: skip
VALUES = ("dyspepsia", "gastritis", "ulcer", "flu", "asthma", "hiv")


@pytest.mark.spec("LD-S9")
@pytest.mark.parametrize(("negations", "belief"), [(0, 1 / 2), (1, 2 / 3), (2, 4 / 5), (3, 1), (9, 1)])
def test_predicates_on_a_set_of_values(negations, belief):
    found = measured(
        SIMILARITY_ATTACK,
        of_classes([(2, 1, 1, 2, 1, 1)], VALUES, ILLNESS),
        groups=("stomach",),
        negations=negations,
        confidence=belief,
    )
    assert (found.sets, found.worst_belief) == (1, belief)
    [worst] = found.worst
    assert (worst.group, worst.lowest, worst.highest, worst.values) == ("stomach", "dyspepsia", "ulcer", 3)
    assert (worst.with_value, worst.in_class, worst.belief) == (4, 0.5, belief)
    assert worst.exposed.rows == tuple(range(1, 9))


@pytest.mark.spec("LD-S9")
def test_single_values_are_believed_less_than_their_set():
    ranks = ranked(counts_of([2, 1, 1, 2, 1, 1], [[2, 1, 1, 2, 1, 1]]))
    assert [worst_posterior_of_values(ranks, j)[0] for j in range(3)] == pytest.approx([1 / 4, 1 / 3, 2 / 5])


def test_three_diseases_of_the_stomach_are_no_diversity():
    classes = [(1, 1, 1, 0, 0, 0), (1, 0, 0, 2, 1, 2)]
    found = measured(SIMILARITY_ATTACK, of_classes(classes, VALUES, ILLNESS))
    assert (found.classes_exposed, found.records_exposed, found.records_of_several_values) == (1, 3, 3)
    [worst] = found.worst
    assert (worst.group, worst.in_class, worst.in_table) == ("stomach", 1, pytest.approx(4 / 9))
    assert worst.gain == pytest.approx(5 / 4)
    # A group of one value is that value: blood is not looked at unless it is named.
    assert found.sets == 2
    named = measured(SIMILARITY_ATTACK, of_classes(classes, VALUES, ILLNESS), groups=("blood",))
    assert (named.sets, named.worst_belief, named.classes_exposed) == (1, pytest.approx(1 / 3), 0)


@pytest.mark.spec("BL-T20", "BL-L8", "BL-11")
def test_likeness_of_values_is_not_likeness_of_groups():
    """Erratum 13: enhanced β-likeness does not guard against likeness of meaning by itself."""
    nested = {"a1": ["a"], "a2": ["a"], "b1": ["b"], "b2": ["b"], "a": [None], "b": [None]}
    found = measured(
        SIMILARITY_ATTACK, of_classes([(8, 8, 2, 2), (0, 0, 10, 10)], ("a1", "a2", "b1", "b2"), nested)
    )
    likeness = found.likeness
    assert (likeness.of_values, likeness.of_values_enhanced) == (1, 1)
    assert (likeness.beta_basic, likeness.beta_enhanced) == (1, math.inf)
    # 16 of 20 are above f(0.4), and 20 of 20 above f(0.6).
    assert 0.8 > 0.4 * (1 - math.log(0.4)) == pytest.approx(0.766516292750)
    assert likeness.caps_broken == 2


def test_nested_groups_count_once_each():
    """Of a chain of nodes with the same values the lowest stands for all; one that has all values is none."""
    nested = {
        "a": ["ab"], "b": ["ab"], "ab": ["chain"], "chain": ["abc"], "c": ["abc"], "abc": ["all"],
        "d": ["de"], "e": ["de"], "de": ["all"], "all": [None],
    }  # fmt: skip
    table = of_classes([(1, 1, 1, 0, 0), (0, 1, 0, 1, 1)], "abcde", nested)
    found = measured(SIMILARITY_ATTACK, table)
    assert found.sets == 3
    assert found.worst[0].group == "abc"
    hierarchy = table.hierarchies[1]
    groups = tree_groups(hierarchy, hierarchy.leaves)
    spans = zip(groups.first.tolist(), groups.last.tolist(), strict=True)
    assert dict(zip((hierarchy.labels[node] for node in groups.nodes), spans, strict=True)) == {
        "ab": (0, 2),
        "abc": (0, 3),
        "de": (3, 5),
    }
    for layer in groups.layers:
        for group in set(layer.tolist()) - {-1}:
            assert np.flatnonzero(layer == group).tolist() == [
                *range(groups.first[group], groups.last[group])
            ]


def test_groups_are_named_by_the_hierarchy():
    with pytest.raises(InvalidInput) as refused:
        measured(SIMILARITY_ATTACK, of_classes([(1,) * 6], VALUES, ILLNESS), groups=("stomach", "heart"))
    assert refused.value.faults[0].pointer == "/measure/groups/1"


SALARIES = ("30000", "99999", "100000", "100001", "200000")


def test_salaries_within_a_thousand_are_one():
    classes = [(0, 1, 1, 1, 0), (2, 0, 0, 1, 3)]
    found = measured(SIMILARITY_ATTACK, of_classes(classes, SALARIES), sets="windows", below=1000, above=1000)
    assert (found.records_exposed, found.records_of_several_values, found.likeness) == (3, 3, None)
    [worst] = found.worst
    assert (worst.group, worst.lowest, worst.highest, worst.with_value) == (None, "99999", "100001", 3)
    assert worst.in_table == pytest.approx(4 / 9)


@pytest.mark.parametrize(("below", "above", "exposed"), [(1, 1, 3), (1, 0, 0), (2, 0, 3), (0.5, 0.5, 0)])
def test_windows_include_their_ends(below, above, exposed):
    classes = [(0, 1, 1, 1, 0), (2, 0, 0, 1, 3)]
    found = measured(
        SIMILARITY_ATTACK, of_classes(classes, SALARIES), sets="windows", below=below, above=above
    )
    assert found.records_exposed == exposed


def test_windows_need_rising_numbers():
    with pytest.raises(NotSupported):
        measured(SIMILARITY_ATTACK, of_classes([(1,) * 6], VALUES), sets="windows", below=1)
    with pytest.raises(InvalidInput):
        measured(
            SIMILARITY_ATTACK, of_classes([(1,) * 5], SALARIES), sets="windows", below=10**6, above=10**6
        )
    assert windows_of(["1", "3", "2"], Fraction(1), Fraction(1)) is None
    assert windows_of(["1", "nan"], Fraction(1), Fraction(1)) is None


def test_beliefs_in_windows_are_the_greatest_of_any_window():
    """Against every window around every value that occurs, for every number of negations."""
    rng = np.random.default_rng(1)
    for _ in range(examples(60)):
        numbers = np.sort(rng.choice(30, size=int(rng.integers(1, 8)), replace=False)).tolist()
        totals, classes = random_classes(rng, len(numbers), 3, 4)
        below, above, j = (int(rng.integers(0, 9)) for _ in range(3))
        counts = counts_of(totals, classes)
        windows = windows_of([str(number) for number in numbers], Fraction(below), Fraction(above))
        sets = sets_of_windows(counts, windows)
        found = worst_beliefs(counts, sets, j).floats
        for g, vector in enumerate(classes):
            best = max(
                worst_posterior(vector, {v for v, n in enumerate(numbers) if x - below <= n <= x + above}, j)
                for x in numbers
            )
            assert found[sets.of_class == g].max() == pytest.approx(float(best))


def test_beliefs_in_groups_against_loops():
    rng = np.random.default_rng(2)
    for _ in range(examples(20)):
        _, classes = random_classes(rng, 6, 3, 4)
        for j in range(4):
            found = measured(
                SIMILARITY_ATTACK, of_classes(classes, VALUES, ILLNESS), negations=j, confidence=0.6
            )
            beliefs = [
                max(worst_posterior(vector, members, j) for members in ({0, 1, 2}, {3, 4}))
                for vector in classes
            ]
            exposed = [belief >= Fraction(6, 10) for belief in beliefs]
            assert found.worst_belief == pytest.approx(float(max(beliefs)))
            assert found.records_exposed == sum(itertools.compress(map(sum, classes), exposed))
            assert found.classes_exposed == sum(exposed)


@pytest.mark.spec("FM-5.7")
def test_one_value_and_flat_hierarchies_have_no_groups():
    for classes, values in (([(2,), (3,)], ("v",)), ([(2, 1), (3, 1)], ("v", "w"))):
        found = measured(SIMILARITY_ATTACK, of_classes(classes, values))
        assert (found.sets, found.worst_belief, found.records_exposed, found.worst) == (0, None, 0, ())
