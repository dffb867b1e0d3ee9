"""δ-presence against shares counted by loops over the tuples of the population."""

from __future__ import annotations

from datetime import date

import numpy as np
import pytest

from app.domain.dictionaries.dictionary import Dictionary, link_age, link_identity
from app.domain.errors import InvalidInput, NotSupported
from app.domain.hierarchies.builders import flat
from app.domain.hierarchies.hierarchy import Hierarchy
from app.domain.models.class_suppression import suppress_classes
from app.domain.models.delta_presence import DELTA_PRESENCE, DeltaPresenceParameters
from app.domain.rules.rule import record_rule, table_rule
from app.domain.tables.table import Table
from tests.unit.measures.populations_by_hand import context_of, generalised, measured, population_of, table_of

ROWS = [("a", "f", "flu"), ("a", "f", "flu"), ("b", "f", "cold"), ("c", "m", "flu"), ("c", "m", "cold")]
TABLE = table_of(ROWS)
PEOPLE = [("a", "f")] * 4 + [("b", "f")] * 1 + [("c", "m")] * 10 + [("d", "m")] * 3


def shares(city, sex):
    def shown(person):
        return generalised(person[0], city, 2), generalised(person[1], sex, 1)

    people, rows = [shown(person) for person in PEOPLE], [shown(row) for row in ROWS]
    return {tuple_: rows.count(tuple_) / people.count(tuple_) for tuple_ in set(people)}


@pytest.mark.spec("FM-4")
@pytest.mark.parametrize("city", [0, 1, 2])
@pytest.mark.parametrize("sex", [0, 1])
@pytest.mark.parametrize("bounds", [(0, 1), (0, 0.5), (0.2, 0.5), (0.1, 1)])
def test_every_tuple_of_the_population_is_in_bounds(city, sex, bounds):
    rule = table_rule(TABLE, {"city": city, "sex": sex})
    found = measured(
        DELTA_PRESENCE, context_of(TABLE, rule, population_of(PEOPLE)), lower=bounds[0], upper=bounds[1]
    )
    wanted = shares(city, sex)
    assert (found.least, found.greatest) == (min(wanted.values()), max(wanted.values()))
    assert found.is_delta_present == all(bounds[0] <= delta <= bounds[1] for delta in wanted.values())
    assert (found.entities_without_records > 0) == (0 in wanted.values())


def test_worst_classes_are_named_by_rows():
    found = measured(DELTA_PRESENCE, context_of(TABLE, dictionary=population_of(PEOPLE)))
    assert (found.most_present.rows, found.least_present.rows) == ((3,), (4, 5))
    assert (found.classes_failing, found.records_failing, found.entities_without_records) == (1, 1, 3)


def test_suppressed_classes_are_left_out_and_not_taken_for_absent():
    rule, suppressed = suppress_classes(TABLE, table_rule(TABLE, {"illness": 1}), 2)
    assert suppressed.sum() == 1
    found = measured(DELTA_PRESENCE, context_of(TABLE, rule, population_of(PEOPLE)))
    assert (found.judged.records_suppressed, found.greatest) == (1, 0.5)
    assert found.entities_without_records == 3
    assert found.is_delta_present


def test_rules_of_several_levels_make_no_tuples():
    rule = record_rule(TABLE, np.array([[1, 0, 0]] + [[0, 0, 0]] * 4, dtype=np.int16))
    with pytest.raises(NotSupported, match="different levels"):
        measured(DELTA_PRESENCE, context_of(TABLE, rule, population_of(PEOPLE)))


def test_the_dictionary_carries_every_quasi_identifier():
    dictionary = population_of([(city,) for city, _ in PEOPLE], ("city",))
    with pytest.raises(InvalidInput) as refused:
        measured(DELTA_PRESENCE, context_of(TABLE, dictionary=dictionary))
    assert refused.value.faults[0].pointer == "/measure/quasi_identifiers"
    found = measured(DELTA_PRESENCE, context_of(TABLE, dictionary=dictionary), quasi_identifiers=("city",))
    assert found.greatest == 1


def test_people_and_records_without_a_tuple_are_refused_and_counted():
    people = [*PEOPLE, (None, "f"), (None, "m")]
    with pytest.raises(NotSupported, match="2 entities"):
        measured(DELTA_PRESENCE, context_of(TABLE, dictionary=population_of(people)))
    table = table_of([*ROWS, (None, "f", "flu")])
    with pytest.raises(NotSupported, match="1 records"):
        measured(DELTA_PRESENCE, context_of(table, dictionary=population_of(PEOPLE)))
    rule = table_rule(table, {"city": 2})
    found = measured(DELTA_PRESENCE, context_of(table, rule, population_of(people)), upper=1.0)
    assert found.greatest == pytest.approx(4 / 6)


def test_an_age_belongs_to_no_year_of_birth():
    years = flat(["1980", "1981"])
    table = Table(("born",), (years,), years.encode(["1980", "1981"])[0][:, None])
    dictionary = Dictionary(2, (link_age("born", years, ["40", "40"], date(2021, 6, 1)),))
    with pytest.raises(NotSupported, match="2 entities"):
        measured(DELTA_PRESENCE, context_of(table, dictionary=dictionary))
    found = measured(DELTA_PRESENCE, context_of(table, table_rule(table, {"born": 1}), dictionary), upper=1.0)
    assert found.greatest == 1


def test_bounds_in_the_wrong_order_are_refused():
    context = context_of(TABLE, dictionary=population_of(PEOPLE))
    with pytest.raises(InvalidInput, match="above"):
        DELTA_PRESENCE.cost(context, DeltaPresenceParameters(lower=0.5, upper=0.2))


@pytest.mark.parametrize("value", [None, "north"])
def test_a_value_above_a_single_leaf_is_no_tuple_of_its_own(value):
    """It stands for nobody but those of the leaf, who would be counted for both tuples."""
    places = Hierarchy.from_parents({"oslo": ["north"], "north": [None]})
    table = Table(("place",), (places,), places.encode(["oslo", "oslo", value])[0][:, None])
    dictionary = Dictionary(3, (link_identity("place", places, ["oslo"] * 3),))
    with pytest.raises(NotSupported, match="1 records"):
        measured(DELTA_PRESENCE, context_of(table, dictionary=dictionary))
    found = measured(
        DELTA_PRESENCE, context_of(table, table_rule(table, {"place": 2}), dictionary), upper=1.0
    )
    assert (found.least, found.entities_without_records, found.is_delta_present) == (1, 0, True)
