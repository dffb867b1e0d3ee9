"""What a rule is worth, and records that are given away one after another."""

from __future__ import annotations

from typing import Final

from app.api.examples.form import Examples, bodies

QUESTION: Final = {"dataset": "members", "dictionary": "census", "sensitivity": "members-harm"}

TRIAL: Final = {"dataset": "trial", "dictionary": "trial-list", "sensitivity": "trial-harm"}

ASSESSMENTS: Final = bodies(
    {"name": "trial-score", **TRIAL, "rule": "trial-rule"},
    {"name": "proposal-score", **QUESTION, "rule": "proposal"},
    {"name": "as-is-score", **QUESTION, "rule": {"kind": "identity"}},
    {
        "name": "attackers-score",
        **QUESTION,
        "rule": "proposal",
        "dictionary": "attackers",
        "attacker_view": "bayes",
    },
    {
        "name": "bounded-score",
        **QUESTION,
        "rule": "proposal",
        "dictionary": "members-themselves",
        "bounds": {"true_dictionary": "register"},
    },
    {
        "name": "suspicion-score",
        **QUESTION,
        "rule": "proposal",
        "failure": "members-suspicion",
        "consistency": {"default": {"mode": "compatible"}, "attributes": {"race": {"mode": "subsumed"}}},
        "utility": {"kind": "log_leaves"},
    },
    trial_score="the rule of the trial",
    proposal_score="the rule proposed",
    as_is_score="the table as it is, by a rule that is not stored",
    attackers_score="against two dictionaries, by how probable each is",
    bounded_score="against the members' own list, which bounds the risk under a vaguer register",
    suspicion_score="with harm where the attacker names the wrong person, and another utility",
)

ASSESSMENT_RUNS: Final = bodies(
    {"name": "proposal-score-by-run", **QUESTION, "rule": "proposal", "absent_policy": "add_self"}
)

SEQUENTIAL_DISCLOSURES: Final = bodies(
    {"name": "enquiries", **QUESTION}, enquiries="records that are given away one after another"
)

BATCHES: Final[Examples] = {
    "optimal": {
        "summary": "each record at its best steps",
        "value": {
            "records": [
                {"values": {"city": "Gary", "race": "Black", "birth_date": "1971-02-14", "income": "39000"}},
                {"values": {"city": "Chicago", "race": "White", "birth_date": "1978-07-04"}, "weight": 2},
            ],
            "rule": {"kind": "optimal", "utility_floor": 6},
        },
    },
    "modal": {
        "summary": "the steps that were best most often so far",
        "value": {
            "records": [{"values": {"city": "Boston", "race": "White", "birth_date": "1970-06-25"}}],
            "rule": {"kind": "modal", "utility_floor": 6},
        },
    },
    "record_level": {
        "summary": "steps of your choice for every record, such as those of an earlier answer",
        "value": {
            "records": [{"values": {"city": "Gary", "race": "Black", "birth_date": "1971-02-14"}}],
            "rule": {"kind": "record_level", "records": [{"steps": {"city": 2, "birth_date": 1}}]},
        },
    },
    "levels": {
        "summary": "one level of your choice per attribute",
        "value": {
            "records": [{"values": {"city": "Albany", "race": "Black", "birth_date": "1976-04-18"}}],
            "rule": {"kind": "levels", "levels": {"city": 1, "birth_date": 1}},
        },
    },
}
