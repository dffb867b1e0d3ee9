"""What a block's bytes may depend on besides its work: the code, Python and the libraries that compute it."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from importlib.metadata import version
from typing import Final

from app.services.fingerprints import version_of_code

LIBRARIES: Final = ("numpy", "pandas", "pyarrow", "scipy", "distributed")
SHOWN: Final = slice(20)  # enough to tell two hashes of the code apart


def versions() -> dict[str, str]:
    """The versions of what a process that starts here now would compute with, by name."""
    found = {"privacy-risk": version_of_code(("",)), "python": "{}.{}".format(*sys.version_info)}
    return found | {name: version(name) for name in LIBRARIES}


def differences(ours: Mapping[str, str], theirs: Mapping[str, str]) -> list[str]:
    """Each difference in words; empty if there is none."""
    return [
        f"{name} {theirs.get(name, 'unknown')[SHOWN]} instead of {needed[SHOWN]}"
        for name, needed in ours.items()
        if theirs.get(name) != needed
    ]
