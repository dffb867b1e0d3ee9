"""Prosecutor, journalist and marketer by hand, and on the Adult table with its published averages."""

from __future__ import annotations

import numpy as np
import pytest

from app.domain.dictionaries.dictionary import Dictionary, link_identity
from app.domain.models.class_suppression import suppress_classes
from app.domain.models.reidentification_risk import ATTACKER_MODELS
from app.domain.rules.rule import table_rule
from tests.oracles.rules import cell_rule
from tests.unit.measures.populations_by_hand import ILLNESS, context_of, measured, population_of, table_of

ROWS = [("a", "f", "flu"), ("a", "f", "flu"), ("b", "f", "cold"), ("c", "m", "flu"), ("c", "m", "cold")]
TABLE = table_of(ROWS)
PEOPLE = [("a", "f")] * 4 + [("b", "f")] * 2 + [("c", "m")] * 10 + [("d", "m")] * 3


@pytest.mark.spec("FM-3")
@pytest.mark.spec("FM-5.1")
def test_the_prosecutor_by_hand():
    found = measured(ATTACKER_MODELS, context_of(TABLE), threshold=0.4)
    assert found.judged.classes == 3
    prosecutor = found.prosecutor
    assert prosecutor.highest == 1
    assert prosecutor.average_per_record == prosecutor.average_per_record_of_all == pytest.approx(3 / 5)
    assert prosecutor.average_per_class == pytest.approx((1 / 2 + 1 + 1 / 2) / 3)
    assert (prosecutor.records_at_risk, prosecutor.share_at_risk) == (5, 1)
    assert prosecutor.worst_class.rows == (3,)


@pytest.mark.spec("FM-3")
def test_risks_at_the_threshold_are_not_above_it():
    found = measured(ATTACKER_MODELS, context_of(TABLE), threshold=0.5).prosecutor
    assert (found.records_at_risk, found.share_at_risk) == (1, 0.2)


@pytest.mark.spec("FM-3")
def test_without_a_population_the_journalist_is_missing_and_the_marketer_says_so():
    found = measured(ATTACKER_MODELS, context_of(TABLE))
    assert found.journalist is None
    assert "dictionary" in found.journalist_missing
    assert not found.marketer.by_population
    assert found.marketer.share_re_identified == pytest.approx(3 / 5)


@pytest.mark.spec("FM-3")
def test_the_journalist_and_the_marketer_by_hand():
    found = measured(ATTACKER_MODELS, context_of(TABLE, dictionary=population_of(PEOPLE)), threshold=0.25)
    journalist = found.journalist
    assert found.journalist_missing is None
    assert journalist.highest == 1 / 2
    assert journalist.classes_per_person == pytest.approx(3 / 16)
    assert journalist.average_per_record == pytest.approx((2 / 4 + 1 / 2 + 2 / 10) / 5)
    assert journalist.average == max(journalist.classes_per_person, journalist.average_per_record)
    assert journalist.average_per_class == pytest.approx((1 / 4 + 1 / 2 + 1 / 10) / 3)
    assert (journalist.records_at_risk, journalist.worst_class.rows) == (1, (3,))
    assert journalist.population.known == ("city", "sex")
    assert journalist.population.records_beyond == 0
    assert found.marketer.by_population
    assert found.marketer.share_re_identified == journalist.average_per_record


@pytest.mark.spec("FM-3")
def test_the_average_of_classes_can_be_the_greater_one():
    table = table_of([("a", "f", "flu"), *[("d", "m", "flu")] * 90])
    people = [("a", "f")] * 10 + [("d", "m")] * 90
    found = measured(ATTACKER_MODELS, context_of(table, dictionary=population_of(people))).journalist
    assert found.average_per_record == pytest.approx((1 / 10 + 1) / 91)
    assert found.average == found.classes_per_person == 2 / 100


def test_people_whom_the_dictionary_lacks_count_as_records():
    """Neither risk 0 for want of an entry nor more than the release itself allows."""
    dictionary = population_of([("c", "m")])
    found = measured(ATTACKER_MODELS, context_of(TABLE, dictionary=dictionary)).journalist
    assert found.population.records_beyond == 5
    prosecutor = measured(ATTACKER_MODELS, context_of(TABLE)).prosecutor
    assert (found.highest, found.average_per_record) == (prosecutor.highest, prosecutor.average_per_record)


def test_attributes_that_the_dictionary_lacks_do_not_narrow_it():
    dictionary = population_of([(city,) for city, _ in PEOPLE], ("city",))
    found = measured(ATTACKER_MODELS, context_of(TABLE, dictionary=dictionary)).journalist
    assert found.population.known == ("city",)
    assert found.highest == 1 / 2


def test_what_the_dictionary_knows_beside_the_quasi_identifiers_narrows_nothing():
    linked = population_of(PEOPLE).links
    ill = link_identity("illness", ILLNESS, ["flu"] * len(PEOPLE))
    dictionary = Dictionary(len(PEOPLE), (ill, *linked))
    found = measured(ATTACKER_MODELS, context_of(TABLE, dictionary=dictionary)).journalist
    assert found == measured(ATTACKER_MODELS, context_of(TABLE, dictionary=population_of(PEOPLE))).journalist
    by_sex = measured(ATTACKER_MODELS, context_of(TABLE, dictionary=dictionary), quasi_identifiers=("sex",))
    assert (by_sex.journalist.highest, by_sex.journalist.population.known) == (1 / 6, ("sex",))


@pytest.mark.spec("FM-5.8")
def test_suppressed_records_are_no_class_unless_asked_for():
    rule, suppressed = suppress_classes(TABLE, table_rule(TABLE, {"illness": 1}), 2)
    assert suppressed.sum() == 1
    found = measured(ATTACKER_MODELS, context_of(TABLE, rule))
    assert (found.judged.records_judged, found.judged.records_suppressed) == (4, 1)
    assert found.prosecutor.highest == 1 / 2
    assert found.prosecutor.average_per_record == pytest.approx(2 / 4)
    assert found.prosecutor.average_per_record_of_all == pytest.approx(2 / 5)
    assert found.prosecutor.share_at_risk_of_all == pytest.approx(4 / 5)
    block = measured(ATTACKER_MODELS, context_of(TABLE, rule), suppressed="own_block")
    assert (block.judged.records_judged, block.prosecutor.highest) == (5, 1)


@pytest.mark.spec("FM-5.7")
def test_a_release_of_nothing_has_no_risk():
    nothing = cell_rule(TABLE, np.zeros(TABLE.codes.shape, dtype=np.int32))
    found = measured(ATTACKER_MODELS, context_of(TABLE, nothing, population_of(PEOPLE)))
    assert found.judged.records_judged == 0
    for risk in (found.prosecutor, found.journalist):
        assert (risk.highest, risk.average_per_record, risk.average_per_class) == (None, None, None)
        assert (risk.share_at_risk, risk.worst_class) == (None, None)
        assert (risk.average_per_record_of_all, risk.share_at_risk_of_all) == (0, 0)
    assert (found.journalist.average, found.marketer.share_re_identified) == (None, None)


@pytest.mark.spec("FM-5.9")
def test_sensitive_attributes_are_no_quasi_identifiers():
    found = measured(ATTACKER_MODELS, context_of(TABLE))
    assert found.judged.quasi_identifiers == ("city", "sex")
    named = measured(ATTACKER_MODELS, context_of(TABLE), quasi_identifiers=("sex",))
    assert named.judged.classes == 2


@pytest.mark.spec("FM-5.4")
def test_a_missing_value_is_judged_and_never_dropped_in_silence():
    table = table_of([*ROWS, (None, "f", "flu")])
    found = measured(ATTACKER_MODELS, context_of(table, dictionary=population_of(PEOPLE)))
    assert found.prosecutor.worst_class.records == 1
    assert found.journalist.highest == 1 / 2
    left = measured(ATTACKER_MODELS, context_of(table), missing="excluded")
    assert (left.judged.records_missing, left.judged.records_judged) == (1, 5)
