"""Neither the secret of a draw nor a key that follows from it is told by its run, however that ends."""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any

import httpx
import psycopg
import pytest
from psycopg import sql

from app.composition.run_process import run_execution
from app.domain.errors import PrivacyRiskError, QuotaExceeded
from app.domain.search.budget import never
from app.persistence import draws as stored_draws
from app.persistence import pieces
from app.persistence.draws import PostgresDraws
from app.services.questions import DirectBudget
from app.services.releases import draw_work, drawing, key_stream
from app.services.resources import Progress, RunState
from app.workers.failures import internal_error, problem_of
from tests.api.drawn_people import PERTURBED, SAMPLED, UNIFORM, asked, data, people
from tests.api.service import Api, build_api

pytestmark = pytest.mark.anyio
PRIVATE = {"kind": "stability_histogram", "epsilon": 1, "delta": 1e-4, "least_records": 20}


@pytest.fixture
async def api(store, registry, clock) -> Api:
    """A service that draws nothing at once."""
    return build_api(store, registry, clock, budget=DirectBudget(seconds=1e-9))


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """The secret, the keys of its random bytes and of the rows' order, and the key that seals it, as made.

    And what the hash of a differentially private question is made of, which follows from an upload's key.
    """
    found: list[bytes] = []

    def watched(owner: Any, name: str) -> None:
        real = getattr(owner, name)

        def keeping(*given: Any) -> bytes:
            found.append(real(*given))
            return found[-1]

        monkeypatch.setattr(owner, name, keeping)

    real_secret = PostgresDraws.secret

    async def secret(self: PostgresDraws, draw_id: str) -> bytes:
        found.append(await real_secret(self, draw_id))
        return found[-1]

    monkeypatch.setattr(PostgresDraws, "secret", secret)
    watched(key_stream, "derived_key")
    watched(drawing, "derived_key")
    watched(stored_draws, "new_data_key")
    watched(pieces, "derived")
    return found


def none_told(seen: Sequence[bytes], told: Sequence[bytes]) -> None:
    """That in nothing told is any of the secrets, as bytes, in hexadecimal, base 64 or as Python shows it."""
    for own in seen:
        assert len(own) == 32
        for answer in told:
            assert own not in answer
            assert own.hex().encode() not in answer.lower()
            assert base64.b64encode(own) not in answer
            assert base64.urlsafe_b64encode(own) not in answer
            assert repr(own)[2:-1].encode() not in answer


def all_rows(database_urls: Any) -> bytes:
    """Every row of every table, as text."""
    found = []
    with psycopg.connect(database_urls.admin) as connection:
        names = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'").fetchall()
        for (name,) in names:
            query = sql.SQL("SELECT own::text FROM {} AS own").format(sql.Identifier(name))
            found += [row for (row,) in connection.execute(query).fetchall()]
    assert len(names) > 10
    return "\n".join(found).encode()


async def attempted(api: Api, run_id: str) -> list[Progress]:
    """Do a run's work as a worker does, and write down what it ends with; what it has told on the way."""
    claim = await api.registry.claim(run_id, "test", 60.0)
    assert claim is not None
    told: list[Progress] = []
    try:
        await run_execution(api.store, api.loader, api.loader, clock=api.clock).execute(
            claim, told.append, never
        )
    except Exception as error:
        document = problem_of(error) if isinstance(error, PrivacyRiskError) else internal_error(error)
        async with api.store.work(claim.tenant) as work:
            await work.runs.finish(claim, RunState.FAILED, result=None, error=document)
            await work.commit()
    return told


async def answers(client: httpx.AsyncClient, run_id: str) -> list[bytes]:
    paths = (
        f"runs/{run_id}",
        f"runs/{run_id}/result",
        "runs",
        "releases",
        "releases/drawn",
        "datasets/people/releases",
        "audit-events",
    )
    return [(await client.get(f"/v1/{path}")).content for path in paths]


def fails_quoting(seen: list[bytes]) -> Callable[..., Any]:
    """A draw that ends with an error whose message has all that is secret."""
    real = draw_work.drawn_release

    def quoting(*given: Any) -> Any:
        real(*given)
        raise RuntimeError(f"{seen!r} {[own.hex() for own in seen]}")

    return quoting


@pytest.mark.parametrize(
    ("mechanism", "end"),
    [
        (SAMPLED, "well"),
        (PERTURBED, "unforeseen"),
        (PERTURBED, "quota-exceeded"),
        pytest.param(PERTURBED, "well", marks=pytest.mark.deep),
        pytest.param(UNIFORM, "well", marks=pytest.mark.deep),
        pytest.param(PRIVATE, "well", marks=pytest.mark.deep),
    ],
)
async def test_no_secret_of_a_draw_is_in_what_its_run_tells(
    api: Api,
    seen: list[bytes],
    database_urls: Any,
    monkeypatch: pytest.MonkeyPatch,
    mechanism: dict[str, Any],
    end: str,
):
    async def full(*_: object) -> Any:
        raise QuotaExceeded("It is full.", "Delete something.", {"name": "stored_bytes"})

    if end == "unforeseen":
        monkeypatch.setattr(draw_work, "drawn_release", fails_quoting(seen))
    elif end == "quota-exceeded":
        monkeypatch.setattr(PostgresDraws, "store", full)
    _, token = await api.tenant_with_key()
    async with api.client(token) as client:
        await people(client)
        started = await client.post("/v1/releases/runs", json=asked(mechanism=mechanism))
        run_id = started.json()["id"]
        progress = await attempted(api, run_id)
        run = (await client.get(f"/v1/runs/{run_id}")).json()
        told = [started.content, *await answers(client, run_id)]
        if end == "well":
            told.append(await data(client))
    if end == "well":
        assert run["state"] == "succeeded"
    else:
        assert (run["state"], run["error"]["code"]) == (
            "failed",
            "internal-error" if end == "unforeseen" else end,
        )
    assert progress
    told += [repr([asdict(own) for own in progress]).encode(), api.log.getvalue().encode()]
    assert len(set(seen)) == (5 if mechanism is PRIVATE else 4)
    none_told(seen, [*told, all_rows(database_urls)])
