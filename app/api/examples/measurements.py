"""The example of each measure: what a newcomer sends with "Try it out".

They build on the small journey of the other examples and are computed by a test each.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from app.api.examples.form import bodies
from app.domain.analyses.catalogue import MEASURES
from app.domain.models.entry import Example


def _body(example: Example, measure: str, name: str, **parameters: object) -> Mapping[str, Any]:
    named = {"rule": example.rule, "dictionary": example.dictionary, "sensitivity": example.sensitivity}
    of = {key: value for key, value in named.items() if value is not None}
    return {"name": name, "dataset": "members", **of, "measure": {"kind": measure, **parameters}}


BY_MEASURE: Final[Mapping[str, Mapping[str, Any]]] = {
    own.name: {
        "summary": own.example.question,
        "value": _body(own.example, own.name, own.example.name, **own.example.parameters),
    }
    for own in MEASURES
}
"""Name of the measure → its example, with the name of the measurement that it makes."""

MEASUREMENTS: Final = bodies(
    {
        "name": "trial-anonymity",
        "dataset": "trial",
        "rule": "trial-rule",
        "measure": {"kind": "anonymity", "k": 2},
    },
    trial_anonymity="do the members hide among each other under the rule of the trial?",
) | {str(example["value"]["name"]): dict(example) for example in BY_MEASURE.values()}

NAMES: Final = tuple(MEASUREMENTS)
"""The measurements that the examples make."""

RUN_NAME: Final = "proposal-anonymity-by-run"

_FIRST: Final = MEASURES[0]

RUNS: Final = {
    RUN_NAME: {
        "summary": "in the background, with another k",
        "value": _body(_FIRST.example, _FIRST.name, RUN_NAME, k=3),
    }
}
