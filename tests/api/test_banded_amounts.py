"""An amount that one person alone has: it leaves in bands by proposal, and a gate blocks it as it is."""

from __future__ import annotations

import json
import random

import pandas as pd
import pytest

import privacy_risk as pr
from tests.api.optimisations import found
from tests.api.problem_documents import pointers, problem_of

pytestmark = pytest.mark.anyio

DRAW = random.Random(11)
N = 400
PAID = pd.DataFrame(
    {
        "age": [20 + n % 40 for n in range(N)],
        "sex": ["f" if n % 3 else "m" for n in range(N)],
        "salary": [f"${round(DRAW.lognormvariate(10.6, 0.5)):,}.00" for _ in range(N)],
    }
)
ASKED = {"k": 5, "l": 2, "max_suppressed": 0.02, "rows_are": "persons"}
FLAT = {"salary": {"kind": "flat"}}


async def test_amounts_leave_in_bands_of_k_persons_and_the_gate_counts_the_bands(call, tmp_path):
    release = await call(pr.anonymise, PAID, **ASKED)
    shown = release.frame["salary"]
    sizes = shown[shown != "*"].value_counts()
    assert sizes.min() >= 5
    assert sizes.index.str.endswith("or more").sum() == sizes.index.str.startswith("below").sum() == 1
    classes = release.frame[shown != "*"].groupby(["age", "sex"])["salary"].nunique()
    assert classes.min() >= 2
    alone = int((PAID["salary"].value_counts() == 1).sum())
    assert f"salary leaves in {len(sizes)} bands, the highest" in str(release)
    assert f"as it is, {alone} rows have one that no other person has." in str(release)
    assert "not_covered" not in release.policy
    verdict = await call(pr.gate, release.policy, release, original=PAID)
    assert (verdict.outcome, verdict.passed) == ("pass", True), str(verdict)
    # The next delivery is held to bands, too, unless somebody says why not.
    raw = await call(pr.anonymise, PAID, **ASKED, hierarchies=FLAT)
    verdict = await call(pr.gate, release.policy, raw, original=PAID)
    assert (verdict.outcome, "Not covered: 'salary'" in str(verdict)) == ("fail", True)
    release.save_policy(tmp_path / "p.yaml", reasons={"salary": "Everybody's pay is in the register."})
    assert (await call(pr.gate, tmp_path / "p.yaml", raw, original=PAID)).passed


async def test_amounts_as_they_are_are_a_choice_and_a_gate_blocks_them(call):
    release = await call(pr.anonymise, PAID, **ASKED, hierarchies=FLAT)
    assert not any("[" in own for own in release.frame["salary"])
    assert "salary leaves as it is: " in str(release)
    assert release.policy["not_covered"] == [{"columns": ["salary"], "reason": ""}]
    verdict = await call(pr.gate, release.policy, release, original=PAID)
    assert (verdict.outcome, "salary" in str(verdict)) == ("error", True)
    profile = await call(pr.profile, PAID, rows_are="persons")
    alone = int((PAID["salary"].value_counts() == 1).sum())
    assert f"salary: {alone} rows have a value that no other person has." in profile.notes


async def test_the_role_that_is_said_decides_between_bands_and_intervals(call):
    known = await call(pr.anonymise, PAID, k=5, quasi_identifiers=["age", "salary"], rows_are="persons")
    assert known.roles["salary"].hierarchy["kind"] != "bounds"
    secret = await call(pr.anonymise, PAID, k=5, sensitive=["age"], rows_are="persons")
    assert secret.roles["age"].hierarchy["kind"] == "bounds"
    assert secret.frame["age"].value_counts().min() >= 5


async def test_the_command_bands_amounts_and_says_so(console, tmp_path, capsys):
    table, output = tmp_path / "paid.csv", tmp_path / "out.csv"
    PAID.to_csv(table, index=False)
    options = ["--k", "5", "--rows-are", "persons", "--json"]
    assert await console("anonymise", table, "-o", output, *options) == 0
    told = json.loads(capsys.readouterr().out)
    assert any(own.startswith("salary leaves in ") for own in told["notes"])
    assert told["rule"]["levels"]["salary"] > 0
    assert pd.read_csv(output)["salary"].value_counts().min() >= 5


async def test_a_search_says_which_attribute_is_not_sensitive(api, client):
    await client.post("/v1/uploads", params={"name": "paid"}, content=PAID.to_csv(index=False).encode())
    proposal = (await client.get("/v1/uploads/paid/proposal")).json()["attributes"]
    bands = next(own["hierarchy"] for own in proposal if own["name"] == "salary")
    assert bands["kind"] == "bounds"
    made = await client.post("/v1/hierarchies", json={"name": "salary", "definition": bands})
    assert made.status_code == 201, made.text
    attributes = [
        {"name": "age", "type": "number", "role": "quasi_identifier"},
        {
            "name": "salary",
            "type": "number",
            "format": "$1,234.56",
            "role": "sensitive",
            "hierarchy": "salary",
        },
    ]
    body = {"name": "paid", "upload": "paid", "attributes": attributes, "rows_are": "persons"}
    assert (await client.post("/v1/datasets", json=body)).status_code == 201
    objective = {
        "kind": "min_loss",
        "privacy": [{"kind": "k_anonymity", "k": 5}],
        "persons_per_value": {"salary": 40},
    }
    asked = {"name": "banded", "dataset": "paid", "objective": objective}
    result = await found(api, client, asked)
    assert result["objective"]["persons_per_value"] == {"salary": 40}
    assert result["rule"]["levels"]["salary"] == 2
    objective["persons_per_value"] = {"age": 5}
    refused = await client.post("/v1/optimisations", json={**asked, "name": "wrong"})
    problem = problem_of(refused, 422, "invalid-input")
    assert pointers(problem) == ["/objective/persons_per_value/age"]
