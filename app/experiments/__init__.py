"""The experiments of the papers, repeated."""

import json
from itertools import groupby
from pathlib import Path
from typing import Any, Final

ENTRIES: Final[Any] = json.loads(Path(__file__).with_name("catalogue.json").read_text("utf-8"))


def groups() -> tuple[str, ...]:
    """First and last name of every group of experiments, in the order of the catalogue."""
    of_letter = groupby((str(own["id"]) for own in ENTRIES), key=lambda name: name[0])
    return tuple(f"{own[0]} to {own[-1]}" for own in (list(names) for _, names in of_letter))
