"""The folder in which an embedded service keeps its files, found without reading the other settings."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

ANNOUNCED: Final = "service.json"
"""File of a home that says where its service answers, while one runs."""


def default_home() -> Path:
    """The home where no setting names one: /var/lib for root, the user's data folder otherwise."""
    if os.geteuid() == 0:
        return Path("/var/lib/privacy-risk")
    data = os.environ.get("XDG_DATA_HOME") or str(Path.home() / ".local" / "share")
    return Path(data) / "privacy-risk"


def is_service_announced() -> bool:
    """Whether the home of the environment has the file of a service, which need not run any more.

    Reading all settings takes a tenth of a second, and few homes have a service.
    """
    named = [value for name, value in os.environ.items() if name.upper() == "PRIVACY_RISK_HOME"]
    return os.path.lexists((Path(named[-1]) if named else default_home()) / ANNOUNCED)
