"""In which order released rows leave: one that says nothing of the records, unless that was chosen."""

from __future__ import annotations

import hashlib
import io
import random
from collections import Counter
from typing import Any

import httpx
import pyarrow.parquet as pq
import pytest

from app.persistence.encryption import MasterKey
from app.persistence.store import PostgresStore
from app.services.resources import Kind, NewResource
from tests.api.problem_documents import problem_of
from tests.api.service import Api, build_api

pytestmark = pytest.mark.anyio

ILLNESSES = [f"illness-{number:02}" for number in range(30)]
"""One per person: whoever sees a class in the records' order knows who has which."""
TOWNS = ["Rome"] * 24 + ["Bari"] * 6
ROWS = [",".join(row) for row in zip(TOWNS, ILLNESSES, strict=True)]
ROLES = {"town": "quasi_identifier", "illness": "sensitive"}


async def made(request: Any) -> dict[str, Any]:
    response = await request
    assert response.status_code == 201, response.text
    found: dict[str, Any] = response.json()
    return found


async def people(client: httpx.AsyncClient, name: str = "people", rows: list[str] = ROWS) -> None:
    """A dataset of these rows, and the rule that releases it as it is."""
    text = "town,illness\n" + "\n".join(rows) + "\n"
    headers = {"Content-Type": "text/csv"}
    await made(client.post(f"/v1/uploads?name={name}", content=text, headers=headers))
    attributes = [{"name": own, "type": "categorical", "role": role} for own, role in ROLES.items()]
    await made(client.post("/v1/datasets", json={"name": name, "upload": name, "attributes": attributes}))
    rule = {"name": f"{name}-as-is", "dataset": name, "rule": {"kind": "identity"}}
    await made(client.post("/v1/rules", json=rule))


async def release(client: httpx.AsyncClient, name: str, dataset: str = "people", **more: Any) -> Any:
    body = {"name": name, "dataset": dataset, "rule": f"{dataset}-as-is", **more}
    return await made(client.post("/v1/releases", json=body))


async def data(client: httpx.AsyncClient, name: str, format_: str = "csv") -> bytes:
    answer = await client.get(f"/v1/releases/{name}/data?format={format_}")
    assert answer.status_code == 200, answer.text
    return answer.content


async def rows(client: httpx.AsyncClient, name: str) -> list[str]:
    return (await data(client, name)).decode().splitlines()[1:]


async def test_a_release_leaves_in_an_order_of_its_own(client: httpx.AsyncClient):
    await people(client)
    first, second = await release(client, "first"), await release(client, "second")
    assert [(own["order"], own["order_chosen"]) for own in (first, second)] == [("shuffled", False)] * 2
    released = [await rows(client, name) for name in ("first", "second")]
    for own in released:
        assert Counter(own) == Counter(ROWS)
        # Classes are sorted by what they show, whatever the records' order.
        assert [row.split(",")[0] for row in own] == ["Bari"] * 6 + ["Rome"] * 24
    # Of 24! orders of a class, two keys find the same, or one that of the records, with probability 1e-23.
    orders = {tuple(own[6:]) for own in released} | {tuple(ROWS[:24])}
    assert len(orders) == 3


async def test_the_same_bytes_leave_at_every_download_and_from_every_process(
    api: Api, client: httpx.AsyncClient, engine: Any, master_key: MasterKey
):
    await people(client)
    await release(client, "twice")
    once = await data(client, "twice")
    assert await data(client, "twice") == once
    other = build_api(PostgresStore(engine, master_key, api.clock), api.registry, api.clock)
    async with other.client(client.headers["Authorization"].removeprefix("Bearer ")) as elsewhere:
        assert await data(elsewhere, "twice") == once
        parquet = pq.read_table(io.BytesIO(await data(elsewhere, "twice", "parquet"))).to_pylist()
    assert [",".join(row.values()) for row in parquet] == once.decode().splitlines()[1:]


async def test_the_manifests_hash_is_of_the_bytes_that_leave(api: Api):
    actor, token = await api.tenant_with_key()
    async with api.client(token) as client:
        await people(client)
        await release(client, "hashed")
        content = await data(client, "hashed")
    async with api.store.work(actor.tenant) as work:
        stored = await work.resources.get(Kind.RELEASE, "hashed")
    assert stored.summary["csv_sha256"] == hashlib.sha256(content).hexdigest()


async def test_the_records_order_is_an_explicit_choice(client: httpx.AsyncClient):
    await people(client)
    chosen = await release(client, "chosen", order="records")
    assert (chosen["order"], chosen["order_chosen"]) == ("records", True)
    assert await rows(client, "chosen") == ROWS
    body = {"name": "chosen", "dataset": "people", "rule": "people-as-is", "order": "records"}
    assert (await client.post("/v1/releases", json=body)).status_code == 200
    problem_of(await client.post("/v1/releases", json=body | {"order": "shuffled"}), 409, "conflict")
    problem_of(await client.post("/v1/releases", json=body | {"order": "input"}), 422, "invalid-input")


async def test_another_order_of_the_upload_changes_no_class(client: httpx.AsyncClient):
    await people(client)
    mixed = random.Random(3).sample(ROWS, len(ROWS))
    await people(client, "mixed", mixed)
    await release(client, "of-people")
    await release(client, "of-mixed", "mixed")
    one, other = await rows(client, "of-people"), await rows(client, "of-mixed")
    assert Counter(one) == Counter(other)
    assert [row.split(",")[0] for row in one] == [row.split(",")[0] for row in other]


async def test_the_seed_is_in_no_answer_no_log_and_no_row(api: Api, database_urls: Any):
    actor, token = await api.tenant_with_key()
    async with api.client(token) as client:
        await people(client)
        manifest = await client.post(
            "/v1/releases", json={"name": "secret", "dataset": "people", "rule": "people-as-is"}
        )
        answers = [manifest.content, await data(client, "secret"), await data(client, "secret", "parquet")]
        for path in ("releases/secret", "releases", "datasets/people/releases", "audit-events"):
            answers.append((await client.get(f"/v1/{path}")).content)
    async with api.store.work(actor.tenant) as work:
        stored = await work.resources.get(Kind.RELEASE, "secret")
        upload = await work.resources.get(Kind.UPLOAD, "people")
        seed = await work.pieces.secret(upload.id, f"release order {stored.sha256} secret")
    answers += [str(stored).encode(), api.log.getvalue().encode()]
    assert len(seed) == 32
    for answer in answers:
        assert seed not in answer
        assert seed.hex() not in answer.decode("latin-1").lower()
    assert set(stored.document or {}) == {"neutralise_formulas", "order"}


async def test_releases_made_before_keep_their_order_and_say_that_nobody_chose_it(api: Api):
    """Such releases were stored without an order, in summary and document alike."""
    actor, token = await api.tenant_with_key()
    async with api.client(token) as client:
        await people(client)
        await release(client, "new", order="records")
        async with api.store.work(actor.tenant) as work:
            new = await work.resources.get(Kind.RELEASE, "new")
            summary = {key: own for key, own in new.summary.items() if not key.startswith("order")}
            old = NewResource(
                Kind.RELEASE, "old", "b" * 64, summary, {"neutralise_formulas": False}, new.uses
            )
            await work.resources.add(old)
            await work.commit()
        content = await data(client, "old")
        assert content.decode().splitlines()[1:] == ROWS
        assert hashlib.sha256(content).hexdigest() == summary["csv_sha256"]
        shown = (await client.get("/v1/releases/old")).json()
        (listed,) = (await client.get("/v1/releases?name=old")).json()["items"]
        assert [(own["order"], own["order_chosen"]) for own in (shown, listed)] == [("records", False)] * 2
        await policy(client)
        body = {"release": {"name": "old"}}
        result = (await made(client.post("/v1/gates/order/evaluations", json=body)))["result"]
        assert (result["subject"]["order"], result["subject"]["order_chosen"]) == ("records", False)
        assert not any("order" in own for own in result["assumptions"])
        assert any("made before rows were shuffled" in own for own in result["warnings"])


NOT_SAID = "Each row counts as one person: assumed, nobody said so."
KEYED = "person,town,illness\n" + "".join(f"p{number:02},{row}\n" for number, row in enumerate(ROWS))
DEMANDS: dict[str, Any] = {
    "classes": {"kind": "privacy_model", "model": {"kind": "k_anonymity", "k": 2}},
    "loss": {
        "kind": "measure", "measure": {"kind": "information_loss"}, "value": "precision_loss",
        "comparison": "at_most", "threshold": 1,
    },
}  # fmt: skip


async def policy(client: httpx.AsyncClient) -> None:
    """A stored policy about classes and losses."""
    criteria = [
        {"id": id_, "title": "It holds", "reason": "For the test.", "demand": demand}
        for id_, demand in DEMANDS.items()
    ]
    head = {"format": "privacy-risk/policy/1", "name": "order", "version": 1, "title": "People"}
    excused = [{"columns": ["person", "illness"], "reason": "The test is about the order of the rows."}]
    document = {**head, "assumes": {"attacker": "All"}, "criteria": criteria, "not_covered": excused}
    await made(client.post("/v1/policies", json=document))


async def begin_with(client: httpx.AsyncClient) -> None:
    """People with identifiers, and a policy about classes and losses."""
    headers = {"Content-Type": "text/csv"}
    await made(client.post("/v1/uploads?name=people", content=KEYED, headers=headers))
    roles = {"person": "identifier", **ROLES}
    attributes = [
        {"name": own, "type": "text" if role == "identifier" else "categorical", "role": role}
        for own, role in roles.items()
    ]
    body = {"name": "people", "upload": "people", "attributes": attributes}
    await made(client.post("/v1/datasets", json=body))
    await policy(client)


@pytest.fixture
def gate(begun: httpx.AsyncClient) -> httpx.AsyncClient:
    return begun


async def judged(client: httpx.AsyncClient, name: str, lines: list[str], **release: Any) -> dict[str, Any]:
    """The result of the gate for a file of these lines, header first."""
    headers = {"Content-Type": "text/csv"}
    text = "".join(f"{line}\n" for line in lines)
    await made(client.post(f"/v1/uploads?name={name}", content=text, headers=headers))
    body = {"name": name, "dataset": "people", "release": {"upload": name, **release}}
    found: dict[str, Any] = (await made(client.post("/v1/gates/order/evaluations", json=body)))["result"]
    return found


def said_of(result: dict[str, Any]) -> tuple[Any, ...]:
    subject = result["subject"]
    return subject["release"]["aligned_by"], subject["order"], subject["order_chosen"]


async def test_a_file_is_not_aligned_unless_somebody_says_whose_row_is_whose(gate: httpx.AsyncClient):
    result = await judged(gate, "nobody-said", ["town,illness", *ROWS])
    assert (result["verdict"], *said_of(result)) == ("error", None, "unknown", False)
    outcomes = {own["id"]: own["outcome"] for own in result["criteria"]}
    assert outcomes == {"classes": "passed", "loss": "not_computable"}
    (lost,) = [own for own in result["criteria"] if own["id"] == "loss"]
    assert "key column" in lost["error"]["remedy"]
    assert '"order": "records"' in lost["error"]["remedy"]
    (warning,) = result["warnings"]
    assert "seems to keep the order" in warning
    sorted_ = await judged(gate, "sorted", ["town,illness", *sorted(ROWS)])
    assert (said_of(sorted_), sorted_["warnings"]) == ((None, "unknown", False), [])


async def test_the_records_order_is_an_assumption_where_it_was_chosen(gate: httpx.AsyncClient):
    result = await judged(gate, "chosen", ["town,illness", *ROWS], order="records")
    assert (result["verdict"], *said_of(result)) == ("pass", "order", "records", True)
    assert result["warnings"] == []
    said, assumption = result["assumptions"]
    assert said == NOT_SAID
    assert "was chosen" in assumption
    shown = (await gate.get("/v1/evaluations/chosen")).json()
    assert shown["release"] == {"upload": "chosen", "key": None, "order": "records"}
    page = (await gate.get("/v1/evaluations/chosen/report")).text
    assert "The rows stand in the order of the data" in page


async def test_a_file_with_a_key_that_keeps_the_records_order_is_warned_of(gate: httpx.AsyncClient):
    header, *lines = KEYED.splitlines()
    keeps = await judged(gate, "keeps", [header, *lines], key="person")
    assert (keeps["verdict"], *said_of(keeps)) == ("pass", "key", "records", False)
    (warning,) = keeps["warnings"]
    assert "less than once in a million times" in warning
    assert "order" in warning
    by_class = sorted(lines, key=lambda line: line.split(",")[1])
    within = await judged(gate, "within", [header, *by_class], key="person")
    assert "Within its equivalence classes" in within["warnings"][0]
    meant = await judged(gate, "meant", [header, *lines], key="person", order="records")
    assert (said_of(meant), meant["warnings"]) == (("key", "records", True), [])
    assert len(meant["assumptions"]) == 2
    mixed = await judged(gate, "mixed", [header, *random.Random(5).sample(lines, 30)], key="person")
    assert (said_of(mixed), mixed["warnings"]) == (("key", "other", False), [])
    assert mixed["assumptions"] == [NOT_SAID]


async def test_a_rule_is_judged_as_it_will_be_released(gate: httpx.AsyncClient):
    body = {"name": "rule", "dataset": "people", "rule": {"kind": "identity"}}
    result = (await made(gate.post("/v1/gates/order/evaluations", json=body)))["result"]
    assert (result["subject"]["order"], result["subject"]["order_chosen"]) == ("shuffled", False)
    said, assumption = result["assumptions"]
    assert said == NOT_SAID
    assert "says nothing of the records' order" in assumption


async def test_an_evaluation_asked_for_before_means_what_it_meant(api: Api, gate: httpx.AsyncClient):
    """Without a key a file had to keep the records' order; such requests are stored without an order."""
    await judged(gate, "asked-now", ["town,illness", *ROWS], order="records")
    token = gate.headers["Authorization"].removeprefix("Bearer ")
    tenant = (await api.services.tenants.authenticate(token)).tenant
    async with api.store.work(tenant) as work:
        now = await work.resources.get(Kind.EVALUATION, "asked-now")
        document = {key: own for key, own in (now.document or {}).items() if key != "order"}
        before = NewResource(Kind.EVALUATION, "before", "c" * 64, now.summary, document, now.uses)
        stored, _ = await work.resources.add(before)
        run = await work.runs.create(stored, stored.sha256, {})
        await work.commit()
    await api.work_off(run.id)
    result = (await gate.get("/v1/evaluations/before")).json()["result"]
    assert (result["verdict"], result["subject"]["release"]["aligned_by"]) == ("pass", "order")
