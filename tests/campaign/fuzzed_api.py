"""Requests drawn from the OpenAPI document by schemathesis, in an environment of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from tests.campaign.bench import Bench, bench
from tests.campaign.extent import Extent
from tests.campaign.figures import TOP, Figure

_REQUIREMENTS: Final = TOP / "tests" / "fuzz" / "requirements.lock"
_OWN_ENVIRONMENT: Final = "PRIVACY_RISK_FUZZ_PYTHON"
_ROUNDS: Final = 40
_ROUND_SECONDS: Final = 3600
"""After so long a round is told to end: its cases are bounded, but answers may be slow."""
_EACH: Final = 40
"""Examples of each operation in a round; another seed draws others."""
_PHASES: Final = ("examples,coverage,fuzzing,stateful", "fuzzing,stateful")
"""Those of the first round and of all others: what is not drawn needs no second time."""
_SHOWN: Final = 3000
"""Characters of an example of a wrong answer that are printed."""
_CHECKS: Final = (
    "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance"
)
_LEFT_OUT: Final = (
    ("delete", "/v1/api-keys/{key_id}"),  # would revoke the key that asks
    ("post", "/v1/webhooks/{ref}/tests"),  # sends to whoever is named
)
_ENDED_SECONDS: Final = 60


def fuzzed(extent: Extent) -> Iterator[Figure]:
    """Ask until so many cases have been answered with a valid key."""
    with tempfile.TemporaryDirectory(prefix="pr-fuzz-", dir="/tmp") as folder, bench(workers=1) as own:
        python = _environment(Path(folder))
        with own.client() as client:
            client.example_data.create()
        statuses: Counter[str] = Counter()
        wrong: Counter[tuple[str, str]] = Counter()
        slowest: list[tuple[float, str]] = []
        answered, rounds, broken = 0, 0, 0
        while answered < extent.cases and rounds < _ROUNDS:
            told, status = _ask(
                python, own, Path(folder), extent.seed + rounds, extent.cases - answered, _PHASES[rounds > 0]
            )
            rounds += 1
            # What it calls a failure is among what its hooks took down, or is an error of its own.
            broken += status != bool(told["wrong"])
            answered += told["with_key"]
            statuses.update(told["statuses"])
            for one in told["wrong"]:
                place = (one["operation"], one["what"])
                if place not in wrong:
                    print(f"{place[0]}: {place[1]}: {one['example'][:_SHOWN]}", file=sys.stderr, flush=True)
                wrong[place] += one["number"]
            slowest += [tuple(one) for one in told["slowest"]]
        seconds, slow = max(slowest, default=(0.0, "none"))
        broken_off = f"; {broken} of {rounds} rounds broke off" if broken else ""
        yield Figure(
            "fuzz-api",
            f"{answered:,} cases answered with a valid key, {_told(wrong)}{broken_off}; "
            f"{', '.join(f'{number:,} × {code}' for code, number in sorted(statuses.items()))}; the slowest "
            f"{seconds:.1f} s ({slow}); seeds {extent.seed} to {extent.seed + rounds - 1}; not asked: "
            f"{', '.join(f'{method.upper()} {path}' for method, path in _LEFT_OUT)}",
            not wrong and not broken and answered >= extent.cases,
        )


def _told(wrong: Counter[tuple[str, str]]) -> str:
    """How many answers were wrong, and where."""
    none = "none of them by an error of the service's own or against the OpenAPI document"
    places = "; ".join(f"{operation}: {what}" for operation, what in list(wrong)[:3])
    return f"{wrong.total():,} of them wrong in {len(wrong)} ways ({places})" if wrong else none


def _environment(folder: Path) -> str:
    """The interpreter of an environment with schemathesis: the one named, or a new one."""
    if given := os.environ.get(_OWN_ENVIRONMENT):
        return given
    subprocess.run([sys.executable, "-m", "venv", str(folder / "venv")], check=True)
    python = str(folder / "venv" / "bin" / "python")
    subprocess.run(
        [python, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--require-hashes", "-r",
         str(_REQUIREMENTS)],
        check=True,
    )  # fmt: skip
    return python


def _ask(
    python: str, own: Bench, folder: Path, seed: int, wanted: int, phases: str
) -> tuple[dict[str, Any], int]:
    """One run of schemathesis: what was answered, and its exit status."""
    counts = folder / "counts.json"
    counts.unlink(missing_ok=True)
    document = TOP / "openapi" / "openapi.json"
    described = json.loads(document.read_text(encoding="utf-8"))
    operations = sum(map(len, described["paths"].values()))
    each = max(min(wanted // operations, _EACH), 1)
    command = [
        python, "-m", "schemathesis.cli", "run", str(document), "--url", own.url,
        "--header", f"Authorization: Bearer {own.key}", "--phases", phases, "--max-examples", str(each),
        "--checks", _CHECKS, "--continue-on-failure", "--workers", "2", "--seed", str(seed), "--no-shrink",
        "--request-timeout", "60", "--generation-database", "none", "--suppress-health-check", "all",
        "--warnings", "off", "--no-color",
    ]  # fmt: skip
    # No --max-time: with it, schemathesis goes through its phases again and again until the time is over.
    for method, path in _LEFT_OUT:
        command += ["--exclude-operation-id", described["paths"][path][method]["operationId"]]
    variables = os.environ | {
        "PYTHONPATH": str(TOP / "tests" / "fuzz"),
        "SCHEMATHESIS_HOOKS": "counted_answers",
        "PRIVACY_RISK_FUZZ_COUNTS": str(counts),
        "PRIVACY_RISK_FUZZ_KEY": own.key,
    }
    with (own.folder / "schemathesis.log").open("ab") as log:
        status = _status_of(subprocess.Popen(command, cwd=folder, env=variables, stdout=log, stderr=log))
    told = (
        json.loads(counts.read_text())
        if counts.exists()
        else {"statuses": {}, "with_key": 0, "wrong": [], "slowest": []}
    )
    return told, status


def _status_of(asking: subprocess.Popen[bytes]) -> int:
    """The exit status; what takes too long is interrupted, and tells what it has counted until then."""
    try:
        return asking.wait(_ROUND_SECONDS)
    except subprocess.TimeoutExpired:
        asking.send_signal(signal.SIGINT)
        return asking.wait(_ENDED_SECONDS)
    finally:
        asking.kill()
        asking.wait()
