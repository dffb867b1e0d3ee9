"""Worked examples of perfect privacy, as they are specified: see ``vectors.json`` beside this file.

A text that begins with ``#`` is any value that no query names; null is NULL.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from app.domain.views.datalog import parse_query
from app.domain.views.decision import PairVerdict, decide
from app.domain.views.instances import Row, Side, Witness
from app.domain.views.normal_form import Branch, branches
from app.domain.views.queries import Query
from app.domain.views.ranges import exact
from app.domain.views.relational_schema import ForeignKey, RelationalSchema, RelationDefinition, built
from app.domain.views.work import Budget, Work

VECTORS: dict[str, dict[str, Any]] = {
    own["id"]: own for own in json.loads(Path(__file__).with_name("vectors.json").read_text(encoding="utf-8"))
}


def schema_of(vector: dict[str, Any]) -> RelationalSchema:
    """The vector's schema."""
    definitions = {
        name: RelationDefinition(
            own["attributes"],
            {k: tuple(d) if isinstance(d, list) else d for k, d in own.get("domains", {}).items()},
            own.get("keys", ()),
            [(x, y) for x, y in own.get("fds", ())],
            own.get("nullable", ()),
        )
        for name, own in vector["schema"].items()
    }
    return built(definitions, [ForeignKey(own["from"], own["to"]) for own in vector.get("foreign_keys", ())])


def queries_of(vector: dict[str, Any]) -> tuple[Query, list[Query]]:
    """The secret and the views."""
    schema, semantics = schema_of(vector), vector.get("semantics", {})
    secret = parse_query(vector["secret"], schema, keeps_duplicates=semantics.get("secret") == "bag")
    kept = semantics.get("views", ["set"] * len(vector["views"]))
    views = [
        parse_query(text, schema, keeps_duplicates=how == "bag")
        for text, how in zip(vector["views"], kept, strict=True)
    ]
    return secret, views


def verdicts(vector: dict[str, Any]) -> list[PairVerdict]:
    """What the product says of each view."""
    secret, views = queries_of(vector)
    return [decided(secret, view, schema_of(vector)) for view in views]


def decided(secret: Query, view: Query, schema: RelationalSchema, **how: Any) -> PairVerdict:
    """What the product says of a pair."""
    return decide(branches_of(secret, schema, "s"), branches_of(view, schema, "v"), schema, **how)


def branches_of(query: Query, schema: RelationalSchema, side: str) -> tuple[Branch, ...]:
    """The query in its normal form."""
    return branches(query, schema, side, free_work())


def free_work(steps: int = 400_000) -> Work:
    """Work for which there is time enough."""
    return Work(Budget(steps=steps), lambda: False)


def row_of(cells: list[Any]) -> Row:
    """A row as a vector writes it."""
    return Row(cells[0], cells_of(cells[1:]))


def cells_of(cells: list[Any]) -> tuple[Any, ...]:
    """Cells as a vector writes them."""
    return tuple(own if own is None or isinstance(own, str) else exact(own) for own in cells)


def witness_of(stated: dict[str, Any]) -> Witness:
    """A witness as a vector writes it."""
    sides = (
        Side(
            row_of(stated[f"{name}_tuple"]),
            frozenset(map(row_of, stated[f"{name}_instance"])),
            cells_of(stated[f"{name}_row"]),
        )
        for name in ("secret", "view")
    )
    return Witness(*sides)
