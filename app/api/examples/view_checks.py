"""Views of a hospital beside the names of its cancer patients."""

from __future__ import annotations

from typing import Final

from app.api.examples.form import Examples

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

VIEW_CHECKS: Final[Examples] = {
    "hospital": {
        "summary": "a list of wards discloses something about cancer patients; hepatitis ids do not",
        "value": {
            "relational_schema": HOSPITAL,
            "secrets": [SECRET],
            "views": [
                {"id": "wards", "query": "wards(w) :- diagnosis(p, d, m, w)."},
                {"id": "hepatitis-ids", "query": "ids(p) :- diagnosis(p, 'hepatitis', m, w)."},
            ],
            "advice": ["changes", "patterns", "leakage"],
        },
    },
    "key": {
        "summary": "everybody else's rows: with a key they disclose who is not treated by this doctor",
        "value": {
            "relational_schema": {
                "relations": {"treated": {"attributes": ["name", "doctor", "ward"], "keys": [["name"]]}}
            },
            "secrets": [{"id": "drakes-patients", "query": "drakes(n) :- treated(n, 'Drake', w)."}],
            "views": [{"id": "others", "query": "others(n, w) :- treated(n, d, w), d != 'Drake'."}],
        },
    },
    "sql": {
        "summary": "SQL: a count by ward tells about ward 7, an average over other wards does not",
        "value": {
            "relational_schema": {
                "sql": "CREATE TABLE stay (pid int, ward int, since date, PRIMARY KEY (pid, ward, since))"
            },
            "language": "sql",
            "dialect": "postgres",
            "secrets": [{"id": "ward-7", "query": "SELECT pid FROM stay WHERE ward = 7"}],
            "views": [
                {"id": "by-ward", "query": "SELECT ward, COUNT(*) FROM stay GROUP BY ward"},
                {"id": "averages", "query": "SELECT AVG(pid) FROM stay WHERE ward BETWEEN 1 AND 6"},
            ],
        },
    },
    "counts": {
        "summary": "a count keeps duplicates: flu patients by ward",
        "value": {
            "relational_schema": HOSPITAL,
            "secrets": [SECRET],
            "views": [
                {
                    "id": "flu-by-ward",
                    "query": "count(w) :- diagnosis(p, 'flu', m, w).",
                    "keeps_duplicates": True,
                }
            ],
        },
    },
}
