"""The FROM of a SELECT: its items, how they are joined, and which conditions hold of which."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from app.domain.views.queries import Variable
from app.services.views.sql.conditions import MOST_ALTERNATIVES, Alternatives, Conditions, operands
from app.services.views.sql.grammar import is_join
from app.services.views.sql.kinds import kind_of
from app.services.views.sql.names import Named, Names, Scope, Source
from app.services.views.sql.row_conditions import asked_of_groups, only_count
from app.services.views.sql.rows import Body, Rows

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

    @property
    def places(self) -> range:
        """Its columns among those of the scope."""
        return range(self.first, self.first + len(self.rows.fields))


@dataclass
class From:
    """All items, and the conditions that every row meets."""

    scope: Scope
    items: list[Item] = field(default_factory=list)
    conditions: list[Alternatives] = field(default_factory=list)
    outer_joins: list[exp.Join] = field(default_factory=list)
    border: int = 0
    """The first of the items that a join joins: those behind the last comma."""


@dataclass(frozen=True)
class _Left:
    """A LEFT JOIN, the items that it may leave out, and what it asks."""

    join: exp.Join
    items: list[Item]
    asked: list[Alternatives]


class FromReader:
    """Reads a FROM into its scope."""

    def __init__(self, names: Names, conditions: Conditions, read: TableReader) -> None:
        self._names = names
        self._text = names.text
        self._conditions = conditions
        self._read = read
        self._left: list[_Left] = []

    def read(self, select: exp.Select, scope: Scope) -> From:
        """The items and their conditions, WHERE among them."""
        found = From(scope)
        if (start := select.args.get("from_")) is not None:
            self._add(start.this, found)
        for join in select.args.get("joins") or ():
            self._join(join, found)
        where, count = select.args.get("where"), only_count(select)
        asked = [] if where is None else operands(where.this, exp.And)
        asked += [] if count is None else [count[1]]
        asked += asked_of_groups(select, lambda own: self._names.is_column(own, scope))
        for own in asked:
            found.conditions.append(self._conditions.alternatives(own, scope))
        for join in self._left:
            self._settle(join, found)
        return found

    def _settle(self, left: _Left, found: From) -> None:
        """A LEFT JOIN is an inner one where a condition is true of no row that it fills with NULL."""
        terms = {found.scope.term(i) for own in left.items for i in own.places}

        def asks(body: Body) -> bool:
            return any(terms & {own.left, own.right} for own in body.comparisons)

        if any(all(asks(body) for body in condition) for condition in found.conditions):
            found.conditions += left.asked
            return
        found.outer_joins.append(left.join)
        self._conditions.note(left.join, "LEFT JOIN")
        for item in left.items:
            item.may_be_missing = True
            item.own_conditions += left.asked

    def _add(self, node: exp.Expr, found: From) -> list[Item]:
        """Add the items that a table, a subquery or a join in parentheses is; gives them back."""
        number, border = len(found.items), found.border
        found.border = number
        if is_join(node) and not node.args.get("alias"):
            self._add(node.this, found)
        else:
            rows, name = self._read(node, found.scope)
            if any(own.name == name for own in found.scope.sources):
                self._text.refuse(node, "duplicate-alias", f"FROM has two items that are called {name}.")
            first = len(found.scope.fields)
            found.scope.sources.append(Source(name, first, rows.fields))
            found.items.append(Item(node, rows, first))
        for join in node.args.get("joins") or ():
            self._join(join, found)
        found.border = border
        return found.items[number:]

    def _join(self, join: exp.Join, found: From) -> None:
        side, kind = str(join.args.get("side") or ""), str(join.args.get("kind") or "")
        if kind not in ("", "INNER", "CROSS", "OUTER") or side not in ("", "LEFT", "RIGHT", "FULL"):
            self._text.refuse(join, "not-read", f"a join of this kind ({side or kind}) is not read.")
        if not any(value for name, value in join.args.items() if name != "this"):
            found.border = len(found.items)
        before, known = found.items[found.border :], len(found.conditions)
        added = self._add(join.this, found)
        # What a join in parentheses asks, an outer one asks as well: not every row need meet it.
        asked = [*found.conditions[known:], *self._asked(join, found, before, added)]
        del found.conditions[known:]
        if not side:
            found.conditions += asked
            return
        if side == "LEFT":
            for item in added:
                found.scope.let_be_null(item.places)
            self._left.append(_Left(join, added, asked))
            return
        found.outer_joins.append(join)
        self._conditions.note(join, f"{side} JOIN")
        self._conditions.extras += [own.closed() for one in asked for own in one if own.atoms]
        missing = {"RIGHT": before, "FULL": [*before, *added]}[side]
        for item in missing:
            item.may_be_missing = True
            found.scope.let_be_null(item.places)
            if side != "FULL":
                item.own_conditions += asked

    def _asked(
        self, join: exp.Join, found: From, before: Sequence[Item], added: Sequence[Item]
    ) -> list[Alternatives]:
        on = join.args.get("on")
        if on is not None:
            # A name that only an item before the comma has is one of a query around.
            found.scope.visible_from = (before or added)[0].first
            asked = [self._conditions.alternatives(own, found.scope) for own in operands(on, exp.And)]
            found.scope.visible_from = 0
            return asked
        names = list(join.args.get("using") or ())
        if join.args.get("method") == "NATURAL":
            theirs = [own.name for item in added for own in item.rows.fields]
            shared = dict.fromkeys(
                own.name for item in before for own in item.rows.fields if own.name in theirs
            )
            names = [exp.to_identifier(name, quoted=True) for name in shared]
        first = before[0].first if before else 0
        return [self._merge(join, name, found.scope, (first, added[0].first)) for name in names]

    def _merge(
        self, join: exp.Join, name: exp.Identifier, scope: Scope, borders: tuple[int, int]
    ) -> Alternatives:
        """That the columns of one name on both sides of a join are equal, and henceforth one."""
        first, second = borders
        left = self._places(name, scope, range(first, second))
        right = self._places(name, scope, range(second, len(scope.fields)))
        known = scope.merged.get(scope.fields[left[0]].name, ()) if left else ()
        if not left or not right:
            self._text.refuse(
                join, "unknown-column", f"USING needs a column {name.name} on each side of the join."
            )
        if len(right) > 1 or (left != list(known) if known else len(left) > 1):
            self._text.refuse(
                name if name.parent is not None else join,
                "ambiguous-column",
                f"USING needs one column {name.name} on each side of the join.",
                "Write the condition as ON.",
            )
        one, other = (Named(scope.fields[place], scope, place) for place in (left[0], right[0]))
        self._names.kinds.merged(join, (kind_of(one.field.type), kind_of(other.field.type)))
        scope.merged[one.field.name] = (*left, right[0])
        # Which of the two is shown depends on their types.
        scope.let_look_like(one.index, other.field.type)
        return self._conditions.equal(join, one, other)

    def _places(self, name: exp.Identifier, scope: Scope, among: range) -> list[int]:
        return [among[i] for i in self._names.matching(name, [scope.fields[place].name for place in among])]


def scattered(found: From) -> tuple[Body, ...]:
    """Each item by itself, with the conditions that ask of it alone: all that an outer join may depend on."""
    asked = [*found.conditions, *(own for item in found.items for own in item.own_conditions)]
    bodies = [body for condition in asked for body in condition if body.atoms]
    for item in found.items:
        kept: Sequence[Body] = [body for group in item.rows.groups for body in group.bodies]
        for condition in item.own_conditions if item.may_be_missing else found.conditions:
            kept = _filtered(kept, condition, item, found.scope)
        bodies += [*kept, *item.rows.extras]
    return tuple(dict.fromkeys(body.closed() for body in bodies))


def _filtered(bodies: Sequence[Body], condition: Alternatives, item: Item, scope: Scope) -> Sequence[Body]:
    """The bodies with the condition, if it asks of this item alone, and of what is split by it."""
    places = range(len(item.rows.fields)) if item.rows.is_plain else item.rows.split_by
    terms = {scope.term(item.first + i) for i in places}
    asked = {t for own in condition for c in own.comparisons for t in (c.left, c.right)}
    variables = {term for term in asked if isinstance(term, Variable)}
    # A condition that asks of nothing may be one of a join that an outer join replaces.
    if any(own.atoms for own in condition) or not variables or not variables <= terms:
        return bodies
    if len(bodies) * len(condition) > MOST_ALTERNATIVES:
        return bodies
    return [
        body.where(own, {scope.term(item.first + i): t for i, t in enumerate(body.shown) if t is not None})
        for body in bodies
        for own in condition
    ]
