"""What ``serve`` tells at its start, and that it harms nobody who does not listen."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from app.composition.announcement import announced
from app.settings import Settings

ROOT = Path(__file__).parents[2]
ANNOUNCING = """
from app.composition.announcement import announce
from app.settings import Settings

announce(Settings(host="127.0.0.1"), 8080)
"""


@pytest.mark.parametrize(
    ("host", "public", "base"),
    [
        ("127.0.0.1", None, "http://127.0.0.1:8080"),
        ("0.0.0.0", None, "http://127.0.0.1:8080"),
        ("::", None, "http://[::1]:8080"),
        ("fe80::1", None, "http://[fe80::1]:8080"),
        ("0.0.0.0", "https://risk.example.org", "https://risk.example.org"),
    ],
)
def test_the_addresses_are_those_that_a_browser_opens(host, public, base):
    assert announced(Settings(host=host, public_url=public), 8080) == (
        f"pages: {base}/\nAPI documentation: {base}/docs\nsign in with a key of: python -m app bootstrap\n"
    )


@pytest.mark.deep
@pytest.mark.parametrize("closing", [">&-", "| true", ">/dev/full"])
def test_an_output_that_nobody_reads_ends_nothing(closing):
    command = f'set -o pipefail; {{ sleep 0.2; exec "$0" -c "$1"; }} {closing}'
    done = subprocess.run(
        ["bash", "-c", command, sys.executable, ANNOUNCING],
        cwd=ROOT, env=os.environ, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
