"""Least loss under several privacy criteria, from the question to the release."""

from __future__ import annotations

import json
import math
from collections import defaultdict

import httpx
import pytest

from app.services.resources import Scope
from tests.api.optimisations import EXAMPLES, asking, found, result_of
from tests.api.problem_documents import pointers, pointers_with_remedies, problem_of

TWO = [{"kind": "k_anonymity", "k": 2}]
QUESTION = {"dataset": "members", "objective": EXAMPLES["anonymous-optimum"]["objective"]}


async def test_several_criteria_hold_of_what_is_released(journey: httpx.AsyncClient):
    result = await result_of(journey, "diverse-optimum")
    assert result["status"] == "optimal"
    asked = EXAMPLES["diverse-optimum"]["objective"]["privacy"]
    assert [own["criterion"]["kind"] for own in result["privacy"]] == [own["kind"] for own in asked]
    size, values, distance = (own["attained"] for own in result["privacy"])
    assert size >= 2
    assert values >= 2
    assert distance <= 0.8
    assert result["rule"]["levels"]["income"] == 0
    assert result["infeasible_because"] == []
    assert {"city", "race", "birth_date", "income"} == set(result["minimal_rules"][0])
    release = {"name": "diverse", "dataset": "members", "rule": "diverse-optimum"}
    made = (await journey.post("/v1/releases", json=release)).json()
    assert made["suppressed_records"] == result["suppressed_records"]
    lines = (await journey.get("/v1/releases/diverse/data")).text.splitlines()[1:]
    incomes = defaultdict(list)
    for line in lines:
        if line != "*,*,*,*":
            shown, income = line.rsplit(",", 1)
            incomes[shown].append(income)
    assert len(incomes) == result["classes"]
    assert min(len(own) for own in incomes.values()) == size
    assert min(len(set(own)) for own in incomes.values()) == values


async def test_attributes_are_weighed_and_their_losses_ranked(api, journey: httpx.AsyncClient):
    result = await result_of(journey, "weighed-optimum")
    assert result["status"] == "optimal"
    assert result["objective"]["loss"] == EXAMPLES["weighed-optimum"]["objective"]["loss"] | {
        "weights": {"city": 3.0}
    }
    losses = result["attribute_losses"]
    assert set(losses) == {"city", "race", "birth_date"}
    assert result["loss"] == max(losses.values())
    plain = EXAMPLES["weighed-optimum"]["objective"] | {"loss": "arithmetic"}
    even = await found(api, journey, {"name": "even", "dataset": "members", "objective": plain})
    assert even["attribute_losses"] is None
    weighed = plain | {"loss": {"kind": "arithmetic", "weights": {"city": 1e6, "race": 0}}}
    kept = await found(api, journey, {"name": "for-cities", "dataset": "members", "objective": weighed})
    assert kept["attribute_losses"]["race"] == 0
    assert kept["rule"]["levels"]["city"] <= even["rule"]["levels"]["city"]


async def test_what_cannot_be_met_is_said_with_the_reason(api, journey: httpx.AsyncClient):
    body = asking("too-diverse", [{"kind": "k_anonymity", "k": 2}, {"kind": "k_anonymity", "k": 13}])
    result = await found(api, journey, body)
    assert (result["status"], result["rule"], result["risk_evaluations"]) == ("infeasible", None, 0)
    (why,) = result["infeasible_because"]
    assert why["criterion"] == {"kind": "k_anonymity", "k": 13}
    assert "12 records" in why["reason"]
    problem_of(await journey.get("/v1/rules/too-diverse"), 404, "not-found")


async def test_a_criterion_of_a_population_needs_a_dictionary(api, journey: httpx.AsyncClient):
    body = asking("mapped", [{"kind": "k_map", "k": 3}], suppression_limit=0.2)
    refused = problem_of(await journey.post("/v1/optimisations", json=body), 422, "invalid-input")
    assert pointers(refused) == ["/dictionary"]
    result = await found(api, journey, body | {"dictionary": "census"})
    assert result["status"] == "optimal"
    assert result["privacy"][0]["attained"] >= 3
    rule = (await journey.get("/v1/rules/mapped")).json()
    assert (rule["kind"], rule["levels"]) == ("table_level", result["rule"]["levels"])


@pytest.mark.parametrize(
    ("privacy", "more", "pointer"),
    [
        ([{"kind": "distinct_l_diversity", "l": 2, "attribute": "city"}], {},
         "/objective/privacy/0/attribute"),
        ([{"kind": "delta_presence", "lower": 0.9, "upper": 0.1}], {}, "/objective/privacy/0/lower"),
        ([{"kind": "k_anonymity", "k": 2}], {"loss": {"kind": "ail", "numeric": ["city"]}},
         "/objective/loss/numeric"),
        (TWO, {"loss": {"kind": "precision", "weights": {"city": -1}}}, "/objective/loss/weights/city"),
        (TWO, {"loss": {"kind": "precision", "weights": {"city": "inf"}}}, "/objective/loss/weights/city"),
        (TWO, {"loss": {"kind": "precision", "weights": {"town": 1}}}, "/objective/loss/weights/town"),
        (TWO, {"loss": {"kind": "precision", "weights": {"income": 1}}}, "/objective/loss/weights/income"),
        (TWO, {"loss": {"kind": "precision", "weights": {"city": 0, "race": 0, "birth_date": 0}}},
         "/objective/loss/weights"),
        (TWO, {"loss": {"kind": "discernibility", "weights": {"city": 2}}}, "/objective/loss/weights"),
        (TWO, {"loss": {"kind": "geometric", "aggregate": "rank"}}, "/objective/loss/aggregate"),
        (TWO, {"loss": {"kind": "precision", "weights": {"city": math.inf}}}, "/objective/loss/weights/city"),
        (TWO, {"loss": {"kind": "precision", "weights": {"city": None}}}, "/objective/loss/weights/city"),
        (TWO, {"loss": {"kind": "precision", "suppression_factor": 1.1}},
         "/objective/loss/suppression_factor"),
        (TWO, {"loss": {"kind": "precision", "suppression_factor": -0.1}},
         "/objective/loss/suppression_factor"),
        (TWO, {"loss": {"kind": "precision", "suppression_factor": "inf"}},
         "/objective/loss/suppression_factor"),
        (TWO, {"loss": {"kind": "precision", "aggregate": "median"}}, "/objective/loss/aggregate"),
        (TWO, {"loss": {"kind": "ambiguity", "suppression_factor": 0.4}},
         "/objective/loss/suppression_factor"),
        (TWO, {"loss": {"kind": "squared_error"}}, "/objective/loss/numeric"),
        (TWO, {"loss": {"kind": "squared_error", "numeric": ["city"]}}, "/objective/loss/numeric"),
        (TWO, {"loss": {"kind": "precision", "aggregate": "rank"}, "local_recoding": True},
         "/objective/loss/aggregate"),
        ([{"kind": "k_anonymity", "k": 2}], {"minimal_rules": True, "local_recoding": True},
         "/objective/minimal_rules"),
    ],
)  # fmt: skip
async def test_what_is_wrong_with_a_criterion_or_loss_is_named(
    journey: httpx.AsyncClient, privacy, more, pointer
):
    # JSON has no infinity, but numbers that are too large.
    content = json.dumps(asking("wrong", privacy, **more)).replace("Infinity", "1e999")
    headers = {"Content-Type": "application/json"}
    response = await journey.post("/v1/optimisations", content=content, headers=headers)
    assert pointers_with_remedies(problem_of(response, 422, "invalid-input")) == [pointer]


async def test_criteria_that_name_values_are_for_those_who_may_read_the_data(api, journey: httpx.AsyncClient):
    """The records that such a rule suppresses are those that have the values."""
    token = journey.headers["authorization"].removeprefix("Bearer ")
    actor = await api.services.tenants.authenticate(token)
    harmless = [{"kind": "pd_recursive_l_diversity", "c": 1, "l": 2, "harmless": ["[0, 100000["]}]
    rule = {"kind": "table_level", "levels": {}, "suppress_classes_failing": harmless}
    scopes = (Scope.ASSESS, Scope.DATA_WRITE)
    async with api.client(await api.key_with(actor, *scopes)) as blind:
        for path, body in (
            ("rules", {"name": "blind", "dataset": "members", "rule": rule}),
            ("optimisations", asking("blind", harmless)),
            ("optimisations?dry_run=true", asking("blind", harmless)),
        ):
            refused = problem_of(await blind.post(f"/v1/{path}", json=body), 403, "forbidden")
            assert refused["scope"] == "data:read"
        unnamed = asking("unnamed", [{"kind": "pd_recursive_l_diversity", "c": 1, "l": 2}])
        asked = await blind.post("/v1/optimisations", params={"dry_run": True}, json=unnamed)
        assert asked.status_code == 200, asked.text


async def test_a_rule_of_ones_own_suppresses_classes_that_fail_criteria(journey: httpx.AsyncClient):
    levels = {"city": 3, "birth_date": 2}
    failing = [{"kind": "distinct_l_diversity", "l": 2, "attribute": None, "others": "in_classes"}]
    body = {"name": "own", "dataset": "members"}
    rule = {"kind": "table_level", "levels": levels, "suppress_classes_failing": failing}
    made = (await journey.post("/v1/rules", json=body | {"rule": rule})).json()
    assert made["suppress_classes_failing"] == [
        {**failing[0], "version": 2, "missing_sensitive": "most_frequent"}
    ]
    assert made["records"] > 0
    both = rule | {"suppress_classes_below": 2}
    problem_of(await journey.post("/v1/rules", json=body | {"rule": both}), 422, "invalid-input")
    alone = {"kind": "table_level", "levels": levels, "missing": "excluded"}
    problem_of(await journey.post("/v1/rules", json=body | {"rule": alone}), 422, "invalid-input")
    unknown = rule | {"suppress_classes_failing": [{"kind": "k_map", "k": 2}]}
    refused = await journey.post("/v1/rules", json=body | {"name": "unknown", "rule": unknown})
    assert "population" in problem_of(refused, 422, "invalid-input")["errors"][0]["message"]


@pytest.mark.parametrize(
    ("criterion", "most"),
    [
        ({"kind": "highest_journalist_risk", "threshold": 0.34}, 0.34),
        ({"kind": "average_journalist_risk", "threshold": 0.3}, 0.3),
        ({"kind": "marketer_risk", "threshold": 0.3}, 0.3),
    ],
)
async def test_attackers_who_know_a_population_are_searched_and_measured_alike(
    api, journey: httpx.AsyncClient, criterion, most
):
    name = criterion["kind"].replace("_", "-")
    body = asking(name, [criterion], suppression_limit=0.2)
    refused = problem_of(await journey.post("/v1/optimisations", json=body), 422, "invalid-input")
    assert pointers(refused) == ["/dictionary"]
    result = await found(api, journey, body | {"dictionary": "census"})
    assert (result["status"], result["privacy"][0]["guarantee"]) == ("optimal", "exact")
    assert result["privacy"][0]["attained"] <= most + 1e-9
    question = {"name": f"{name}-measured", "dataset": "members", "rule": name, "dictionary": "census"}
    measured = await journey.post(
        "/v1/measurements", json=question | {"measure": {"kind": "attacker_models"}}
    )
    said = measured.json()["result"]
    attained = {
        "highest_journalist_risk": said["journalist"]["highest"],
        "average_journalist_risk": said["journalist"]["average"],
        "marketer_risk": said["marketer"]["share_re_identified"],
    }[criterion["kind"]]
    assert attained == pytest.approx(result["privacy"][0]["attained"])


async def test_an_estimate_of_uniqueness_is_flagged_in_the_outcome(api, journey: httpx.AsyncClient):
    unique = {"kind": "population_uniqueness", "threshold": 0.05, "sampling_fraction": 0.1}
    result = await found(api, journey, asking("few-uniques", [unique], suppression_limit=0.2))
    (attained,) = result["privacy"]
    # Of an estimate that is no quotient of sums, nothing is known of other sets of suppressed classes.
    assert (result["status"], attained["guarantee"]) == ("heuristic", "heuristic")
    assert result["lower_bound"] < result["loss"]
    assert attained["attained"] <= 0.05 + 1e-9
    question = {"name": "uniques-measured", "dataset": "members", "rule": "few-uniques"}
    asked = {"kind": "population_uniqueness", "sampling_fraction": 0.1}
    said = (await journey.post("/v1/measurements", json=question | {"measure": asked})).json()["result"]
    assert said["decision"]["share"] == pytest.approx(attained["attained"])
    shown = (await journey.get("/v1/catalogue")).json()["criteria"]
    heuristic = {own["name"] for own in shown if own["guarantee"] == "heuristic"}
    assert heuristic == {"population_uniqueness", "estimated_k_map", "corrected_entropy_l_diversity"}
    both = asking("two-sizes", [unique | {"population": 1000}])
    refused = problem_of(await journey.post("/v1/optimisations", json=both), 422, "invalid-input")
    assert pointers(refused) == ["/objective/privacy/0/sampling_fraction"]


async def test_estimates_from_the_release_as_a_sample_are_searched_and_measured_alike(
    api, journey: httpx.AsyncClient
):
    people = {"kind": "estimated_k_map", "k": 20, "sampling_fraction": 0.1}
    values = {"kind": "corrected_entropy_l_diversity", "l": 1.5, "attribute": "income"}
    result = await found(api, journey, asking("sampled", [people, values], suppression_limit=0.2))
    assert [own["guarantee"] for own in result["privacy"]] == ["heuristic", "heuristic"]
    for number, measure in enumerate(
        (
            {"kind": "k_map", "k": 20, "by": "poisson", "sampling_fraction": 0.1},
            {"kind": "l_diversity", "attributes": ["income"]},
        )
    ):
        question = {"name": f"sampled-{number}", "dataset": "members", "rule": "sampled"}
        asked = await journey.post("/v1/measurements", json=question | {"measure": measure})
        said = asked.json()["result"]
        if number:
            assert said["corrected_entropy_l"] == pytest.approx(result["privacy"][1]["attained"])
        else:
            assert (said["is_k_map"], said["guarantee"]) == (True, "statistical")
    wrong = asking("no-sample", [people | {"sampling_fraction": 1.5}])
    refused = problem_of(await journey.post("/v1/optimisations", json=wrong), 422, "invalid-input")
    assert pointers(refused) == ["/objective/privacy/0/sampling_fraction"]


async def test_breaches_need_a_population_that_says_the_sensitive_value(api, journey: httpx.AsyncClient):
    breach = {"kind": "rho_privacy", "rho_1": 0.3, "rho_2": 0.7}
    body = asking("no-breach", [breach], suppression_limit=0.4)
    unsaid = await journey.post("/v1/optimisations", json=body | {"dictionary": "census"})
    assert "does not say the 'income'" in problem_of(unsaid, 422, "not-supported")["detail"]
    known = body | {"name": "no-breach-known", "dictionary": "members-themselves"}
    result = await found(api, journey, known)
    assert result["status"] == "optimal"
    assert result["privacy"][0]["attained"] <= 0.7 + 1e-9
    question = {
        "name": "breach-measured", "dataset": "members", "rule": "no-breach-known",
        "dictionary": "members-themselves",
        "measure": {"kind": "posterior_beliefs", "rho_1": 0.3, "rho_2": 0.7},
    }  # fmt: skip
    said = (await journey.post("/v1/measurements", json=question)).json()["result"]
    assert said["is_private"] is True
    alone = known | {"name": "no-breach-alone", "scope": "record_level"}
    recoded = await found(api, journey, alone)
    assert recoded["loss"] <= recoded["table_level_loss"] == result["loss"]
    question = question | {"name": "alone-measured", "rule": "no-breach-alone"}
    said = (await journey.post("/v1/measurements", json=question)).json()["result"]
    assert said["is_private"] is True
    unsaid = await journey.post("/v1/optimisations", json=alone | {"name": "unsaid", "dictionary": "census"})
    assert "does not say the 'income'" in problem_of(unsaid, 422, "not-supported")["detail"]


GAPS = "id,city,sex,disease\n" + "".join(
    f"{i},{city},{sex},{disease}\n"
    for i, (city, sex, disease) in enumerate(
        [("a", "f", "flu"), ("a", "f", "hiv"), ("a", "", "flu"), ("b", "m", "flu"), ("b", "", "hiv"),
         ("", "m", "flu"), ("c", "f", "hiv"), ("c", "m", "flu")]
    )
)  # fmt: skip


async def test_a_missing_value_may_match_everything_in_searches_and_rules(api, journey: httpx.AsyncClient):
    made = await journey.post(
        "/v1/uploads", params={"name": "gaps"}, content=GAPS, headers={"content-type": "text/csv"}
    )
    assert made.status_code == 201, made.text
    attributes = [
        {"name": "id", "type": "text", "role": "identifier"},
        {"name": "city", "type": "categorical", "role": "quasi_identifier"},
        {"name": "sex", "type": "categorical", "role": "quasi_identifier"},
        {"name": "disease", "type": "categorical", "role": "sensitive"},
    ]
    dataset = {"name": "gaps", "upload": "gaps", "attributes": attributes}
    assert (await journey.post("/v1/datasets", json=dataset)).status_code == 201
    objective = {
        "kind": "min_loss",
        "privacy": [{"kind": "k_anonymity", "k": 2}, {"kind": "distinct_l_diversity", "l": 2}],
        "suppression_limit": 0.25,
        "missing": "matches_everything",
    }
    body = {"name": "wild", "dataset": "gaps", "objective": objective}
    result = await found(api, journey, body)
    assert result["objective"]["missing"] == "matches_everything"
    assert result["status"] == "optimal"
    own = await found(
        api, journey, body | {"name": "tame", "objective": objective | {"missing": "own_category"}}
    )
    assert result["loss"] < own["loss"]
    for rule in ("wild", {"kind": "table_level", "levels": {}, "missing": "matches_everything",
                          "suppress_classes_failing": objective["privacy"]}):  # fmt: skip
        question = {"name": f"gaps-{len(str(rule))}", "dataset": "gaps", "rule": rule}
        size = {"kind": "equivalence_classes", "k": 2, "missing": "matches_everything"}
        said = await journey.post("/v1/measurements", json=question | {"measure": size})
        assert said.json()["result"]["is_k_anonymous"] is True
        assert said.json()["result"]["judged"]["records_judged"] >= 6
    if result["suppressed_records"]:
        assert (await journey.get("/v1/rules/wild")).json()["missing"] == "matches_everything"
    for more in ({"scope": "record_level"}, {"objective": objective | {"local_recoding": True}}):
        name = f"wild-{len(more['objective']) if 'objective' in more else 'records'}"
        recoded = await found(api, journey, body | {"name": name} | more)
        assert recoded["loss"] <= recoded["table_level_loss"] == result["loss"]
        question = {"name": f"{name}-measured", "dataset": "gaps", "rule": name}
        size = {"kind": "equivalence_classes", "k": 2, "missing": "matches_everything"}
        said = (await journey.post("/v1/measurements", json=question | {"measure": size})).json()["result"]
        assert said["is_k_anonymous"] is True
        assert (said["k"], said["judged"]["classes"]) == (recoded["smallest_class"], recoded["classes"])
        assert said["judged"]["records_suppressed"] == recoded["suppressed_records"]


async def test_no_more_classes_are_suppressed_for_the_whole_table_than_have_to_be(
    api, journey: httpx.AsyncClient
):
    """98 pairs and 4 unique records, of which one may stay among 197."""
    values = [f"v{i:03}" for i in range(102)]
    lines = [value for value in values[:98] for _ in range(2)] + values[98:]
    content = "\n".join(["code", *lines]).encode()
    await journey.post("/v1/uploads", params={"name": "codes", "format": "csv"}, content=content)
    definition = {"kind": "flat", "upload": {"upload": "codes", "column": "code"}}
    await journey.post("/v1/hierarchies", json={"name": "codes", "definition": definition})
    schema = [{"name": "code", "type": "categorical", "role": "quasi_identifier", "hierarchy": "codes"}]
    await journey.post("/v1/datasets", json={"name": "codes", "upload": "codes", "attributes": schema})
    privacy = [{"kind": "sample_uniqueness", "threshold": 0.01}]
    body = asking("few-unique", privacy, suppression_limit=0.015) | {"dataset": "codes"}
    result = await found(api, journey, body)
    assert (result["status"], result["suppressed_records"]) == ("optimal", 3)
    assert result["loss"] == pytest.approx(0.015) == result["lower_bound"]
    rule = {key: value for key, value in result["rule"].items() if value is not None and key != "records"}
    assert rule["suppression_order"] == "class_by_class"
    usual = {key: value for key, value in rule.items() if key != "suppression_order"}
    suppressed = []
    for name, own in (("found-again", rule), ("by-size", usual)):
        made = {"name": name, "dataset": "codes", "rule": own}
        stored = (await journey.post("/v1/rules", json=made)).json()
        assert stored["suppression_order"] == own.get("suppression_order")
        released = (await journey.post("/v1/releases", json={**made, "rule": name})).json()
        suppressed.append(released["suppressed_records"])
    # A rule that does not name the order means what such rules always meant.
    assert suppressed == [3, 4]
    alone = {"kind": "table_level", "levels": {}, "suppression_order": "class_by_class"}
    refused = await journey.post("/v1/rules", json={"name": "alone", "dataset": "codes", "rule": alone})
    problem_of(refused, 422, "invalid-input")
