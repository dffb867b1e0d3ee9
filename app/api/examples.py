"""The examples of the document: one small journey, each step of which uses what earlier ones made.

They are run in their order by a test, and are what a newcomer sends with "Try it out".
"""

from __future__ import annotations

from typing import Any, Final

from app.api.example_files import CITY_CSV

Examples = dict[str, Any]


def names(*chosen: str) -> Examples:
    """Names of resources as examples of a parameter."""
    return {name: {"value": name} for name in chosen}


def _bodies(*bodies: dict[str, Any], **summaries: str) -> Examples:
    return {
        body["name"]: {"summary": summaries.get(body["name"].replace("-", "_"), body["name"]), "value": body}
        for body in bodies
    }


EXAMPLE_DATA: Final[Examples] = {
    "small": {
        "summary": "500 members, 1,250 people of a census",
        "value": {"prefix": "example", "members": 500},
    },
}

HIERARCHIES: Final = _bodies(
    {
        "name": "city",
        "definition": {"kind": "rows", "rows": [line.split(";") for line in CITY_CSV.splitlines()]},
    },
    {
        "name": "race",
        "definition": {
            "kind": "parents",
            "parents": {
                "White": ["European"],
                "Middle Eastern": ["European"],
                "Black": ["African American"],
                "Chinese": ["Asian"],
                "Japanese": ["Asian"],
                "European": [None],
                "African American": [None],
                "Asian": [None],
            },
        },
    },
    {
        "name": "birth-date",
        "definition": {
            "kind": "dates",
            "range": {"first": "1970-01-01", "last": "1979-12-31"},
            "levels": ["day", "month", "year"],
        },
    },
    {
        "name": "income",
        "definition": {
            "kind": "intervals",
            "range": {"first": "0", "last": "199000", "step": "1000"},
            "widths": ["10000", "20000", "100000"],
        },
    },
    city="city → county → state → region, row by row",
    race="race → group, by parents",
    birth_date="day → month → year, by the builder of dates",
    income="1,000 → 10,000 → 20,000 → 100,000, by the builder of intervals",
)


DATASETS: Final = _bodies(
    {
        "name": "members",
        "upload": "members",
        "attributes": [
            {"name": "member_id", "type": "text", "role": "identifier"},
            {"name": "city", "type": "categorical", "role": "quasi_identifier", "hierarchy": "city"},
            {"name": "race", "type": "categorical", "role": "quasi_identifier", "hierarchy": "race"},
            {"name": "birth_date", "type": "date", "role": "quasi_identifier", "hierarchy": "birth-date"},
            {"name": "income", "type": "number", "role": "sensitive", "hierarchy": "income"},
        ],
    },
    members="the members with their hierarchies",
)

DICTIONARIES: Final = _bodies(
    {
        "name": "census",
        "upload": "census",
        "identifier": "person_id",
        "links": [
            {"attribute": "race", "column": "race", "hierarchy": "race", "transform": {"kind": "identity"}},
            {
                "attribute": "city",
                "column": "zip",
                "hierarchy": "city",
                "transform": {
                    "kind": "lookup",
                    "table": {
                        "47906": "West Lafayette",
                        "47901": "Lafayette",
                        "46402": "Gary",
                        "60601": "Chicago",
                        "60201": "Evanston",
                        "02108": "Boston",
                        "02139": "Cambridge",
                        "12207": "Albany",
                    },
                },
            },
            {
                "attribute": "birth_date",
                "column": "age",
                "hierarchy": "birth-date",
                "transform": {"kind": "age", "reference_date": "2020-04-01"},
            },
        ],
    },
    {"name": "members-themselves", "from_dataset": "members"},
    {
        "name": "register",
        "upload": "register",
        "identifier": "member_id",
        "links": [
            {"attribute": "city", "column": "place", "hierarchy": "city"},
            {"attribute": "race", "column": "race", "hierarchy": "race"},
        ],
    },
    census="a census: race as it is, city by zip, birth date by age",
    members_themselves="the members' own records",
    register="a register that holds the members too, with vaguer places",
)

DICTIONARY_SETS: Final = _bodies(
    {
        "name": "attackers",
        "dictionaries": [
            {"dictionary": "census", "prior": 0.75},
            {"dictionary": "members-themselves", "prior": 0.25},
        ],
    },
    {
        "name": "any-attacker",
        "dictionaries": [{"dictionary": "census"}, {"dictionary": "members-themselves"}],
    },
    attackers="most likely a census, perhaps the members' own list",
    any_attacker="one of the two, who knows which",
)

DICTIONARY_ORDERS: Final[Examples] = {
    "register": {
        "summary": "a register that holds all members, vaguer",
        "value": {"dataset": "members", "smaller": "members-themselves", "larger": "register"},
    },
    "census": {
        "summary": "a census whose people have other identifiers",
        "value": {"dataset": "members", "smaller": "members-themselves", "larger": "census"},
    },
}

SENSITIVITY_PROFILES: Final = _bodies(
    {
        "name": "members-harm",
        "dataset": "members",
        "family": "multiplicative",
        "attributes": {
            "city": {"leaves": 0.3},
            "race": {"leaves": 0.4},
            "birth_date": {"leaves": 0.5},
            "income": {"leaves": 0.75},
        },
    },
    {
        "name": "members-harm-together",
        "dataset": "members",
        "family": "interactions",
        "attributes": {
            "city": {"leaves": 0.3},
            "race": {"leaves": 0.4},
            "birth_date": {"leaves": 0.5},
            "income": {"leaves": 0.75},
        },
        "interactions": {
            "sets": [
                {"attributes": ["city", "birth_date"], "weight": 0.5},
                {"attributes": ["city", "birth_date", "income"], "weight": 1},
            ]
        },
        "normalisation": {"rule": "at_most", "total": 1.5, "mode": "rescale"},
        "unit": "days of trouble",
        "viewpoint": "data_subject",
    },
    {
        "name": "members-harm-added",
        "dataset": "members",
        "family": "linear",
        "attributes": {
            "city": {"leaves": 0.3},
            "race": {"leaves": 0.4},
            "birth_date": {"leaves": 0.5},
            "income": {"leaves": 0.75},
        },
    },
    {
        "name": "members-suspicion",
        "dataset": "members",
        "family": "constant",
        "constant": 0.1,
        "viewpoint": "organisation",
    },
    members_harm="a weight per attribute, less for less exact values",
    members_harm_together="values that do more harm together than apart, and nobody above a total",
    members_harm_added="a weight per attribute, added up: what polynomial algorithms need",
    members_suspicion="the same harm for every record: for Ψ, where the attacker names the wrong person",
)

RULES: Final = _bodies(
    {
        "name": "proposal",
        "dataset": "members",
        "rule": {"kind": "table_level", "levels": {"city": 1, "birth_date": 2, "income": 1}},
    },
    {
        "name": "exceptions",
        "dataset": "members",
        "rule": {
            "kind": "record_level",
            "records": [
                {"entity": "m-08", "levels": {"city": 4, "race": 2}},
                {"row": 12, "levels": {"city": 2}, "values": {"race": None}},
            ],
        },
    },
    {
        "name": "no-small-classes",
        "dataset": "members",
        "rule": {
            "kind": "table_level",
            "levels": {"city": 3, "birth_date": 2, "income": 4},
            "suppress_classes_below": 2,
        },
    },
    {
        "name": "fewer-places",
        "dataset": "members",
        "rule": {"kind": "generalisation", "values": {"city": {"Gary": "Indiana", "Albany": "Northeast"}}},
    },
    {
        "name": "careful",
        "dataset": "members",
        "rule": {
            "kind": "conditional",
            "statements": [
                {"kind": "hide", "attribute": "income", "unless": "income < 100000"},
                {
                    "kind": "generalise",
                    "attribute": "city",
                    "unless": "member_id != 'm-08' and (race = 'White' or race = 'Black')",
                    "to": {"kind": "level", "level": 2},
                },
                {
                    "kind": "generalise",
                    "attribute": "birth_date",
                    "unless": {
                        "op": ">=",
                        "left": {"attr": "birth_date"},
                        "right": {"const": "1971-01-01"},
                    },
                    "to": {"kind": "value", "value": "1970"},
                },
            ],
        },
    },
    {
        "name": "exceptions-further",
        "dataset": "members",
        "rule": {"kind": "at_least", "rule": "exceptions", "levels": {"city": 2, "birth_date": 1}},
    },
    proposal="counties, years of birth, incomes by ten thousand",
    exceptions="two records that need more care than the others",
    no_small_classes="states and years of birth; records that would stand alone are withheld",
    fewer_places="two places that are too small to be named",
    careful="withhold and generalise where conditions are not true",
    exceptions_further="a rule generalised further: of every record at most states and months",
)

RULE_PREVIEWS: Final[Examples] = {
    "proposal": {
        "summary": "a stored rule",
        "value": {"dataset": "members", "rule": "proposal", "limit": 5},
    },
    "tried": {
        "summary": "a rule that is only tried",
        "value": {
            "dataset": "members",
            "rule": {"kind": "table_level", "levels": {"city": 2, "race": 1}},
            "limit": 5,
        },
    },
}

_QUESTION: Final = {"dataset": "members", "dictionary": "census", "sensitivity": "members-harm"}

ASSESSMENTS: Final = _bodies(
    {"name": "proposal-score", **_QUESTION, "rule": "proposal"},
    {"name": "as-is-score", **_QUESTION, "rule": {"kind": "identity"}},
    {
        "name": "attackers-score",
        **_QUESTION,
        "rule": "proposal",
        "dictionary": "attackers",
        "attacker_view": "bayes",
    },
    {
        "name": "bounded-score",
        **_QUESTION,
        "rule": "proposal",
        "dictionary": "members-themselves",
        "bounds": {"true_dictionary": "register"},
    },
    {
        "name": "suspicion-score",
        **_QUESTION,
        "rule": "proposal",
        "failure": "members-suspicion",
        "consistency": {"default": {"mode": "compatible"}, "attributes": {"race": {"mode": "subsumed"}}},
        "utility": {"kind": "log_leaves"},
    },
    proposal_score="the rule proposed",
    as_is_score="the table as it is, by a rule that is not stored",
    attackers_score="against two dictionaries, by how probable each is",
    bounded_score="against the members' own list, which bounds the risk under a vaguer register",
    suspicion_score="with harm where the attacker names the wrong person, and another utility",
)

ASSESSMENT_RUNS: Final = _bodies(
    {"name": "proposal-score-by-run", **_QUESTION, "rule": "proposal", "absent_policy": "add_self"}
)

OPTIMISATIONS: Final = _bodies(
    {
        "name": "members-optimum",
        **_QUESTION,
        "objective": {"kind": "min_risk", "utility_floor": 6},
        "scope": "table_level",
        "solver": "enumeration",
    },
    {
        "name": "careful-optimum",
        **_QUESTION,
        "dictionary": "any-attacker",
        "attacker_view": "worst_case",
        "objective": {"kind": "min_risk", "loss_cap": 2},
        "utility": "info_loss_lm",
    },
    {
        "name": "optimum-by-aruba",
        **_QUESTION,
        "objective": {"kind": "max_utility", "risk_cap": 0.2},
        "solver": {"kind": "aruba", "moves": "reduced"},
        "budget": {"max_nodes": 100_000, "relative_gap": 0.05, "time_limit_seconds": 60},
    },
    {
        "name": "optimum-by-breeding",
        **_QUESTION,
        "objective": {"kind": "min_risk", "utility_floor": 6},
        "solver": {"kind": "genetic", "seed": 1, "generations": 20},
    },
    {
        "name": "best-proposal",
        **_QUESTION,
        "objective": {"kind": "min_risk", "utility_floor": 3},
        "solver": {"kind": "min_risk_of_candidates", "rules": ["proposal", "no-small-classes", "careful"]},
    },
    {
        "name": "certified-optimum",
        **_QUESTION,
        "sensitivity": "members-harm-added",
        "objective": {"kind": "min_risk", "utility_floor": 6},
        "scope": "record_level",
        "solver": {"kind": "approx", "sensitivity_slack": 8},
    },
    {
        "name": "anonymous-optimum",
        "dataset": "members",
        "objective": {
            "kind": "min_loss",
            "privacy": [{"kind": "k_anonymity", "k": 2}],
            "suppression_limit": 0.2,
        },
    },
    {
        "name": "diverse-optimum",
        "dataset": "members",
        "objective": {
            "kind": "min_loss",
            "privacy": [
                {"kind": "k_anonymity", "k": 2},
                {"kind": "distinct_l_diversity", "l": 2},
                {"kind": "t_closeness", "t": 0.8, "distance": "equal"},
            ],
            "loss": "non_uniform_entropy",
            "suppression_limit": 0.2,
            "minimal_rules": True,
        },
    },
    {
        "name": "recoded-optimum",
        "dataset": "members",
        "objective": {"kind": "min_loss", "privacy": [{"kind": "k_anonymity", "k": 2}]},
        "scope": "record_level",
    },
    {
        "name": "aggregate-optimum",
        **_QUESTION,
        "sensitivity": "members-harm-added",
        "objective": {"kind": "aggregate", "trade_off": 1, "kappa": 2},
        "scope": "record_level",
    },
    members_optimum="least risk with at least 6 of 13 levels kept on average",
    optimum_by_aruba="by an algorithm of your choice, within a budget",
    optimum_by_breeding="by genetic search, which proves nothing",
    best_proposal="the best of three rules that are there",
    certified_optimum="by an approximation that proves for this run what it may miss",
    anonymous_optimum="2-anonymity with the least loss, at most a fifth of the records withheld",
    diverse_optimum="several privacy criteria at once, and all rules that disclose as much as they can",
    recoded_optimum="2-anonymity with levels of their own for every record, none withheld",
    aggregate_optimum="without a threshold: harm and utility weighed in one number",
    careful_optimum="least risk under the worse of two dictionaries, with at most so much information lost",
)

SEQUENTIAL_DISCLOSURES: Final = _bodies(
    {"name": "enquiries", **_QUESTION}, enquiries="records that are given away one after another"
)

BATCHES: Final[Examples] = {
    "optimal": {
        "summary": "each record at its best levels",
        "value": {
            "records": [
                {"values": {"city": "Gary", "race": "Black", "birth_date": "1971-02-14", "income": "39000"}},
                {"values": {"city": "Chicago", "race": "White", "birth_date": "1978-07-04"}, "weight": 2},
            ],
            "rule": {"kind": "optimal", "utility_floor": 6},
        },
    },
    "modal": {
        "summary": "the levels that were best most often so far",
        "value": {
            "records": [{"values": {"city": "Boston", "race": "White", "birth_date": "1970-06-25"}}],
            "rule": {"kind": "modal", "utility_floor": 6},
        },
    },
    "levels": {
        "summary": "levels of your choice",
        "value": {
            "records": [{"values": {"city": "Albany", "race": "Black", "birth_date": "1976-04-18"}}],
            "rule": {"kind": "levels", "levels": {"city": 1, "birth_date": 1}},
        },
    },
}

FRONTIERS: Final = _bodies(
    {"name": "members-frontier", **_QUESTION, "scope": "table_level", "max_points": 100},
    {
        "name": "members-frontier-by-record",
        **_QUESTION,
        "dictionary": "attackers",
        "scope": "record_level",
    },
    members_frontier="rules for the whole table",
    members_frontier_by_record="rules record by record, against two dictionaries",
)

RELEASES: Final = _bodies(
    {"name": "members-release", "dataset": "members", "rule": "members-optimum", "neutralise_formulas": True},
    members_release="the members under the best rule",
)

API_KEYS: Final = _bodies(
    {"name": "reader", "scopes": ["data:read", "assess"]}, reader="a key that cannot write"
)

TENANTS: Final = _bodies({"name": "acme"}, acme="a tenant")
