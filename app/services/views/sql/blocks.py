"""The FROM of a SELECT: its items, how they are joined, and which conditions hold of which."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from sqlglot import exp

from app.domain.views.queries import Variable
from app.services.views.sql.conditions import MOST_ALTERNATIVES, Alternatives, Conditions, operands
from app.services.views.sql.names import Named, Names, Scope, Source
from app.services.views.sql.rows import Body, Rows

_JOIN_ARGUMENTS: Final = frozenset({"this", "on", "using", "side", "kind", "method"})


TableReader = Callable[[exp.Expr, Scope], tuple[Rows, str]]
"""Reads one item of FROM, and says what it is called."""


@dataclass
class Item:
    """An item of FROM."""

    node: exp.Expr
    rows: Rows
    first: int
    """Its first column among those of the scope."""
    may_be_missing: bool = False
    """Whether an outer join may put NULL in its place, so that WHERE may not be asked of it before."""
    own_conditions: list[Alternatives] = field(default_factory=list)
    """Of the outer join that may do so: rows that do not meet them are never shown."""


@dataclass
class From:
    """All items, and the conditions that every row meets."""

    scope: Scope
    items: list[Item] = field(default_factory=list)
    conditions: list[Alternatives] = field(default_factory=list)
    outer_joins: list[exp.Join] = field(default_factory=list)


class FromReader:
    """Reads a FROM into its scope."""

    def __init__(self, names: Names, conditions: Conditions, read: TableReader) -> None:
        self._names = names
        self._text = names.text
        self._conditions = conditions
        self._read = read

    def read(self, select: exp.Select, scope: Scope) -> From:
        """The items and their conditions, WHERE among them."""
        found = From(scope)
        if (start := select.args.get("from_")) is not None:
            self._add(start.this, found)
        for join in select.args.get("joins") or ():
            self._join(join, found)
        where = select.args.get("where")
        for own in operands(where.this, exp.And) if where is not None else ():
            found.conditions.append(self._conditions.alternatives(own, scope))
        return found

    def _add(self, node: exp.Expr, found: From) -> list[Item]:
        """Add the items that a table, a subquery or a join in parentheses is; gives them back."""
        if isinstance(node, exp.Subquery) and isinstance(node.this, exp.Table):
            if node.args.get("alias") is not None:
                self._text.refuse(node, "not-read", "a join in parentheses with a name is not read.")
            return self._add(node.this, found)
        rows, name = self._read(node, found.scope)
        if any(own.name == name for own in found.scope.sources):
            self._text.refuse(node, "duplicate-alias", f"FROM has two items that are called {name}.")
        first = len(found.scope.fields)
        found.scope.sources.append(Source(name, first, rows.fields))
        found.items.append(Item(node, rows, first))
        number = len(found.items) - 1
        for join in node.args.get("joins") or ():
            self._join(join, found)
        return found.items[number:]

    def _join(self, join: exp.Join, found: From) -> None:
        self._text.require_arguments(join, _JOIN_ARGUMENTS)
        side, kind = str(join.args.get("side") or ""), str(join.args.get("kind") or "")
        if kind not in ("", "INNER", "CROSS", "OUTER") or side not in ("", "LEFT", "RIGHT", "FULL"):
            self._text.refuse(join, "not-read", f"a join of this kind ({side or kind}) is not read.")
        before = list(found.items)
        added = self._add(join.this, found)
        asked = self._asked(join, found, before, added)
        if not side:
            found.conditions += asked
            return
        found.outer_joins.append(join)
        self._conditions.note(join, f"{side} JOIN")
        missing = {"LEFT": added, "RIGHT": before, "FULL": [*before, *added]}[side]
        for item in missing:
            item.may_be_missing = True
            found.scope.let_be_null(item.first)
            if side != "FULL":
                item.own_conditions += asked

    def _asked(
        self, join: exp.Join, found: From, before: Sequence[Item], added: Sequence[Item]
    ) -> list[Alternatives]:
        on = join.args.get("on")
        if on is not None:
            return [self._conditions.alternatives(own, found.scope) for own in operands(on, exp.And)]
        names = list(join.args.get("using") or ())
        if join.args.get("method") == "NATURAL":
            mine = [own.name for item in before for own in item.rows.fields]
            shared = dict.fromkeys(own.name for item in added for own in item.rows.fields if own.name in mine)
            names = [exp.to_identifier(name, quoted=True) for name in shared]
        elif join.args.get("method"):
            self._text.refuse(join, "not-read", "a join of this kind is not read.")
        return [self._merge(join, name, found.scope, added[0].first) for name in names]

    def _merge(self, join: exp.Join, name: exp.Identifier, scope: Scope, border: int) -> Alternatives:
        """That the columns of one name before and after the border are equal, and henceforth one."""
        sides = [range(border), range(border, len(scope.fields))]
        found = []
        for side in sides:
            places = [list(side)[i] for i in self._names.matching(name, [scope.fields[i].name for i in side])]
            first = scope.merged.get(scope.fields[places[0]].name) if places else None
            if len(places) != 1 and (first is None or side is sides[1]):
                self._text.refuse(
                    join if not places else name,
                    "unknown-column" if not places else "ambiguous-column",
                    f"USING needs one column {name.name} on each side of the join.",
                )
            index = places[0] if first is None else first
            found.append(Named(scope.fields[index], scope, index))
        scope.merged[found[0].field.name] = found[0].index
        return self._conditions.equal(join, *found)


def scattered(found: From) -> tuple[Body, ...]:
    """Each item by itself, with the conditions that ask of it alone: all that an outer join may depend on."""
    asked = [*found.conditions, *(own for item in found.items for own in item.own_conditions)]
    bodies = [body for condition in asked for body in condition if body.atoms]
    for item in found.items:
        kept: Sequence[Body] = item.rows.bodies
        if item.rows.is_plain:
            for condition in item.own_conditions if item.may_be_missing else found.conditions:
                kept = _filtered(kept, condition, item, found.scope)
        bodies += kept
    return tuple(dict.fromkeys(body.closed() for body in bodies))


def _filtered(bodies: Sequence[Body], condition: Alternatives, item: Item, scope: Scope) -> Sequence[Body]:
    """The bodies with the condition, if it asks of this item alone."""
    terms = {scope.term(item.first + i) for i in range(len(item.rows.fields))}
    asked = {t for own in condition for c in own.comparisons for t in (c.left, c.right)}
    if any(own.atoms for own in condition) or any(
        isinstance(term, Variable) and term not in terms for term in asked
    ):
        return bodies
    if len(bodies) * len(condition) > MOST_ALTERNATIVES:
        return bodies
    return [
        body.where(own, {scope.term(item.first + i): t for i, t in enumerate(body.shown) if t is not None})
        for body in bodies
        for own in condition
    ]
