"""Every operation of the service has its method in the client, and every method its call here."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

from privacy_risk import Client
from tests.api.operations import DOCUMENT

ANSWER = {
    "id": "i", "name": "n", "sha256": "0", "state": "succeeded", "attempt": 1, "items": [],
    "next_cursor": None,
}  # fmt: skip

COLLECTIONS = (
    "hierarchies", "datasets", "dictionaries", "dictionary_sets", "sensitivity_profiles", "rules",
    "assessments", "measurements", "releases", "sequential_disclosures", "policies", "waivers",
    "relational_schemas", "view_checks", "mechanism_audits",
)  # fmt: skip
DELETABLE = (*COLLECTIONS, "uploads", "optimisations", "frontiers", "evaluations")

CALLS: dict[str, Callable[[Client], Any]] = {
    **{f"{name}.create": lambda c, n=name: getattr(c, n).create({}) for name in COLLECTIONS},
    **{f"{name}.get": lambda c, n=name: getattr(c, n).get("r") for name in DELETABLE},
    **{f"{name}.list": lambda c, n=name: list(getattr(c, n).list()) for name in DELETABLE},
    **{f"{name}.page": lambda c, n=name: getattr(c, n).page() for name in DELETABLE},
    **{f"{name}.delete": lambda c, n=name: getattr(c, n).delete("r") for name in DELETABLE},
    **{f"{name}.dependents": lambda c, n=name: getattr(c, n).dependents("r") for name in DELETABLE},
    **{
        f"{name}.definition": lambda c, n=name: getattr(c, n).definition("r")
        for name in ("hierarchies", "dictionaries", "sensitivity_profiles", "rules")
    },
    **{
        f"{name}.{verb}": lambda c, n=name, v=verb: getattr(getattr(c, n), v)({})
        for name in (
            "assessments",
            "measurements",
            "optimisations",
            "frontiers",
            "view_checks",
            "mechanism_audits",
        )
        for verb in ("start_run", "plan")
    },
    **{
        f"{name}.answer": lambda c, n=name: getattr(c, n).answer({})
        for name in ("assessments", "measurements", "view_checks", "mechanism_audits")
    },
    "evaluations.answer": lambda c: c.evaluations.answer("p", {}),
    "hierarchies.create_from_csv": lambda c: c.hierarchies.create_from_csv("n", b"a;b"),
    "hierarchies.tree": lambda c: c.hierarchies.tree("r"),
    "uploads.create_from": lambda c: c.uploads.create_from("n", b"a"),
    "uploads.create_from_form": lambda c: c.uploads.create_from_form("n", b"a"),
    "uploads.create_from_frame": lambda c: c.uploads.create_from_frame("n", frame()),
    "uploads.create_from_source": lambda c: c.uploads.create_from_source("n", Rows()),
    "uploads.propose_schema": lambda c: c.uploads.propose_schema("r"),
    "uploads.one_row_per_person": lambda c: c.uploads.one_row_per_person("r", {}),
    "uploads.preview": lambda c: c.uploads.preview("r"),
    "datasets.preview": lambda c: c.datasets.preview("r"),
    "datasets.profile": lambda c: c.datasets.profile("r"),
    "datasets.reading": lambda c: c.datasets.reading("r"),
    "datasets.budget": lambda c: c.datasets.budget("r"),
    "datasets.releases": lambda c: c.datasets.releases("r"),
    "datasets.tree": lambda c: c.datasets.tree("r", "city"),
    "dictionary_sets.compare": lambda c: c.dictionary_sets.compare("d", "s", "l"),
    "rules.preview": lambda c: c.rules.preview({}),
    "assessments.records": lambda c: list(c.assessments.records("r")),
    "assessments.frame": lambda c: unreadable(lambda: c.assessments.frame("r")),
    "assessments.evidence": lambda c: c.assessments.evidence("r"),
    "assessments.report": lambda c: c.assessments.report("r"),
    "frontiers.picture": lambda c: c.frontiers.picture("r"),
    "releases.plan": lambda c: c.releases.plan({}),
    "releases.preview": lambda c: c.releases.preview({}),
    "releases.start_run": lambda c: c.releases.start_run({}),
    "releases.withdraw": lambda c: c.releases.withdraw("r"),
    "releases.answers": lambda c: c.releases.answers("r", [{"where": []}]),
    "releases.data": lambda c: list(c.releases.data("r")),
    "releases.frame": lambda c: unreadable(lambda: c.releases.frame("r")),
    "sequential_disclosures.append": lambda c: c.sequential_disclosures.append("r", [], {}, "k"),
    "runs.get": lambda c: c.runs.get("r"),
    "runs.page": lambda c: c.runs.page(),
    "runs.list": lambda c: list(c.runs.list()),
    "runs.stop": lambda c: c.runs.stop("r"),
    "runs.cancel": lambda c: c.runs.cancel("r"),
    "runs.result": lambda c: c.runs.result("r"),
    "runs.map": lambda c: c.runs.map("r"),
    "runs.events": lambda c: list(c.runs.events("r")),
    "runs.wait": lambda c: c.runs.wait("r"),
    "policies.create_from_yaml": lambda c: c.policies.create_from_yaml("name: p"),
    "policies.lint": lambda c: c.policies.lint({}),
    "policies.versions": lambda c: c.policies.versions("p"),
    "policies.diff": lambda c: c.policies.diff("p"),
    "policies.for_context": lambda c: c.policies.for_context({}),
    "policies.templates": lambda c: c.policies.templates(),
    "evaluations.create": lambda c: c.evaluations.create("p", {}),
    "evaluations.start_run": lambda c: c.evaluations.start_run("p", {}),
    "evaluations.plan": lambda c: c.evaluations.plan("p", {}),
    "evaluations.revoke": lambda c: c.evaluations.revoke("r", "a reason"),
    "evaluations.evidence": lambda c: c.evaluations.evidence("r"),
    "evaluations.report": lambda c: c.evaluations.report("r"),
    "evidence.get": lambda c: c.evidence.get("e"),
    "evidence.standing": lambda c: c.evidence.standing("e"),
    "evidence.report": lambda c: c.evidence.report("e"),
    "evidence.list": lambda c: list(c.evidence.list()),
    "signing_keys.document": lambda c: c.signing_keys.document(),
    "signing_keys.rotate": lambda c: c.signing_keys.rotate(),
    "budgets.create": lambda c: c.budgets.create({}),
    "budgets.all": lambda c: list(c.budgets.all()),
    "budgets.get": lambda c: c.budgets.get("r"),
    "budgets.change": lambda c: c.budgets.change("r", "1", "0"),
    "webhooks.create": lambda c: c.webhooks.create({}),
    "webhooks.all": lambda c: c.webhooks.all(),
    "webhooks.get": lambda c: c.webhooks.get("w"),
    "webhooks.test": lambda c: c.webhooks.test("w"),
    "webhooks.deliveries": lambda c: list(c.webhooks.deliveries("w")),
    "webhooks.rotate_secret": lambda c: c.webhooks.rotate_secret("w"),
    "webhooks.delete": lambda c: c.webhooks.delete("w"),
    "audit_events.verify": lambda c: c.audit_events.verify(),
    "audit_events.list": lambda c: list(c.audit_events.list()),
    "example_data.create": lambda c: c.example_data.create(),
    "api_keys.all": lambda c: c.api_keys.all(),
    "api_keys.current": lambda c: c.api_keys.current(),
    "api_keys.create": lambda c: c.api_keys.create({}),
    "api_keys.revoke": lambda c: c.api_keys.revoke("k"),
    "tenants.own": lambda c: c.tenants.own(),
    "tenants.all": lambda c: c.tenants.all(),
    "tenants.create": lambda c: c.tenants.create("acme"),
    "catalogue": lambda c: c.catalogue(),
    "propose_dialect": lambda c: c.propose_dialect(b"a,b"),
    "health": lambda c: c.health(),
    "readiness": lambda c: c.readiness(),
}


class Rows:
    """A source without rows."""

    def batches(self):
        import pyarrow as pa

        yield pa.RecordBatch.from_pydict({"a": []})


def frame():
    import pandas as pd

    return pd.DataFrame({"a": ["1"]})


def unreadable(call: Callable[[], Any]) -> None:
    """The transport's answer is no Parquet file; that it was asked for is what counts here."""
    with pytest.raises(Exception, match=r"(?i)parquet"):
        call()


class Recorder:
    """Answers everything with what every method can read, and keeps what was asked."""

    def __init__(self) -> None:
        self.asked: set[tuple[str, str]] = set()

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.asked.add((request.method, request.url.path))
        if request.url.path.endswith("/events"):
            return httpx.Response(200, content=b"")
        return httpx.Response(200, json=ANSWER)


@pytest.fixture(scope="module")
def asked() -> set[tuple[str, str]]:
    recorder = Recorder()
    with Client("http://service", "a.b", transport=httpx.MockTransport(recorder)) as client:
        for call in CALLS.values():
            call(client)
    return recorder.asked


OPERATIONS = {
    operation["operationId"]: (method.upper(), path)
    for path, methods in DOCUMENT["paths"].items()
    for method, operation in methods.items()
}


def reaches(asked: tuple[str, str], operation: tuple[str, str]) -> bool:
    return asked[0] == operation[0] and bool(
        re.fullmatch(re.sub(r"\{\w+\}", "[^/]+", operation[1]), asked[1])
    )


@pytest.mark.parametrize("operation_id", OPERATIONS)
def test_every_operation_is_reached_by_a_method(asked, operation_id):
    assert any(reaches(one, OPERATIONS[operation_id]) for one in asked), OPERATIONS[operation_id]


def test_every_method_is_called_here():
    assert set(public_methods()) == set(CALLS)


def public_methods() -> Iterator[str]:
    with Client("http://service", "a.b") as client:
        for name, value in vars(client).items():
            if not name.startswith("_"):
                yield from (
                    f"{name}.{method}"
                    for method, _ in inspect.getmembers(value, inspect.ismethod)
                    if not method.startswith("_")
                )
        yield from (
            name
            for name, _ in inspect.getmembers(client, inspect.ismethod)
            if not name.startswith("_") and name != "close"
        )
