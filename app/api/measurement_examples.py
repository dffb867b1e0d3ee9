"""One example per measure, written by hand: what a newcomer sends with "Try it out".

They build on the small journey of ``examples`` and are computed by a test each.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

BY_MEASURE: Final[Mapping[str, Mapping[str, Any]]] = {
    "anonymity": {
        "summary": "do the members hide among each other?",
        "value": {
            "name": "proposal-anonymity",
            "dataset": "members",
            "rule": "proposal",
            "measure": {"kind": "anonymity", "k": 2},
        },
    },
}
"""Name of the measure → its example, with the name of the measurement that it makes."""

MEASUREMENTS: Final = {str(example["value"]["name"]): dict(example) for example in BY_MEASURE.values()}

NAMES: Final = tuple(MEASUREMENTS)
"""The measurements that the examples make."""

RUN_NAME: Final = "proposal-anonymity-by-run"

RUNS: Final = {
    RUN_NAME: {
        "summary": "the same in the background, with another k",
        "value": {
            "name": RUN_NAME,
            "dataset": "members",
            "rule": "proposal",
            "measure": {"kind": "anonymity", "k": 3},
        },
    }
}
