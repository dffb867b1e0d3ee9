"""Whether what the pages print is what comes out: ``python -m tests.docs --check``.

Two kinds of claim are checked. A transcript is a block of commands (``sh``) of a page or the README with a
block of their output (``text``): the commands of a page are run in one shell, in an empty folder and beside a
service that the README's own command starts, and every block of output has to be in what they print. Times,
dates and identifiers are masked on both sides, so that they are never compared.

A number in prose is bound to an experiment by tests/claims.toml: the page, the words around the number, and
where in the experiment's JSON it stands. ``--check PAGE …`` looks at some pages only. CI runs all transcripts
and the quick experiments, by tests/readme/test_documents.py.

Pages that need the public data sets are skipped, and said to be, where ``PRIVACY_RISK_DATA`` is not set.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import httpx

from app.experiments.catalogue import chosen
from app.experiments.report import Effort
from tests.processes import HANG_SECONDS, held_port
from tests.unit.services.workbooks import workbook

ROOT = Path(__file__).parents[1]
CLAIMS = ROOT / "tests" / "claims.toml"
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SERVE = ".venv/bin/python -m app serve\n"
INSTALL = re.compile(r"^python3 -m venv .*?requirements\.lock && ")
PORT = "8000"
MASKS = (
    (r"\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?", "DATE"),
    (r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b|\b(?=\d*[a-f])[0-9a-f]{16,64}\b", "IDENTIFIER"),
    (r"\b\d[\d.,]*\s?(?:ms|µs|s|seconds?|minutes?)\b", "TIME"),
)
"""What differs between two runs and is never compared."""
QUICK: Mapping[str, bool] = {
    **dict.fromkeys(
        ("X10", "X11", "X12", "X13", "X14", "B1", "B4", "B5", "B9", "D1", "N1", "V1", "V3"), False
    ),
    **dict.fromkeys(("N2", "N3", "R5", "V2"), True),
}
"""The experiments that numbers are bound to, and whether one takes under ten seconds: those are run in CI.

Measured with ``python -m app experiment NAME`` on two cores: 3 to 6 s and 12 s to 4 minutes.
"""


def blocks(page: str) -> list[tuple[str, str]]:
    """(language, text) of every fenced block; the README's test command is left out."""
    found = FENCE.findall((ROOT / page).read_text(encoding="utf-8"))
    return [(language, text) for language, text in found if "-m pytest -n" not in text]


def pages_with_commands() -> list[str]:
    """The README and the pages that have commands, below the checkout."""
    pages = ["README.md", *(f"docs/{path.name}" for path in sorted((ROOT / "docs").glob("*.md")))]
    return [page for page in pages if any(language == "sh" for language, _ in blocks(page))]


def needs_data(page: str) -> bool:
    """Whether its commands read the public data sets."""
    return "=$PRIVACY_RISK_DATA/" in (ROOT / page).read_text(encoding="utf-8")


def prepare(folder: Path) -> Path:
    """A folder with a workbook, and with this interpreter and checkout as ``.venv/bin/python``."""
    python = folder / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text(f'#!/bin/sh\nPYTHONPATH="{ROOT}" exec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    people = [(f"p-{n}", ("Gary", "Boston")[n % 2], ("White", "Black")[n % 4 // 2]) for n in range(12)]
    (folder / "people.xlsx").write_bytes(workbook(("id", "city", "race"), *people))
    return folder


def environment_of(home: Path, port: int) -> dict[str, str]:
    """The variables of a service of its own, without those of this process that would change it."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith("PRIVACY_RISK_")}
    kept.pop("DATABASE_URL", None)
    return kept | {"PRIVACY_RISK_HOME": str(home), "PRIVACY_RISK_PORT": str(port)}


@contextmanager
def serving(folder: Path, environment: Mapping[str, str]) -> Iterator[str]:
    """The address of the service, started by the README's own command."""
    assert ("sh", SERVE) in blocks("README.md")
    with (folder / "serve.log").open("wb") as log:
        process = subprocess.Popen(
            SERVE.split(), cwd=folder, env=environment, stdout=log, stderr=log, start_new_session=True
        )
        base_url = f"http://127.0.0.1:{environment['PRIVACY_RISK_PORT']}"
        try:
            deadline = time.monotonic() + HANG_SECONDS
            while True:
                assert process.poll() is None, (folder / "serve.log").read_text()
                assert time.monotonic() < deadline, (folder / "serve.log").read_text()
                try:
                    if httpx.get(f"{base_url}/readyz").status_code == 200:
                        break
                except httpx.TransportError:
                    pass
                time.sleep(0.1)
            yield base_url
        finally:
            process.send_signal(signal.SIGINT)
            try:
                process.wait(HANG_SECONDS)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)


def key_of_tenant(name: str, folder: Path, environment: Mapping[str, str]) -> str:
    """The key of a new tenant."""
    command = [".venv/bin/python", "-m", "app", "bootstrap", name]
    made = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=True)
    return made.stdout.strip()


def run_commands(
    page: str, folder: Path, environment: Mapping[str, str], service: str
) -> subprocess.CompletedProcess[str]:
    """All commands of a page in one shell, as a tenant of the page's name."""
    script = ["set -euo pipefail"]
    for language, text in blocks(page):
        if language == "sh" and text != SERVE:
            text = INSTALL.sub("", text).replace(f":{PORT}/", f":{environment['PRIVACY_RISK_PORT']}/")
            script.append(text)
    variables = dict(environment, API=f"{service}/v1")
    variables["KEY"] = variables["PRIVACY_RISK_API_KEY"] = key_of_tenant(Path(page).stem, folder, environment)
    if "PRIVACY_RISK_DATA" in os.environ:
        variables["PRIVACY_RISK_DATA"] = os.environ["PRIVACY_RISK_DATA"]
    return subprocess.run(
        ["bash", "-c", "\n".join(script)], cwd=folder, env=variables, capture_output=True, text=True
    )


def masked(text: str) -> str:
    """The text without what differs between two runs."""
    for pattern, name in MASKS:
        text = re.sub(pattern, name, text)
    return text


def differences(page: str, printed: str) -> list[str]:
    """The blocks of output on a page that its commands do not print, with the first lines that differ."""
    found, printed = [], masked(printed)
    for language, text in blocks(page):
        if language == "text" and masked(text) not in printed:
            lines = set(printed.splitlines())
            missing = [line for line in masked(text).splitlines() if line not in lines]
            shown = missing[:5] or ["(all of its lines are printed, in another order or apart)"]
            found.append("\n    ".join([f"{page}: not printed:", *shown]))
    return found


def claims() -> list[dict[str, Any]]:
    """What tests/claims.toml binds: ``page``, ``text``, ``experiment``, perhaps ``seeds``, and ``finds``."""
    found: list[dict[str, Any]] = tomllib.loads(CLAIMS.read_text(encoding="utf-8"))["claim"]
    return found


@cache
def result_of(experiment: str, seeds: int = Effort.seeds) -> dict[str, Any]:
    """What the experiment reports in its full size, as its JSON has it."""
    (own,) = chosen((experiment,))
    read: dict[str, Any] = json.loads(json.dumps(own.run(Effort(seeds)).to_document()))
    return read


NUMBER = re.compile(r"[−-]?\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?")


def number_at(place: str, result: Any) -> float:
    """The number at a place such as ``100 * tables.0.rows.2.1``.

    ``claims.4.evidence#2`` is the third number in a text; ``max claims.1.evidence`` the greatest.
    """
    found = re.fullmatch(r"(?:([\d.]+) \* )?(?:(max|min) )?([\w.]+)(?:#(\d+))?", place)
    assert found is not None, f"no place {place!r}"
    times, most, path, position = found.groups()
    for step in path.split("."):
        result = result[int(step) if isinstance(result, list) else step]
    numbers = [result] if isinstance(result, int | float) else [_read(own) for own in NUMBER.findall(result)]
    chosen_one = {"max": max, "min": min}[most](numbers) if most else numbers[int(position or 0)]
    return float(times or 1) * float(chosen_one)


def _read(number: str) -> float:
    return float(number.replace(",", "").replace("−", "-"))


def faults_of(claim: Mapping[str, Any], result: Any) -> list[str]:
    """What is wrong with a claim: words that are not on the page, or numbers that are not those found.

    A number is right if what was found rounds to it, at the decimals that are printed.
    """
    page, text = claim["page"], claim["text"]
    words = " ".join((ROOT / page).read_text(encoding="utf-8").split())
    if text not in words:
        return [f"{page}: no longer says {text!r}: change tests/claims.toml with it"]
    printed = [own.rstrip(",") for own in NUMBER.findall(text)]
    if len(printed) != len(claim["finds"]):
        return [f"{page}: {text!r} has {len(printed)} numbers, and {len(claim['finds'])} are bound"]
    found = []
    for number, place in zip(printed, claim["finds"], strict=True):
        value = number_at(place, result)
        decimals = len(number.partition(".")[2])
        if abs(value - _read(number)) > 0.5 * 10**-decimals + 1e-9:
            found.append(f"{page}: {text!r}: {number} is {value:.6g} by {claim['experiment']}, {place}")
    return found


def _check(pages: Sequence[str]) -> Iterator[str]:
    """What differs, page by page; says on standard error how far it is."""
    for claim in claims():
        if claim["page"] in pages:
            yield from faults_of(claim, result_of(claim["experiment"], claim.get("seeds", Effort.seeds)))
    with tempfile.TemporaryDirectory(prefix="docs-") as work, held_port() as port:
        os.chmod(work, 0o711)  # PostgreSQL's account has to reach its folder.
        folder, environment = prepare(Path(work) / "clone"), environment_of(Path(work) / "home", port)
        with serving(folder, environment) as service:
            for page in pages:
                if page not in pages_with_commands():
                    continue
                if needs_data(page) and "PRIVACY_RISK_DATA" not in os.environ:
                    print(f"{page}: skipped, PRIVACY_RISK_DATA is not set", file=sys.stderr)
                    continue
                began = time.monotonic()
                done = run_commands(page, folder, environment, service)
                print(f"{page}: {time.monotonic() - began:.0f} s", file=sys.stderr)
                if done.returncode:
                    yield f"{page}: status {done.returncode}\n{done.stderr[-2000:]}"
                yield from differences(page, done.stdout)


def main() -> int:
    """1 if anything differs."""
    parser = argparse.ArgumentParser(prog="python -m tests.docs", description=__doc__)
    parser.add_argument("--check", action="store_true", required=True, help="run and compare")
    parser.add_argument("pages", nargs="*", metavar="PAGE", help="such as docs/experiments.md (default: all)")
    asked = parser.parse_args()
    if shutil.which("curl") is None:
        parser.error("curl is not installed")
    found = list(_check(asked.pages or sorted({*pages_with_commands(), *(own["page"] for own in claims())})))
    print(*found, sep="\n", end="\n" if found else "")
    print(f"{len(found)} differences")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
