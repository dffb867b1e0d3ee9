"""What the journey is about: a table, hierarchies, dictionaries, sets and orders of them, and harm."""

from __future__ import annotations

from typing import Final

from app.api.examples.files import CITY_CSV
from app.api.examples.form import Examples, bodies

EXAMPLE_DATA: Final[Examples] = {
    "small": {
        "summary": "500 members, 1,250 people of a census",
        "value": {"prefix": "example", "members": 500},
    },
    "published": {
        "summary": "the hospital of the dissertation on query views, as published",
        "value": {"prefix": "paper", "tables": ["hospital"]},
    },
}

ONE_ROW_PER_PERSON: Final = bodies(
    {"name": "members-by-city", "person": "city", "columns": {"income": "mean", "race": "first"}}
)

HIERARCHIES: Final = bodies(
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
    {
        "name": "age",
        "definition": {
            "kind": "bounds",
            "range": {"first": "0", "last": "119"},
            "bounds": [["18", "30", "45", "65", "90"], ["18", "65"]],
        },
    },
    {
        "name": "diagnosis",
        "definition": {"kind": "diagnoses", "values": ["I21.4", "I25.1", "E11.9"], "system": "icd-10"},
    },
    {
        "name": "education",
        "definition": {"kind": "flat", "values": ["High school", "Bachelor", "Master", "Doctorate"]},
    },
    city="city → county → state → region, row by row",
    race="race → group, by parents",
    birth_date="day → month → year, by the builder of dates",
    income="1,000 → 10,000 → 20,000 → 100,000, by the builder of intervals",
    age="age → age group → minor, working age, 65 or more, by bounds",
    diagnosis="code → category → block → chapter, by the structure of ICD-10",
    education="the values that there can be, declared apart from any data",
)

DATASETS: Final = bodies(
    {
        "name": "trial",
        "upload": "members",
        "attributes": [
            {"name": "member_id", "type": "text", "role": "identifier"},
            {"name": "city", "type": "categorical", "role": "quasi_identifier", "hierarchy": "city"},
            {"name": "race", "type": "categorical", "role": "quasi_identifier"},
            {"name": "birth_date", "type": "date", "role": "quasi_identifier"},
            {"name": "income", "type": "number", "role": "sensitive"},
        ],
    },
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
    {
        "name": "residents",
        "upload": "census",
        "attributes": [
            {"name": "person_id", "type": "text", "role": "identifier"},
            {"name": "gender", "type": "categorical", "role": "quasi_identifier"},
            {"name": "race", "type": "categorical", "role": "quasi_identifier"},
            {"name": "education", "type": "categorical", "role": "sensitive", "hierarchy": "education"},
        ],
    },
    {
        "name": "friendships",
        "upload": "friendships",
        "attributes": [
            {"name": name, "type": "categorical", "role": "quasi_identifier"}
            for name in ("member", "friend", "city", "race")
        ],
    },
    trial="the members, with the hierarchy of their cities alone",
    members="the members with their hierarchies",
    residents="the people of the census, with their education as what is sensitive",
    friendships="which member shows a friend how much of the city and the race",
)

DICTIONARIES: Final = bodies(
    {"name": "trial-list", "from_dataset": "trial"},
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
    trial_list="the members' own records, as somebody who is one of them knows them",
    census="a census: race as it is, city by zip, birth date by age",
    members_themselves="the members' own records",
    register="a register that holds the members too, with vaguer places",
)

DICTIONARY_SETS: Final = bodies(
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


_WEIGHTS: Final = {
    "city": {"leaves": 0.3},
    "race": {"leaves": 0.4},
    "birth_date": {"leaves": 0.5},
    "income": {"leaves": 0.75},
}

SENSITIVITY_PROFILES: Final = bodies(
    {"name": "trial-harm", "dataset": "trial", "family": "multiplicative", "attributes": _WEIGHTS},
    {"name": "members-harm", "dataset": "members", "family": "multiplicative", "attributes": _WEIGHTS},
    {
        "name": "members-harm-together",
        "dataset": "members",
        "family": "interactions",
        "attributes": _WEIGHTS,
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
    {"name": "members-harm-added", "dataset": "members", "family": "linear", "attributes": _WEIGHTS},
    {
        "name": "members-suspicion",
        "dataset": "members",
        "family": "constant",
        "constant": 0.1,
        "viewpoint": "organisation",
    },
    trial_harm="a weight per attribute",
    members_harm="a weight per attribute, less for less exact values",
    members_harm_together="values that do more harm together than apart, and nobody above a total",
    members_harm_added="a weight per attribute, added up: what polynomial algorithms need",
    members_suspicion="the same harm for every record: for Ψ, where the attacker names the wrong person",
)
