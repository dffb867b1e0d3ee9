"""k-map against people counted by loops, and the tests of a sample against sums of probabilities."""

from __future__ import annotations

import math

import pytest

from app.domain.classes.uniqueness import least_sample_class
from app.domain.errors import InvalidInput
from app.domain.models.k_map import K_MAP, KMapParameters
from app.domain.rules.rule import table_rule
from tests.unit.measures.populations_by_hand import context_of, generalised, measured, population_of, table_of

ROWS = [("a", "f", "flu"), ("a", "f", "flu"), ("b", "f", "cold"), ("c", "m", "flu"), ("c", "m", "cold")]
TABLE = table_of(ROWS)
PEOPLE = [("a", "f")] * 4 + [("b", "f")] * 2 + [("c", "m")] * 10 + [("d", "m")] * 3


@pytest.mark.spec("FM-4")
@pytest.mark.parametrize("city", [0, 1, 2])
@pytest.mark.parametrize("sex", [0, 1])
def test_people_per_class_are_those_of_the_population(city, sex):
    def shown(person):
        return generalised(person[0], city, 2), generalised(person[1], sex, 1)

    people = [shown(person) for person in PEOPLE]
    counts = [people.count(shown(row)) for row in ROWS]
    rule = table_rule(TABLE, {"city": city, "sex": sex})
    found = measured(K_MAP, context_of(TABLE, rule, population_of(PEOPLE)), k=5)
    assert found.k_population == min(counts)
    assert found.records_failing == sum(count < 5 for count in counts)
    assert found.is_k_map == (min(counts) >= 5)
    assert (found.guarantee, found.sample) == ("exact", None)


def test_without_a_population_it_says_what_would_help():
    said = K_MAP.supports(context_of(TABLE), KMapParameters())
    assert "sampling fraction" in said
    with pytest.raises(InvalidInput) as refused:
        K_MAP.cost(context_of(TABLE), KMapParameters(by="poisson"))
    assert refused.value.faults[0].pointer == "/measure/sampling_fraction"


def by_sums(k, fraction, truncated, significance):
    """The least f ≤ k with P(at least f records | k people) ≤ significance."""
    mean = k * fraction
    mass = [math.exp(-mean) * mean**j / math.factorial(j) for j in range(k + 1)]
    for f in range(1, k):
        chance = 1 - sum(mass[:f])
        if chance / (1 - mass[0] if truncated else 1) <= significance:
            return f, chance / (1 - mass[0] if truncated else 1)
    return k, 0


@pytest.mark.spec("FM-4")
@pytest.mark.parametrize("k", [1, 2, 5, 11, 40])
@pytest.mark.parametrize("fraction", [0.01, 0.1, 0.5, 1.0])
@pytest.mark.parametrize("test", ["poisson", "zero_truncated_poisson"])
@pytest.mark.parametrize("significance", [0.01, 0.05, 0.3])
def test_the_least_class_of_a_sample(k, fraction, test, significance):
    wanted, chance = by_sums(k, fraction, test != "poisson", significance)
    found = least_sample_class(k, fraction, test, significance)
    assert found[0] == wanted
    assert found[1] == pytest.approx(chance, abs=1e-12)


@pytest.mark.spec("FM-4")
def test_classes_of_a_sample_are_held_against_the_threshold():
    found = measured(K_MAP, context_of(TABLE), k=5, by="zero_truncated_poisson", sampling_fraction=0.05)
    assert (found.sample.records, found.guarantee) == (3, "statistical")
    assert (found.classes_failing, found.records_failing, found.k_population) == (3, 5, None)
    found = measured(K_MAP, context_of(TABLE), k=5, by="poisson", sampling_fraction=0.05)
    assert (found.sample.records, found.classes_failing, found.records_failing) == (2, 1, 1)


def test_k_records_are_k_people_whatever_the_sampling_fraction():
    found = measured(K_MAP, context_of(TABLE), k=2, by="poisson", sampling_fraction=1.0)
    assert (found.sample.records, found.sample.probability) == (2, 0)
