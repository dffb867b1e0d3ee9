"""Files, operations and a stub of the service for the gate's command."""

from __future__ import annotations

import hashlib
from pathlib import Path

import httpx
import pytest

from app.cli import embedded, gate, gate_service
from app.cli.operations import Operations, RunningService
from app.cli.program import run
from privacy_risk import Client, Retries
from tests.unit.cli.gate_stub import POLICY, TABLES, Stub, stub_page


@pytest.fixture
def stub(monkeypatch: pytest.MonkeyPatch) -> Stub:
    stub = Stub()

    def client(base_url: str, key: str, **_: object) -> Client:
        assert key == "pre.secret"
        return Client(base_url, key, transport=httpx.MockTransport(stub), retries=Retries(attempts=1))

    monkeypatch.setattr(gate_service, "Client", client)
    monkeypatch.setattr(embedded, "Client", client)
    # The policies of these tests hold what the tests are about; a service would refuse them.
    monkeypatch.setattr(gate, "check_policy_file", lambda path, policy: None)
    monkeypatch.setattr(
        "app.reports.page.render_page", lambda report: stub_page(hashlib.sha256(report).hexdigest())
    )
    monkeypatch.setenv("PRIVACY_RISK_API_KEY", "pre.secret")
    for name in ("GITHUB_REPOSITORY", "CI_PROJECT_PATH"):
        monkeypatch.delenv(name, raising=False)
    return stub


@pytest.fixture
def operations() -> Operations:
    service = RunningService("http://embedded", "pre.secret", 1, lambda: None, lambda: None)
    verbs = dict.fromkeys(Operations.__dataclass_fields__, lambda *_: None) | {
        "start_service": lambda home, **_: service
    }
    return Operations(**verbs)


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, text in {
        "policy.yaml": POLICY, "tables.toml": TABLES, "members.csv": "id,city\n1,Gary\n",
        "census.csv": "zip\n1\n", "city.csv": "Gary;Lake\n", "zip-city.csv": "zip,city\n1,Gary\n",
        "release.csv": "id,city\n1,*\n",
        "rule.yaml": "kind: table_level\nlevels: {city: 1}\n",
    }.items():  # fmt: skip
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.fixture
def judge(stub, operations, files):
    def judge(*more: str, policy: str = "policy.yaml", dataset: str = "members.csv") -> int:
        return run(["gate", policy, "--dataset", dataset, *more], operations)

    return judge
