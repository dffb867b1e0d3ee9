"""The service that a pipeline asks, and the asking."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from datetime import UTC, datetime
from typing import Any, Final

from app.cli.embedded import SERVICE, client_of, temporary_folder
from app.cli.files import stored_name
from app.cli.gate_loading import Loading
from app.cli.gate_question import Subject
from app.cli.operations import Operations
from app.cli.tables_file import Json
from app.domain.errors import InvalidInput
from privacy_risk import Client, ProblemError, Progress, Resource

KEY_VARIABLE: Final = "PRIVACY_RISK_API_KEY"

Told = Callable[[Progress], None]


@contextmanager
def service_client(server: str | None, operations: Operations) -> Iterator[Client]:
    """A client of the server, of the home's service if it runs, or of one for the length of the command."""
    if server is not None:
        key = os.environ.get(KEY_VARIABLE, "")
        if not key:
            raise InvalidInput.of(
                KEY_VARIABLE, "missing", f"{KEY_VARIABLE} is not set.", "Put the key of the server into it."
            )
        with Client(server, key) as client:
            yield client
        return
    running = operations.running_service()
    if running is not None:
        with client_of(running) as client:
            yield client
        return
    with temporary_folder(operations) as folder:
        running = operations.start_service(folder / SERVICE, with_worker=False)
        try:
            with client_of(running) as client:
                yield client
        finally:
            running.stop()


def told_of(subject: Subject) -> AbstractContextManager[None]:
    """Tells problems with views by the files that they are in."""
    return nullcontext() if subject.views is None else subject.views.told()


class Gate:
    """Asks one policy about one subject.

    A service of the command's own gives anybody all scopes: that who asks governs is not ``believed`` there.
    """

    def __init__(self, client: Client, told: Told, *, believed: bool = True) -> None:
        self._client = client
        self._told = told
        self._believed = believed

    def plan(self, subject: Subject, policy: Json | str) -> Json:
        """What judging would take; nothing is judged."""
        ref = self.store(policy)
        with told_of(subject):
            return dict(self._client.evaluations.plan(ref, self._body(subject, policy)))

    def evaluate(self, subject: Subject, policy: Json | str) -> Resource:
        """The stored evaluation with its result."""
        ref = self.store(policy)
        with told_of(subject):
            return self.ask(ref, self._body(subject, policy))

    def _body(self, subject: Subject, policy: Json | str) -> Json:
        body = Loading(self._client).body(subject, policy)
        return body if self._believed or not body.get("dictionaries") else body | {"as_governor": False}

    def ask(self, ref: str, body: Json) -> Resource:
        """The evaluation of a stored policy, by a run where a direct answer would take too long."""
        # Every evaluation is a record of its own, the same question asked tomorrow too.
        moment = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
        content: dict[str, Any] = {"moment": moment, "once": secrets.token_hex(8)}
        named = {"name": stored_name(f"{ref.replace('@', '-v')}-{moment}", content), **body}
        evaluation = self._answered(ref, named)
        if evaluation.name != named["name"]:
            raise InvalidInput.of(
                "evaluation", "another-one", "The service has answered with another evaluation."
            )
        return evaluation

    def _answered(self, ref: str, named: Json) -> Resource:
        return self._client.evaluations.answer(ref, named, self._told)

    def store(self, policy: Json | str) -> str:
        """``NAME@VERSION`` of the stored policy; a document is stored, unless it is already."""
        if isinstance(policy, str):
            return policy
        try:
            self._client.policies.create(policy)
        except ProblemError as problem:
            if problem.status != 403:
                raise
            raise InvalidInput.of(
                "POLICY",
                "needs-govern",
                "This key may use policies, not store them.",
                "Have the policy stored by a key with the scope govern, and name it: gate NAME@VERSION.",
            ) from problem
        return f"{policy['name']}@{policy['version']}"


def measured(client: Client, body: Json) -> Json:
    """The result of a measurement; a ProblemError for what the service refuses."""
    return dict(client.measurements.answer(body).document["result"])
