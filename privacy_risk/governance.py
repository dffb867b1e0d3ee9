"""Policies, verdicts and their evidence; who may do what, and who is told of what happened."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from datetime import datetime

from privacy_risk.answers import items_in
from privacy_risk.calls import Calls, call, stream
from privacy_risk.collection import Collection, Deletable, Evidenced
from privacy_risk.connection import VERSION, waiting
from privacy_risk.periods import period
from privacy_risk.pools import Pool
from privacy_risk.problems import checked_content
from privacy_risk.runs import OnProgress, answered
from privacy_risk.values import Json, Resource, Run


class Policies(Collection[Pool]):
    """Policies; a ``ref`` is ``NAME`` for the newest version or ``NAME@VERSION``."""

    @call
    async def create_from_yaml(self, text: str) -> Resource:
        """Store the policy of a YAML file."""
        document = await self._connection.post_content(
            f"{self._path}/yaml", text.encode(), "application/yaml"
        )
        return Resource.from_document(document)

    @call
    async def lint(self, body: Json) -> Json:
        """What is wrong with a policy's document, and what is odd; nothing is stored."""
        return await self._connection.post(f"{self._path}/lint", body)

    @call
    async def versions(self, ref: str) -> Json:
        """The versions of a policy."""
        return await self._connection.get_json(f"{self._path}/{ref}/versions")

    @call
    async def diff(self, ref: str, against: str | None = None) -> Json:
        """What differs from the policy ``against``, or from the version before."""
        return await self._connection.get_json(f"{self._path}/{ref}/diff", {"against": against})

    @call
    async def templates(self, version: int | None = None) -> Json:
        """Policies to start from, with the reason for each number; their newest version if none is named."""
        return await self._connection.get_json(f"{VERSION}/policy-templates", {"version": version})

    @call
    async def for_context(self, body: Json) -> Json:
        """What the context of a release leaves to its data, with the policy that asks for it."""
        return await self._connection.post(f"{VERSION}/release-contexts", body)


class Evaluations(Deletable[Pool], Evidenced[Pool]):
    """Verdicts of policies on releases."""

    @call
    async def create(self, policy: str, body: Json, wait_seconds: int = 0) -> Resource:
        """Judge: the evaluation with its verdict or, being large, the ``run`` that works on it.

        Such a run is waited for up to ``wait_seconds``.
        """
        headers = waiting(wait_seconds)
        return Resource.from_document(await self._connection.post(_gate(policy), body, headers=headers))

    @call
    async def answer(self, policy: str, body: Json, on_progress: OnProgress | None = None) -> Resource:
        """Judge, and wait for the verdict however long it takes; RunFailed if the run comes to nothing."""
        asked = await Evaluations.create(self, policy, body)
        return await answered(self._connection, self._path, asked, on_progress)

    @call
    async def start_run(self, policy: str, body: Json, wait_seconds: int = 0) -> Run:
        """Judge in the background, however small the work is; the run's result is the verdict.

        As soon as the run has ended, then with its ``result``, or after ``wait_seconds``.
        """
        headers = waiting(wait_seconds)
        return Run.from_document(await self._connection.post(f"{_gate(policy)}/runs", body, headers=headers))

    @call
    async def plan(self, policy: str, body: Json) -> Json:
        """What would be computed for each criterion, its cost and route, and what is missing."""
        return await self._connection.post(f"{_gate(policy)}/plans", body)

    @call
    async def revoke(self, ref: str, reason: str) -> Resource:
        """Say for good that the verdict stands no more; the same is not judged again."""
        body = {"reason": reason}
        return Resource.from_document(await self._connection.post(f"{self._path}/{ref}/revocation", body))


class Evidence(Calls[Pool]):
    """Signed evidence, which outlives what it is about; a ``ref`` is its id or the name of that."""

    @call
    async def get(self, ref: str) -> bytes:
        """The envelope, byte by byte as it was signed."""
        return checked_content(await self._connection.get(f"{self._path}/{ref}")).content

    @call
    async def report(self, ref: str) -> str:
        """The evidence as an HTML page to read or print."""
        return (await self._connection.get(f"{self._path}/{ref}/report")).text

    @call
    async def standing(self, ref: str) -> Json:
        """Whether what it says still stands: ``revocation`` says since when it does not, and why."""
        return await self._connection.get_json(f"{self._path}/{ref}/standing")

    @stream
    def list(
        self,
        name: str | None = None,
        created_after: datetime | None = None,
        created_before: datetime | None = None,
    ) -> AsyncIterator[Json]:
        """What there is of that time, newest first; ``name`` filters by part of that of what it is about."""
        created = period(created_after, created_before)
        return self._connection.items(self._path, {"name": name, **created})


class SigningKeys(Calls[Pool]):
    """The keys that evidence is signed with."""

    @call
    async def document(self) -> Json:
        """The public keys with their validity: what is needed to verify evidence, without the service too."""
        return await self._connection.get_json(self._path)

    @call
    async def rotate(self) -> Json:
        """Sign with a new key from now on; the old one goes on verifying what it signed."""
        return await self._connection.post(self._path)


def _gate(policy: str) -> str:
    return f"{VERSION}/gates/{policy}/evaluations"


class Budgets(Calls[Pool]):
    """What all differentially private releases of a table may spend; ε and δ are exact decimals in texts."""

    @call
    async def create(self, body: Json) -> Json:
        """Set the budget of a dataset's table, or get the equal one that it has."""
        return await self._connection.post(self._path, body)

    @stream
    def all(
        self, created_after: datetime | None = None, created_before: datetime | None = None
    ) -> AsyncIterator[Json]:
        """All budgets, newest first."""
        return self._connection.items(self._path, period(created_after, created_before))

    @call
    async def get(self, ref: str) -> Json:
        """The ledger of the budget's table: every release with what it spends."""
        return await self._connection.get_json(f"{self._path}/{ref}")

    @call
    async def change(self, ref: str, epsilon: str, delta: str) -> Json:
        """Raise or lower the limits; ProblemError below what is spent or reserved."""
        return await self._connection.post(f"{self._path}/{ref}/limits", {"epsilon": epsilon, "delta": delta})


class Webhooks(Calls[Pool]):
    """Addresses that are told of verdicts and of runs that have ended."""

    @call
    async def create(self, body: Json) -> Json:
        """A new webhook; its ``secret`` is shown this once."""
        return await self._connection.post(self._path, body)

    @call
    async def all(self) -> Sequence[Json]:
        """All webhooks."""
        return items_in(await self._connection.get_json(self._path))

    @call
    async def get(self, ref: str) -> Json:
        """The webhook."""
        return await self._connection.get_json(f"{self._path}/{ref}")

    @call
    async def test(self, ref: str) -> Json:
        """Send a message that tells of nothing; how it is delivered."""
        return await self._connection.post(f"{self._path}/{ref}/tests")

    @stream
    def deliveries(
        self, ref: str, created_after: datetime | None = None, created_before: datetime | None = None
    ) -> AsyncIterator[Json]:
        """The messages of the last 30 days, or of that time, newest first, and how each stands."""
        created = period(created_after, created_before)
        return self._connection.items(f"{self._path}/{ref}/deliveries", created)

    @call
    async def rotate_secret(self, ref: str, overlap_hours: int = 24) -> Json:
        """A new ``secret``, shown this once; messages carry the old one's signature too for so long."""
        return await self._connection.post(
            f"{self._path}/{ref}/secret-rotations", {"overlap_hours": overlap_hours}
        )

    @call
    async def delete(self, ref: str) -> None:
        """Tell it nothing more."""
        await self._connection.delete(f"{self._path}/{ref}")


class AuditEvents(Calls[Pool]):
    """Who did what, and when."""

    @stream
    def list(
        self,
        action: str | None = None,
        subject: str | None = None,
        created_after: datetime | None = None,
        created_before: datetime | None = None,
    ) -> AsyncIterator[Json]:
        """The events of that time, newest first, asked for page by page as they are needed.

        ``action`` picks those whose action begins so, ``subject`` those on the resource of this id.
        """
        created = period(created_after, created_before)
        return self._connection.items(self._path, {"action": action, "subject": subject, **created})

    @call
    async def verify(self) -> Json:
        """Whether the chain of hashes over the events is unbroken."""
        return await self._connection.get_json(f"{self._path}/verification")


class ApiKeys(Calls[Pool]):
    """The tenant's API keys."""

    @call
    async def all(self) -> Sequence[Json]:
        """All keys, revoked ones included; never their secrets."""
        return items_in(await self._connection.get_json(self._path))

    @call
    async def current(self) -> Json:
        """The key that this client uses."""
        return await self._connection.get_json(f"{self._path}/current")

    @call
    async def create(self, body: Json) -> Json:
        """A new key; its ``token`` is shown this once."""
        return await self._connection.post(self._path, body)

    @call
    async def revoke(self, key_id: str) -> None:
        """End a key."""
        await self._connection.delete(f"{self._path}/{key_id}")


class Tenants(Calls[Pool]):
    """The own tenant; and for the service's operator all of them."""

    @call
    async def own(self) -> Json:
        """How long the own tenant's data are kept, how much it may have, and has."""
        return await self._connection.get_json(f"{VERSION}/tenant")

    @call
    async def all(self) -> Sequence[Json]:
        """All tenants."""
        return items_in(await self._connection.get_json(self._path))

    @call
    async def create(self, name: str) -> Json:
        """A new tenant, and its first key, whose ``token`` is shown this once."""
        return await self._connection.post(self._path, {"name": name})


class ExampleData(Calls[Pool]):
    """The resources of the examples, to look at and to try calls on."""

    @call
    async def create(self, body: Json | None = None) -> Json:
        """Make them, as far as they are not there."""
        return await self._connection.post(f"{VERSION}/example-data", body or {})
