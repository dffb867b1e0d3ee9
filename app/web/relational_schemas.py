"""Relational schemas: the relations that queries read, and what verdicts over them rest on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from app.web.visits import Page, Visit
from privacy_risk import Json

MOST_RELATIONS: Final = 100
MOST_VALUES: Final = 20
"""Of a domain, as many as a row of the page shows."""

SOURCES: Final = {
    "relations": "declared one by one",
    "sql": "read from CREATE TABLE statements",
    "datasets": "made of stored datasets",
}
"""What a schema was made of, in words."""

DOMAINS: Final = {
    "any": "any value, compared by equality",
    "number": "numbers, or what else is compared by order",
    "integer": "whole numbers",
}

_LISTED: Final = (
    "Columns whose values are listed are taken to hold nothing else. If one can, a view that is called "
    "private may disclose something."
)
_KEYS: Final = (
    "Keys and dependencies change verdicts in both directions: each of them has to hold of every table that "
    "there may be, not only of today's."
)
_FOREIGN_KEYS: Final = (
    "What foreign keys tell a reader is not decided: a pair that would be private without them stays "
    "undecided, which denies, unless a check ignores them and says so."
)


async def relational_schema(visit: Visit) -> Page:
    """A schema: relations with columns, keys, dependencies and foreign keys, and what weakens a verdict."""
    document = (await visit.client.relational_schemas.get(visit.ref)).document
    relations, links = document["relations"], document["foreign_keys"]
    names = list(relations)[:MOST_RELATIONS]
    return Page(
        "relational_schema.html",
        {
            "schema": document,
            "source": SOURCES[document["source"]],
            "relations": [_relation(name, relations[name], links) for name in names],
            "more": len(relations) - len(names),
            "rests": list(_rests(document)),
        },
    )


def _relation(name: str, own: Json, links: list[Json]) -> Json:
    return {
        "name": name,
        "columns": [
            {
                "name": column,
                "domain": _domain(own["domains"].get(column, "any")),
                "is_nullable": column in own["nullable"],
            }
            for column in own["attributes"]
        ],
        "keys": [", ".join(key) for key in own["keys"]],
        "dependencies": [(", ".join(left), ", ".join(right)) for left, right in own["fds"]],
        "refers_to": [link["to"] for link in links if link["from"] == name],
    }


def _domain(domain: str | list[object]) -> str:
    if isinstance(domain, str):
        return DOMAINS[domain]
    shown = ", ".join(map(str, domain[:MOST_VALUES]))
    more = f" and {len(domain) - MOST_VALUES:,} more" if len(domain) > MOST_VALUES else ""
    return f"only {shown}{more}"


def _rests(document: Json) -> Iterator[str]:
    """What every verdict by this schema rests on, beside what was noticed where it was read."""
    relations = document["relations"].values()
    if any(isinstance(domain, list) for own in relations for domain in own["domains"].values()):
        yield _LISTED
    if any(own["keys"] or own["fds"] for own in relations):
        yield _KEYS
    if document["foreign_keys"]:
        yield _FOREIGN_KEYS
