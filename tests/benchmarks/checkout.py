"""These benchmarks on the code of another checkout: an earlier commit beside this one."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

OWN: Final = Path(__file__).parents[2]


def run_in(checkout: Path, module: str, arguments: Sequence[str]) -> int:
    """Run a module of the benchmarks with these arguments on another checkout's code; its exit status.

    It runs in a folder of links: to everything of that checkout, but to the tests and benchmarks of this one.
    """
    with tempfile.TemporaryDirectory(prefix="benchmark-") as folder:
        place = Path(folder)
        place.chmod(0o755)  # a server under another account looks where it was started
        for entry in checkout.absolute().iterdir():
            if entry.name not in {"tests", ".git"}:
                (place / entry.name).symlink_to(entry)
        (place / "tests").symlink_to(OWN / "tests")
        command = [sys.executable, "-m", module, *arguments]
        return subprocess.run(command, cwd=place, check=False).returncode
