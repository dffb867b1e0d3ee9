"""Views of a hospital beside the names of its cancer patients."""

from __future__ import annotations

from typing import Final

from app.api.examples.form import Examples, bodies

HOSPITAL: Final = {
    "relations": {
        "patient": {"attributes": ["pid", "name"]},
        "diagnosis": {
            "attributes": ["pid", "diagnosis", "medication", "ward"],
            "domains": {"ward": "integer"},
        },
    }
}
SECRET: Final = {
    "id": "cancer-patients",
    "query": "names(n) :- patient(p, n), diagnosis(p, 'cancer', m, w).",
}

_TABLES: Final = "CREATE TABLE stay (pid int, ward int, since date, PRIMARY KEY (pid, ward, since))"

RELATIONAL_SCHEMAS: Final[Examples] = bodies(
    {"name": "hospital", **HOSPITAL},
    {"name": "stays", "sql": _TABLES},
    {"name": "members-as-a-table", "datasets": ["members"]},
    hospital="patients and their diagnoses, as relations",
    stays="a table, as it was created in SQL",
    members_as_a_table="the records of a dataset as the rows of a relation",
)

_WARDS: Final = {"id": "wards", "query": "wards(w) :- diagnosis(p, d, m, w)."}

VIEW_CHECKS: Final[Examples] = bodies(
    {
        "name": "hospital-views",
        "relational_schema": HOSPITAL,
        "secrets": [SECRET],
        "views": [
            _WARDS,
            {"id": "hepatitis-ids", "query": "ids(p) :- diagnosis(p, 'hepatitis', m, w)."},
        ],
        "advice": ["changes", "patterns", "leakage"],
    },
    {
        "name": "other-doctors",
        "relational_schema": {
            "relations": {"treated": {"attributes": ["name", "doctor", "ward"], "keys": [["name"]]}}
        },
        "secrets": [{"id": "drakes-patients", "query": "drakes(n) :- treated(n, 'Drake', w)."}],
        "views": [{"id": "others", "query": "others(n, w) :- treated(n, d, w), d != 'Drake'."}],
    },
    {
        "name": "stays-in-sql",
        "relational_schema": {"sql": _TABLES},
        "language": "sql",
        "dialect": "postgres",
        "secrets": [{"id": "ward-7", "query": "SELECT pid FROM stay WHERE ward = 7"}],
        "views": [
            {"id": "by-ward", "query": "SELECT ward, COUNT(*) FROM stay GROUP BY ward"},
            {"id": "averages", "query": "SELECT AVG(pid) FROM stay WHERE ward BETWEEN 1 AND 6"},
        ],
    },
    {
        "name": "flu-counts",
        "relational_schema": "hospital",
        "secrets": [SECRET],
        "views": [
            {
                "id": "flu-by-ward",
                "query": "count(w) :- diagnosis(p, 'flu', m, w).",
                "keeps_duplicates": True,
            }
        ],
    },
    hospital_views="a list of wards discloses something about cancer patients; hepatitis ids do not",
    other_doctors="everybody else's rows: with a key they disclose who is not treated by this doctor",
    stays_in_sql="SQL: a count by ward tells about ward 7, an average over other wards does not",
    flu_counts="a stored schema, and a count, which keeps duplicates: flu patients by ward",
)

VIEW_CHECK_RUNS: Final[Examples] = bodies(
    {"name": "wards-by-run", "relational_schema": "hospital", "secrets": [SECRET], "views": [_WARDS]},
    wards_by_run="in the background, with a stored schema",
)
