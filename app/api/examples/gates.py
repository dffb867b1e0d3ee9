"""The gates of the journey: the examples' policy evaluates the examples' rule."""

from __future__ import annotations

from typing import Final

from app.api.examples.form import Examples, bodies
from app.api.examples.view_checks import HOSPITAL

_QUESTION: Final = {
    "dataset": "members",
    "rule": "proposal",
    "dictionaries": {"register": "census"},
    "sensitivity": "members-harm",
}

POLICY: Final[Examples] = {"members-release": {"value": "members-release"}}
NAME: Final = "members-gate"
RUN_NAME: Final = "members-gate-by-run"

VIEWS_NAME: Final = "hospital-views-gate"
GATES: Final[Examples] = {**POLICY, VIEWS_NAME: {"value": "hospital-views"}}
"""Each example of a question is put to the policy of its own key, or else to the first one."""

EVALUATIONS: Final = bodies(
    {
        "name": "trial-gate",
        "dataset": "trial",
        "rule": "trial-rule",
        "dictionaries": {"register": "trial-list"},
        "sensitivity": "trial-harm",
    },
    {"name": NAME, **_QUESTION},
    {
        "name": VIEWS_NAME,
        "relational_schema": HOSPITAL,
        "views": [
            {"id": "wards", "query": "wards(w) :- diagnosis(p, d, m, w)."},
            {"id": "hepatitis-ids", "query": "ids(p) :- diagnosis(p, 'hepatitis', m, w)."},
        ],
    },
    trial_gate="the rule of the trial",
    members_gate="the proposal, which is not careful enough",
    hospital_views_gate="views beside what must stay secret",
)
RUNS: Final = bodies({"name": RUN_NAME, **_QUESTION}, members_gate_by_run="the same in the background")

REVOCATIONS: Final[Examples] = {
    VIEWS_NAME: {
        "summary": "a verdict that stands no more",
        "value": {"reason": "The schema that was judged is not that of the database."},
    }
}

WAIVER: Final = "members-waiver"
WAIVERS: Final[Examples] = {
    WAIVER: {
        "summary": "a criterion that need not hold for a while",
        "value": {
            "name": WAIVER,
            "policy": "members-release",
            "criterion": "several-people",
            "datasets": ["members"],
            "reason": "The census that is to come has four times as many people in these counties.",
            "approved_by": "A. Officer, data protection",
            "until": "2027-06-30",
        },
    }
}
