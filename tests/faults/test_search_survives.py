"""The product as it is run, with a real search: its worker's processes are taken away in the middle."""

from __future__ import annotations

import hashlib
import os
import secrets
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest

from app.cli.journey import load_journey
from app.cli.progress import Silent
from app.cli.walk import Walk
from app.main import operations
from app.samples import JOURNEY
from app.samples.files import write_sample
from app.services.fingerprints import canonical_json
from app.settings import Settings
from privacy_risk import Client, ProblemError, Run, RunFailed
from tests.processes import HANG_SECONDS, grandchildren, is_alive, is_worker, seconds_until_gone

MEMBERS, ENTITIES = 6_000, 10_000


class Service:
    """The running product, loaded with the sample."""

    def __init__(self, client: Client, question: dict) -> None:
        self.client = client
        self.question = question

    def optimise(self, name: str, floor: float) -> str:
        """Ask for the best rule of every record by branch and bound: seconds of work in many blocks."""
        body = self.question | {
            "name": name,
            "objective": {"kind": "min_risk", "utility_floor": floor},
            "scope": "record_level",
            "solver": "branch_and_bound",
        }
        return self.client.optimisations.start_run(body).id

    def result_bytes(self, run_id: str) -> bytes:
        run = self.client.runs.wait(run_id)
        assert run.state == "succeeded", run
        return canonical_json(self.client.runs.result(run_id))

    def until_done(self, run_id: str, share: float) -> Run:
        deadline = time.monotonic() + HANG_SECONDS
        while time.monotonic() < deadline:
            run = self.client.runs.get(run_id)
            assert not run.is_final, f"too late to disturb the run: {run}"
            if run.progress is not None and run.progress.done >= share * run.progress.total:
                return run
            time.sleep(0.02)
        raise AssertionError(f"still waiting for the run: {run}")


@pytest.fixture(scope="module")
def service(short_folder: Path) -> Iterator[Service]:
    folder = short_folder / secrets.token_hex(4)
    folder.mkdir(mode=0o711)
    running = operations(Settings).start_service(folder / "home")
    try:
        write_sample(folder / "data", MEMBERS, ENTITIES)
        with Client(running.base_url, running.api_key) as client:
            walk = Walk(client, load_journey(folder / "data" / JOURNEY), folder / "release.csv", Silent())
            walk.load()
            yield Service(client, dict(walk.question()))
    finally:
        running.stop()


def worker_process() -> psutil.Process:
    """The worker that this test's service has started."""
    for process in psutil.Process().children():
        if is_worker(process):
            return process
    raise AssertionError("no worker runs")


def test_a_cancel_over_http_takes_at_most_a_second(service: Service):
    run_id = service.optimise("cancelled", 7.0)
    service.until_done(run_id, 0.05)
    (child,) = grandchildren(worker_process())
    with ThreadPoolExecutor(1) as beside:
        computing = beside.submit(seconds_until_gone, child)
        service.client.runs.cancel(run_id)
        with pytest.raises(RunFailed) as ended:
            service.client.runs.wait(run_id)
        assert ended.value.run.state == "cancelled"
        assert not is_alive(child)
        assert computing.result() <= 1.0
    with pytest.raises(ProblemError) as refused:
        service.client.runs.result(run_id)
    assert refused.value.code == "conflict"


def test_a_stop_over_http_brings_the_best_so_far_within_seconds(service: Service):
    run_id = service.optimise("stopped", 6.0)
    told = service.until_done(run_id, 0.05).progress
    assert told.remaining_seconds > 0
    (child,) = grandchildren(worker_process())
    before = sum(child.cpu_times()[:2])
    assert service.client.runs.stop(run_id).document["stop_requested"]
    assert service.client.runs.wait(run_id).state == "succeeded"
    assert sum(child.cpu_times()[:2]) - before <= 5.0
    found = service.client.runs.result(run_id)
    assert (found["status"], found["reproducible"]) == ("heuristic", False)
    assert 0 <= found["lower_bound"] <= found["risk"]
    assert found["assessment"]["utility_min"] >= 6.0
    assert service.client.rules.get("stopped").document["records"] > 0
    again = service.optimise("again", 6.0)
    assert service.client.runs.get(again).state != "succeeded"
    service.client.runs.cancel(again)


DEMANDS = {
    "several": {"kind": "score", "value": "min_consistent", "comparison": "at_least", "threshold": 40},
    "harm": {"kind": "score", "value": "risk_average", "comparison": "at_most", "threshold": 0.001},
    "best": {
        "kind": "optimum", "objective": {"kind": "min_risk", "utility_floor": 8.0}, "scope": "record_level",
        "dictionary": "register",
    },
}  # fmt: skip
POLICY = {
    "format": "privacy-risk/policy/1",
    "name": "survivors",
    "version": 1,
    "title": "Survivors",
    "assumes": {"attacker": "Somebody with the register."},
    "dictionaries": [{"name": "register", "description": "The register."}],
    "criteria": [
        {"id": id_, "title": id_, "reason": "Hard to meet.", "demand": demand}
        for id_, demand in DEMANDS.items()
    ],
}


def test_a_killed_evaluation_leaves_no_verdict_and_its_second_attempt_exactly_one(service: Service):
    client, asked = service.client, service.question
    client.policies.create(POLICY)
    body = {
        "dataset": asked["dataset"], "sensitivity": asked["sensitivity"], "rule": {"kind": "identity"},
        "dictionaries": {"register": asked["dictionary"]},
    }  # fmt: skip
    run_id = client.evaluations.start_run("survivors", {"name": "killed", **body}).id
    service.until_done(run_id, 0.2)
    (child,) = grandchildren(worker_process())
    child.kill()
    child.wait(HANG_SECONDS)
    left = client.evaluations.get("killed").document
    assert (left["result"], left["evidence"]) == (None, None)
    assert list(client.evidence.list(name="killed")) == []
    with pytest.raises(ProblemError):
        client.evaluations.evidence("killed")

    run = client.runs.wait(run_id)
    assert (run.state, run.attempt) == ("succeeded", 2)
    judged = client.evaluations.get("killed").document
    (evidence,) = client.evidence.list(name="killed")
    assert judged["evidence"] == {key: evidence[key] for key in ("id", "sha256")}
    assert hashlib.sha256(client.evaluations.evidence("killed")).hexdigest() == evidence["sha256"]
    assert judged["result"]["verdict"] == "fail"
    assert [own.name for own in client.evaluations.list()] == ["killed"]


def test_a_search_gives_the_same_bytes_however_its_processes_end(service: Service):
    run_id = service.optimise("survivor", 8.0)
    worker = worker_process()
    service.until_done(run_id, 0.1)
    (child,) = grandchildren(worker)
    child.kill()
    service.until_done(run_id, 0.5)
    (child,) = grandchildren(worker)
    command, environment = worker.cmdline(), worker.environ()
    worker.terminate()
    worker.wait(HANG_SECONDS)
    assert not is_alive(child)
    assert service.client.runs.get(run_id).state == "queued"

    successor = subprocess.Popen(command, env=environment, cwd=os.getcwd())
    try:
        disturbed = service.result_bytes(run_id)
        assert service.client.runs.get(run_id).attempt == 2

        service.client.rules.delete("survivor")
        service.client.optimisations.delete("survivor")
        again = service.optimise("survivor", 8.0)
        assert again != run_id
        assert service.result_bytes(again) == disturbed
        assert service.client.runs.get(again).attempt == 1
    finally:
        successor.terminate()
        successor.wait(HANG_SECONDS)
