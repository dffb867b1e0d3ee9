"""What went wrong in a service, as its processes have logged it: the folder with their logs goes with it."""

from __future__ import annotations

import json
from pathlib import Path


class ServiceLog:
    """The errors in the logs of a folder, each told once."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._read: dict[Path, int] = {}

    def errors(self) -> list[str]:
        """The kinds of errors since this was asked before, each with the frames that led to it."""
        found = [said for line in self._lines() if (said := _error(line)) is not None]
        return list(dict.fromkeys(found))

    def _lines(self) -> list[str]:
        lines: list[str] = []
        for path in sorted(self._folder.glob("*.log")):
            with path.open(encoding="utf-8", errors="replace") as log:
                log.seek(self._read.get(path, 0))
                lines += log.readlines()
                self._read[path] = log.tell()
        return lines


def _error(line: str) -> str | None:
    """The error of a line of the log; None if it tells of none."""
    if '"error"' not in line:
        return None
    try:
        logged = json.loads(line)
    except ValueError:
        return None
    if not logged.get("error"):
        return None
    where = logged.get("route") or logged.get("logger") or logged.get("event")
    return f"{where}: {logged['error']} at {' > '.join(logged.get('frames', ()))}"
