"""The order of dictionaries and the bound on the vectors, and what breaks each hypothesis."""

from __future__ import annotations

from datetime import date

import numpy as np
import pytest

from app.domain.dictionaries.consistency import Consistency, under
from app.domain.dictionaries.dictionary import Dictionary, link_age, link_identity
from app.domain.errors import InvalidInput
from app.domain.hierarchies.builders import dates, leaf_range
from app.domain.risk.assessment import assess
from app.domain.risk.dictionary_order import OrderAnswer, bound_hypotheses, dictionary_order
from app.domain.risk.models import RiskModel
from app.domain.risk.utility import build_utility
from app.domain.rules.rule import CellRule, TableRule, identity
from app.domain.sensitivity.sensitivity import constant_sensitivity
from app.domain.tables.table import Table
from tests.unit.domain.fixture_f import CITY, CUTS, DICTIONARIES, T, levels_of, personal

D = DICTIONARIES


def of_cities(cities: dict[str, str | None], ids: bool = True) -> Dictionary:
    link = link_identity("city", CITY, list(cities.values()))
    named = np.array(list(cities), dtype=object) if ids else None
    return Dictionary(len(cities), (link,), named, comparable_ids=ids)


def table_of(*cities: str) -> Table:
    ids = np.array([str(i + 1) for i in range(len(cities))], dtype=object)
    return Table(("city",), (CITY,), CITY.encode(cities)[0][:, None], ids)


def failing(answer):
    return {hypothesis.name for hypothesis in answer.hypotheses if hypothesis.holds == "false"}


@pytest.mark.spec("TV-9")
@pytest.mark.parametrize(
    ("theta", "eta", "expected"),
    [
        ("T", "D1", OrderAnswer(True)),
        ("D1", "T", OrderAnswer(False, "1", "city", "value_not_more_general")),
        ("T", "D2", OrderAnswer(True)),
        ("T", "D3", OrderAnswer(False, "4", None, "entity_missing")),
        ("D2", "D1", OrderAnswer(False, "1", "race", "value_not_more_general")),
    ],
)
def test_the_order_is_that_of_the_specification_and_names_the_first_breach(theta, eta, expected):
    assert dictionary_order(D[theta], D[eta], T) == expected


@pytest.mark.spec("TV-9")
@pytest.mark.parametrize("family", ["linear_personal", "multiplicative"])
@pytest.mark.parametrize("rule", list(CUTS))
@pytest.mark.parametrize("true", ["D1", "D2"])
def test_the_table_itself_bounds_the_risk_under_every_dictionary_above_it(rule, family, true):
    levels, phi, u = TableRule(levels_of(CUTS[rule])), personal(family), build_utility(T)
    answer = bound_hypotheses(T, levels, D["T"], D[true], phi)
    assert answer.claimed
    assert not answer.rests_on_assumptions
    risks = [assess(T, levels, D[name], phi, u).risk_average for name in ("T", true)]
    assert risks[1] <= risks[0]


@pytest.mark.spec("TV-9", "E-7")
def test_the_counterexample_to_the_bound_in_subsumed_mode_is_not_claimed():
    table = table_of("Lafayette", "Lafayette")
    estimated = of_cities({"1": "Lafayette", "2": "Lafayette"})
    true = of_cities({"1": "Indiana", "2": "Lafayette"})
    phi, u = constant_sensitivity(table), build_utility(table)
    assert dictionary_order(estimated, true, table).holds
    expected = {"subsumed": ([2, 1], [0.5, 1.0]), "compatible": ([2, 2], [0.5, 0.5])}
    for mode, (counts, losses) in expected.items():
        pair = [under(dictionary, Consistency(mode)) for dictionary in (estimated, true)]
        scores = [assess(table, identity(1), dictionary, phi, u).records for dictionary in pair]
        assert [score.counts[0] for score in scores] == counts
        assert [score.loss[0] for score in scores] == losses
        answer = bound_hypotheses(table, identity(1), *pair, phi)
        assert answer.claimed == (mode == "compatible")
        assert failing(answer) == (set() if answer.claimed else {"consistency_mode"})


@pytest.mark.spec("E-7")
def test_no_bound_is_claimed_where_only_the_true_dictionary_has_an_attribute_in_subsumed_mode():
    table = table_of("Lafayette", "Lafayette")
    ids = np.array(["1", "2"], dtype=object)
    estimated = Dictionary(2, (), ids, comparable_ids=True)
    true = of_cities({"1": None, "2": None, "3": "Lafayette"})
    phi, u = constant_sensitivity(table), build_utility(table)
    assert dictionary_order(estimated, true, table).holds
    for mode, risks in {"subsumed": [0.5, 1.0], "compatible": [0.5, 1 / 3]}.items():
        pair = [under(dictionary, Consistency(mode)) for dictionary in (estimated, true)]
        assert [assess(table, identity(1), d, phi, u).risk_average for d in pair] == risks
        answer = bound_hypotheses(table, identity(1), *pair, phi)
        assert failing(answer) == ({"consistency_mode"} if mode == "subsumed" else set())
        subsumed = ["city"] if mode == "subsumed" else []
        unknown = bound_hypotheses(table, identity(1), pair[0], None, phi, subsumed=subsumed)
        assert failing(unknown) == failing(answer)


@pytest.mark.spec("TV-9", "E-8")
def test_an_identifier_twice_in_a_dictionary_is_refused():
    with pytest.raises(InvalidInput, match="repeats an identifier in 1 rows"):
        Dictionary(2, (link_identity("city", CITY, ["Lafayette", "Dayton"]),), np.array(["1", "1"], object))


def test_dictionaries_without_identifiers_have_no_order():
    with pytest.raises(InvalidInput) as caught:
        dictionary_order(of_cities({"1": None}), of_cities({"1": None}, ids=False), table_of("Dayton"))
    assert caught.value.faults[0].code == "ids-not-comparable"


@pytest.mark.spec("E-9", "E-10")
def test_without_its_own_row_a_record_may_be_at_more_risk_than_estimated():
    table = table_of("Chicago")
    estimated, true = of_cities({"2": "Dayton"}), of_cities({"2": "Dayton", "1": "Chicago"})
    phi, u = constant_sensitivity(table), build_utility(table)
    risks = [assess(table, identity(1), dictionary, phi, u).risk_average for dictionary in (estimated, true)]
    assert risks == [0.0, 1.0]
    answer = bound_hypotheses(table, identity(1), estimated, true, phi)
    assert (answer.claimed, failing(answer)) == (False, {"own_rows_consistent"})


@pytest.mark.spec("E-9")
def test_the_least_risk_is_bounded_by_the_least_estimated_risk_not_its_rule_by_the_rule():
    table = table_of("Lafayette", "Chicago")
    estimated = of_cities({"1": "Lafayette", "2": "Chicago"})
    true = of_cities({"1": None, "2": "Chicago", "3": "Chicago"})
    phi, u = constant_sensitivity(table), build_utility(table)
    rules = [TableRule((level,)) for level in range(CITY.height)]
    least = [min(assess(table, r, d, phi, u).risk_average for r in rules) for d in (estimated, true)]
    assert least[1] <= least[0]


@pytest.mark.spec("E-11")
def test_a_greater_harm_of_failure_breaks_the_bound_and_is_named():
    table = table_of("Lafayette")
    estimated = of_cities({"1": "Lafayette"})
    true = of_cities({"1": "Lafayette", "2": None, "3": None, "4": None})
    phi, psi, u = constant_sensitivity(table, 1), constant_sensitivity(table, 3), build_utility(table)
    risks = [assess(table, identity(1), d, phi, u, failure=psi).risk_average for d in (estimated, true)]
    assert risks == [1.0, 2.5]
    answer = bound_hypotheses(table, identity(1), estimated, true, phi, psi)
    assert failing(answer) == {"psi_le_phi"}


def test_the_other_hypotheses_are_named_where_they_fail():
    table = table_of("Lafayette", "Dayton")
    estimated = of_cities({"1": "Lafayette", "2": "Dayton"})
    phi = constant_sensitivity(table)
    assert failing(bound_hypotheses(table, identity(1), estimated, of_cities({"1": None}), phi)) == {
        "dictionary_order"
    }
    anonymous = of_cities({"1": "Lafayette", "2": "Dayton"}, ids=False)
    assert failing(bound_hypotheses(table, identity(1), anonymous, estimated, phi)) == {
        "dictionary_order", "unique_identifiers", "own_rows_consistent",
    }  # fmt: skip
    sideways = CellRule(CITY.encode(["Chicago", "Dayton"])[0][:, None])
    assert failing(bound_hypotheses(table, sideways, estimated, estimated, phi)) == {"rule_generalises"}
    assert failing(
        bound_hypotheses(table, identity(1), estimated, estimated, phi, model=RiskModel("III"))
    ) == {"model"}
    similar = under(estimated, Consistency("jaro"))
    assert failing(bound_hypotheses(table, identity(1), estimated, similar, phi)) == {"consistency_mode"}
    assert bound_hypotheses(table, identity(1), similar, similar, phi).claimed


def test_under_model_iii_the_estimate_is_no_bound():
    table = table_of("Lafayette")
    estimated = of_cities({"1": "Lafayette", "2": "Dayton"})
    true = of_cities({"1": "Lafayette", "2": "Dayton", "3": "Dayton"})
    phi, u, iii = constant_sensitivity(table), build_utility(table), RiskModel("III")
    risks = [assess(table, identity(1), d, phi, u, model=iii).risk_average for d in (estimated, true)]
    assert risks[1] > risks[0]


def test_of_an_unknown_dictionary_what_cannot_be_checked_is_called_assumed():
    answer = bound_hypotheses(T, identity(3), D["T"], None, personal())
    assert (answer.claimed, answer.rests_on_assumptions) == (True, True)
    assumed = {hypothesis.name for hypothesis in answer.hypotheses if hypothesis.holds == "assumed"}
    assert assumed == {"dictionary_order", "unique_identifiers"}
    assert all(hypothesis.reason for hypothesis in answer.hypotheses)


def test_sets_of_leaves_are_ordered_by_inclusion():
    births = dates(leaf_range("1974-01-01", "1976-12-31"), ["day", "year"])
    table = Table(("birth",), (births,), births.encode(["1975-05-10"])[0][:, None])

    def born(value):
        return Dictionary(1, (link_identity("birth", births, [value]),), np.array(["1"], object))

    def aged(age, reference):
        return Dictionary(1, (link_age("birth", births, [age], reference),), np.array(["1"], object))

    at_34 = aged("34", date(2009, 12, 31))
    assert dictionary_order(born("1975-05-10"), at_34, table).holds
    assert not dictionary_order(born("1976-05-10"), at_34, table).holds
    assert not dictionary_order(at_34, born("1975-05-10"), table).holds
    assert dictionary_order(at_34, born("1975"), table).holds, "34 at the end of 2009: born in 1975"
    assert dictionary_order(at_34, at_34, table).holds
    assert not dictionary_order(at_34, aged("34", date(2009, 6, 30)), table).holds
    assert dictionary_order(at_34, born(None), table).holds
    assert not dictionary_order(born(None), at_34, table).holds
    unheard_of = aged("99", date(2009, 6, 30))
    assert dictionary_order(unheard_of, unheard_of, table).holds
    assert not dictionary_order(unheard_of, at_34, table).holds
    assert not dictionary_order(at_34, unheard_of, table).holds


def test_a_set_of_all_leaves_says_no_more_than_an_attribute_that_is_not_carried():
    births = dates(leaf_range("1975-01-01", "1975-12-31"), ["day", "year"])
    table = Table(("birth",), (births,), births.encode(["1975-05-10"])[0][:, None])
    ids = np.array(["1"], object)
    missing, absent = Dictionary(1, (link_identity("birth", births, [None]),), ids), Dictionary(1, (), ids)
    for reference, holds in ((date(2009, 12, 31), True), (date(2009, 6, 30), False)):
        aged = Dictionary(1, (link_age("birth", births, ["34"], reference),), ids)
        assert [dictionary_order(unknown, aged, table).holds for unknown in (missing, absent)] == [holds] * 2
    year = Dictionary(1, (link_identity("birth", births, ["1975"]),), ids)
    assert not any(dictionary_order(unknown, year, table).holds for unknown in (missing, absent))
