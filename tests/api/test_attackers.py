"""Assessments of fixture F through the interface: views of the attacker, consistency, failure, bounds."""

from __future__ import annotations

import math

import pytest

from tests.api.fixture_f import (
    CUTS,
    DICTIONARIES,
    PRIOR,
    ROWS,
    dataset,
    post,
    profile,
    rule,
    upload,
)
from tests.api.problem_documents import pointers, problem_of

pytestmark = pytest.mark.anyio

APPROX = {"abs": 6e-7}
"""The vectors are rounded to six digits."""


def question(dictionary: str, of: str = "identity", **more) -> dict:
    return {"dataset": "T", "dictionary": dictionary, "sensitivity": "personal", "rule": rule(of)} | more


async def scored(client, *arguments, **more) -> dict:
    return (await post(client, "assessments", question(*arguments, **more)))["result"]


TV_8 = {
    # rule: {dictionary: (R, max, min)} under Φ2.
    "identity": {"T": (1.45, 1.7, 1.05), "D1": (0.839167, 1.6, 0.21), "D2": (0.620833, 0.85, 0.2625),
                 "D3": (0.715278, 1.7, 0)},
    "G1": {"T": (0.5, 1.0, 0.05), "D1": (0.371627, 1.0, 0.021429), "D2": (0.234722, 0.5, 0.025),
           "D3": (0.281944, 0.7, 0)},
    "G2": {"T": (0.659722, 1.25, 0.158333), "D1": (0.378704, 1.075, 0.079167),
           "D2": (0.249826, 0.625, 0.059375)},
    "G3": {"T": (0.235833, 0.95, 0.015), "D1": (0.123507, 0.475, 0.009375),
           "D2": (0.102917, 0.475, 0.0075)},
    "suppress": {"T": (0, 0, 0), "D1": (0, 0, 0), "D2": (0, 0, 0)},
}  # fmt: skip
BAYES = {"identity": 0.895833, "G1": 0.356230, "G2": 0.396244, "G3": 0.139795, "suppress": 0}
WORST = {"identity": 1.45, "G1": 0.5, "G2": 0.659722, "G3": 0.235833, "suppress": 0}


@pytest.mark.spec("TV-8")
@pytest.mark.parametrize("of", CUTS)
async def test_every_view_of_a_set_is_that_of_the_vectors(fixture, of):
    result = await scored(fixture, "theta", of)
    assert result["attacker_view"] == "bayes"
    assert result["risk_average"] == pytest.approx(BAYES[of], **APPROX)
    views, parts = result["views"], result["dictionaries"]
    assert views["bayes"]["risk_average"] == result["risk_average"]
    assert views["worst_case"]["risk_average"] == pytest.approx(WORST[of], **APPROX)
    assert views["worst_case"]["at_average"] == 1  # T, which is ≪ the others
    assert views["worst_case_per_record"]["risk_average"] >= views["worst_case"]["risk_average"]
    assert [part["prior"] for part in parts] == list(PRIOR.values())
    for part, name in zip(parts, PRIOR, strict=True):
        found = (part["risk_average"], part["risk_max"], part["risk_min"])
        assert found == pytest.approx(TV_8[of][name], **APPROX)


@pytest.mark.spec("TV-8")
@pytest.mark.parametrize(("of", "name"), [(of, name) for of, row in TV_8.items() for name in row])
async def test_each_dictionary_by_itself_is_that_of_the_vectors(fixture, of, name):
    result = await scored(fixture, name, of)
    found = (result["risk_average"], result["risk_max"], result["risk_min"])
    assert found == pytest.approx(TV_8[of][name], **APPROX)
    assert (result["attacker_view"], result["views"], result["dictionaries"]) == ("known", None, None)


@pytest.mark.parametrize(
    ("name", "view", "expected"),
    [
        ("theta", "bayes", 0.356230),
        ("theta", "worst_case", 0.5),
        ("theta-without-prior", None, 0.5),
        # Per record the worst of the three is T throughout: its counts are the least.
        ("theta-without-prior", "worst_case_per_record", 0.5),
    ],
)
async def test_a_view_chooses_the_risk_and_what_stands_beside_it(fixture, name, view, expected):
    result = await scored(fixture, name, "G1", attacker_view=view)
    assert result["risk_average"] == pytest.approx(expected, **APPROX)
    assert result["risk_max"] >= result["risk_average"] >= result["risk_min"]
    assert set(result["loss_quantiles"]) >= {"0.5", "0.95"}
    shown = (await fixture.get("/v1/assessments")).json()["items"][0]
    assert shown["dictionaries"] == list(PRIOR)
    assert shown["attacker_view"] == result["attacker_view"]


async def test_the_records_of_a_set_have_a_count_for_each_dictionary(fixture):
    made = await post(fixture, "assessments", question("theta", "G1", name="g1"))
    rows = (await fixture.get("/v1/assessments/g1/records")).json()
    assert [row["count_T"] for row in rows] == [2, 2, 1, 1, 1, 3]
    assert [row["count_D1"] for row in rows] == [4, 4, 3, 1, 1, 7]
    assert [row["count_D2"] for row in rows] == [6, 6, 2, 2, 2, 6]
    # Record 1 (Greater Lafayette, Chinese, ⊥) is named with probability .2/2 + .5/4 + .3/6 = 0.275.
    assert rows[0]["loss"] == pytest.approx(0.275 * (0.15 + 0.4))
    assert math.fsum(row["loss"] for row in rows) / 6 == pytest.approx(made["result"]["risk_average"])


@pytest.mark.spec("TV-7")
@pytest.mark.parametrize(("of", "expected"), [("G1", 0.395298), ("G2", 0.424444)])
async def test_failure_enters_the_risk_and_the_records(fixture, of, expected):
    """Ψ = 0.1·Φ under D1, record by record p·Φ + (1 − p)·Ψ."""
    await profile(fixture, "tenth", "linear_personal", scale=0.1)
    await profile(fixture, "more", "linear_personal", scale=1.1)
    body = question("D1", of, failure="tenth", name="with-failure")
    result = (await post(fixture, "assessments", body))["result"]
    assert result["risk_average"] == pytest.approx(expected, **APPROX)
    rows = (await fixture.get("/v1/assessments/with-failure/records")).json()
    for row in rows:
        assert row["psi"] == pytest.approx(row["phi"] / 10)
        lost = row["probability"] * row["phi"] + (1 - row["probability"]) * row["psi"]
        assert row["loss"] == pytest.approx(lost)
    assert result["monotone"]["psi_le_phi"] is True
    more = await scored(fixture, "D1", of, failure="more", bounds={"true_dictionary": "D1"})
    assert more["monotone"]["psi_le_phi"] is False
    assert more["monotone"]["holds"] is False
    assert {h["id"] for h in more["bound"]["hypotheses"] if h["holds"] == "no"} == {"psi_le_phi"}


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        # Counts of identity under D1: 3, 2, 3, 1, 1, 5; N = 12.
        ("II", (1 / 3 + 1 / 2 + 1 / 3 + 1 + 1 + 1 / 5) / 6),
        ("I", 0.839167),
        ({"kind": "custom", "formula": "phi / count"}, 0.839167),
        ({"kind": "custom", "formula": "1 / count ** 2"}, (1 / 9 + 1 / 4 + 1 / 9 + 1 + 1 + 1 / 25) / 6),
    ],
)
async def test_a_risk_model_is_what_its_formula_says(fixture, model, expected):
    result = await scored(fixture, "D1", risk_model=model)
    assert result["risk_average"] == pytest.approx(expected, **APPROX)
    is_custom = isinstance(model, dict)
    assert result["risk_model"] == ("custom" if is_custom else model)
    assert result["monotone"]["model_monotone"] is not is_custom
    assert any("no proof" in warning for warning in result["warnings"]) is is_custom


@pytest.mark.spec("E-12")
async def test_model_three_is_normalised_and_as_printed_it_is_marked(fixture):
    """Φ·ln(N/|ρ|) of six records, and with ln(1/|ρ|) never positive."""
    await profile(fixture, "equal", "linear")
    harms = [1.45, 1.45, 1.45, 1.45, 1.45, 1.05]
    counts = [3, 2, 3, 1, 1, 5]
    three = await scored(fixture, "D1", sensitivity="equal", risk_model="III")
    expected = sum(phi * math.log(12 / n) for phi, n in zip(harms, counts, strict=True)) / 6
    assert three["risk_average"] == pytest.approx(expected)
    assert three["not_monotone"] is False
    raw = await scored(fixture, "D1", sensitivity="equal", risk_model="III_raw")
    expected = sum(phi * math.log(1 / n) for phi, n in zip(harms, counts, strict=True)) / 6
    assert raw["risk_average"] == pytest.approx(expected)
    assert raw["not_monotone"] is True
    assert raw["monotone"]["model_monotone"] is False


@pytest.mark.spec("E-7")
async def test_subsumed_counts_only_rows_below_the_disclosed_value(fixture):
    """TV-4 under D1: {1,6,12} are compatible with record 1 as it is, none is subsumed."""
    compatible = await scored(fixture, "D1")
    subsumed = await scored(fixture, "D1", consistency={"default": {"mode": "subsumed"}})
    assert compatible["absent"] == 0
    assert subsumed["absent"] > 0
    body = question("D1", name="by-city", consistency={"attributes": {"city": {"mode": "subsumed"}}})
    await post(fixture, "assessments", body)
    rows = (await fixture.get("/v1/assessments/by-city/records")).json()
    # Only entity 6 of D1 is known to be of Lafayette, and of these is compatible with (Chinese, 20-39).
    assert rows[0]["count"] == 1


async def test_similar_names_are_consistent_under_jaro(fixture):
    """TV-3: "Johnathan Smith" is like "Jonathan Smith" (0.930159) and unlike the others; ⊥ fits all."""
    names = ["Jonathan Smith", "Jon Smyth", "Maria Lopez", "Marie Lopes", "Mary Jones", None]
    await upload(fixture, "names", ("id", "who"), [(str(i), n) for i, n in enumerate(names, start=1)])
    people = [("1", "Johnathan Smith"), ("2", "Maria Lopez")]
    await upload(fixture, "persons", ("id", "who"), people)
    columns = [
        {"name": "id", "type": "text", "role": "identifier"},
        {"name": "who", "type": "text", "role": "quasi_identifier"},
    ]
    await post(fixture, "datasets", {"name": "persons", "upload": "persons", "attributes": columns})
    links = [{"attribute": "who", "column": "who"}]
    await post(
        fixture, "dictionaries", {"name": "names", "upload": "names", "identifier": "id", "links": links}
    )
    weights = {"who": {"constant": 1.0}}
    harm = {"name": "one", "dataset": "persons", "family": "linear", "attributes": weights}
    await post(fixture, "sensitivity-profiles", harm)
    body = {"dataset": "persons", "dictionary": "names", "sensitivity": "one", "rule": {"kind": "identity"}}
    counts = {}
    for threshold in (0.8, 0.7, 0.95):
        jaro = {"default": {"mode": "jaro", "threshold": threshold}}
        name = f"jaro-{threshold}"
        await post(fixture, "assessments", body | {"name": name, "consistency": jaro})
        rows = (await fixture.get(f"/v1/assessments/{name}/records")).json()
        counts[threshold] = [row["count"] for row in rows]
    # Of Maria Lopez: herself (1), Marie Lopes (0.878788), at 0.7 Mary Jones (0.715152) too, and ⊥.
    assert counts == {0.8: [2, 3], 0.7: [2, 4], 0.95: [1, 2]}


async def test_record_weights_weigh_means_alone(fixture):
    """TV-7: G2 under D1 with the weights .3, .1, .1, .2, .2, .1 has the risk 0.427639."""
    weights = [0.3, 0.1, 0.1, 0.2, 0.2, 0.1]
    rows = [(*row, weight) for row, weight in zip(ROWS["T"], weights, strict=True)]
    await upload(fixture, "weighted", ("id", "city", "race", "income", "share"), rows)
    share = {"name": "share", "type": "number", "role": "weight"}
    await dataset(fixture, "weighted", "weighted", share)
    await profile(fixture, "weighted-harm", "linear_personal", of="weighted")
    body = question("D1", "G2", dataset="weighted", sensitivity="weighted-harm")
    result = (await post(fixture, "assessments", body))["result"]
    plain = await scored(fixture, "D1", "G2")
    assert result["risk_average"] == pytest.approx(0.427639, **APPROX)
    assert plain["risk_average"] == pytest.approx(0.378704, **APPROX)
    assert (result["weighted"], plain["weighted"]) == (True, False)
    assert result["risk_max"] == plain["risk_max"]


@pytest.mark.spec("TV-9")
@pytest.mark.parametrize(("true", "claimed"), [("D1", True), ("D2", True), ("D3", False), (None, True)])
@pytest.mark.parametrize("of", ["identity", "G1", "G2", "G3"])
async def test_a_bound_is_claimed_where_every_hypothesis_holds(fixture, of, true, claimed):
    result = await scored(fixture, "T", of, bounds={"true_dictionary": true})
    bound = result["bound"]
    assert bound["claimed"] is claimed
    assert bound["rests_on_assumptions"] is (true is None)
    failing = {h["id"] for h in bound["hypotheses"] if h["holds"] == "no"}
    assert failing == (set() if claimed else {"dictionary_order"})
    assert all(h["reason"] for h in bound["hypotheses"])
    if claimed and true:
        assert (await scored(fixture, true, of))["risk_average"] <= result["risk_average"] + 1e-12


@pytest.mark.spec("TV-9", "E-7")
async def test_no_bound_is_claimed_under_subsumed_consistency_which_breaks_it(fixture):
    """θ̂ = {1: Lafayette, 2: Lafayette} ≪ θ = {1: Indiana, 2: Lafayette}: the true risk is twice the other."""
    await upload(fixture, "narrow", ("id", "city"), [("1", "Lafayette"), ("2", "Lafayette")])
    await upload(fixture, "wide", ("id", "city"), [("1", "Indiana"), ("2", "Lafayette")])
    column = {"name": "city", "type": "categorical", "role": "quasi_identifier", "hierarchy": "city"}
    identifier = {"name": "id", "type": "text", "role": "identifier"}
    body = {"name": "two", "upload": "narrow", "attributes": [identifier, column]}
    await post(fixture, "datasets", body)
    for name in ("narrow", "wide"):
        links = [{"attribute": "city", "column": "city", "hierarchy": "city"}]
        body = {"name": name, "upload": name, "identifier": "id", "links": links}
        await post(fixture, "dictionaries", body)
    harm = {"name": "one", "dataset": "two", "family": "constant", "constant": 1}
    await post(fixture, "sensitivity-profiles", harm)
    asked = {"dataset": "two", "sensitivity": "one", "rule": {"kind": "identity"}}
    for mode, risks, claimed in (("subsumed", (0.5, 1.0), False), ("compatible", (0.5, 0.5), True)):
        asked["consistency"] = {"default": {"mode": mode}}
        narrow = asked | {"dictionary": "narrow", "bounds": {"true_dictionary": "wide"}}
        estimated = (await post(fixture, "assessments", narrow))["result"]
        true = (await post(fixture, "assessments", asked | {"dictionary": "wide"}))["result"]
        assert (estimated["risk_average"], true["risk_average"]) == risks
        assert estimated["bound"]["claimed"] is claimed
        failing = {h["id"] for h in estimated["bound"]["hypotheses"] if h["holds"] == "no"}
        assert failing == (set() if claimed else {"consistency_mode"})


@pytest.mark.spec("E-10")
async def test_records_that_the_dictionary_lacks_are_warned_of(fixture):
    """Entity 4 under D3: no Black there, hence risk 0; counted herself, she has 1.6."""
    result = await scored(fixture, "D3")
    assert result["absent"] == 1
    assert result["risk_min"] == 0
    (warning,) = [own for own in result["warnings"] if "no safety" in own]
    assert warning.startswith("1 record has no consistent entity")
    # Where a failed attempt does harm, that is its risk: the warning promises no risk of 0.
    assert "risk 0" not in warning
    assert "a failed attempt" in warning
    wrong = {"name": "wrong", "dataset": "T", "family": "constant", "constant": 0.05}
    await post(fixture, "sensitivity-profiles", wrong)
    await post(fixture, "assessments", question("D3", name="tried", failure="wrong"))
    rows = (await fixture.get("/v1/assessments/tried/records")).json()
    assert rows[3]["loss"] == pytest.approx(0.05)
    assert result["monotone"]["non_empty"] is False
    body = question("D3", name="with-self", absent_policy="add_self")
    await post(fixture, "assessments", body)
    rows = (await fixture.get("/v1/assessments/with-self/records")).json()
    assert rows[3]["loss"] == pytest.approx(1.6)


async def test_an_empty_dictionary_is_warned_of(fixture):
    await upload(fixture, "nobody", ("id", "city"), [])
    links = [{"attribute": "city", "column": "city"}]
    await post(fixture, "dictionaries", {"name": "nobody", "upload": "nobody", "links": links})
    result = await scored(fixture, "nobody")
    assert (result["n_entities"], result["risk_average"], result["absent"]) == (0, 0, 6)
    assert any("no entities" in warning for warning in result["warnings"])


async def test_an_estimated_dictionary_has_the_numbers_of_a_known_one_and_says_so(fixture):
    known = await post(fixture, "assessments", question("D1"))
    estimated = await post(fixture, "assessments", question("D1", attacker_view="estimated"))
    assert estimated["result"]["risk_average"] == known["result"]["risk_average"]
    assert any("estimate" in warning for warning in estimated["result"]["warnings"])
    assert estimated["sha256"] != known["sha256"]


async def test_a_default_that_is_spelled_out_is_the_same_assessment(fixture):
    plain = await post(fixture, "assessments", question("D1", name="one"))
    spelled = question(
        "D1", name="one", utility={"kind": "depth_sum"}, risk_model="I", absent_policy="zero",
        consistency={"default": {"mode": "compatible", "threshold": 0.5},
                     "attributes": {"city": {"mode": "compatible"}}},
        attacker_view="known", failure=None, bounds=None,
    )  # fmt: skip
    response = await fixture.post("/v1/assessments", json=spelled)
    assert response.status_code == 200
    assert response.json() == plain


@pytest.mark.deep
@pytest.mark.parametrize(
    "more",
    [
        {"risk_model": "II"},
        {"risk_model": {"kind": "custom", "formula": "phi / count"}},
        {"consistency": {"default": {"mode": "subsumed"}}},
        {"consistency": {"attributes": {"city": {"mode": "jaro", "threshold": 0.9}}}},
        {"failure": "multiplicative"},
        {"attacker_view": "estimated"},
        {"bounds": {}},
        {"bounds": {"true_dictionary": "D2"}},
        {"utility": "log_leaves"},
        {"utility": {"kind": "depth_sum", "weights": {"city": 2}}},
        {"absent_policy": "add_self"},
    ],
)
async def test_whatever_is_asked_otherwise_is_another_assessment_by_run_as_directly(api, fixture, more):
    plain = await post(fixture, "assessments", question("D1"))
    other = await post(fixture, "assessments", question("D1", **more))
    assert other["sha256"] != plain["sha256"]
    dry = await fixture.post("/v1/assessments", params={"dry_run": True}, json=question("D1", **more))
    assert (dry.json()["route"], dry.json()["missing"]) == ("direct", [])
    # A hash that differs by the profile's name only, so that the run has to compute for itself.
    again = question("D1", **more, name="by-run", rule=rule("G1"))
    run = await post(fixture, "assessments/runs", again)
    await api.work_off(run["id"])
    by_run = (await fixture.get("/v1/assessments/by-run")).json()["result"]
    direct = (await post(fixture, "assessments", again | {"name": "direct"}))["result"]
    assert by_run == direct
    assert by_run == (await fixture.get(f"/v1/runs/{run['id']}/result")).json()


REFUSALS = [
    ({"dictionary": "theta", "attacker_view": "known"}, "/attacker_view", "view-does-not-fit"),
    ({"attacker_view": "bayes"}, "/attacker_view", "view-does-not-fit"),
    ({"dictionary": "theta-without-prior", "attacker_view": "bayes"}, "/attacker_view", "no-prior"),
    ({"dictionary": "theta", "bounds": {}}, "/bounds", "bound-of-a-set"),
    ({"failure": "personal", "risk_model": "II"}, "/failure", "no-failure-in-model"),
    ({"consistency": {"attributes": {"age": {}}}}, "/consistency/attributes/age", "unknown-attribute"),
    ({"consistency": {"default": {"threshold": 1.1}}}, "/consistency/default/threshold", None),
    ({"risk_model": {"kind": "custom", "formula": "phi * count"}}, "/risk_model/formula", None),
    ({"risk_model": {"kind": "custom", "formula": "__import__('os')"}}, "/risk_model/formula", None),
    ({"risk_model": "IV"}, "/risk_model", "literal-error"),
    ({"risk_model": {"kind": "custom"}}, "/risk_model/formula", "missing"),
    ({"risk_model": {"kind": "custom", "formula": "1" * 201}}, "/risk_model/formula", "string-too-long"),
    ({"utility": "usefulness"}, "/utility", None),
]


@pytest.mark.parametrize(("more", "pointer", "code"), REFUSALS)
async def test_what_does_not_fit_together_is_refused_by_its_field(fixture, more, pointer, code):
    for path in ("assessments", "assessments/runs"):
        response = await fixture.post(f"/v1/{path}", json=question("D1") | more)
        problem = problem_of(response, 422, "invalid-input")
        assert pointers(problem)[0].startswith(pointer)
        assert code in (None, problem["errors"][0]["code"])


async def test_a_failure_profile_of_another_dataset_is_refused_by_its_field(fixture):
    await dataset(fixture, "other", "D1")
    await profile(fixture, "other-harm", "linear", scale=2.0, of="other")
    body = question("D1", failure="other-harm")
    problem = problem_of(await fixture.post("/v1/assessments", json=body), 422, "invalid-input")
    assert pointers(problem) == ["/failure"]


async def test_a_name_of_a_dictionary_and_of_a_set_is_ambiguous(fixture):
    body = {"name": "D1", "dictionaries": [{"dictionary": "D1"}, {"dictionary": "D2"}]}
    made = await post(fixture, "dictionary-sets", body)
    problem = problem_of(await fixture.post("/v1/assessments", json=question("D1")), 422, "invalid-input")
    assert (pointers(problem), problem["errors"][0]["code"]) == (["/dictionary"], "ambiguous-name")
    result = await scored(fixture, made["id"])
    assert len(result["dictionaries"]) == 2


@pytest.mark.parametrize("role", ["dictionary", "failure", "true_dictionary"])
async def test_a_source_that_is_not_there_is_listed_by_a_dry_run_and_refused(fixture, role):
    body = question("D1") | ({"bounds": {role: "nobody"}} if role == "true_dictionary" else {role: "nobody"})
    problem_of(await fixture.post("/v1/assessments", json=body), 422, "invalid-input")
    dry = (await fixture.post("/v1/assessments", params={"dry_run": True}, json=body)).json()
    (missing,) = dry["missing"]
    assert missing["pointer"] == ("/bounds/true_dictionary" if role == "true_dictionary" else f"/{role}")


async def test_what_an_assessment_rests_on_cannot_be_deleted(fixture):
    body = question("T", failure="multiplicative", bounds={"true_dictionary": "D3"}, name="held")
    await post(fixture, "assessments", body)
    for path in ("dictionaries/T", "dictionaries/D3", "sensitivity-profiles/multiplicative"):
        problem_of(await fixture.delete(f"/v1/{path}"), 409, "conflict")
    assert DICTIONARIES.keys() >= {"D3"}
