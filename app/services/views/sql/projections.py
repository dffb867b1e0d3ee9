"""What a SELECT shows: columns, counts, what its rows are grouped by, and what is none of that."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from sqlglot import exp

from app.domain.views.queries import Constant, Term
from app.services.views.column_types import UNTYPED, ColumnType
from app.services.views.sql.conditions import Conditions, operands, operator_name
from app.services.views.sql.kinds import kind_of
from app.services.views.sql.names import Named, Names, Scope
from app.services.views.sql.row_conditions import asked_of_groups, only_count
from app.services.views.sql.rows import Body, Field
from app.services.views.sql.values import NotComparable, Written, WrongType, value, written


@dataclass(frozen=True)
class Column:
    """A column that is shown: one of FROM, a term of a query around it, a constant, or neither."""

    field: Field
    index: int | None = None
    constant: Term | None = None

    def term(self, body: Body) -> Term | None:
        """What it is in a body."""
        return body.shown[self.index] if self.index is not None else self.constant


@dataclass
class Projection:
    """What is shown, and what tells its rows apart."""

    columns: list[Column] = field(default_factory=list)
    is_set: bool = False
    """Whether equal rows are one: DISTINCT, GROUP BY without counts."""
    is_sealed: bool = False
    groups: list[Column] = field(default_factory=list)
    """By what the rows are grouped, for a set: it tells rows apart that show the same."""
    distinct: list[Column] = field(default_factory=list)
    """Of what the different values are counted."""
    present: list[Column] = field(default_factory=list)
    """What is counted only where it is not NULL."""
    split_by: frozenset[int] = frozenset()
    """The columns by which the rows are grouped, and split in all windows."""
    passes_all: bool = False
    """Whether every column of FROM is shown once, and nothing else is done."""

    @property
    def fields(self) -> tuple[Field, ...]:
        """The columns that are shown."""
        return tuple(own.field for own in self.columns)

    def terms(self, body: Body) -> tuple[Term | None, ...]:
        """What is shown of a body."""
        return tuple(own.term(body) for own in self.columns)

    def told_apart_by(self, body: Body) -> tuple[Term, ...]:
        """What the rows of a set are told apart by."""
        own = (column.term(body) for column in (*self.columns, *self.groups, *self.distinct))
        return tuple(term for term in own if term is not None)

    def counted(self, body: Body) -> tuple[Term, ...]:
        """What must not be NULL."""
        return tuple(term for column in self.present if (term := column.term(body)) is not None)


class Projections:
    """Reads what one SELECT shows."""

    def __init__(self, select: exp.Select, scope: Scope, names: Names, conditions: Conditions) -> None:
        self._select = select
        self._scope = scope
        self._names = names
        self._text = names.text
        self._conditions = conditions
        self._counts: list[exp.Count] = []
        self._only = only_count(select)

    def read(self, *, exists: bool) -> Projection:
        """What is shown; ``exists``: only whether there is a row matters."""
        own = Projection()
        group = self._select.args.get("group")
        aggregates = list(self._aggregates())
        shown = self._select.expressions
        if exists and not aggregates and group is None and all(map(_is_one_row, shown)):
            for node in shown:
                self._conditions.examine(node, self._scope)
            own.columns = [
                Column(Field(f"@{i}", UNTYPED, True), None, Constant(0)) for i in range(len(shown))
            ]
        else:
            exists = False
            own.columns = [column for node in shown for column in self._shown(node)]
        self._names.kinds.shown[id(self._select)] = tuple(kind_of(it.field.type) for it in own.columns)
        distinct = self._select.args.get("distinct")
        if distinct is not None and distinct.args.get("on") is not None:
            self._note_sealed(own, distinct, "DISTINCT ON")
        own.is_set = distinct is not None
        if group is not None or aggregates:
            self._grouped(own, group, aggregates, is_distinct=distinct is not None)
        if own.is_set and any(
            c.field.type.family == "unknown" for c in (*own.columns, *own.groups, *own.distinct)
        ):
            self._note_sealed(own, self._select, "equality of values of this type")
        if own.is_set and not all(
            c.field.type.is_shown_as(c.field.type) for c in own.columns if c.field.is_plain
        ):
            self._note_sealed(own, self._select, "equal values that are shown differently")
        self._after(own, only_first=exists)
        self._ordered(own)
        own.split_by = self._split(own, group, is_one=bool(aggregates) and group is None)
        indices = [column.index for column in own.columns]
        own.passes_all = (
            sorted(i for i in indices if i is not None) == list(range(len(self._scope.fields)))
            and len(indices) == len(self._scope.fields)
            and not (own.is_set or own.is_sealed or group is not None or self._conditions.reasons)
        )
        return own

    def _note_sealed(self, own: Projection, node: exp.Expr, name: str) -> None:
        self._conditions.note(node, name)
        own.is_sealed = True

    def _aggregates(self) -> Iterator[exp.Expr]:
        """Aggregates of this SELECT: not of windows, nor of subqueries."""
        parts = [*self._select.expressions]
        parts += [own for key in ("having", "order") if (own := self._select.args.get(key)) is not None]
        for part in parts:
            for node in part.walk(prune=lambda node: isinstance(node, exp.Query)):
                if isinstance(node, exp.AggFunc | exp.Filter):
                    self._require_own(node)
            for node in part.walk(prune=lambda node: isinstance(node, exp.Query | exp.Window)):
                if isinstance(node, exp.AggFunc):
                    yield node

    def _require_own(self, node: exp.Expr) -> None:
        """Refuse an aggregate of a query around this one: it makes that query one of aggregates."""
        for own in node.find_all(exp.Column):
            if (
                not isinstance(own.this, exp.Star)
                and self._names.column(own, self._scope).scope is not self._scope
            ):
                self._text.refuse(
                    node,
                    "not-read",
                    "an aggregate of columns of a query around is not read.",
                    "Leave it out.",
                )

    def _shown(self, node: exp.Expr) -> Iterator[Column]:
        name = node.alias_or_name
        inner = node.this if isinstance(node, exp.Alias) else node
        if isinstance(inner, exp.Star) or (
            isinstance(inner, exp.Column) and isinstance(inner.this, exp.Star)
        ):
            yield from self._star(inner)
            return
        alias = node.args.get("alias") if isinstance(node, exp.Alias) else None
        if isinstance(alias, exp.Identifier):
            name = self._text.folded(alias)
        inner = inner.unnest() if isinstance(inner, exp.Paren) else inner
        if isinstance(inner, exp.Column):
            found = self._names.column(inner, self._scope)
            yield self._named(found, name if alias is not None else found.field.name)
            return
        same = self._conditions.column(inner, self._scope) if isinstance(inner, exp.Coalesce) else None
        if same is not None and same.field.type.family == "text":
            yield self._named(same, name)
            return
        constant = self._literal(inner, name)
        if constant is not None:
            yield constant
            return
        counted = self._only[0] if self._only is not None else inner
        if isinstance(counted, exp.Count):
            self._counts.append(counted)
        else:
            self._conditions.note(inner, operator_name(inner))
        self._conditions.examine(inner, self._scope)
        kind = self._names.kinds.of_column(inner)
        own = ColumnType("number" if isinstance(counted, exp.Count) else "opaque", declared=kind)
        yield Column(Field(name, own, True, False))

    def _literal(self, node: exp.Expr, name: str) -> Column | None:
        """The constant that is shown; None: it is none whose value is known."""
        literal = written(node)
        if literal is None or literal.kind not in ("number", "text", "boolean"):
            return None
        own = ColumnType(literal.kind, size=0 if literal.text.lstrip("-").isdecimal() else None)
        try:
            found = value(literal, own)
        except WrongType as error:
            self._text.refuse(node, error.code, f"{literal.text[:60]!r} {error}.", "Write a shorter one.")
        except NotComparable:
            return None
        return Column(Field(name, own, False), None, Constant(found))

    def _named(self, found: Named, name: str) -> Column:
        if found.scope is self._scope:
            return Column(replace(found.field, name=name), found.index)
        return Column(replace(found.field, name=name), None, found.term)

    def _star(self, node: exp.Expr) -> Iterator[Column]:
        table = node.args.get("table")
        merged = self._scope.merged if table is None else {}
        if merged and len(self._scope.sources) > 2:
            self._text.refuse(
                node,
                "not-read",
                "the columns of * are not read where USING or NATURAL joins more than two tables.",
                "Name the columns.",
            )
        one = {place for places in merged.values() for place in places}
        sources = [
            own for own in self._scope.sources if table is None or self._names.matching(table, [own.name])
        ]
        if not sources:
            self._text.refuse(node, "unknown-relation", "FROM has no such table.")
        for places in merged.values():
            yield Column(self._scope.fields[places[0]], places[0])
        for source in sources:
            for place, own in enumerate(source.fields, source.first):
                if place not in one:
                    yield Column(own, place)

    def _grouped(
        self, own: Projection, group: exp.Group | None, aggregates: Sequence[exp.Expr], *, is_distinct: bool
    ) -> None:
        if group is not None:
            own.groups = [column for node in group.expressions for column in self._group(own, node)]
        plain = [column for column in own.columns if column.field.is_plain]
        grouped = {(column.index, column.constant) for column in own.groups}
        for column in plain:
            if column.index is not None and (column.index, column.constant) not in grouped:
                self._note_sealed(own, self._select, "column that is not grouped")
        if not aggregates:
            own.is_set = True
            own.groups = [] if is_distinct else own.groups
            return
        own.is_sealed = True
        if is_distinct:
            self._note_sealed(own, self._select, "DISTINCT of aggregates")
        self._counted(own, aggregates, is_grouped=group is not None)

    def _group(self, own: Projection, node: exp.Expr) -> Iterator[Column]:
        """What one item of GROUP BY is: a column, or the place or the name of one that is shown."""
        literal = written(node)
        if literal is not None and literal.kind == "number" and literal.text.isdigit():
            place = int(literal.text)
            if not 1 <= place <= len(own.columns):
                self._text.refuse(node, "unknown-column", f"SELECT has no column {literal.text}.")
            yield own.columns[place - 1]
            return
        if isinstance(node, exp.Column):
            yield from self._group_named(own, node)
            return
        if isinstance(node, exp.Rollup | exp.Cube | exp.GroupingSets):
            # Its rows show NULL in place of what they are not grouped by.
            self._note_sealed(
                own, node, "GROUPING SETS" if isinstance(node, exp.GroupingSets) else operator_name(node)
            )
            own.columns = [
                replace(column, field=replace(column.field, may_be_null=True, is_plain=False))
                for column in own.columns
            ]
        else:
            self._conditions.note(node, operator_name(node))
        self._examine_named(own, node)

    def _group_named(self, own: Projection, node: exp.Column) -> Iterator[Column]:
        """A column of FROM, or one that is shown; databases differ in which they prefer."""
        shown = []
        if node.args.get("table") is None:
            names = [column.field.name for column in own.columns]
            shown = [own.columns[place] for place in self._names.matching(node.this, names)][:1]
        if not shown or self._names.is_column(node, self._scope):
            found = self._names.column(node, self._scope)
            column = self._named(found, found.field.name)
            if shown and (shown[0].index, shown[0].constant) != (column.index, column.constant):
                self._note_sealed(own, node, "GROUP BY of a name that stands for two columns")
            yield column
        else:
            yield shown[0]

    def _counted(self, own: Projection, aggregates: Sequence[exp.Expr], *, is_grouped: bool) -> None:
        """Counts of rows, or of the different values of one column, are as telling as what they count."""
        for node in aggregates:
            if node not in self._counts:
                self._conditions.note(node, operator_name(node))
                return
        for node in self._counts:
            inner = exp.Star() if isinstance(node.this, exp.Case) and self._only is not None else node.this
            is_distinct = isinstance(inner, exp.Distinct)
            if is_distinct:
                if len(aggregates) > 1 or len(inner.expressions) != 1:
                    self._conditions.note(node, "COUNT(DISTINCT)")
                    return
                inner = inner.expressions[0]
            literal = written(inner)
            if isinstance(inner, exp.Star) or (not is_distinct and literal is not None):
                if literal is not None and literal.kind == "null":
                    self._conditions.note(node, "COUNT")
                continue
            found = self._names.column(inner, self._scope) if isinstance(inner, exp.Column) else None
            may_skip = found is None or not found.field.is_plain or node.expressions or inner is None
            if found is None or may_skip or (found.field.may_be_null and (is_grouped or len(aggregates) > 1)):
                self._conditions.note(node, "COUNT")
                return
            column = self._named(found, found.field.name)
            if found.field.may_be_null:
                own.present.append(column)
            if is_distinct:
                own.is_set = True
                own.distinct.append(column)

    def _after(self, own: Projection, *, only_first: bool) -> None:
        """What is done to rows after they are put together; ``only_first``: nobody asks for a second one."""
        limit = self._select.args.get("limit")
        if only_first and limit is not None and self._select.args.get("offset") is None:
            number = limit.expression if isinstance(limit, exp.Limit) else limit.args.get("count")
            first = written(number) if number is not None else Written("1", "number")
            only_first = first is not None and first.text.isdigit() and int(first.text) > 0
        for key in ("having", "limit", "offset"):
            node = self._select.args.get(key)
            if key == "having" and node is not None:
                asked = asked_of_groups(self._select, lambda own: self._names.is_column(own, self._scope))
                node = None if len(asked) == len(operands(node.this, exp.And)) else node
            if node is not None and not (only_first and key == "limit"):
                self._note_sealed(own, node, operator_name(node))
                if key == "having":
                    self._examine_named(own, node)
        for node in self._select.expressions:
            window = node.find(exp.Window)
            if window is not None and window.parent_select is self._select:
                self._note_sealed(own, window, "window function")

    def _split(self, own: Projection, group: exp.Group | None, *, is_one: bool) -> frozenset[int]:
        """The places of columns by which the SELECT could be asked one value at a time."""
        distinct = self._select.args.get("distinct")
        is_cut = self._select.args.get("limit") or self._select.args.get("offset")
        if is_one or is_cut or (distinct is not None and distinct.args.get("on") is not None):
            return frozenset()
        places = {column.index for column in (own.columns if group is None else own.groups)}
        for window in (node for shown in self._select.expressions for node in shown.find_all(exp.Window)):
            parts = [node for node in window.args.get("partition_by") or () if isinstance(node, exp.Column)]
            found = [self._names.column(node, self._scope) for node in parts]
            places &= {one.index for one in found if one.scope is self._scope}
        return frozenset(
            place
            for place, column in enumerate(own.columns)
            if column.index is not None and column.index in places and column.field.is_plain
        )

    def _examine_named(self, own: Projection, node: exp.Expr) -> None:
        """Look at an expression that may name what is shown."""
        self._conditions.examine(node, self._scope, [column.field.name for column in own.columns])

    def _ordered(self, own: Projection) -> None:
        """The order of rows tells nothing if it follows from what tells the rows apart."""
        order = self._select.args.get("order")
        for ordered in order.expressions if order is not None else ():
            node = ordered.this if isinstance(ordered, exp.Ordered) else ordered
            literal = written(node)
            if literal is not None and literal.kind == "number":
                continue
            if isinstance(node, exp.Column):
                names = [column.field.name for column in own.columns]
                if node.args.get("table") is None and self._names.matching(node.this, names):
                    continue
                found = self._names.column(node, self._scope)
                terms = {(c.index, c.constant) for c in (*own.columns, *own.groups)}
                if own.is_set and (self._named(found, "").index, None) not in terms:
                    self._note_sealed(own, node, "ORDER BY of a column that is not shown")
                continue
            # A function may make several rows of one, or none.
            if not (isinstance(node, exp.Count) and node in self._counts):
                self._note_sealed(own, node, "ORDER BY of an expression")
            self._examine_named(own, node)


def _is_one_row(node: exp.Expr) -> bool:
    """Whether what is shown neither makes several rows of one nor leaves any out, as a function may."""
    inner = node.unalias()
    return isinstance(inner, exp.Star | exp.Column) or written(inner) is not None
