"""The risk models on the specification's vectors, their monotonicity, and formulas of users."""

from __future__ import annotations

import itertools
import math
import re
from dataclasses import replace

import numpy as np
import pytest

from app.domain.dictionaries.dictionary import Dictionary, link_identity
from app.domain.errors import InvalidInput
from app.domain.risk.assessment import assess
from app.domain.risk.models import MODEL_I, RiskModel
from app.domain.risk.utility import build_utility
from app.domain.rules.rule import TableRule, identity, suppression
from app.domain.sensitivity.sensitivity import build_sensitivity, constant_sensitivity
from app.domain.sensitivity.weights import ConstantWeight, LeafWeights
from app.domain.tables.table import Table
from tests.oracles.rules import cell_rule
from tests.unit.domain.fixture_f import DICTIONARIES, HIERARCHIES, T, nodes, personal

INF = math.inf
ONE, II, III, RAW = (RiskModel(name) for name in ("I", "II", "III", "III_raw"))

C1 = [
    (1, 1.0, 1.0, 1.0, 2.302585), (2, 0.8, 0.4, 0.5, 1.28755), (2, 0.6, 0.3, 0.5, 0.965663),
    (2, 0.7, 0.35, 0.5, 1.126607), (4, 0.5, 0.125, 0.25, 0.458145), (5, 0.3, 0.06, 0.2, 0.207944),
    (3, 0.5, 0.166667, 0.333333, 0.601986), (6, 0.3, 0.05, 0.166667, 0.153248),
    (7, 0.1, 0.014286, 0.142857, 0.035667), (4, 0.4, 0.1, 0.25, 0.366516),
    (7, 0.2, 0.028571, 0.142857, 0.071335), (10, 0.0, 0.0, 0.1, 0.0),
]  # fmt: skip


def at(model, count, phi, n=10.0):
    return float(model.of(np.array([count]), np.array([float(phi)]), None, n)[0])


@pytest.mark.spec("TV-13")
@pytest.mark.parametrize(("count", "phi", "one", "two", "three"), C1)
def test_the_models_have_the_values_of_the_canonical_instance(count, phi, one, two, three):
    assert at(ONE, count, phi) == pytest.approx(one, abs=5e-7)
    assert at(II, count, phi) == pytest.approx(two, abs=5e-7)
    assert at(III, count, phi) == pytest.approx(three, abs=5e-7)


def every_node_of_record_1():
    """A table of as many copies of record 1 as its lattice has nodes, and the rule that shows them all."""
    chains = [
        [int(h.ancestor_steps(s)[code]) for s in range(h.depth[code] + 1)]
        for h, code in zip(T.hierarchies, T.codes[0], strict=True)
    ]
    shown = np.array(list(itertools.product(*chains)), dtype=np.int32)
    table = Table(T.attributes, T.hierarchies, np.repeat(T.codes[:1], len(shown), axis=0))
    return table, cell_rule(table, shown)


@pytest.mark.spec("TV-12", "E-36")
@pytest.mark.parametrize(
    ("model", "optima"),
    [
        (ONE, {0: 0, 1: 0.004545, 3: 0.0125, 5: 0.05, 7: 0.21, 9: 0.483333}),
        (II, {0: 0.083333, 1: 0.090909, 3: 0.125, 5: 0.166667, 7: 0.2, 9: 0.333333}),
        (III, {0: 0, 1: 0.004351, 3: 0.040547, 5: 0.207944, 7: 0.919242, 9: 2.010127}),
    ],
)
def test_the_least_risks_of_record_1_over_its_lattice_are_those_of_the_specification(model, optima):
    table, rule = every_node_of_record_1()
    assert table.n_records == 54, "steps 0..h of each chain, both ends included"
    weights = {"city": LeafWeights(0.3), "race": LeafWeights(0.4), "income": LeafWeights(0.75)}
    phi = build_sensitivity(table, "linear", weights)
    records = assess(table, rule, DICTIONARIES["D1"], phi, build_utility(table), model=model).records
    for floor, least in optima.items():
        feasible = records.utility >= floor - 1e-9
        assert records.loss[feasible].min() == pytest.approx(least, abs=5e-7)
    if model is II:
        ties = {floor: int((abs(records.loss[records.utility >= floor] - optima[floor]) < 5e-7).sum())
                for floor in (3, 5)}  # fmt: skip
        assert ties == {3: 2, 5: 4}


@pytest.mark.spec("E-12", "TV-13")
def test_the_printed_entropy_model_rewards_disclosure_and_is_marked_as_not_monotone():
    assert at(RAW, 10, 2) == pytest.approx(-4.605170, abs=5e-7)
    assert at(RAW, 10, 1) == pytest.approx(-2.302585, abs=5e-7), "generalising Φ raises it"
    values = {i: at(RAW, count, phi) for i, (count, phi, *_) in enumerate(C1)}
    assert min(values.values()) == pytest.approx(-0.693147, abs=5e-7)
    assert values[11] == 0 == max(values.values()), "full suppression comes out worst"
    found = assess(T, identity(3), DICTIONARIES["D1"], personal(), build_utility(T), model=RAW)
    assert not found.monotone.model_monotone
    assert not found.monotone.holds
    assert found.risk_average < 0


@pytest.mark.spec("E-12")
def test_the_normalised_entropy_model_differs_from_the_printed_one_by_a_constant_for_fixed_sensitivity():
    shifts = {round(at(III, count, 2.0) - at(RAW, count, 2.0), 12) for count in range(1, 11)}
    assert shifts == {round(2 * math.log(10), 12)}
    assert at(III, 10, 2.0) == 0
    assert III.is_monotone


@pytest.mark.spec("E-5", "TV-7")
@pytest.mark.parametrize(
    ("model", "count", "phi", "expected"),
    [(ONE, 0, INF, 0), (ONE, 4, INF, INF), (II, 0, INF, 0), (II, 4, INF, 0.25), (III, 0, INF, 0),
     (III, 4, INF, INF), (III, 10, INF, INF), (III, 4, 0, 0), (RAW, 1, INF, 0), (RAW, 2, INF, -INF),
     (RAW, 0, INF, 0)],
)  # fmt: skip
def test_infinite_sensitivities_never_become_nan(model, count, phi, expected):
    assert at(model, count, phi) == expected


def test_under_add_self_the_entities_are_one_more_where_the_record_is_not_among_them():
    city = HIERARCHIES["city"]
    ids = np.array(["1", "2"], dtype=object)
    table = Table(("city",), (city,), city.encode(["Lafayette", "Chicago"])[0][:, None], ids)
    link = link_identity("city", city, ["Lafayette", "Dayton"])
    dictionary = Dictionary(2, (link,), np.array(["7", "2"], dtype=object), comparable_ids=True)
    phi, u = constant_sensitivity(table), build_utility(table)

    def losses(rule, model):
        return assess(table, rule, dictionary, phi, u, "add_self", model=model).records.loss.tolist()

    assert losses(identity(1), II) == [0.5, 1.0]
    assert losses(identity(1), III) == pytest.approx([math.log(3 / 2), math.log(2 / 1)])
    top = suppression(table, ["city"])
    assert losses(top, II) == pytest.approx([1 / 3, 1 / 2])
    assert losses(top, III) == [0, 0]


def test_an_empty_dictionary_gives_no_risk_and_a_warning_in_every_model():
    empty = Dictionary(0, (link_identity("city", HIERARCHIES["city"], []),))
    for model in (ONE, II, III, RiskModel("custom", "phi / sqrt(count) + 1 / n")):
        found = assess(T, identity(3), empty, personal(), build_utility(T), model=model)
        assert (found.risk_average, found.risk_max, found.absent) == (0, 0, 6)
        assert "no entities" in found.warnings[0]
    assert not assess(T, identity(3), DICTIONARIES["D1"], personal(), build_utility(T)).warnings


def test_a_harm_of_failure_has_a_meaning_in_model_i_only():
    with pytest.raises(InvalidInput) as caught:
        assess(T, identity(3), DICTIONARIES["D1"], personal(), build_utility(T), failure=personal(), model=II)
    assert caught.value.faults[0].code == "failure-without-meaning"


@pytest.mark.spec("E-11")
def test_a_harm_of_failure_above_that_of_success_lets_generalising_raise_the_loss():
    values = MODEL_I.of(np.array([1, 4]), np.array([1.0, 1.0]), np.array([3.0, 3.0]), 4)
    assert values.tolist() == [1.0, 2.5]


@pytest.mark.spec("E-45", "E-6")
def test_the_multiplicative_sensitivity_is_above_the_additive_one_by_construction():
    rows = nodes(("Lafayette", "Chinese", "20-39"), ("Indiana", None, None), (None, None, None))
    groups = np.zeros(3, dtype=np.int32)
    additive, multiplicative = (personal(f).phi(rows, groups) for f in ("linear_personal", "multiplicative"))
    assert (multiplicative >= 1 + additive).all()
    assert (additive[2], multiplicative[2]) == (0, 1), "even where nothing is shown"


@pytest.mark.spec("E-46")
def test_more_entities_raise_the_risk_of_a_record_that_was_absent():
    city = HIERARCHIES["city"]
    table = Table(("city",), (city,), city.encode(["Lafayette"])[0][:, None])

    def risk(*cities):
        dictionary = Dictionary(len(cities), (link_identity("city", city, cities),))
        phi = constant_sensitivity(table)
        return assess(table, identity(1), dictionary, phi, build_utility(table)).risk_average

    risks = [risk("Dayton"), risk("Dayton", "Lafayette"), risk("Dayton", "Lafayette", "Lafayette")]
    assert risks == [0, 1, 0.5]


# --- formulas ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("formula", "same_as"),
    [("phi / count", ONE), ("1 / count", II), ("phi * log(n / count)", III), ("phi*(log(n)-log(count))", III),
     ("max(phi, 0) * count ** -1", ONE), ("exp(-log(count))", II)],
)  # fmt: skip
def test_a_formula_is_the_model_that_it_writes_down(formula, same_as):
    counts, phi = np.array([0, 1, 3, 7]), np.array([2.0, 0.0, 0.5, 4.0])
    found = RiskModel("custom", formula).of(counts, phi, 0.0, 7)
    assert found == pytest.approx(same_as.of(counts, phi, 0.0, 7), rel=1e-12, abs=1e-15)


def test_of_a_formula_samples_are_no_proof():
    assert not RiskModel("custom", "phi / count").is_monotone
    assert [RiskModel("custom", f).depends_on_entities for f in ("phi / count", "phi / count / n")] == [
        False, True,
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("formula", "code"),
    [
        ("phi * count", "formula-not-a-risk"), ("-phi / count", "formula-not-a-risk"),
        ("phi * log(1 / count)", "formula-not-a-risk"), ("1 / phi / count", "formula-not-a-risk"),
        ("log(phi) / count", "formula-not-a-risk"), ("phi - 2 * phi", "formula-not-a-risk"),
        ("", "formula-syntax"), ("phi /", "formula-syntax"), ("__import__('os')", "formula-syntax"),
        ("phi.real", "formula-syntax"), ("phi if n else 1", "formula-syntax"), ("phi < 1", "formula-syntax"),
        ("max(phi)", "formula-syntax"), ("log(phi, 2)", "formula-syntax"), ("x / count", "formula-syntax"),
        ("[phi][0]", "formula-syntax"), ("True * phi", "formula-syntax"), ("phi @ count", "formula-syntax"),
        ("(lambda: phi)()", "formula-syntax"), ("min(*n)", "formula-syntax"), ("1j * phi", "formula-syntax"),
        ("min(phi, n, key=n)", "formula-syntax"), ("phi + " * 60 + "phi", "formula-too-long"),
        ("(" * 190 + "phi", "formula-syntax"),
    ],
)  # fmt: skip
def test_a_formula_that_is_no_risk_or_no_formula_is_refused(formula, code):
    with pytest.raises(InvalidInput) as caught:
        RiskModel("custom", formula)
    assert (caught.value.faults[0].pointer, caught.value.faults[0].code) == ("/risk_model/formula", code)


@pytest.mark.parametrize(
    ("formula", "part"),
    [(" phi / count + abs(phi) ", "abs(phi)"), ("phi / counts", "counts"), ("max(phi) / count", "max(phi)"),
     ("phi // count", "phi // count"), ("1e301 * phi", "1e301")],
)  # fmt: skip
def test_what_a_formula_may_not_contain_is_named(formula, part):
    with pytest.raises(InvalidInput, match=re.escape(f"may not contain {part}.")):
        RiskModel("custom", formula)


def test_a_formula_that_breaks_down_between_the_samples_is_refused_when_it_does():
    model = RiskModel("custom", "phi / count + 0 * log(max(phi, 3.3) - min(phi, 3.3))")
    assert at(model, 2, 5) == 2.5
    with pytest.raises(InvalidInput, match=r"undefined or negative at phi = 3\.3, count = 2, n = 10"):
        at(model, 2, 3.3)


def test_a_formula_at_infinite_sensitivity_is_what_it_gives_else_infinite():
    assert at(RiskModel("custom", "phi * log(n / count)"), 10, INF) == INF
    assert at(RiskModel("custom", "min(phi, 2) / count"), 4, INF) == 0.5


@pytest.mark.parametrize("fields", [("custom", None), ("I", "phi / count")])
def test_a_formula_belongs_to_the_custom_model_alone(fields):
    with pytest.raises(InvalidInput, match="needs a formula"):
        RiskModel(*fields)
    with pytest.raises(InvalidInput, match="not one of"):
        RiskModel("IV")


# --- weights and rules of cells ----------------------------------------------------------------------


@pytest.mark.spec("TV-7")
def test_a_weightless_record_may_be_infinite_and_is_still_shown_as_such():
    city = HIERARCHIES["city"]
    codes = city.encode(["Lafayette", "Chicago"])[0][:, None]
    table = Table(("city",), (city,), codes, None, np.array([1.0, 0.0]))
    dictionary = Dictionary(3, (link_identity("city", city, ["Chicago", "Lafayette", "Lafayette"]),))
    harm = np.zeros((2, city.n_nodes))
    harm[0, city.node_of("Chicago")], harm[0, city.node_of("Lafayette")] = INF, 2.0
    phi = build_sensitivity(table, "linear", {"city": ConstantWeight(1.0)})
    phi = replace(phi, shapes=(harm,))
    found = assess(table, identity(1), dictionary, phi, build_utility(table))
    assert (found.risk_average, found.risk_max, found.infinite, found.weighted) == (1.0, 1.0, 1, True)


@pytest.mark.parametrize(
    ("weights", "code"),
    [([1.0, -1.0], "weight-out-of-range"), ([1.0, INF], "weight-out-of-range"), ([0.0, 0.0], "no-weight"),
     ([math.nan, 1.0], "weight-out-of-range")],
)  # fmt: skip
def test_weights_that_are_no_distribution_are_refused(weights, code):
    codes = HIERARCHIES["race"].encode(["White", "Black"])[0][:, None]
    with pytest.raises(InvalidInput) as caught:
        Table(("race",), (HIERARCHIES["race"],), codes, None, np.array(weights))
    assert caught.value.faults[0].code == code


def test_disclosed_cells_must_generalise_the_original_on_dags_too():
    with pytest.raises(InvalidInput) as caught:
        cell_rule(T, nodes(*[("Marion", None, "Low")] * 6))
    assert [(fault.pointer, fault.code) for fault in caught.value.faults] == [
        ("/cells/city", "not-a-generalisation"), ("/cells/income", "not-a-generalisation"),
    ]  # fmt: skip
    assert "5 records" in caught.value.faults[0].message
    assert "first rows: 1, 2, 3, 4, 6" in caught.value.faults[0].message
    with pytest.raises(InvalidInput, match="for 2 records"):
        cell_rule(T, T.codes[:2])
    outside = T.codes.copy()
    outside[0, 0] = 99
    with pytest.raises(InvalidInput, match="1 records"):
        cell_rule(T, outside)
    found = assess(T, cell_rule(T, T.codes), DICTIONARIES["D1"], personal(), build_utility(T))
    same = assess(T, TableRule((0, 0, 0)), DICTIONARIES["D1"], personal(), build_utility(T))
    assert found.risk_average == same.risk_average
    assert (found.k_matching, found.k_equivalence) == (same.k_matching, same.k_equivalence)
