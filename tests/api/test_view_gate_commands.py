"""Views judged by the command as pipelines run it, against the application itself: files in, files out."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as Xml

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from app.evidence.envelope import opened
from app.evidence.private_keys import private_key_pem
from app.evidence.statement import statement_of
from app.services.runs.webhook_values import Attempt
from app.workers.webhook_delivery import WebhookDelivery

pytestmark = pytest.mark.anyio

WAREHOUSE = Path(__file__).parents[2] / "docs/pipelines/warehouse"
VIEWS = ("--relational-schema", "schema.sql", "--views", "target/manifest.json")
GATE = ("gate", "policy.yaml", *VIEWS, "--signing-key", "key.pem")

WITHOUT_CANCER = "select distinct ward\nfrom hospital.diagnosis\nwhere diagnosis.diagnosis <> 'cancer'"

Command = Callable[..., Awaitable[int]]


class Receiver:
    """Takes the place of the network, and keeps what arrives."""

    def __init__(self) -> None:
        self.told: list[dict[str, Any]] = []

    async def send(self, message: Any, timestamp: int) -> Attempt:
        self.told.append(json.loads(message.body))
        return Attempt(204)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the project of the docs, which is the working folder, and a pipeline's key."""
    shutil.copytree(WAREHOUSE, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    Path("key.pem").write_bytes(private_key_pem(Ed25519PrivateKey.generate()))
    Path("key.pem").chmod(0o600)
    return tmp_path


def content(path: str) -> bytes:
    return Path(path).read_bytes()


def written(path: str, of: bytes) -> None:
    Path(path).write_bytes(of)


def changed(model: str, code: str, **config: str) -> None:
    """Compile another text of a model."""
    path = "target/manifest.json"
    manifest = json.loads(content(path))
    own = manifest["nodes"][f"model.warehouse.{model}"]
    own |= {"raw_code": code, "compiled_code": code, "config": {**own["config"], **config}}
    written(path, json.dumps(manifest).encode())


async def test_a_dbt_project_is_judged_told_and_judged_again(api, client, clock, project, command, capsys):
    made = await client.post(
        "/v1/webhooks",
        json={"name": "views", "url": "https://hooks.example.org/x", "events": ["evaluation.completed"]},
    )
    assert made.status_code == 201, made.text
    files = ("--output", "sarif=v.sarif", "--output", "junit=v.xml", "--report", "v.json")
    assert await command(*GATE, *files) == 1
    text = capsys.readouterr().out
    advice = (
        "To pass: Add the condition \"diagnosis\".diagnosis <> 'cancer' to the whole WHERE, by AND, of the"
    )
    assert f"{advice} SELECT that reads diagnosis at models/wards.sql:3." in text

    (result,) = json.loads(content("v.sarif"))["runs"][0]["results"]
    place = result["locations"][0]["physicalLocation"]
    assert (place["artifactLocation"]["uri"], place["region"]["startLine"]) == ("models/wards.sql", 3)
    assert f"{advice} SELECT that reads diagnosis at models/wards.sql:3." in result["message"]["text"]

    suite = Xml.parse("v.xml").getroot()
    assert [suite.get(name) for name in ("tests", "failures", "errors", "skipped")] == ["1", "1", "0", "0"]
    failure = suite.find("testsuite/testcase/failure")
    assert failure is not None
    assert "models/wards.sql:3: warehouse.wards beside cancer-patients: discloses." in failure.text
    assert advice in failure.text

    # The evidence holds all that judging again takes, but for the schema and the views.
    assert await command("reproduce", "v.json", "--keys", "v.keys.json", *VIEWS) == 0
    assert capsys.readouterr().out.startswith("Same: verdict")
    assert await command("reproduce", "v.json", "--dataset", "v.json") == 2
    changed("wards", WITHOUT_CANCER)
    assert await command("reproduce", "v.json", *VIEWS) == 1
    said = capsys.readouterr().out
    assert "input: the view is another one" in said
    assert "result/verdict: fail in the report, pass now" in said

    receiver = Receiver()
    delivery = WebhookDelivery(api.registry, api.store, receiver, clock)
    while await delivery.begin_due():
        await delivery.drain()
    assert sorted(own["data"]["verdict"] for own in receiver.told) == ["fail", "fail", "pass"]
    assert {own["type"] for own in receiver.told} == {"evaluation.completed"}
    news = receiver.told[0]["data"]
    assert (news["policy"], news["dataset"]) == ({"name": "cancer-register", "version": 1}, None)
    stored = (await client.get(f"/v1/evaluations/{news['evaluation']['name']}")).json()
    assert news["evidence"] == stored["evidence"]["id"]


async def test_a_schema_that_the_server_holds_is_named(client, project, command, capsys):
    schema = {"name": "warehouse", "sql": content("schema.sql").decode()}
    assert (await client.post("/v1/relational-schemas", json=schema)).status_code == 201
    asked = ("--server", "http://service", "--relational-schema", "warehouse", "--views", VIEWS[-1])
    assert await command("gate", "policy.yaml", *asked, "--report", "v.json") == 1
    assert "models/wards.sql:3: warehouse.wards beside cancer-patients: discloses." in capsys.readouterr().out
    # The file says the same as the stored schema, comments aside: either judges again.
    written("schema.sql", b"-- reviewed\n" + content("schema.sql") + b"-- no more\n")
    for again in (asked, (*asked[:2], *VIEWS), VIEWS):
        assert await command("reproduce", "v.json", *again) == 0
    written("schema.sql", content("schema.sql").replace(b"text", b"varchar", 1))
    assert await command("reproduce", "v.json", *VIEWS) == 0
    written("schema.sql", content("schema.sql") + b"CREATE TABLE extra (id integer);")
    capsys.readouterr()
    assert await command("reproduce", "v.json", *VIEWS) == 1
    assert "input: the relational_schema is another one" in capsys.readouterr().out
    assert await command("gate", "policy.yaml", *asked[:3], "none", *asked[4:]) == 2
    assert await command("gate", "policy.yaml", *asked[2:]) == 2
    assert "--relational-schema: There is no file warehouse." in capsys.readouterr().err


async def test_a_verdict_says_which_tables_keep_rows_from_before(project, command, capsys):
    changed("wards", WITHOUT_CANCER, materialized="incremental")
    assert await command(*GATE, "--report", "v.json") == 0
    said = "Tables that keep rows which their queries no longer return (warehouse.wards)"
    assert f"Not covered: {said}" in capsys.readouterr().out
    verdict = statement_of(opened(content("v.json")).content).predicate["result"]
    assert [own for own in verdict["not_covered"] if own.startswith(said)]
    # The new evidence says so, too: what keeps rows is judged however little has changed.
    assert await command(*GATE, "--changed-since", "v.json", "--report", "now.json") == 0
    now = statement_of(opened(content("now.json")).content).predicate["result"]
    assert [own["id"] for own in now["subject"]["views"]] == ["warehouse.wards"]
    assert now["not_covered"] == verdict["not_covered"]
    changed("wards", WITHOUT_CANCER, materialized="view")
    capsys.readouterr()
    assert await command(*GATE) == 0
    assert said not in capsys.readouterr().out


async def test_only_the_changed_model_is_judged_again(project, command, capsys):
    assert await command(*GATE, "--report", "before.json") == 1
    since = ("--changed-since", "before.json", "--report", "now.json", "--output", "junit=v.xml")
    changed("wards", WITHOUT_CANCER)
    capsys.readouterr()
    assert await command(*GATE, *since) == 0
    assert "2 views are unchanged since the evidence that proves them private" in capsys.readouterr().out
    now = statement_of(opened(content("now.json")).content).predicate
    assert [own["id"] for own in now["result"]["subject"]["views"]] == ["warehouse.wards"]
    assert [own["id"] for own in now["parameters"]["unchanged"]["views"]] == [
        "warehouse.infections", "warehouse.infected_wards",
    ]  # fmt: skip
    suite = Xml.parse("v.xml").getroot()
    assert [suite.get(name) for name in ("tests", "failures", "errors")] == ["1", "0", "0"]
    # Another schema is another basis: everything is judged again.
    written("schema.sql", content("schema.sql") + b"CREATE TABLE extra (id integer);")
    assert await command(*GATE, *since) == 0
    assert "unchanged since" not in capsys.readouterr().out
    assert await command(*GATE[:-1], "missing.pem", *since) == 2
    written("key.pem", private_key_pem(Ed25519PrivateKey.generate()))
    assert await command(*GATE, *since) == 2
    assert "now.json" not in os.listdir()
