"""Keys that readers do not know, over HTTP and by the command: a verdict that is no perfect privacy."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import httpx
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from app.api.schemas.verdicts import FoundPair
from app.api.schemas.view_checks import ViewCheckAnswer
from app.cli.recomputed import differences
from app.evidence.envelope import opened
from app.evidence.private_keys import private_key_pem
from app.evidence.statement import statement_of
from app.services.gates.view_subject import DECISION
from app.services.resources import Scope
from tests.api.gates_of_views import gate, judged, policy, secret

pytestmark = pytest.mark.anyio

STAY = {"attributes": ["pid", "diagnosis", "ward"], "keys": [["pid"]]}
BED = {"attributes": ["room", "place"], "domains": {"room": [1, 2], "place": [1, 2]}}
CHECK = {
    "relational_schema": {"relations": {"stay": STAY, "bed": BED | {"keys": [["room"], ["place"]]}}},
    "secrets": [
        {"id": "cancer", "query": "s(p) :- stay(p, 'cancer', w)."},
        {"id": "first-bed", "query": "s() :- bed(1, 1)."},
    ],
    "views": [
        {"id": "flu", "query": "v(p) :- stay(p, 'flu', w)."},
        {"id": "wards", "query": "v(w) :- stay(p, d, w)."},
        {"id": "other-bed", "query": "v() :- bed(2, 2)."},
    ],
}
FLU = {"id": "flu", "query": "SELECT pid FROM stay WHERE diagnosis = 'flu'"}
WARDS = {"id": "wards", "query": "SELECT ward\nFROM stay"}
TABLES = "CREATE TABLE stay (pid integer PRIMARY KEY, diagnosis text NOT NULL, ward integer NOT NULL);"
CANCER = "SELECT pid FROM stay WHERE diagnosis = 'cancer'"
WHY = "Readers of the list are given new numbers each time."
IGNORED = {"keys": "ignored", "keys_reason": WHY}
UNKNOWING = "PRIVATE_IF_KEYS_ARE_UNKNOWN_TO_READERS"


def of_pairs(result: dict[str, Any]) -> dict[tuple[str, str], dict[str, Any]]:
    return {(own["secret"], own["view"]): own for own in result["pairs"]}


async def test_a_check_has_both_readings_and_says_what_keys_add(client: httpx.AsyncClient):
    check = (await client.post("/v1/view-checks", json=CHECK)).json()
    result, pairs = check["result"], of_pairs(check["result"])
    assert check["decision"] == DECISION
    assert (result["verdict"], result["gate"]) == ("DISCLOSES", "DENY")
    assert result["private_if_keys_are_unknown_to_readers"] is False
    flu, wards = pairs["cancer", "flu"], pairs["cancer", "wards"]
    assert (flu["verdict"], flu["reason_code"]) == ("DISCLOSES", "SHARED_BLOCK")
    assert flu["private_if_keys_are_unknown_to_readers"] is True
    left_out = flu["keys_left_out"]
    assert (left_out["verdict"], left_out["keys_add"]) == (UNKNOWING, "certain_exclusion")
    assert "diagnosis = 'flu'" in left_out["keys_add_explanation"]
    assert left_out["explanation"].startswith("With the keys left out: No row can matter to both queries")
    assert wards["private_if_keys_are_unknown_to_readers"] is False
    assert (wards["keys_left_out"]["verdict"], wards["keys_left_out"]["keys_add"]) == ("DISCLOSES", None)
    bed = pairs["first-bed", "other-bed"]["keys_left_out"]
    assert (bed["verdict"], bed["keys_add"]) == (UNKNOWING, "dependence_of_unknown_direction")
    apart = pairs["cancer", "other-bed"]
    assert (apart["verdict"], apart["keys_left_out"]["keys_add"]) == ("PRIVATE", "nothing")


async def test_without_a_key_there_is_one_reading(client: httpx.AsyncClient):
    relation = {"attributes": ["a"], "domains": {"a": "number"}}
    body = {
        "relational_schema": {"relations": {"R": relation}},
        "secrets": [{"id": "s", "query": "s(x) :- R(x), x < 5."}],
        "views": [
            {"id": "above", "query": "v(x) :- R(x), x >= 5."},
            {"id": "whole", "query": "v(x) :- R(x)."},
        ],
    }
    result = (await client.post("/v1/view-checks", json=body)).json()["result"]
    assert [own["keys_left_out"] for own in result["pairs"]] == [None, None]
    unknowing = [own["private_if_keys_are_unknown_to_readers"] for own in result["pairs"]]
    assert unknowing == [True, False]


async def test_a_key_can_also_make_a_pair_private(client: httpx.AsyncClient):
    """The key forces y = 1, so that only T(1) matters to the secret: specification, QV-26 and QV-27."""
    body = {
        "relational_schema": {
            "relations": {"R": {"attributes": ["k", "v"], "keys": [["k"]]}, "T": {"attributes": ["a"]}}
        },
        "secrets": [{"id": "s", "query": "s(x) :- R(x, 1), R(x, y), T(y)."}],
        "views": [{"id": "v", "query": "v() :- T(5)."}],
    }
    (pair,) = (await client.post("/v1/view-checks", json=body)).json()["result"]["pairs"]
    assert (pair["verdict"], pair["private_if_keys_are_unknown_to_readers"]) == ("PRIVATE", False)
    assert pair["keys_left_out"]["reason_code"] == "SHARED_CRITICAL_TUPLE"


async def test_an_envelope_excludes_nothing_for_certain(client: httpx.AsyncClient):
    body = {
        "language": "sql",
        "relational_schema": {"sql": TABLES},
        "secrets": [{"id": "cancer", "query": CANCER}],
        "views": [{"id": "sum", "query": "SELECT SUM(ward) FROM stay WHERE diagnosis = 'flu'"}],
    }
    (pair,) = (await client.post("/v1/view-checks", json=body)).json()["result"]["pairs"]
    assert (pair["verdict"], pair["keys_left_out"]["verdict"]) == ("UNKNOWN", UNKNOWING)
    assert pair["keys_left_out"]["keys_add"] == "not_decided"


async def test_the_words_of_the_other_reading_name_values_and_are_masked(api):
    actor, token = await api.tenant_with_key()
    async with api.client(token) as client:
        assert (await client.post("/v1/view-checks", json=CHECK | {"name": "both"})).status_code == 201
    async with api.client(await api.key_with(actor, Scope.GOVERN)) as client:
        masked = (await client.get("/v1/view-checks/both")).json()
    assert "diagnosis = 'flu'" not in json.dumps(masked)
    assert of_pairs(masked["result"])["cancer", "flu"]["keys_left_out"]["keys_add"] == "certain_exclusion"


async def test_a_gate_that_ignores_keys_passes_says_so_and_calls_it_by_its_name(client: httpx.AsyncClient):
    at = await gate(client, "keys-ignored", secret(CANCER), **IGNORED)
    found = await judged(client, at, FLU, schema={"sql": TABLES})
    (criterion,) = found["result"]["criteria"]
    (pair,) = criterion["pairs"]
    assert (found["result"]["verdict"], criterion["value"]) == ("pass", 0)
    assert criterion["demand"]["keys_reason"] == WHY
    assert criterion["explanation"] == (
        "The only pair of a secret and a view is private if keys are unknown to readers. "
        f"Keys are ignored: {WHY}"
    )
    assert criterion["quantity"]["what"].endswith("not private if keys are unknown to readers")
    assert pair["verdict"] == UNKNOWING
    assert pair["explanation"].startswith("With the keys left out:")
    assert found["result"]["assumptions"][0].startswith("Keys were left out, as the policy asks")
    assert any(own.endswith("certain exclusion 1.") for own in found["result"]["not_covered"])
    report = (await client.get(f"/v1/evaluations/{found['name']}/report")).text
    assert "Keys are ignored." in report
    assert "is private beside every secret if keys are unknown to readers." in report
    considered = await judged(client, await gate(client, "keys-considered", secret(CANCER)), FLU,
                              schema={"sql": TABLES})  # fmt: skip
    (criterion,) = considered["result"]["criteria"]
    assert (considered["result"]["verdict"], criterion["pairs"][0]["verdict"]) == ("fail", "DISCLOSES")
    assert criterion["explanation"].endswith("They are flu beside cancer. Keys are considered.")
    assert "keys" not in criterion["demand"]


async def test_a_gate_that_ignores_keys_fails_by_what_discloses_without_them(client: httpx.AsyncClient):
    at = await gate(client, "keys-ignored-fail", secret(CANCER), **IGNORED)
    found = await judged(client, at, FLU, WARDS, schema={"sql": TABLES})
    (criterion,) = found["result"]["criteria"]
    assert (criterion["outcome"], criterion["value"]) == ("failed", 1)
    change = criterion["pairs"][1]["nearest_change"]
    assert "stay.diagnosis <> 'cancer'" in change["explanation"]
    assert "proved to be private if keys are unknown to readers, beside this secret" in change["explanation"]


async def test_a_secret_that_the_keys_make_constant_protects_nothing_by_either_reading(
    client: httpx.AsyncClient,
):
    impossible = (
        "SELECT a.pid FROM stay a JOIN stay b ON a.pid = b.pid "
        "WHERE a.diagnosis = 'cancer' AND b.diagnosis = 'flu'"
    )
    at = await gate(client, "keys-constant", secret(impossible), **IGNORED)
    asthma = {"id": "asthma", "query": "SELECT pid FROM stay WHERE diagnosis = 'asthma'"}
    (criterion,) = (await judged(client, at, asthma, schema={"sql": TABLES}))["result"]["criteria"]
    assert (criterion["outcome"], criterion["error"]["code"]) == ("not_computable", "constant-secret")


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"keys": "ignored"}, "missing-reason"),
        ({"keys": "ignored", "keys_reason": " … "}, "missing-reason"),
        ({"keys": "ignored", "keys_reason": ""}, "wrong-length"),
        ({"keys_reason": WHY}, "needless-reason"),
        ({"keys": "unknown", "keys_reason": WHY}, "unknown-choice"),
    ],
)
async def test_keys_are_ignored_for_a_reason_or_not_at_all(client: httpx.AsyncClient, change, code):
    document = policy("keys-linted", **change)
    found = (await client.post("/v1/policies/lint", json=document)).json()
    assert code in [own["code"] for own in found["errors"]], found
    assert (await client.post("/v1/policies", json=document)).status_code == 422


async def test_a_policy_that_ignores_keys_is_neither_stricter_nor_looser(client: httpx.AsyncClient):
    await gate(client, "keys-diff")
    document = policy("keys-diff", **IGNORED) | {"version": 2}
    assert (await client.post("/v1/policies", json=document)).status_code == 201
    assert (await client.get("/v1/policies/keys-diff/diff")).json()["effect"] == "different"


async def test_what_was_decided_before_there_was_a_second_reading_is_still_read(client: httpx.AsyncClient):
    at = await gate(client, "keys-before", secret(CANCER))
    found = await judged(client, at, FLU, WARDS, schema={"sql": TABLES})
    envelope = (await client.get(f"/v1/evaluations/{found['name']}/evidence")).content
    now = statement_of(opened(envelope).content).predicate
    then = copy.deepcopy(now)
    for pair in then["result"]["criteria"][0]["pairs"]:
        del pair["private_if_keys_are_unknown_to_readers"], pair["keys_left_out"]
        assert FoundPair.model_validate(pair).keys_left_out is None
    assert differences(then, now) == []
    check = (await client.post("/v1/view-checks", json=CHECK)).json()["result"]
    for own in (check, *check["pairs"]):
        own.pop("keys_left_out", None)
        del own["private_if_keys_are_unknown_to_readers"]
    assert ViewCheckAnswer.model_validate(check).pairs[0].private_if_keys_are_unknown_to_readers is None


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Files of a gate that ignores keys, in the working folder."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "views").mkdir()
    (tmp_path / "views/flu.sql").write_text(FLU["query"])
    (tmp_path / "views/asthma.sql").write_text("SELECT ward FROM stay WHERE diagnosis = 'asthma'")
    (tmp_path / "tables.sql").write_text(TABLES)
    (tmp_path / "policy.yaml").write_text(POLICY)
    (tmp_path / "key.pem").write_bytes(private_key_pem(Ed25519PrivateKey.generate()))
    (tmp_path / "key.pem").chmod(0o600)
    return tmp_path


async def test_the_command_names_the_reading_and_spares_what_it_has_proved(folder, command, capsys):
    asked = ("gate", "policy.yaml", "--relational-schema", "tables.sql", "--views", "views/*.sql")
    signed = (*asked, "--signing-key", "key.pem", "--report", "before.json", "--output", "markdown=v.md")
    assert await command(*signed) == 0
    said = capsys.readouterr().out
    assert "and a view that are not private if keys are unknown to readers 0;" in said
    assert "Not covered: The requirement 'secrets' ignores keys" in said
    assert f"Keys are ignored: {WHY}" in content(folder / "v.md")
    assert await command(*asked, "--signing-key", "key.pem", "--changed-since", "before.json") == 0
    assert "1 views are unchanged since the evidence" in capsys.readouterr().out


def content(path: Path) -> str:
    return path.read_text()


POLICY = f"""
format: privacy-risk/policy/2
name: keys-by-command
version: 1
title: Views
assumes: {{attacker: Any reader.}}
requirements:
  - id: secrets
    title: Nothing secret is disclosed
    reason: As agreed.
    requirement:
      kind: perfect_privacy
      language: sql
      keys: ignored
      keys_reason: {WHY}
      secrets: [{{id: cancer, reason: As promised., query: "{CANCER}"}}]
"""
