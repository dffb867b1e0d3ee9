"""A journey through the containers of docker-compose.yml; ``run`` beside it prepares it."""

from __future__ import annotations

import io
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet

API = "http://127.0.0.1:8000"
SPOOL = "/var/lib/privacy-risk/spool"
CONTAINERS = ("postgres", "api", "worker")


def compose(*arguments: str) -> str:
    """What ``docker compose`` prints; CalledProcessError, its complaint shown, if it fails."""
    done = subprocess.run(["docker", "compose", *arguments], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        print(done.stderr[-4000:], file=sys.stderr)
        done.check_returncode()
    return done.stdout


def inspected(service: str, template: str) -> str:
    name = f"privacy-risk-{service}-1"
    done = subprocess.run(
        ["docker", "inspect", "-f", template, name], capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def until(what: str, holds: Callable[[], bool], seconds: float = 120) -> float:
    """Seconds until it held."""
    began = time.monotonic()
    while not holds():
        if time.monotonic() - began > seconds:
            raise TimeoutError(f"{what}: not within {seconds:g} s")
        time.sleep(0.2)
    return time.monotonic() - began


def is_ready() -> bool:
    try:
        with urllib.request.urlopen(f"{API}/readyz", timeout=5) as answer:
            return answer.status == 200
    except OSError:
        return False


def is_healthy(service: str) -> bool:
    return inspected(service, "{{.State.Health.Status}}") == "healthy"


def key(tenant: str) -> str:
    return compose("run", "--rm", "-T", "api", "bootstrap", tenant).strip().splitlines()[-1]


def worked_example(python: str) -> str:
    """Run the example by hand against the containers; the last answer."""
    text = Path("docs/by-hand.md").read_text()
    part = text[text.index("## The same by hand") :]
    part = part[: part.index("\n## ", 1)]
    blocks = [b for b in re.findall(r"```sh\n(.*?)```", part, re.DOTALL) if "app serve" not in b]
    with tempfile.TemporaryDirectory() as folder:
        script = "set -euo pipefail\n" + "\n".join(blocks)
        script = script.replace(".venv/bin/python -m app bootstrap", f"printf '%s' '{key('by-hand')}'")
        script = script.replace(".venv/bin/python", python)
        done = subprocess.run(
            ["bash", "-c", script], cwd=folder, capture_output=True, text=True, check=False,
            env=os.environ | {"PYTHONPATH": str(Path.cwd())},
        )  # fmt: skip
    if done.returncode != 0:
        raise RuntimeError(f"the example by hand failed: {done.stdout[-1000:]} {done.stderr[-2000:]}")
    return done.stdout


def parquet(rows: int) -> bytes:
    numbers = pa.array(range(rows))
    # Random text, which no compression takes away.
    noise = pa.array([os.urandom(16).hex() for _ in range(rows)])
    sink = io.BytesIO()
    pyarrow.parquet.write_table(pa.table({"number": numbers, "noise": noise}), sink, compression="none")
    return sink.getvalue()


def uploads_wait_on_disk(token: str) -> int:
    """Send a file slowly; the bytes that the API's process had in its folder for uploads meanwhile."""
    content = parquet(400_000)
    seen = []
    process = inspected("api", "{{.State.Pid}}")

    def slowly() -> io.BufferedIOBase:
        class Body(io.BytesIO):
            def read(self, size: int | None = -1) -> bytes:
                if self.tell() > len(content) // 2 and not seen:
                    time.sleep(1)
                    for link in Path(f"/proc/{process}/fd").iterdir():
                        if str(link.readlink()).startswith(SPOOL):
                            seen.append(link.stat().st_size)
                return super().read(size)

        return Body(content)

    request = urllib.request.Request(
        f"{API}/v1/uploads?name=slowly", data=slowly(), method="POST",
        headers={
            "Authorization": f"Bearer {token}", "Content-Type": "application/vnd.apache.parquet",
            "Content-Length": str(len(content)),
        },
    )  # fmt: skip
    with urllib.request.urlopen(request, timeout=120) as answer:
        assert json.load(answer)["rows"] == 400_000
    return max(seen)


def main(python: str) -> None:
    """Make the journey; a line for each thing seen."""
    began = time.monotonic()
    compose("up", "-d", "--no-build")
    until("the API is ready", is_ready)
    print(f"compose: up, migrated and ready in {time.monotonic() - began:.0f} s")
    until("the API is healthy", lambda: is_healthy("api"))
    limits = {
        name: inspected(name, "{{.HostConfig.Memory}} {{.HostConfig.PidsLimit}}") for name in CONTAINERS
    }
    print("compose: limits of memory and processes:", json.dumps(limits))
    assert all(int(size) > 0 and int(count) > 0 for size, count in (text.split() for text in limits.values()))

    answer = worked_example(python)
    assert '"status":"optimal"' in answer
    print("compose: the worked example, answered by the containers")

    token = key("uploads")
    print(
        f"compose: {uploads_wait_on_disk(token) / 1024**2:.1f} MiB of an upload waited in the volume, on disk"
    )

    for name in CONTAINERS:
        os.kill(int(inspected(name, "{{.State.Pid}}")), signal.SIGKILL)
    seconds = until("ready after every container was killed", is_ready)
    until("all run", lambda: all(inspected(n, "{{.State.Running}}") == "true" for n in CONTAINERS))
    print(f"compose: ready {seconds:.0f} s after every container was killed at once")
    request = urllib.request.Request(f"{API}/v1/uploads/slowly", headers={"Authorization": f"Bearer {token}"})
    with urllib.request.urlopen(request, timeout=60) as kept:
        assert json.load(kept)["rows"] == 400_000

    print("compose: migrated again:", compose("run", "--rm", "-T", "migrate") or "nothing to do")
    subprocess.run(["docker", "restart", "privacy-risk-postgres-1"], check=True, capture_output=True)
    compose("run", "--rm", "-T", "--no-deps", "migrate")
    print("compose: a migration waited for a database that was starting")
    until("ready again", is_ready)

    began = time.monotonic()
    compose("stop", "--timeout", "10")
    ends = {name: inspected(name, "{{.State.ExitCode}}") for name in CONTAINERS}
    print(f"compose: stopped in {time.monotonic() - began:.1f} s with exit statuses {json.dumps(ends)}")
    assert set(ends.values()) == {"0"}


if __name__ == "__main__":
    main(sys.argv[1])
