"""Every kind of run that there is, as long work on the sample, and what shows that its result is the same."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from app.api.examples.rules import MECHANISM_AUDIT_RUNS
from app.services.fingerprints import canonical_json
from privacy_risk import Client, Run
from tests.benchmarks.service.sample import Json, table_level
from tests.benchmarks.service.starts import POLICY

_HOSPITAL: Final = {
    "name": "hospital",
    "relations": {
        "patient": {"attributes": ["pid", "name"]},
        "diagnosis": {
            "attributes": ["pid", "diagnosis", "medication", "ward"],
            "domains": {"ward": "integer"},
        },
    },
}
_SAMPLED: Final = MECHANISM_AUDIT_RUNS["sample-drawn"]["value"]["mechanism"]
"""A mechanism whose exact audit takes some seconds."""
_LEVELS: Final = {"city": 1, "race": 1, "birth_date": 1, "income": 1}


@dataclass(frozen=True)
class RunKind:
    """A kind of run: ``start`` asks for it under a new name; ``shown`` is what must be the same every
    time.
    """

    start: Callable[[Client, str], Run]
    shown: Callable[[Client, str, str], bytes]


def prepared(client: Client, question: Json) -> Mapping[str, RunKind]:
    """The kinds by their names; what they need besides the sample is made in the service."""
    client.policies.create_from_yaml(POLICY)
    client.relational_schemas.create(_HOSPITAL)
    _people(client)
    rule = {"rule": table_level(_LEVELS)}
    record_level = {
        "objective": {"kind": "min_risk", "utility_floor": 7.0},
        "scope": "record_level",
        "solver": "branch_and_bound",
    }
    judged = {"dataset": question["dataset"], **rule}
    recoded = {
        "dataset": question["dataset"],
        "objective": {"kind": "min_loss", "privacy": [{"kind": "k_anonymity", "k": 5}]},
        "scope": "record_level",
    }
    return {
        "optimisation": RunKind(
            lambda own, name: own.optimisations.start_run({**question, **record_level, "name": name}), _result
        ),
        "least loss": RunKind(
            lambda own, name: own.optimisations.start_run({**recoded, "name": name}), _result
        ),
        "frontier": RunKind(
            lambda own, name: own.frontiers.start_run({**question, "scope": "record_level", "name": name}),
            _result,
        ),
        "assessment": RunKind(
            lambda own, name: own.assessments.start_run({**question, **rule, "name": name}), _result
        ),
        "measurement": RunKind(
            lambda own, name: own.measurements.start_run(
                {**question, **rule, "name": name, "measure": {"kind": "risk_attribution"}}
            ),
            _result,
        ),
        "evaluation": RunKind(
            lambda own, name: own.evaluations.start_run("classes-of-five", {**judged, "name": name}), _verdict
        ),
        "release": RunKind(_perturbed, _rows),
        "view check": RunKind(
            lambda own, name: own.view_checks.start_run({**_secrets_and_views(), "name": name}), _pairs
        ),
        "mechanism audit": RunKind(
            lambda own, name: own.mechanism_audits.start_run({"name": name, "mechanism": _SAMPLED}), _result
        ),
    }


def _result(client: Client, run_id: str, name: str) -> bytes:
    return canonical_json(_without(client.runs.result(run_id), name))


def _pairs(client: Client, run_id: str, name: str) -> bytes:
    found = client.runs.result(run_id)
    return canonical_json([pair["verdict"] for pair in found["pairs"]])


def _verdict(client: Client, run_id: str, name: str) -> bytes:
    result = client.evaluations.get(name).document["result"]
    evidence = list(client.evidence.list(name=name))
    return canonical_json([result["verdict"], [own["outcome"] for own in result["criteria"]], len(evidence)])


def _rows(client: Client, run_id: str, name: str) -> bytes:
    """What is drawn differs every time: that all records are in it."""
    return canonical_json(b"".join(client.releases.data(name)).count(b"\n"))


def _without(document: Any, name: str) -> Any:
    """The document without its own name, and what follows from when it was made."""
    if isinstance(document, dict):
        return {
            key: _without(value, name)
            for key, value in document.items()
            if key not in ("id", "run_id", "created_at", "evidence", "seconds") and value != name
        }
    return [_without(value, name) for value in document] if isinstance(document, list) else document


def _people(client: Client) -> None:
    """A table for draws: 20,000 people, so that a draw takes a while."""
    rows = "".join(f"{hashlib.sha256(b'%d' % n).hexdigest()[:2]},{n % 7},{n % 5}\n" for n in range(20_000))
    client.uploads.create_from("people", f"zip,age,told\n{rows}".encode())
    roles = {"zip": "quasi_identifier", "age": "quasi_identifier", "told": "sensitive"}
    attributes = [{"name": own, "type": "categorical", "role": role} for own, role in roles.items()]
    told = {"kind": "flat", "values": [str(number) for number in range(5)]}
    client.hierarchies.create({"name": "told", "definition": told})
    attributes[-1]["hierarchy"] = "told"
    client.datasets.create({"name": "people", "upload": "people", "attributes": attributes})


def _perturbed(client: Client, name: str) -> Run:
    mechanism = {
        "kind": "perturbation",
        "beta": 2 + int(name.rsplit("-", 1)[-1]) / 10_000,
        "attribute": "told",
    }
    asked = {"name": name, "dataset": "people", "mechanism": mechanism, "independent_of_earlier": True}
    if not list(client.releases.list()):
        del asked["independent_of_earlier"]
    return client.releases.start_run(asked)


def _secrets_and_views() -> Json:
    secret = "s(n) :- patient(p, n), diagnosis(p, 'cancer', m, {})."
    view = "v(p) :- diagnosis(p, d, m, w), patient(p, n), diagnosis(q, d, m, {})."
    return {
        "relational_schema": "hospital",
        "secrets": [{"id": f"s{i}", "query": secret.format(i)} for i in range(12)],
        "views": [{"id": f"v{i}", "query": view.format(i)} for i in range(40)],
    }
