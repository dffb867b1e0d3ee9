"""Differentially private releases: drawn once, and nothing beside their table tells of a record."""

from __future__ import annotations

import io
import json
import math
import re
import tempfile
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pyarrow.parquet as pq
import pytest

from app.composition.run_process import run_execution
from app.domain.search.budget import never
from app.evidence.envelope import opened
from app.evidence.statement import statement_of
from app.persistence.draws import SECRET_BYTES, PostgresDraws
from app.services.releases import draw_work
from app.services.resources import Progress, RunState, Scope
from app.workers.failures import internal_error
from tests.api.drawn_people import PERTURBED, asked, data, made, people
from tests.api.problem_documents import problem_of
from tests.api.service import Api

pytestmark = pytest.mark.anyio

STABLE = {"kind": "stability_histogram", "epsilon": 1, "delta": 1e-4, "least_records": 20}
CHOSEN = STABLE | {"dictionary": {"town": ["Rome", "Pisa"]}, "trade_off": 0.1}
LAPLACE = {"kind": "laplace_histogram", "epsilon": 1}
GENERALISED = {
    "kind": "sampled_generalisation",
    "epsilon": 3,
    "delta": 1e-3,
    "sampling_rate": 0.5,
    "least_records": 390,
    "trade_off": 0.001,
    "sensitivity": {"town": [0, 0.5]},
}
DRAWN = {"kind": "dirichlet_multinomial", "partition": ["town"], "epsilon": 2}
ONE_MORE = ["Rome,flu"] * 40 + ["Bari,gout"] * 41


async def described(
    client: httpx.AsyncClient, name: str, rows: list[str], *, unknown: str | None = "missing"
) -> None:
    """A dataset of these rows; with a declared hierarchy of each column unless ``unknown`` is None."""
    content = "town,illness\n" + "\n".join(rows) + "\n"
    headers = {"Content-Type": "text/csv"}
    await made(client.post(f"/v1/uploads?name={name}", content=content, headers=headers))
    if unknown is not None and (await client.get("/v1/hierarchies/towns")).status_code == 404:
        for tree, values in (("towns", ["Rome", "Bari", "Pisa"]), ("illnesses", ["flu", "gout", "asthma"])):
            definition = {"kind": "rows", "rows": [[value] for value in values]}
            body = {"name": tree, "definition": definition}
            await made(client.post("/v1/hierarchies", json=body))
    attributes = [
        {"name": "town", "type": "categorical", "role": "quasi_identifier"},
        {"name": "illness", "type": "categorical", "role": "sensitive"},
    ]
    if unknown is not None:
        for own, tree in zip(attributes, ("towns", "illnesses"), strict=True):
            own |= {"hierarchy": tree, "on_unknown": unknown}
    await made(client.post("/v1/datasets", json={"name": name, "upload": name, "attributes": attributes}))


@pytest.fixture
def one_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    """All draws go by the same secret, so that releases differ by their records alone."""

    async def the_same(draws: PostgresDraws, draw_id: str) -> bytes:
        return bytes(range(SECRET_BYTES))

    monkeypatch.setattr(PostgresDraws, "secret", the_same)


def told(answer: Any) -> Any:
    """A document without names, ids and moments, which are chosen anew for each resource."""
    if isinstance(answer, dict):
        left_out = {"id", "name", "dataset", "begun_at", "created_at", "started_at", "finished_at"}
        return {
            key: told(own)
            for key, own in answer.items()
            if key not in left_out and not (key == "name" and "id" in answer)
        }
    return [told(own) for own in answer] if isinstance(answer, list) else answer


OF_TABLE = {"rows", "suppressed_cells", "suppressed_records", "classes", "csv_sha256"}
KEYED = {"sha256", "input_sha256"}
"""Of the question, with a secret of the upload: nobody without its key can compute them of data guessed."""
OF_MOMENT = {"heartbeat_at", "at", "number", "subject", "result_id", "release"}
"""Ids and moments that are chosen anew each time."""


def differing(one: Any, other: Any, path: str = "") -> set[str]:
    """Places where two documents differ."""
    if isinstance(one, dict) and isinstance(other, dict):
        keys = one.keys() | other.keys()
        return {place for key in keys for place in differing(one.get(key), other.get(key), f"{path}/{key}")}
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        return {
            place
            for at, (own, more) in enumerate(zip(one, other, strict=True))
            for place in differing(own, more, f"{path}/{at}")
        }
    return set() if one == other else {path}


NEVER_BESIDE_THE_TABLE = (
    "plan", "run", "progress", "result", "manifest", "listed", "events", "log", "files", "errors",
)  # fmt: skip
"""Where nothing may stand that follows from a record: whose row is whose, who was sampled, what was frequent,
counts, noise and thresholds of a draw, and how long it took by its records. The log has durations of
requests, none of which draws.
"""
OF_REQUEST = {"request_id", "tenant", "key_id", "seconds", "timestamp", "bytes_in", "bytes_out"}


@pytest.fixture
def files(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Which temporary files are made."""
    made_files: list[str] = []

    def watched(name: str) -> None:
        real = getattr(tempfile, name)

        def making(*given: Any, **more: Any) -> Any:
            made_files.append(name)
            return real(*given, **more)

        monkeypatch.setattr(tempfile, name, making)

    for name in ("TemporaryFile", "NamedTemporaryFile", "SpooledTemporaryFile", "mkstemp", "mkdtemp"):
        watched(name)
    return made_files


async def worked_off(api: Api, run_id: str) -> list[dict[str, Any]]:
    """Do a run's work as a worker does, and write down what it ends with; what it has told on the way."""
    claim = await api.registry.claim(run_id, "test", 60.0)
    assert claim is not None
    told_of: list[Progress] = []
    try:
        await run_execution(api.store, api.loader, api.loader, clock=api.clock).execute(
            claim, told_of.append, never
        )
    except RuntimeError as error:
        async with api.store.work(claim.tenant) as work:
            await work.runs.finish(claim, RunState.FAILED, result=None, error=internal_error(error))
            await work.commit()
    return [asdict(own) for own in told_of]


async def everything_told(
    api: Api, client: httpx.AsyncClient, dataset: str, mechanism: dict[str, Any], files: list[str]
) -> dict[str, Any]:
    """All that the service tells of a release but its table: by a run, from its plan to its events.

    And of a draw that fails with an error that quotes the table.
    """
    before, files[:] = len(api.log_lines()), []
    body = asked("drawn", dataset, mechanism=mechanism)
    plan = (await client.post("/v1/releases/plans", json=body)).json()
    started = await client.post("/v1/releases/runs", json=body)
    assert started.status_code == 202, started.text
    files.clear()
    progress = await worked_off(api, started.json()["id"])
    made_files = list(files)
    run = (await client.get(f"/v1/runs/{started.json()['id']}")).json()
    assert run["state"] == "succeeded", run
    result = (await client.get(f"/v1/runs/{started.json()['id']}/result")).json()
    manifest = (await client.get("/v1/releases/drawn")).json()
    listed = (await client.get(f"/v1/datasets/{dataset}/releases")).json()
    events = (await client.get("/v1/audit-events?limit=200")).json()["items"]
    of_release = [own for own in events if own["subject"] == manifest["id"]]
    log = [
        {key: own for key, own in line.items() if key not in OF_REQUEST} for line in api.log_lines()[before:]
    ]
    return {
        "plan": plan,
        "run": run,
        "progress": progress,
        "result": result,
        "manifest": manifest,
        "listed": listed,
        "events": of_release,
        "log": log,
        "files": made_files,
        "errors": await failed(api, client, body),
    }


async def failed(api: Api, client: httpx.AsyncClient, body: dict[str, Any]) -> dict[str, Any]:
    """What is told of a draw that ends with an error, which quotes all that it drew."""
    real, before = draw_work.drawn_release, len(api.log_lines())

    def quoting(*given: Any) -> Any:
        drawn = real(*given)
        raise RuntimeError(f"{drawn!r} of Rome, 41 records")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(draw_work, "drawn_release", quoting)
        again = body | {"name": "failed", "independent_of_earlier": True}
        started = (await client.post("/v1/releases/runs", json=again)).json()
        progress = await worked_off(api, started["id"])
    run = (await client.get(f"/v1/runs/{started['id']}")).json()
    assert run["state"] == "failed"
    of_log = [own.get("event") for own in api.log_lines()[before:]]
    assert "Rome" not in json.dumps([run, of_log, progress])
    return {"run": run, "progress": progress, "log": of_log}


@pytest.mark.spec("DN-7.3")
@pytest.mark.parametrize("mechanism", [CHOSEN, LAPLACE, GENERALISED], ids=lambda own: own["kind"])
async def test_one_record_more_changes_nothing_but_the_table(
    api: Api,
    client: httpx.AsyncClient,
    one_secret: None,
    database_urls: Any,
    files: list[str],
    mechanism: dict[str, Any],
):
    is_sample = mechanism is GENERALISED
    rows_of_more = ONE_MORE * (5 if is_sample else 1)
    await described(client, "more", rows_of_more)
    more = await everything_told(api, client, "more", mechanism, files)
    assert more.keys() == set(NEVER_BESIDE_THE_TABLE)
    rows = Counter((await data(client)).decode().splitlines())
    parquet = pq.read_schema(io.BytesIO(await data(client, format_="parquet"))).metadata
    assert (await client.delete("/v1/releases/drawn")).status_code == 204
    for own in ("/v1/datasets/more", "/v1/uploads/more"):
        assert (await client.delete(own)).status_code == 204, own
    await described(client, "more", rows_of_more[:-1])
    less = await everything_told(api, client, "more", mechanism, files)
    other = Counter((await data(client)).decode().splitlines())
    # The coins of a sample are those of other records then, as of none.
    assert is_sample or sum(((rows - other) + (other - rows)).values()) == 1
    assert pq.read_schema(io.BytesIO(await data(client, format_="parquet"))).metadata == parquet
    assert parquet == {b"privacy-risk.mechanism": f"{mechanism['kind']}/1".encode()}
    assert differing(told(more["plan"]), told(less["plan"])) == set()
    for place in ("progress", "log", "files"):
        assert more[place] == less[place], place
    assert more["files"] == []
    # Addresses are made of the ids alone.
    found = {place for place in differing(told(more), told(less)) if "/addresses/" not in place}
    assert {place.rpartition("/")[2] for place in found} <= OF_TABLE | OF_MOMENT | KEYED
    assert "/events/0/details/sha256" in found
    with psycopg.connect(database_urls.admin) as connection:
        query = "SELECT estimate FROM runs WHERE id = %s"
        assert connection.execute(query, [less["run"]["id"]]).fetchone() == ({},)
    assert more["manifest"]["dataset_sha256"] is None
    assert more["manifest"]["rule"]["sha256"] is None
    assert more["plan"]["seconds"] is None
    assert (more["plan"]["bytes"], more["plan"]["route"]) == (None, "run")


@pytest.mark.spec("LD-D13")
async def test_another_value_of_one_record_changes_nothing_but_the_drawn_people(
    api: Api, client: httpx.AsyncClient, one_secret: None, files: list[str]
):
    """The same secret draws the same from the same; how many people each town has stays as it is."""
    tables, rows = [], ONE_MORE
    for own in (rows, [*rows[:-1], "Bari,flu"]):
        await described(client, "people", own, unknown="refuse")
        tables.append((await everything_told(api, client, "people", DRAWN, files), await data(client)))
        for resource in ("/v1/releases/drawn", "/v1/datasets/people", "/v1/uploads/people"):
            assert (await client.delete(resource)).status_code == 204
    (one, drawn), (other, differently) = tables
    assert one.keys() == set(NEVER_BESIDE_THE_TABLE)
    assert one["manifest"]["rows"] == other["manifest"]["rows"] == len(rows)
    for table in (drawn, differently):
        assert Counter(line.split(",")[0] for line in table.decode().splitlines()[1:]) == {
            "Rome": 40,
            "Bari": 41,
        }
    assert differing(told(one["plan"]), told(other["plan"])) == set()
    for place in ("progress", "log", "files"):
        assert one[place] == other[place], place
    found = {place for place in differing(told(one), told(other)) if "/addresses/" not in place}
    assert {place.rpartition("/")[2] for place in found} <= OF_TABLE - {"rows"} | OF_MOMENT | KEYED
    assert one["manifest"]["dataset_sha256"] is None


async def test_a_sample_of_generalised_records_is_drawn_and_says_what_it_is(client: httpx.AsyncClient):
    """Some 200 of 400 records; nothing but ⊥ has 340 of them, for Rome has 399."""
    await described(client, "people", ["Rome,flu"] * 399 + ["Bari,gout"])
    plan = (await client.post("/v1/releases/plans", json=asked(mechanism=GENERALISED))).json()
    assert (plan["missing"], plan["seconds"], plan["bytes"]) == ([], None, None)
    assert plan["constants"]["records_needed_at_rate_0.3"] > plan["constants"]["records_needed"] > 300
    small = GENERALISED | {"least_records": 100}
    (fault,) = (await client.post("/v1/releases/plans", json=asked(mechanism=small))).json()["missing"]
    assert (fault["code"], fault["pointer"]) == ("database-too-small", "/mechanism/least_records")
    told = problem_of(await client.post("/v1/releases", json=asked(mechanism=small)), 409, "conflict")
    needed = told["details"]["records_needed"]
    assert f"{needed:,} are needed" in told["detail"]
    assert math.ceil(plan["constants"]["records_needed"]) == needed
    never = GENERALISED | {"epsilon": 10, "sampling_rate": 0.001}
    found = (await client.post("/v1/releases/plans", json=asked(mechanism=never))).json()
    assert found["constants"]["records_needed"] == "inf"
    assert "no table that is read here is large enough" in found["missing"][0]["message"]
    told = problem_of(await client.post("/v1/releases", json=asked(mechanism=never)), 409, "conflict")
    assert told["details"] == {"records_needed": None}
    wrong = GENERALISED | {"sampling_rate": 0.9}
    problem = problem_of(await client.post("/v1/releases", json=asked(mechanism=wrong)), 422, "invalid-input")
    assert problem["errors"][0]["code"] == "beta-too-small"
    problem_of(
        await client.post("/v1/releases", json=asked(mechanism=GENERALISED | {"kappa": 1.5})),
        422,
        "invalid-input",
    )
    manifest = await made(client.post("/v1/releases", json=asked(mechanism=GENERALISED)))
    (guarantee,) = manifest["mechanism"]["guarantees"]
    assert (guarantee["standing"], guarantee["parameters"]["delta"]) == ("certified", 0.001)
    assert manifest["dataset_sha256"] is None
    rows = Counter((await data(client)).decode().splitlines()[1:])
    assert set(rows) <= {"*,*", "Rome,*", "*,flu", "Rome,flu"}
    assert 60 < sum(rows.values()) < 340
    answer = await client.post("/v1/releases/drawn/answers", json={"queries": [{"where": []}]})
    assert "sampled records" in problem_of(answer, 422, "not-supported")["detail"]
    body = {"name": "m", "release": "drawn", "measure": {"kind": "anonymity"}}
    answer = await client.post("/v1/measurements", json=body)
    assert "each generalised by chance" in problem_of(answer, 422, "not-supported")["detail"]
    # Beyond what the rule shows, too, a label is found in its hierarchy.
    levels = {"kind": "table_level", "levels": {"town": 0, "illness": 1}}
    await made(client.post("/v1/rules", json={"name": "towns-only", "dataset": "people", "rule": levels}))
    ruled = asked("ruled", mechanism=GENERALISED | {"rule_is_public": True}, rule="towns-only")
    await made(client.post("/v1/releases", json=ruled | {"independent_of_earlier": True}))
    assert set((await data(client, "ruled")).decode().splitlines()[1:]) <= {"*,*", "Rome,*"}
    answer = await client.post("/v1/measurements", json=body | {"name": "r", "release": "ruled"})
    assert "each generalised by chance" in problem_of(answer, 422, "not-supported")["detail"]


async def test_records_are_counted_as_generalised_against_a_public_dictionary(client: httpx.AsyncClient):
    """⊥ is worth 3λ, (Rome, flu) 2λ/3 + 2, (Bari, gout) λ/3 + 2: between 3/4 and 6/7 only the last is ⊥."""
    await described(client, "people", ONE_MORE)
    known = {"town": ["Rome", "Rome", "Pisa"], "illness": ["flu", "flu", "gout"]}
    chosen = STABLE | {"dictionary": known, "trade_off": 0.8}
    plan = (await client.post("/v1/releases/plans", json=asked(mechanism=chosen))).json()
    plain = (await client.post("/v1/releases/plans", json=asked(mechanism=STABLE))).json()
    assert (plan["missing"], plan["seconds"], plan["constants"].pop("generalisations")) == ([], None, 4)
    assert plan["constants"] == plain["constants"]
    manifest = await made(client.post("/v1/releases", json=asked(mechanism=chosen)))
    (guarantee,) = manifest["mechanism"]["guarantees"]
    assert (guarantee["standing"], guarantee["parameters"]["delta"]) == ("certified", 1e-4)
    assumed = {own["id"]: own["holds"] for own in guarantee["hypotheses"]}
    assert assumed["dictionary_is_public"] == "assumed"
    assert manifest["mechanism"]["parameters"]["dictionary"] == known
    rows = Counter((await data(client)).decode().splitlines()[1:])
    # Noise of ±30 has a probability below 10⁻¹².
    assert rows.keys() == {"Rome,flu", "*,*"}
    assert all(abs(own - 40) < 30 for own in rows.values())
    run = await client.post(
        "/v1/releases/runs", json=asked("later", mechanism=chosen) | {"independent_of_earlier": True}
    )
    assert run.status_code == 202
    for wrong, code in (
        ({"trade_off": 0}, "without-the-other"),
        ({"dictionary": None}, "without-the-other"),
        ({"dictionary": {"town": ["Rome"], "illness": []}}, None),
        ({"dictionary": {"town": ["Oslo"]}}, "unknown-value"),
    ):
        refused = await client.post("/v1/releases", json=asked("wrong", mechanism=chosen | wrong))
        problem = problem_of(refused, 422, "invalid-input")
        assert code is None or problem["errors"][0]["code"] == code
    problem_of(await client.post("/v1/releases/previews", json=asked(mechanism=chosen)), 422, "not-supported")


async def test_a_gate_and_who_reproduces_its_verdict_read_what_a_dictionary_rests_on(
    client: httpx.AsyncClient, command: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    """By the commands of a pipeline: it is certified, and assumed that the dictionary is public."""
    await described(client, "people", ONE_MORE)
    chosen = STABLE | {"dictionary": {"town": ["Rome", "Rome", "Pisa"]}, "trade_off": 0.8}
    await made(client.post("/v1/releases", json=asked(mechanism=chosen)))
    model = {"kind": "differential_privacy", "epsilon": {"at_most": 1}, "delta": {"at_most": 1e-4}}
    report, server = tmp_path / "verdict.json", ("--server", "http://service")
    for name, may_rest, status in (("strict", False, 1), ("lax", True, 0)):
        demand = {"kind": "guarantee", "model": model, "may_rest_on_assumptions": may_rest}
        policy = {
            "format": "privacy-risk/policy/2", "name": name, "version": 1, "title": "Of releases",
            "assumes": {"attacker": "Who finds a person's record."},
            "schema": {"attributes": {"town": "quasi_identifier", "illness": "sensitive"}},
            "requirements": [{"id": "0", "title": "It holds", "reason": "Test.", "requirement": demand}],
        }  # fmt: skip
        await made(client.post("/v1/policies", json=policy))
        gate = ("gate", name, *server, "--dataset-id", "people", "--stored-release", "drawn")
        assert await command(*gate, "--report", str(report)) == status
        assert "dictionary is public" in capsys.readouterr().out
    stated = statement_of(opened(report.read_bytes()).content).predicate
    assumed = {own["id"]: own["holds"] for own in stated["hypotheses"]}
    assert assumed["dictionary_is_public"] == "assumed"
    assert await command("reproduce", str(report), *server, "--dataset-id", "people") == 0


async def test_only_who_may_read_the_data_sees_what_a_sample_is_worth(api: Api, client: httpx.AsyncClient):
    await described(client, "people", ["Rome,flu"] * 399 + ["Bari,gout"])
    body = asked(mechanism=GENERALISED)
    before = (await client.get("/v1/audit-events")).json()
    told = (await client.post("/v1/releases/previews", json=body)).json()
    assert (told["missing"], told["rows"]) == ([], 200)
    assert 0 < told["objective"] <= told["best_frequent"] <= told["best"]
    assert "not differentially private" in told["sentence"]
    small = asked(mechanism=GENERALISED | {"least_records": 401})
    told = (await client.post("/v1/releases/previews", json=small)).json()
    assert ([own["code"] for own in told["missing"]], told["objective"]) == (["fewer-records"], None)
    other = await client.post("/v1/releases/previews", json=asked(mechanism=STABLE))
    problem_of(other, 422, "not-supported")
    assert (await client.get("/v1/audit-events")).json() == before
    assert (await client.get("/v1/releases")).json()["items"] == []
    actor = await api.services.tenants.authenticate(client.headers["Authorization"].split()[1])
    async with api.client(await api.key_with(actor, Scope.ASSESS)) as reader:
        problem_of(await reader.post("/v1/releases/previews", json=body), 403, "forbidden")
        assert (await reader.post("/v1/releases/plans", json=body)).status_code == 200


async def test_no_number_of_records_is_stored_or_told(
    client: httpx.AsyncClient, one_secret: None, database_urls: Any
):
    """83 records of which 79 are alike: neither number stands in what is kept of the release.

    By one secret: of others one in 500 has the four alike reach the threshold.
    """
    await described(client, "counted", ["Rome,flu"] * 79 + ["Bari,gout"] * 4)
    manifest = await made(client.post("/v1/releases", json=asked("drawn", "counted", mechanism=STABLE)))
    assert manifest["classes"] == 1
    with psycopg.connect(database_urls.admin) as connection:
        query = "SELECT summary FROM resources WHERE kind = 'release' AND summary ->> 'dataset' = 'counted'"
        row = connection.execute(query).fetchone()
    assert row is not None
    kept = {**row[0], **dict.fromkeys(OF_TABLE), "dataset_sha256": "", "rule": "", "mechanism": ""}
    told_of = {**row[0]["mechanism"], "csv_sha256": ""}
    assert not re.findall(r"(?<![\d.e-])(?:83|79)(?![\d.])", f"{kept} {told_of}")


async def test_a_private_draw_counts_with_every_draw_of_the_upload(api: Api, client: httpx.AsyncClient):
    await people(client)
    await made(client.post("/v1/releases", json=asked("perturbed")))
    private = asked("private", mechanism=STABLE)
    planned = (await client.post("/v1/releases/plans", json=private)).json()
    assert [own["release"] for own in planned["earlier"]] == ["perturbed"]
    problem = problem_of(await client.post("/v1/releases", json=private), 409, "conflict")
    assert [own["release"] for own in problem["details"]["earlier"]] == ["perturbed"]
    await made(client.post("/v1/releases", json=private | {"independent_of_earlier": True}))
    for name in ("perturbed", "private"):
        told_of = (await client.get(f"/v1/releases/{name}")).json()["mechanism"]
        assert (told_of["draws"], told_of["together"]["standing"]) == (2, "none")
        assert all(own["standing"] == "none" for own in told_of["guarantees"])
    (private_one,) = [
        own
        for own in (await client.get("/v1/datasets/people/releases")).json()["items"]
        if own["name"] == "private"
    ]
    assert (private_one["mechanism"]["draw"], private_one["mechanism"]["draws"]) == (2, 2)
    # Once more the other way round: a private draw refuses one of a single attribute.
    again = problem_of(
        await client.post("/v1/releases", json=asked("again", mechanism=PERTURBED | {"beta": 1})),
        409,
        "conflict",
    )
    assert {own["release"] for own in again["details"]["earlier"]} == {"perturbed", "private"}


async def test_private_draws_add_up_exactly(client: httpx.AsyncClient):
    await described(client, "people", ONE_MORE)
    against = {"dictionary": {"town": ["Rome"]}, "trade_off": 0.8}
    first = asked("first", mechanism={**STABLE, **against, "epsilon": 0.1, "delta": 1e-10})
    await made(client.post("/v1/releases", json=first))
    assert (await client.post("/v1/releases", json=first)).status_code == 200
    alone = (await client.get("/v1/releases/first")).json()["mechanism"]
    assert (alone["together"], alone["guarantees"][0]["standing"]) == (None, "certified")
    second = asked("second", mechanism={**LAPLACE, "epsilon": 0.2})
    problem_of(await client.post("/v1/releases", json=second), 409, "conflict")
    await made(client.post("/v1/releases", json=second | {"independent_of_earlier": True}))
    told_of = (await client.get("/v1/releases/first")).json()["mechanism"]
    together = told_of["together"]
    assert (together["parameters"]["epsilon"], together["parameters"]["delta"]) == (0.3, 1e-10)
    assert (together["standing"], together["model"]) == ("certified", "differential_privacy")
    rests_on = {own["id"]: own["holds"] for own in together["hypotheses"]}
    assert (rests_on["dictionary_is_public"], rests_on["rule_is_public"]) == ("assumed", "yes")
    assert told_of["guarantees"][0]["standing"] == "none"


async def test_what_is_refused_and_why(client: httpx.AsyncClient):
    await described(client, "people", ONE_MORE)
    rule = {"kind": "table_level", "levels": {"town": 0}, "suppress_classes_below": 2}
    await made(client.post("/v1/rules", json={"name": "small", "dataset": "people", "rule": rule}))
    levels = {"kind": "table_level", "levels": {"town": 1}}
    await made(client.post("/v1/rules", json={"name": "levels", "dataset": "people", "rule": levels}))

    async def codes(**more: Any) -> list[str]:
        planned = (await client.post("/v1/releases/plans", json=asked(**more))).json()
        return [own["code"] for own in planned["missing"]]

    # It suppresses nothing here, and would of another table.
    assert await codes(mechanism=STABLE | {"rule_is_public": True}, rule="small") == ["rule-from-data"]
    assert await codes(mechanism=STABLE, rule="levels") == ["rule-not-public"]
    assert await codes(mechanism=STABLE | {"rule_is_public": True}, rule="levels") == []
    assert await codes(mechanism=STABLE | {"delta": 0.01, "least_records": 100}) == ["delta-too-large"]
    # How many there are, no plan tells; a draw does not begin.
    above = asked(mechanism=STABLE | {"least_records": 82})
    assert await codes(mechanism=STABLE | {"least_records": 82}) == []
    for path in ("/v1/releases", "/v1/releases/runs"):
        problem = problem_of(await client.post(path, json=above), 409, "conflict")
        assert problem["details"] == {"records_needed": 82}
        assert problem["detail"].startswith("The dataset has fewer than the 82 records that are declared.")
        assert "81" not in str(problem["detail"])
    await made(client.post("/v1/releases", json=asked(mechanism=STABLE)))


async def test_values_known_from_the_data_alone_are_no_domain(client: httpx.AsyncClient):
    await people(client)
    for dataset in ("people", "attached"):
        if dataset == "attached":
            await described(client, "attached", ONE_MORE, unknown="attach")
        answer = await client.post("/v1/releases", json=asked("drawn", dataset, mechanism=LAPLACE))
        assert "not declared" in problem_of(answer, 422, "not-supported")["detail"]
    await described(client, "declared", [*ONE_MORE, "Oslo,flu"])
    await made(client.post("/v1/releases", json=asked("drawn", "declared", mechanism=LAPLACE)))
    lines = (await data(client)).decode().splitlines()[1:]
    assert not any(line.startswith("Oslo") for line in lines)


@pytest.mark.parametrize(
    "made_of",
    [
        {"kind": "flat"},
        pytest.param({"kind": "masking", "side": "right"}, marks=pytest.mark.deep),
        pytest.param({"kind": "ordered_groups", "group_sizes": [2]}, marks=pytest.mark.deep),
        {"kind": "rare_values", "at_least": 41},
    ],
    ids=lambda own: own["kind"],
)
async def test_a_hierarchy_from_a_column_is_refused(client: httpx.AsyncClient, made_of: dict[str, Any]):
    """Its labels or its height follow single records: no plan, no draw, whatever the level."""
    await described(client, "people", ONE_MORE)
    leaves = {"upload": {"upload": "people", "column": "town"}}
    of_column = await made(
        client.post("/v1/hierarchies", json={"name": "taken", "definition": made_of | leaves})
    )
    assert of_column["from_data"] is True
    rows = {"kind": "rows", "rows": [["Rome", "south"], ["Bari", "south"]]}
    edited = {"name": "edited", "definition": rows, "from_data": True}
    assert (await made(client.post("/v1/hierarchies", json=edited)))["from_data"] is True
    attributes = [
        {"name": "town", "type": "categorical", "role": "quasi_identifier", "on_unknown": "missing"},
        {"name": "illness", "type": "categorical", "role": "sensitive", "hierarchy": "illnesses"},
    ]
    for tree in ("taken", "edited"):
        attributes[0]["hierarchy"] = tree
        body = {"name": f"by-{tree}", "upload": "people", "attributes": attributes}
        await made(client.post("/v1/datasets", json=body))
        suppressed = {"kind": "table_level", "levels": {"town": 1}}
        rule = {"name": f"rule-{tree}", "dataset": f"by-{tree}", "rule": suppressed}
        await made(client.post("/v1/rules", json=rule))
        for mechanism in (STABLE, LAPLACE):
            public = mechanism | {"rule_is_public": True}
            for path in ("plans", "runs", ""):
                question = asked("drawn", f"by-{tree}", mechanism=public, rule=f"rule-{tree}")
                answer = await client.post(f"/v1/releases/{path}".rstrip("/"), json=question)
                if path == "plans":
                    (error,) = answer.json()["missing"]
                    assert answer.json()["constants"] is None
                else:
                    (error,) = problem_of(answer, 422, "invalid-input")["errors"]
                assert error["code"] == "hierarchy-from-data"
                assert "'town'" in str(error)
    await made(client.post("/v1/releases", json=asked("drawn", "people", mechanism=LAPLACE)))


async def test_an_empty_release_is_a_release(client: httpx.AsyncClient):
    """Nothing reaches the threshold; a table without rows is stored, and no number of records told."""
    await described(client, "people", [f"{own},flu" for own in ("Rome", "Bari", "Pisa")] * 2)
    strict = STABLE | {"delta": 1e-30, "least_records": 2}
    manifest = await made(client.post("/v1/releases", json=asked(mechanism=strict)))
    assert (manifest["rows"], manifest["classes"]) == (0, 0)
    assert await data(client) == b"town,illness\n"
    assert pq.read_table(io.BytesIO(await data(client, format_="parquet"))).num_rows == 0


async def test_nothing_is_measured_or_counted_in_noise(client: httpx.AsyncClient):
    await described(client, "people", ONE_MORE)
    await made(client.post("/v1/releases", json=asked(mechanism=STABLE)))
    answer = await client.post("/v1/releases/drawn/answers", json={"queries": [{"where": []}]})
    assert "below the threshold are missing" in problem_of(answer, 422, "not-supported")["detail"]
    for measure in ({"kind": "equivalence_classes"}, {"kind": "anonymity"}):
        body = {"name": "m", "release": "drawn", "measure": measure}
        answer = await client.post("/v1/measurements", json=body)
        assert "counts with noise" in problem_of(answer, 422, "not-supported")["detail"]
