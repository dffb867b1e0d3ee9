"""The demonstration as a user starts it: a process, with PostgreSQL, API and worker of its own."""

import itertools
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import httpx
import psutil
import pytest

from app.api.examples.files import UPLOAD_BODY
from app.samples.files import write_sample
from tests.api.operations import DOCUMENT
from tests.benchmarks.over_http import PandasOracle
from tests.processes import HANG_SECONDS, descendants, until_gone

ROOT = Path(__file__).parents[2]
DEMO = [sys.executable, "-m", "app", "demo"]


@pytest.fixture
def environment(short_folder):
    """Temporary files go to a folder of the test's own; PostgreSQL's account can reach it."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith("PRIVACY_RISK_")}
    kept.pop("DATABASE_URL", None)
    folder = short_folder / "demo"
    folder.mkdir(mode=0o711, exist_ok=True)
    return kept | {"PYTHONPATH": str(ROOT), "TMPDIR": str(folder)}


@pytest.fixture
def report(environment, tmp_path):
    done = subprocess.run(
        [*DEMO, "--json", "--scale", "0.02", "--output", str(tmp_path)],
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("\n") == 1
    return json.loads(done.stdout)


def test_its_numbers_are_those_of_the_case_study_and_of_brute_force(report, environment, tmp_path):
    first = report["first_record"]
    assert int(first["count"]) == 7
    assert float(first["phi"]) == pytest.approx(7.028688, abs=5e-7)
    assert float(first["loss"]) == pytest.approx(1.004098, abs=5e-7)
    assert float(first["utility"]) == 13

    write_sample(tmp_path / "sample", 400, 1000)
    oracle = PandasOracle(tmp_path / "sample")
    names = list(report["proposal"]["rule"]["levels"])
    boxes = itertools.product(range(5), range(3), range(4), range(5))
    scores = {
        levels: oracle.score(dict(zip(names, levels, strict=True))) for levels in boxes if sum(levels) <= 4
    }
    best = min(scores, key=lambda levels: (scores[levels][0], sum(levels), levels))
    optimum = report["optimum"]
    assert tuple(optimum["rule"]["levels"].values()) == best
    assert optimum["risk"] == pytest.approx(scores[best][0], abs=1e-9)
    assert optimum["smallest_number_of_consistent_entities"] == scores[best][1]
    proposed = tuple(report["proposal"]["rule"]["levels"].values())
    assert report["proposal"]["risk"] == pytest.approx(scores[proposed][0], abs=1e-9)
    assert (optimum["utility"], report["proposal"]["utility"]) == (9, 10)

    assert report["sizes"]["records"] == 400
    assert (tmp_path / "members-release.csv").read_text().count("\n") == 401
    assert (tmp_path / "risk-utility-map.svg").read_text().count('class="rule"') == 300
    assert list(Path(environment["TMPDIR"]).iterdir()) == []


def heed_interrupts():
    # Whoever starts the tests in the background may have had interrupts ignored, which is inherited.
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def statuses_of_first_examples(service):
    """What the first example of a hierarchy and those of the uploads are answered, one after another."""
    uploads = UPLOAD_BODY["requestBody"]["content"]["text/csv"]["examples"]
    bodies = DOCUMENT["paths"]["/v1/hierarchies"]["post"]["requestBody"]["content"]["application/json"]
    first = next(iter(bodies["examples"].values()))["value"]
    with httpx.Client(
        base_url=service["docs"].removesuffix("/docs"),
        headers={"Authorization": f"Bearer {service['api_key']}"},
        timeout=60,
    ) as client:
        return [
            client.post("/v1/hierarchies", json=first).status_code,
            *(
                client.post(
                    "/v1/uploads",
                    params={"name": name},
                    content=example["value"].encode(),
                    headers={"Content-Type": "text/csv"},
                ).status_code
                for name, example in uploads.items()
            ),
        ]


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_a_demonstration_left_running_ends_with_all_its_processes_and_files(environment, tmp_path, how):
    command = [*DEMO, "--json", "--serve", "--scale", "0.01", "--output", str(tmp_path)]
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, text=True, preexec_fn=heed_interrupts
    ) as process:
        report = json.loads(process.stdout.readline())
        assert report["service"]["docs"].startswith("http://127.0.0.1:")
        started = descendants(psutil.Process(process.pid))
        assert started
        assert set(statuses_of_first_examples(report["service"])) == {201}
        process.send_signal(how)
        process.wait(HANG_SECONDS)
    until_gone(started)
    assert list(Path(environment["TMPDIR"]).iterdir()) == []
