"""Queries in SQL as unions of conjunctive queries, or as envelopes of what they may depend on.

A SELECT with inner joins, comparisons and subqueries becomes alternatives of subgoals; how often a row is
found is what the columns of FROM are told apart by. What is not conjunctive is noted with its place: the
query then depends on no rows but those that fit a subgoal, each column of FROM being kept.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import count
from math import prod
from typing import Final

from sqlglot import exp

from app.domain.views.queries import Atom, Comparison, Constant, Variable
from app.services.views.column_types import ColumnType
from app.services.views.published import NotExact, TablePlace
from app.services.views.sql.blocks import From, FromReader, scattered
from app.services.views.sql.conditions import MOST_ALTERNATIVES, Alternatives, Conditions, operator_name
from app.services.views.sql.failing import failing
from app.services.views.sql.grammar import is_join, require_known
from app.services.views.sql.kinds import kind_of
from app.services.views.sql.names import Names, Scope
from app.services.views.sql.projections import Projection, Projections
from app.services.views.sql.rows import Body, Field, Group, Rows, joined
from app.services.views.sql.text import one_query

MOST_BLOCKS: Final = 400
"""SELECTs, each WITH counted as often as it is read."""
MOST_SUBGOALS: Final = 100
MOST_BODIES: Final = 1_000
"""What an envelope may consist of."""
MOST_WRITTEN_OUT: Final = 50_000
"""Subgoals of a query, every step of writing it out counted."""
MOST_COLUMNS: Final = 200


@dataclass
class Room:
    """How many subgoals the queries of a check may still be written out to, every step of it counted."""

    subgoals: int = 400_000


@dataclass(frozen=True)
class _With:
    """A query that WITH names, and what it can name itself."""

    node: exp.CTE
    before: Mapping[str, _With]


class Translation:
    """Translates one query."""

    def __init__(self, names: Names, room: Room) -> None:
        self._names = names
        self._room = room
        self._before = room.subgoals
        self._text = names.text
        self._numbers = count()
        self._left = MOST_BLOCKS
        self._with: Mapping[str, _With] = {}
        self._read: set[int] = set()
        self._relations: dict[str, Rows] = {}
        """Of each relation that is read, all rows."""

    def rows(self) -> Rows:
        """The query of the text."""
        query = one_query(self._text)
        require_known(query, self._text)
        _ask_whether(query)
        found = self._query(query, None, exists=False)
        for node in query.find_all(exp.Query, exp.Table):
            if id(node) not in self._read and not is_join(node):
                self._text.refuse(node, "not-read", "this part is not read.", "Leave it out of the query.")
        if len(found.fields) > MOST_COLUMNS:
            self._text.refuse(
                query, "query-too-large", f"the answer has more than {MOST_COLUMNS} columns.", "Name them."
            )
        early = failing(query, self._names.kinds)
        if early is None:
            return found
        # An envelope without conditions: the expression may have been tried on every row.
        own = NotExact("expression that may fail", self._text.place(early))
        extras = tuple(body for rows in self._relations.values() for body in rows.bodies)
        reasons = tuple(dict.fromkeys((*found.reasons, own)))
        return Rows(found.fields, (), extras, reasons, is_sealed=True)

    def _query(self, node: exp.Query, outer: Scope | None, *, exists: bool) -> Rows:
        self._read.add(id(node))
        self._left -= 1
        if self._left < 0:
            self._too_large(node)
        known = self._with
        try:
            self._read_with(node)
            match node:
                case exp.Select():
                    rows = self._select(node, outer, exists=exists)
                case exp.SetOperation():
                    rows = self._combined(node, outer)
                case exp.Subquery() if not is_join(node):
                    rows = self._cut(node, self._query(node.this, outer, exists=exists))
                case exp.Values():
                    rows = self._values(node, outer)
                case _:
                    self._text.refuse(node, "not-read", f"{node.key.upper()} is not read.", "Write SELECT.")
        finally:
            self._with = known
        sizes = [len(body.atoms) for body in rows.bodies]
        self._room.subgoals -= sum(sizes)
        if (
            max(sizes, default=0) > MOST_SUBGOALS
            or self._room.subgoals < max(0, self._before - MOST_WRITTEN_OUT)
            or len(sizes) > MOST_BODIES
        ):
            self._too_large(node)
        return rows

    def _too_large(self, node: exp.Expr) -> None:
        self._text.refuse(
            node,
            "query-too-large",
            f"written out, the query has more than {MOST_BLOCKS} SELECTs, {MOST_SUBGOALS} tables joined, "
            f"{MOST_ALTERNATIVES} alternatives or {MOST_WRITTEN_OUT:,} subgoals in all.",
            "Check its parts one by one: what is private one by one is so together.",
        )

    def _read_with(self, node: exp.Query) -> None:
        clause = node.args.get("with_")
        if clause is None:
            return
        names = [self._text.folded(own.args["alias"].this) for own in clause.expressions]
        for number, own in enumerate(clause.expressions):
            if clause.args.get("recursive"):
                self._require_no_recursion(own, names[number:])
            self._with = {**self._with, names[number]: _With(own, self._with)}

    def _require_no_recursion(self, node: exp.CTE, names: Sequence[str]) -> None:
        """Refuse a query of WITH that may read itself, or one that comes later."""
        for table in node.this.find_all(exp.Table):
            is_name = isinstance(table.this, exp.Identifier) and not table.args.get("db")
            if is_name and self._text.folded(table.this) in names:
                self._text.refuse(
                    table,
                    "recursive-query",
                    f"{table.name} is a query of WITH that reads itself, or one that comes later.",
                    "Recursive queries are not read; give the query of WITH a name that no table has.",
                )

    def _table(self, node: exp.Expr, scope: Scope) -> tuple[Rows, str]:
        """An item of FROM, and its name."""
        alias, name = node.args.get("alias"), f"@{len(scope.sources)}"
        if isinstance(node, exp.Table):
            self._read.add(id(node))
            name = self._text.folded(node.this)
            known = None if node.args.get("db") else self._with.get(name)
            rows = self._named_query(known) if known is not None else self._relation(node)
        else:
            rows = self._query_of(node, scope)
        if alias is not None and alias.this is not None:
            name = self._text.folded(alias.this)
        return self._renamed(rows, alias), name

    def _query_of(self, node: exp.Expr, scope: Scope) -> Rows:
        """The rows of an item of FROM that is no table."""
        if isinstance(node, exp.Lateral):
            return self._unread(node, "LATERAL", self._query(node.this, scope, exists=False))
        if is_join(node):
            whole = exp.Select(expressions=[exp.Star()], from_=exp.From(this=exp.Subquery(this=node.this)))
            return self._unread(node, "join that has a name", self._query(whole, scope.outer, exists=False))
        return self._query(node, scope.outer, exists=False)  # type: ignore[arg-type] # all else is a query

    def _values(self, node: exp.Values, outer: Scope | None) -> Rows:
        """Rows that are written out."""
        conditions = self._conditions()
        conditions.examine(node, Scope(next(self._numbers), outer))
        rows = [own.expressions for own in node.expressions]
        columns = (list(map(self._names.kinds.of, own)) for own in zip(*rows, strict=False))
        kinds = [self._names.kinds.together(node, own) for own in columns]
        self._names.kinds.shown[id(node)] = tuple(kinds)
        fields = [
            Field(f"column{i}", ColumnType("opaque", declared=own), True) for i, own in enumerate(kinds, 1)
        ]
        return self._unread(node, "VALUES", Rows(tuple(fields), (), tuple(conditions.extras)))

    def _unread(self, node: exp.Expr, name: str, rows: Rows) -> Rows:
        """The envelope of an item of FROM."""
        fields = tuple(replace(own, is_plain=False, may_be_null=True) for own in rows.fields)
        reasons = (NotExact(name, self._text.place(node)), *rows.reasons)
        return Rows(fields, (), tuple(own.closed() for own in rows.bodies), reasons, is_sealed=True)

    def _conditions(self) -> Conditions:
        return Conditions(self._names, lambda own, scope, only: self._query(own, scope, exists=only))

    def _named_query(self, known: _With) -> Rows:
        now, self._with = self._with, known.before
        try:
            return self._renamed(self._query(known.node.this, None, exists=False), known.node.args["alias"])
        finally:
            self._with = now

    def _relation(self, node: exp.Table) -> Rows:
        relation = self._names.relation(node)
        fields = self._names.fields(relation)
        terms = tuple(Variable(f"{own.name}.{next(self._numbers)}") for own in fields)
        alias, place = node.args.get("alias"), self._text.place(node)
        name = alias.this if alias is not None and alias.this is not None else node.this
        names = tuple(own.name for own in self._renamed(Rows(fields, ()), alias).fields)
        written_at = TablePlace(place.line, place.column, name.sql(self._text.dialect), names)
        body = Body((Atom(relation, terms),), (written_at,), (), terms, terms)
        found = Rows(fields, (Group((body,)),))
        self._relations.setdefault(relation, found)
        return found

    def _renamed(self, rows: Rows, alias: exp.TableAlias | None) -> Rows:
        columns = alias.args.get("columns") if alias is not None else None
        if not columns:
            return rows
        if len(columns) > len(rows.fields):
            self._text.refuse(columns[-1], "wrong-arity", f"there are {len(rows.fields)} columns to name.")
        names = [self._text.folded(own.this if isinstance(own, exp.ColumnDef) else own) for own in columns]
        renamed = [replace(own, name=name) for own, name in zip(rows.fields, names, strict=False)]
        return replace(rows, fields=(*renamed, *rows.fields[len(names) :]))

    def _select(self, node: exp.Select, outer: Scope | None, *, exists: bool) -> Rows:
        conditions = self._conditions()
        aliases = (own.args["alias"] for own in node.expressions if isinstance(own, exp.Alias))
        scope = Scope(next(self._numbers), outer, aliases=tuple(aliases))
        found = FromReader(self._names, conditions, self._table).read(node, scope)
        own = Projections(node, scope, self._names, conditions).read(exists=exists)
        sealed = [item for item in found.items if item.rows.is_sealed]
        if len(found.items) == 1 and sealed and own.passes_all and not found.conditions:
            rows = found.items[0].rows
            order = [column.index for column in own.columns if column.index is not None]
            changed = rows.with_bodies(
                lambda body: [replace(body, shown=tuple(body.shown[i] for i in order))]
            )
            split = frozenset(place for place, i in enumerate(order) if i in rows.split_by)
            return replace(changed, fields=own.fields, split_by=split)
        if sealed and not sealed[0].rows.reasons:
            conditions.note(sealed[0].node, "count, limit or outer join in a subquery")
        whole = None if sealed or found.outer_joins else self._put_together(found, conditions, node)
        if whole is None:
            reasons = (*(r for item in found.items for r in item.rows.reasons), *conditions.reasons)
            extras = (*scattered(found), *conditions.extras)
            fields = tuple(replace(own, is_plain=False, may_be_null=True) for own in own.fields)
            return Rows(fields, (), extras, tuple(dict.fromkeys(reasons)), is_sealed=True)
        return self._projected(whole, own, conditions)

    def _put_together(self, found: From, conditions: Conditions, node: exp.Expr) -> Rows | None:
        """The rows of FROM that meet all conditions; None: there are too many alternatives."""
        number = prod(sum(len(group.bodies) for group in item.rows.groups) for item in found.items)
        rows = joined([item.rows for item in found.items]) if number <= MOST_ALTERNATIVES else None
        if rows is None:
            conditions.note(node, f"more than {MOST_ALTERNATIVES} alternatives")
            return None
        scope = found.scope
        for condition in found.conditions:
            if len(condition) * len(rows.bodies) > MOST_ALTERNATIVES:
                conditions.note(node, f"more than {MOST_ALTERNATIVES} alternatives")
                conditions.extras += [own.closed() for own in condition if own.atoms]
                continue
            rows = rows.with_bodies(partial(_met, scope, condition))
        return rows

    def _projected(self, rows: Rows, own: Projection, conditions: Conditions) -> Rows:
        """What SELECT shows of the rows."""
        reasons = tuple(dict.fromkeys((*rows.reasons, *conditions.reasons)))
        extras = (*rows.extras, *conditions.extras)

        def shown(body: Body) -> list[Body]:
            identity = own.told_apart_by(body) if own.is_set else body.identity
            present = tuple(Comparison(term, "=", term) for term in own.counted(body))
            return [
                replace(body.where(Body(comparisons=present), {}), shown=own.terms(body), identity=identity)
            ]

        if reasons:
            kept = rows.with_bodies(lambda body: [replace(body, shown=own.terms(body))])
            return Rows(own.fields, kept.groups, extras, reasons, own.is_sealed, own.split_by)
        changed = rows.with_bodies(shown)
        groups = changed.groups
        if own.is_set:
            groups = (Group(tuple(body for group in groups for body in group.bodies), is_set=True),)
        return Rows(own.fields, groups, extras, (), own.is_sealed, own.split_by)

    def _cut(self, node: exp.Query, rows: Rows) -> Rows:
        """With a LIMIT of its own."""
        limits = [own for own in (node.args.get("limit"), node.args.get("offset")) if own is not None]
        reasons = tuple(NotExact(operator_name(own), self._text.place(own)) for own in limits)
        if not limits:
            return rows
        return replace(rows, reasons=rows.reasons + reasons, is_sealed=True, split_by=frozenset())

    def _combined(self, node: exp.SetOperation, outer: Scope | None) -> Rows:
        """Several queries joined by UNION, INTERSECT or EXCEPT, from left to right."""
        chain: list[exp.SetOperation] = []
        left: exp.Expr = node
        while isinstance(left, exp.SetOperation) and (left is node or not left.args.get("with_")):
            chain.append(left)
            self._read.add(id(left))
            left = left.this
        if len(chain) >= MOST_ALTERNATIVES:
            self._too_large(node)
        rows = self._query(left, outer, exists=False)  # type: ignore[arg-type] # what UNION joins is a query
        for own in reversed(chain):
            other = self._query(own.expression, outer, exists=False)
            if len(rows.fields) != len(other.fields):
                self._text.refuse(
                    own.expression,
                    "wrong-arity",
                    f"{own.key.upper()} joins {len(rows.fields)} columns with {len(other.fields)}.",
                )
            rows = self._cut(own, self._both(own, rows, other))
        return rows

    def _both(self, node: exp.SetOperation, one: Rows, other: Rows) -> Rows:
        reasons = list(dict.fromkeys((*one.reasons, *other.reasons)))
        name = node.key.upper() + ("" if node.args.get("distinct") else " ALL")
        are_plain = one.is_plain and other.is_plain
        pairs = list(zip(one.fields, other.fields, strict=True))
        comparable = all(a.type.compares_with(b.type) for a, b in pairs)
        kinds = [self._names.kinds.together(node, [kind_of(a.type), kind_of(b.type)]) for a, b in pairs]
        self._names.kinds.shown[id(node)] = tuple(kinds)
        fields = tuple(
            replace(
                a,
                type=replace(a.type.beside(b.type), declared=a.type.declared if a.type == b.type else kind),
                may_be_null=a.may_be_null or b.may_be_null,
                is_plain=a.is_plain and b.is_plain,
            )
            for (a, b), kind in zip(pairs, kinds, strict=True)
        )
        as_set = are_plain and all(a.type.is_shown_as(b.type) for a, b in pairs)
        exact = {
            "UNION": as_set,
            "UNION ALL": True,
            # What fails on a row of one side is seen whether or not the other has it.
            "INTERSECT": as_set and all(kinds) and not any(a.may_be_null and b.may_be_null for a, b in pairs),
        }.get(name, False)
        if not (exact and comparable):
            reasons.append(NotExact(name, self._text.place(node.expression)))
        groups = one.groups + other.groups
        is_sealed = one.is_sealed or other.is_sealed or not exact
        if not reasons and name != "UNION ALL":
            bodies = [_common(a, b) for a in one.bodies for b in other.bodies]
            if name == "UNION":
                every = (own for group in groups for own in group.bodies)
                bodies = [replace(own, identity=tuple(filter(None, own.shown))) for own in every]
            groups = (Group(tuple(bodies), is_set=True),)
        if sum(len(group.bodies) for group in groups) > MOST_ALTERNATIVES:
            self._too_large(node)
        return Rows(fields, groups, one.extras + other.extras, tuple(reasons), is_sealed)


def _met(scope: Scope, condition: Alternatives, body: Body) -> list[Body]:
    return [body.where(own, scope.values(body.shown)) for own in condition]


def _common(one: Body, other: Body) -> Body:
    """Rows that both show."""
    terms = tuple(term if term is not None else Constant(None) for term in one.shown)
    others = (term if term is not None else Constant(None) for term in other.shown)
    equal = tuple(Comparison(a, "=", b) for a, b in zip(terms, others, strict=True))
    both = one.beside(other)
    return replace(both, comparisons=(*both.comparisons, *equal), shown=terms, identity=terms)


def _ask_whether(query: exp.Query) -> None:
    """Make SELECT EXISTS (…) of no table the query that shows a row exactly where it is true."""
    if not isinstance(query, exp.Select) or len(query.expressions) != 1:
        return
    asked = query.expressions[0].unalias().unnest()
    if isinstance(asked, exp.Exists) and not any(
        own for name, own in query.args.items() if name not in ("expressions", "with_")
    ):
        query.set("expressions", [exp.Boolean(this=True)])
        query.set("where", exp.Where(this=asked))
