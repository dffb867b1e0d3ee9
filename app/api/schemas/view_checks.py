"""Secrets and views, and whether a view could tell anything about a secret."""

from __future__ import annotations

from typing import Annotated, Any, Literal, get_args

from pydantic import Field, StrictBool, StrictFloat, StrictInt, StrictStr, StringConstraints

from app.api.schemas.common import Answer, Column, Count, Name, Request
from app.domain.views.datalog import MOST_CHARACTERS
from app.domain.views.decision import Verdict
from app.domain.views.query_classes import QueryClass
from app.domain.views.ranges import Kind
from app.domain.views.relational_schema import ForeignKey, RelationDefinition
from app.domain.views.severity import Severity
from app.services.views.pair_verdicts import MOST_PLACES
from app.services.views.published import Language, PairMethod, PairReason, SqlDialect
from app.services.views.reading import MOST_CHARACTERS_OF_TABLES, WrittenQuery
from app.services.views.view_checks import MOST_PAIRS, MOST_WARNINGS, ViewCheck

RelationName = Annotated[str, StringConstraints(min_length=1, max_length=100, pattern=r"^[^\x00]*$")]
ColumnList = Annotated[list[Column], Field(max_length=200)]
_Value = Annotated[StrictStr, Field(max_length=1000)] | StrictInt | StrictFloat
Domain = Kind | Annotated[list[_Value], Field(max_length=1000)]
Domains = Annotated[dict[Column, Domain], Field(max_length=200, examples=[{"ward": "integer"}])]


class RelationBody(Request):
    """A relation: its columns, and which of its rows exclude each other."""

    attributes: Annotated[ColumnList, Field(examples=[["pid", "diagnosis", "medication", "ward"]])]
    """Columns in the order in which queries write them."""
    domains: Domains = {}  # noqa: RUF012 - pydantic copies it
    """What a column may hold: `any` (the default), of which only equality is known; `number` or `integer`,
    which have an order; or a list of all values. A larger domain than the true one makes no disclosure
    private.
    """
    keys: Annotated[list[ColumnList], Field(max_length=20, examples=[[["pid"]]])] = []  # noqa: RUF012
    """Sets of columns of which no two rows have the same values. Keys change verdicts in both directions:
    declare those that hold, and no others.
    """
    fds: Annotated[
        list[Annotated[list[ColumnList], Field(min_length=2, max_length=2)]],
        Field(max_length=50, examples=[[[["zip"], ["city"]]]]),
    ] = []  # noqa: RUF012
    """Functional dependencies: rows that agree on the first columns agree on the second."""
    nullable: Annotated[ColumnList, Field(examples=[["medication"]])] = []  # noqa: RUF012
    """Columns that may be NULL; none of a key or a dependency."""

    def definition(self) -> RelationDefinition:
        """The relation as the domain takes it."""
        domains: dict[str, Any] = {
            name: tuple(own) if isinstance(own, list) else own for name, own in self.domains.items()
        }
        dependencies = [(own[0], own[1]) for own in self.fds]
        return RelationDefinition(self.attributes, domains, self.keys, dependencies, self.nullable)


class ForeignKeyBody(Request):
    """Every row of one relation refers to a row of another."""

    source: Annotated[RelationName, Field(alias="from", examples=["diagnosis"])]
    """The relation whose rows refer."""
    target: Annotated[RelationName, Field(alias="to", examples=["patient"])]
    """The relation that is referred to."""


class RelationalSchemaBody(Request):
    """The relations that the queries read."""

    relations: Annotated[dict[RelationName, RelationBody], Field(max_length=500)] = {}  # noqa: RUF012
    """Relations by name: letters, digits and underscores, beginning with a letter."""
    foreign_keys: Annotated[list[ForeignKeyBody], Field(max_length=500)] = []  # noqa: RUF012
    """Which relations refer to which. Rows tied by them tell of each other, which is not decided: a pair that
    is private without them is then `UNKNOWN`.
    """
    sql: (
        Annotated[
            str,
            StringConstraints(min_length=1, max_length=MOST_CHARACTERS_OF_TABLES),
            Field(examples=["CREATE TABLE patient (pid integer NOT NULL, name text NOT NULL);"]),
        ]
        | None
    ) = None
    """`CREATE TABLE` statements of the `dialect`, in place of `relations` and `foreign_keys`: types become
    domains, and `NOT NULL`, `PRIMARY KEY`, `UNIQUE` and `FOREIGN KEY` are read. Whether NULL is possible and
    which keys hold changes verdicts, so send the statements as they are.
    """


class QueryBody(Request):
    """A query with its name."""

    id: Annotated[Name, Field(description="What the answer calls it.", examples=["cancer-patients"])]
    query: Annotated[
        str,
        StringConstraints(min_length=1, max_length=MOST_CHARACTERS),
        Field(examples=["names(n) :- patient(p, n), diagnosis(p, 'cancer', m, w)."]),
    ]
    """In Datalog: `head(x) :- relation(x, 'text', 5), x != 3.` Names are variables, texts stand in single
    quotes, `_` is a new variable each time; several rules with one head are a union. In SQL: one query, or
    the `CREATE VIEW` that defines it.
    """
    keeps_duplicates: StrictBool = False
    """Whether the answer says how often each of its rows is found, as SQL without DISTINCT does. For
    Datalog only.
    """

    def written(self) -> WrittenQuery:
        """The query as the use case takes it."""
        return WrittenQuery(self.id, self.query, self.keeps_duplicates)


class NewViewCheck(Request):
    """What is to stay secret, and what is to be published."""

    relational_schema: RelationalSchemaBody
    """The relations that the queries read."""
    secrets: Annotated[list[QueryBody], Field(min_length=1, max_length=50)]
    """Queries whose answers are to stay secret."""
    views: Annotated[list[QueryBody], Field(min_length=1, max_length=200)]
    """Queries whose answers are to be published, each as a whole."""
    language: Annotated[Language, Field(examples=["datalog"])] = "datalog"
    """The language of all queries."""
    dialect: Annotated[SqlDialect, Field(examples=["postgres"])] = "postgres"
    """The dialect of queries and tables in SQL."""
    ignore_foreign_keys: StrictBool = False
    """Leave foreign keys out of account, so that pairs tied by them can be private: then that referenced rows
    exist is not counted as something the reader knows.
    """

    def request(self) -> ViewCheck:
        """What was sent, as the use case takes it."""
        schema = self.relational_schema
        return ViewCheck(
            {name: own.definition() for name, own in schema.relations.items()},
            [ForeignKey(own.source, own.target) for own in schema.foreign_keys],
            [own.written() for own in self.secrets],
            [own.written() for own in self.views],
            self.ignore_foreign_keys,
            self.language,
            self.dialect,
            schema.sql,
        )


CellValue = Annotated[str | int | float | None, Field(examples=["cancer"])]


class WitnessRow(Answer):
    """A row of an instance that shows the disclosure; no row of yours."""

    relation: Annotated[str, Field(max_length=100, description="Its relation.", examples=["diagnosis"])]
    values: Annotated[dict[str, CellValue], Field(examples=[{"pid": "#1", "diagnosis": "cancer"}])]
    """Column → value; texts such as `#1` stand for any value, null is NULL."""


class TextPlace(Answer):
    """Where something stands in a query."""

    line: Annotated[int, Field(ge=1, description="Its line, from 1.", examples=[1])]
    column: Annotated[int, Field(ge=1, description="Its column, from 1.", examples=[15])]


class InexactOperator(TextPlace):
    """What is not read exactly in a query."""

    operator: Annotated[str, Field(max_length=100, examples=["LEFT JOIN"])]
    """What it is called in SQL."""


class WitnessSide(Answer):
    """Rows with which one row decides an answer."""

    deciding_row: WitnessRow
    """The row that decides."""
    other_rows: Annotated[list[WitnessRow], Field(max_length=200)]
    """The rows that must exist beside it."""
    answer: Annotated[list[CellValue], Field(max_length=200, examples=[["#2"]])]
    """What is in the answer, or more often in it, exactly if the deciding row exists; empty: yes."""
    places: Annotated[list[TextPlace], Field(max_length=MOST_PLACES)] = []  # noqa: RUF012
    """Where the query names the relation of the deciding row; for SQL."""


class DisclosureWitness(Answer):
    """What proves a disclosure: it has been re-evaluated on the queries as they were sent."""

    secret: WitnessSide
    """How the row decides the secret."""
    view: WitnessSide
    """How that row, or one that a key or dependency ties to it, decides the view."""


class PairClasses(Answer):
    """Classes of queries, by their syntax, that say how cheap the check is."""

    secret: Annotated[list[QueryClass], Field(max_length=len(get_args(QueryClass)))]
    """Of the secret."""
    view: Annotated[list[QueryClass], Field(max_length=len(get_args(QueryClass)))]
    """Of the view."""


class InexactOperators(Answer):
    """By what queries are not conjunctive; empty: both are read exactly."""

    secret: Annotated[list[InexactOperator], Field(max_length=MOST_PLACES)]
    """In the secret."""
    view: Annotated[list[InexactOperator], Field(max_length=MOST_PLACES)]
    """In the view."""


class PairWork(Answer):
    """What the check took."""

    subsets: Annotated[Count, Field(description="Pairs of sets of subgoals.", examples=[1])]
    nodes: Annotated[Count, Field(description="Steps of searches.", examples=[7])]
    ms: Annotated[float, Field(ge=0, description="Milliseconds.", examples=[0.4])]


class ViewCheckPair(Answer):
    """Whether a view could tell anything about a secret."""

    secret: Annotated[
        str, Field(max_length=100, description="Id of the secret.", examples=["cancer-patients"])
    ]
    view: Annotated[str, Field(max_length=100, description="Id of the view.", examples=["wards"])]
    verdict: Annotated[Verdict, Field(examples=["DISCLOSES"])]
    """`PRIVATE`: proved; `DISCLOSES`: proved by the witness; `UNKNOWN`: not decided, and not allowed."""
    method: Annotated[PairMethod, Field(description="What decided it.", examples=["row_determined"])]
    reason_code: Annotated[PairReason, Field(description="Why.", examples=["SHARED_CRITICAL_TUPLE"])]
    explanation: Annotated[str, Field(description="Why, in words.")]
    witness: DisclosureWitness | None
    """The rows that show a disclosure; null unless the verdict is `DISCLOSES`."""
    severity: Annotated[Severity | None, Field(examples=["statistical"])]
    """Advice on a disclosure: `certain` if some answers let anybody derive a row of the secret; `statistical`
    if none is known to; null where that is not asked (comparisons, unions, keys, dependencies, NULL).
    """
    classes: PairClasses
    """Classes of both queries."""
    not_exact: InexactOperators
    """The operators of SQL by which a query is judged by all rows that it may depend on: the method is then
    `envelope`, and what is not private is `UNKNOWN` for the reason `NON_CONJUNCTIVE`.
    """
    work: PairWork
    """What the check took."""


class ViewCheckAnswer(Answer):
    """Whether the views may be published beside the secrets."""

    verdict: Annotated[Verdict, Field(description="The worst of all pairs.", examples=["DISCLOSES"])]
    gate: Annotated[Literal["ALLOW", "DENY"], Field(examples=["DENY"])]
    """`ALLOW` only if every pair is private."""
    pairs: Annotated[list[ViewCheckPair], Field(max_length=MOST_PAIRS)]
    """Every secret with every view."""
    assumptions: Annotated[list[str], Field(max_length=10)]
    """What the verdicts rest on."""
    warnings: Annotated[list[str], Field(max_length=MOST_WARNINGS)]
    """What of tables in SQL is left out, or taken for something else."""
