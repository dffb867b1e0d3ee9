"""The containers and the locked libraries that are shipped, and how fast a long audit trail is verified."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tests.campaign.extent import Extent
from tests.campaign.figures import TOP, Figure

_UNREACHABLE = 60.0
"""Seconds after which the data of vulnerabilities are taken to be out of reach."""
_SEEN_OF_CONTAINERS = ("image: ", "compose: ")
"""How the lines begin in which it is told what was seen of them."""


def verified(_: Extent) -> Iterator[Figure]:
    """A long audit trail verified, and a changed event in it found."""
    done = _told([sys.executable, "-m", "tests.benchmarks", "--only", "audit", "--json"])
    (found,) = json.loads(done.stdout.splitlines()[-1])["measurements"]
    processor = found["counters"]["processor_seconds"]
    text = (
        f"{found['work']} in {found['ours']:.2f} s ({found['bar']}), {processor:.2f} s of them the "
        "reader's processor time, and a changed one found among them"
    )
    yield Figure("audit-speed", text, bool(found["bar_met"] and found["same_result"]))


def containers(_: Extent) -> Iterator[Figure]:
    """The image built, and the services of it started, killed and ended."""
    done = _told(["bash", "tests/containers/run", sys.executable])
    lines = (done.stdout + done.stderr).strip().splitlines()
    seen = [own for own in lines if own.startswith(_SEEN_OF_CONTAINERS)]
    text = "; ".join(seen if done.returncode == 0 else lines[-1:]) or "nothing was run"
    yield Figure("containers", text, done.returncode == 0 and bool(seen))


def vulnerabilities(_: Extent) -> Iterator[Figure]:
    """The locked versions beside what is known of them, where that can be had."""
    program = shutil.which("pip-audit")
    if program is None:
        yield Figure("vulnerabilities", "not looked for: pip-audit is not installed here", True)
        return
    asked = ["--require-hashes", "--disable-pip", "--format", "json", "--requirement", "requirements.lock"]
    done = _told([program, "--timeout", f"{_UNREACHABLE:.0f}", *asked])
    try:
        libraries = json.loads(done.stdout)["dependencies"]
    except ValueError:
        last = (done.stderr.strip().splitlines() or ["no answer"])[-1]
        yield Figure("vulnerabilities", f"not looked for: the data cannot be had here ({last})", True)
        return
    yield looked_up(libraries)


def looked_up(libraries: Sequence[Mapping[str, Any]]) -> Figure:
    """What pip-audit says of the locked libraries; those that its data lack are not taken for sound."""
    known = [f"{own['name']} {one['id']}" for own in libraries for one in own.get("vulns", ())]
    skipped = [own["skip_reason"] for own in libraries if "skip_reason" in own]
    if skipped and len(skipped) == len(libraries):
        reason = f"not looked for: the data cannot be had here ({skipped[0]})"
        return Figure("vulnerabilities", reason, True)
    text = f"{len(libraries)} locked libraries, of which is known: {', '.join(known) or 'nothing'}"
    left = f"; {len(skipped)} could not be looked up, the first: {skipped[0]}" if skipped else ""
    return Figure("vulnerabilities", text + left, not known)


def _told(command: Sequence[str]) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(command, cwd=TOP, capture_output=True, text=True, check=False)
    if done.returncode:
        print((done.stdout + done.stderr)[-20_000:], file=sys.stderr)
    return done
