"""Views that read other views, written out: each view that is read becomes a WITH of its own in front.

There it is written once, however often it is read, and sees no name of the query that reads it: names that
are equal by chance stay apart. Lines are kept track of, so that a place is told where it was written.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from app.domain.catalogue.catalogue_types import SqlDialect
from app.domain.errors import Fault, InvalidInput, refuse
from app.services.views.sql.text import SqlText, created_view, one_query

MOST_CHARACTERS: Final = 20_000
"""Of a query that is written out, as of any that is checked."""
MOST_PARTS: Final = 2
"""Of a table's name, its own and its schema's."""
_Relations = Sequence[tuple[tuple[str, ...], str]]
"""Parts of the name of a relation, and the view that is read by it."""
PREFIX: Final = "__view_"
"""How the names begin that views are read by; no query may use such names itself."""


@dataclass(frozen=True)
class NamedView:
    """A view: what it is called here, the relation that others read it as, and its query."""

    id: str
    relation: str
    """In SQL, such as ``"warehouse"."marts"."patients"``; empty for one that nobody can read."""
    query: str
    names: tuple[str, ...] = ()
    """Of a file, in place of the relation: the name that it creates, or its path with the folders first."""


@dataclass(frozen=True)
class Origin:
    """Lines of a query that is written out, and where they were written."""

    first: int
    last: int
    view: str
    own_first: int


@dataclass(frozen=True)
class WrittenOut:
    """A query that reads no other view, where its lines are from, and where it reads which view."""

    query: str
    origins: tuple[Origin, ...]
    reads: Mapping[str, int]
    """For each view that is read, directly or by another, the line of its own text that leads there."""

    def origin(self, line: int) -> tuple[str, int]:
        """The view in whose text the line was written, and its line there."""
        for own in self.origins:
            if own.first <= line <= own.last:
                return own.view, own.own_first + line - own.first
        return self.origins[-1].view, self.origins[-1].own_first


@dataclass(frozen=True)
class _Read:
    view: str
    start: int
    last: int
    """Where the last part of its name begins."""
    end: int
    is_named: bool
    """Whether the query gives it another name."""


@dataclass(frozen=True)
class _Parsed:
    text: SqlText
    reads: tuple[_Read, ...]
    start: int
    """Where the query begins."""
    has_with: bool
    cuts: tuple[tuple[int, int], ...]
    """Names of databases before those of tables: a query reads one database."""
    end: int
    """Where it ends; what follows is no part of it."""
    created: exp.Create | None
    """The statement that it is a part of."""

    @property
    def begin(self) -> int:
        """From where on others read it: its query with the comments before, but no statement."""
        return 0 if self.created is None else self.start

    @property
    def first(self) -> int:
        """The line of that place."""
        return self.text.place(self.begin).line


def view_of_file(id_: str, query: str, path: tuple[str, ...], dialect: SqlDialect) -> NamedView:
    """The view of a file, which others read by the name that it creates, or else by that of the file.

    InvalidInput if it is no query.
    """
    text = SqlText(query, dialect)
    one_query(text)
    created = created_view(text)
    return NamedView(id_, "", query, path if created is None else _name(created, text))


def written_out(views: Sequence[NamedView], dialect: SqlDialect) -> dict[str, WrittenOut]:
    """Every view as a query over tables alone, by its id.

    Views of files may be read by their names alone: no table may be called so.

    InvalidInput, by the view's place, for a circle, for a name that may mean a view or a table, and for a
    query that is none or becomes too long.
    """
    relations = _relations(views, dialect)
    parsed: dict[str, _Parsed] = {}
    faults: list[Fault] = []
    for number, own in enumerate(views):
        try:
            parsed[own.id] = _parsed(own, relations, dialect)
        except InvalidInput as error:
            faults += [Fault(f"/views/{number}/query", it.code, it.message, it.remedy) for it in error.faults]
    refuse(faults)
    read = {it.view for one in parsed.values() for it in one.reads}
    for number, (view, one) in enumerate(parsed.items()):
        if view in read and one.created is not None and one.created.this.expressions:
            place = one.text.place(one.created.this)
            message = f"Line {place.line}, column {place.column}: other views read it by columns named here."
            remedy = "Name the columns by AS in what SELECT shows."
            faults.append(Fault(f"/views/{number}/query", "not-read", message, remedy))
    refuse(faults)
    needed = _needed(parsed)
    names = {own.id: f"{PREFIX}{number}" for number, own in enumerate(views)}
    found: dict[str, WrittenOut] = {}
    for number, own in enumerate(views):
        found[own.id] = whole = _whole(own.id, parsed, needed, names)
        if len(whole.query) > MOST_CHARACTERS:
            message = (
                f"Written out with the {len(needed[own.id])} views that it reads, the query of {own.id} has "
                f"more than {MOST_CHARACTERS:,} characters."
            )
            remedy = "Check the views that it reads: a query over private views alone is private."
            faults.append(Fault(f"/views/{number}/query", "query-too-large", message, remedy))
    refuse(faults)
    return found


def _relations(views: Sequence[NamedView], dialect: SqlDialect) -> _Relations:
    """What views are read as, with the views' ids."""
    found: dict[tuple[str, ...], str] = {}
    of_files = [(own.names, own.id) for own in views if own.names]
    for number, own in enumerate(views):
        if not own.relation:
            continue
        text = SqlText(f"SELECT 1 FROM {own.relation}", dialect)  # noqa: S608 - parsed, and never run
        tables = list(one_query(text).find_all(exp.Table))
        name = _name(tables[0], text) if len(tables) == 1 else ()
        if len(name) < 2 or name in found:
            what = f"is the relation of {found[name]} too" if name in found else "has no schema in it"
            raise InvalidInput.of(
                f"/views/{number}", "relation-unclear", f"The relation {own.relation} of {own.id} {what}.",
                "Give every view a relation of its own, with its schema.",
            )  # fmt: skip
        found[name] = own.id
    return [*found.items(), *of_files]


def _name(table: exp.Table, text: SqlText) -> tuple[str, ...]:
    """The parts of a table's name, as the dialect understands them."""
    return tuple(text.folded(own) for own in _parts(table))


def _parts(table: exp.Table) -> list[exp.Identifier]:
    parts = [table.args.get(name) for name in ("catalog", "db", "this")]
    found = [own for own in parts if isinstance(own, exp.Identifier)]
    return found if found and found[-1] is table.this else []


def _parsed(view: NamedView, relations: _Relations, dialect: SqlDialect) -> _Parsed:
    text = SqlText(view.query, dialect)
    query = one_query(text)
    if PREFIX in view.query.lower():
        text.refuse(0, "reserved-name", f"a name begins with {PREFIX}.", "Rename it.")
    reads: list[_Read] = []
    cuts: list[tuple[int, int]] = []
    for table in query.find_all(exp.Table):
        read = _view_of(table, text, relations, is_file=bool(view.names))
        parts = _parts(table)
        if read is None and len(parts) > MOST_PARTS:
            cuts.append((parts[0].meta["start"], parts[-MOST_PARTS].meta["start"]))
        if read is not None:
            places = parts[0].meta["start"], parts[-1].meta["start"], parts[-1].meta["end"] + 1
            reads.append(_Read(read, *places, bool(table.alias)))
    tokens = text.tokens
    created = query.parent if isinstance(query.parent, exp.Create) else None
    if created is not None and not view.names and (reads or view.relation):
        text.refuse(0, "not-a-query", "this is a statement.", "Write the query that defines the view alone.")
    ends = [own for own in tokens if own.token_type != TokenType.SEMICOLON]
    if created is not None:
        # The first AS stands before the query; columns and options have none.
        ends = ends[next(i for i, own in enumerate(ends) if own.token_type == TokenType.ALIAS) + 1 :]
    return _Parsed(
        text,
        tuple(sorted(reads, key=lambda own: own.start)),
        ends[0].start,
        ends[0].token_type == TokenType.WITH,
        tuple(cuts),
        ends[-1].end + 1,
        created,
    )


def _view_of(table: exp.Table, text: SqlText, relations: _Relations, *, is_file: bool) -> str | None:
    """The view that a table's name means; None for a table, and for a name of WITH."""
    name = _name(table, text)
    if not name or (len(name) == 1 and _is_of_with(table, text)):
        return None
    found = [own for relation, own in relations if relation[-len(name) :] == name]
    if found and ((len(name) == 1 and not is_file) or len(found) > 1):
        text.refuse(
            table, "relation-unclear", f"{name[-1]!r} may mean the view {' or '.join(found)}, or a table.",
            "Write it with its schema.",
        )  # fmt: skip
    return found[0] if found else None


def _is_of_with(table: exp.Table, text: SqlText) -> bool:
    """Whether a WITH that the place sees has the table's name: all before it, where it stands in one.

    Of a recursive WITH each sees all, itself and those that come later.
    """
    name = text.folded(table.this)
    path: list[exp.Expr] = [table]
    while path[-1].parent is not None:
        path.append(path[-1].parent)
    for number, node in enumerate(path):
        clause = node.args.get("with_")
        if not isinstance(clause, exp.With):
            continue
        seen = list(clause.expressions)
        if path[number - 1] is clause and not clause.args.get("recursive"):
            own = path[number - 2]
            seen = seen[: next(place for place, other in enumerate(seen) if other is own)]
        if any(text.folded(other.args["alias"].this) == name for other in seen):
            return True
    return False


def _needed(parsed: Mapping[str, _Parsed]) -> dict[str, tuple[str, ...]]:
    """For each view those that it reads, directly or by others, each after all that it reads itself."""
    found: dict[str, tuple[str, ...]] = {}
    for first in parsed:
        path: list[str] = []
        left = [(first, False)]
        while left:
            view, is_done = left.pop()
            direct = [own.view for own in parsed[view].reads]
            if is_done:
                path.pop()
                found[view] = tuple(dict.fromkeys(it for own in direct for it in (*found[own], own)))
            elif view in path:
                circle = " reads ".join([*path[path.index(view) :], view])
                raise InvalidInput.of(
                    "/views", "circle", f"Views read each other in a circle: {circle}.",
                    "Take one of them out of the circle.",
                )  # fmt: skip
            elif view not in found:
                path.append(view)
                left += [(view, True), *((own, False) for own in direct)]
    return found


def _whole(
    view: str, parsed: Mapping[str, _Parsed], needed: Mapping[str, Sequence[str]], names: Mapping[str, str]
) -> WrittenOut:
    """The query with all that it reads in front of it."""
    own = parsed[view]
    text = own.text.text
    if not needed[view]:
        return WrittenOut(_replaced(own, names, 0), (Origin(1, text.count("\n") + 1, view, 1),), {})
    reads: dict[str, int] = {}
    for read in own.reads:
        for reached in (read.view, *needed[read.view]):
            reads.setdefault(reached, own.text.place(read.start).line)
    begin = own.start + (len("with") if own.has_with else 0)
    line = own.text.place(own.start).line
    pieces = [(text[: own.start], view, 1)] if own.start else []
    for number, other in enumerate(needed[view]):
        is_last = number == len(needed[view]) - 1 and not own.has_with
        pieces += [
            (f'{"" if number else "WITH "}"{names[other]}" AS (', view, line),
            (_replaced(parsed[other], names, parsed[other].begin), other, parsed[other].first),
            (")" if is_last else "),", view, line),
        ]
    pieces.append((_replaced(own, names, begin), view, line))
    origins, at = [], 1
    for piece, of, first in pieces:
        origins.append(Origin(at, at + piece.count("\n"), of, first))
        at += piece.count("\n") + 1
    return WrittenOut("\n".join(piece for piece, _, _ in pieces), tuple(origins), reads)


def _replaced(own: _Parsed, names: Mapping[str, str], begin: int) -> str:
    """The query from a place on, with the views that it reads by the names that they have here."""
    pieces, text = [], own.text.text
    changes = [(*cut, "") for cut in own.cuts if cut[0] >= begin]
    for read in own.reads:
        alias = "" if read.is_named else f" AS {text[read.last : read.end]}"
        changes.append((read.start, read.end, f'"{names[read.view]}"{alias}'))
    for start, end, new in sorted(changes):
        pieces += [text[begin:start], new]
        begin = end
    return "".join([*pieces, text[begin : own.end]])
