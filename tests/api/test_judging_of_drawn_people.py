"""Stored releases of mechanisms judged as synthetic tables: measured, and by gates with a guarantee."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from tests.api.drawn_people import asked, data, made, people
from tests.api.problem_documents import problem_of
from tests.api.service import Api

pytestmark = pytest.mark.anyio

Json = dict[str, Any]
DRAWN = {
    "kind": "dirichlet_multinomial",
    "partition": ["town"],
    "epsilon": 2,
    "delta": 0.000001,
    "certificate": "exact_tail",
}
GUARANTEE = {
    "kind": "guarantee",
    "may_rest_on_assumptions": True,
    "model": {
        "kind": "bounded_differential_privacy",
        "attribute": "illness",
        "epsilon": {"at_most": 2},
        "delta": {"at_most": 0.00001},
    },
}
NOISE = {
    "kind": "measure", "measure": {"kind": "synthetic_utility"}, "value": "noise_share",
    "comparison": "at_most", "threshold": 0.5,
}  # fmt: skip
ATTACK = {
    "kind": "measure",
    "measure": {"kind": "synthetic_attacks", "synthetic": "dataset", "holdout": "holdout", "attacks": 50,
                "secrets": ["illness"]},
    "value": "risk_high", "comparison": "at_most", "threshold": 1,
}  # fmt: skip


async def drawn(client: httpx.AsyncClient, **mechanism: Any) -> Json:
    await people(client)
    return await made(client.post("/v1/releases", json=asked(mechanism=DRAWN | mechanism)))


async def measured(client: httpx.AsyncClient, kind: str, of: Json, **parameters: Any) -> Json:
    body = {**of, "measure": {"kind": kind, **parameters}}
    answer = await client.post("/v1/measurements", json=body)
    assert answer.status_code in (200, 201), answer.text
    found: Json = answer.json()["result"]
    return found


async def verdict(client: httpx.AsyncClient, *requirements: Json, **more: Any) -> Json:
    """What a gate says of the release ``drawn``; a requirement with a severity is written with it."""
    name = f"p{len((await client.get('/v1/policies')).json()['items'])}"
    listed = [
        {"id": str(number), "title": "It holds", "reason": "Test.", "requirement": own}
        for number, own in enumerate(requirements)
    ]
    for own in listed:
        own |= {"severity": own["requirement"].get("severity", "block")}
        own["requirement"] = {key: one for key, one in own["requirement"].items() if key != "severity"}
    policy = {
        "format": "privacy-risk/policy/2", "name": name, "version": 1, "title": "Of drawn people",
        "assumes": {"attacker": "Who knows everybody else."},
        "schema": {"attributes": {"town": "quasi_identifier", "illness": "sensitive"}},
        "requirements": listed,
    }  # fmt: skip
    await made(client.post("/v1/policies", json=policy))
    body = {"dataset": "people", "release": {"name": "drawn"}, **more}
    answer = await client.post(f"/v1/gates/{name}/evaluations", json=body)
    assert answer.status_code in (200, 201), answer.text
    found: Json = answer.json()["result"]
    return found


async def test_a_stored_release_is_measured_as_the_table_that_one_downloads(client: httpx.AsyncClient):
    await drawn(client)
    await people(client, "held-out")
    text = (await data(client)).decode()
    await made(client.post("/v1/uploads?name=copy", content=text, headers={"Content-Type": "text/csv"}))
    await people(client, "copy", "copy")
    parameters: dict[str, Json] = {
        "synthetic_attacks": {"secrets": ["illness"], "attacks": 50},
        "synthetic_distances": {"quasi_identifiers": ["town"]},
        "synthetic_utility": {},
    }
    for kind, own in parameters.items():
        by_name = await measured(client, kind, {"release": "drawn"}, **own)
        by_file = await measured(client, kind, {"dataset": "people"}, synthetic="copy", **own)
        assert by_file.pop("noise_share", None) is None
        share = by_name.pop("noise_share", None)
        assert by_name == by_file
    plan = (await client.post("/v1/releases/plans", json=asked(mechanism=DRAWN))).json()
    assert share == pytest.approx(plan["constants"]["noise_share"], abs=1e-12)


async def test_a_release_at_a_more_general_level_is_compared_at_that_level(client: httpx.AsyncClient):
    await people(client, illnesses=["flu", "asthma", "gout"])
    body = {"name": "ways", "dataset": "people"}
    body["rule"] = {"kind": "table_level", "levels": {"town": 1, "illness": 0}}
    await made(client.post("/v1/rules", json=body))
    mechanism = {**DRAWN, "partition": [], "rule_is_public": True}
    await made(client.post("/v1/releases", json=asked(mechanism=mechanism, rule="ways")))
    found = await measured(client, "synthetic_utility", {"release": "drawn"})
    differences = {own["attribute"]: own["difference"] for own in found["columns"]}
    assert differences["town"] == 0
    assert 0 < found["noise_share"] < 1


async def test_rows_by_other_mechanisms_are_compared_too_and_have_no_known_noise(client: httpx.AsyncClient):
    await people(client)
    perturbed = {"kind": "uniform_perturbation", "p": 0.25, "rho_1": 0.1, "rho_2": 0.4, "epsilon": 0.2}
    stable = {"kind": "stability_histogram", "epsilon": 4, "delta": 1e-3, "least_records": 20}
    for name, mechanism in (("perturbed", perturbed), ("stable", stable)):
        body = asked(name, mechanism=mechanism) | {"independent_of_earlier": True}
        await made(client.post("/v1/releases", json=body))
        found = await measured(client, "synthetic_utility", {"release": name})
        assert found["marginals"]["score"] > 0
        assert found["noise_share"] is None


async def test_nothing_and_two_things_are_no_synthetic_table(client: httpx.AsyncClient):
    await drawn(client)
    cases = [({"dataset": "people"}, {}, "Nothing says which table"),
             ({"release": "drawn"}, {"synthetic": "people"}, "Both a release and a dataset")]  # fmt: skip
    for of, more, said in cases:
        body = {**of, "measure": {"kind": "synthetic_utility", **more}}
        answer = await client.post("/v1/measurements", json=body)
        assert said in problem_of(answer, 422, "not-supported")["detail"]


async def test_a_gate_passes_on_the_certificate_and_fails_on_the_noise(client: httpx.AsyncClient):
    await drawn(client)
    found = await verdict(client, GUARANTEE, NOISE)
    assert (found["verdict"], [own["outcome"] for own in found["criteria"]]) == ("pass", ["passed"] * 2), (
        found
    )
    assert found["subject"]["original"]["name"] == "people"
    assert "taken from whoever asked" not in " ".join(found["assumptions"])
    strict = NOISE | {"threshold": 0.01}
    found = await verdict(client, GUARANTEE, strict)
    assert (found["verdict"], [own["outcome"] for own in found["criteria"]]) == ("fail", ["passed", "failed"])


async def test_a_run_judges_a_stored_release_alike(api: Api, client: httpx.AsyncClient):
    await drawn(client)
    at_once = await verdict(client, GUARANTEE, NOISE)
    body = {"release": {"name": "drawn"}, "name": "later", "as_governor": False}
    answer = await client.post("/v1/gates/p0/evaluations/runs", json=body)
    assert answer.status_code == 202, answer.text
    await api.work_off(answer.json()["id"])
    found = (await client.get("/v1/evaluations/later")).json()
    assert found["result"]["criteria"] == at_once["criteria"]


async def test_the_noise_share_of_a_file_is_not_known(client: httpx.AsyncClient):
    await drawn(client)
    text = (await data(client)).decode()
    await made(client.post("/v1/uploads?name=copy", content=text, headers={"Content-Type": "text/csv"}))
    await people(client, "copy", "copy")
    asked_of = {"release": None, "rule": {"kind": "identity"}, "dataset": "copy", "original": "people"}
    found = await verdict(client, GUARANTEE, NOISE, **asked_of)
    assert found["verdict"] == "error"
    assert "has no value noise_share" in found["criteria"][1]["error"]["message"]


async def test_an_attack_that_fails_is_no_certificate_of_a_draw(client: httpx.AsyncClient):
    await drawn(client)
    towns = [*(["Rome"] * 50), *(["Bari"] * 50)]
    held = "town,illness\n" + "".join(f"{own},measles\n" for own in towns)
    await made(client.post("/v1/uploads?name=held", content=held, headers={"Content-Type": "text/csv"}))
    await people(client, "held", "held", illnesses=["measles"])
    lucky = await verdict(client, ATTACK, holdout="held")
    assert lucky["verdict"] == "error"
    (criterion,) = lucky["criteria"]
    assert criterion["outcome"] == "not_computable"
    assert "has chosen a lucky table by looking at the data" in criterion["error"]["message"]
    warned = await verdict(client, ATTACK | {"severity": "warn"}, holdout="held")
    assert warned["criteria"][0]["outcome"] in ("passed", "failed")
    certified = await verdict(client, GUARANTEE, ATTACK, holdout="held")
    assert (certified["verdict"], certified["coverage"]["outcome"]) == ("pass", "covered")
    judged_by = {own["name"]: own["judged_by"] for own in certified["coverage"]["columns"]}
    assert judged_by == {"town": [], "illness": ["0"]}
    assert any("held out are no records of the original" in own for own in certified["assumptions"])


async def test_the_original_of_a_drawn_release_is_known(client: httpx.AsyncClient):
    await drawn(client)
    await verdict(client, GUARANTEE, NOISE)
    body = {"dataset": "people", "release": {"name": "drawn"}, "original": "people"}
    problem = problem_of(await client.post("/v1/gates/p0/evaluations", json=body), 422, "invalid-input")
    assert [(own["pointer"], own["code"]) for own in problem["errors"]] == [("/original", "not-applicable")]
    assert "that is its original" in problem["errors"][0]["message"]


async def test_the_hierarchy_of_what_is_held_out_has_to_fit_a_level(client: httpx.AsyncClient):
    await people(client)
    rule = {"kind": "table_level", "levels": {"town": 1, "illness": 0}}
    await made(client.post("/v1/rules", json={"name": "ways", "dataset": "people", "rule": rule}))
    mechanism = {**DRAWN, "partition": [], "rule_is_public": True}
    await made(client.post("/v1/releases", json=asked(mechanism=mechanism, rule="ways")))
    rows = [["Rome", "Lazio"], ["Bari", "Apulia"]]
    await made(
        client.post("/v1/hierarchies", json={"name": "deep", "definition": {"kind": "rows", "rows": rows}})
    )
    attributes = [
        {"name": "town", "type": "categorical", "role": "quasi_identifier", "hierarchy": "deep"},
        {"name": "illness", "type": "categorical", "role": "sensitive"},
    ]
    held = {"name": "held", "upload": "people", "attributes": attributes}
    await made(client.post("/v1/datasets", json=held))
    measure = {"kind": "synthetic_utility", "holdout": "held"}
    answer = await client.post("/v1/measurements", json={"release": "drawn", "measure": measure})
    problem = problem_of(answer, 422, "invalid-input")
    assert [(own["pointer"], own["code"]) for own in problem["errors"]] == [
        ("/measure/holdout", "other-hierarchy")
    ]
