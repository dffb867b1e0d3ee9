"""Secrets and views, and whether a view discloses anything about a secret."""

from __future__ import annotations

from typing import Annotated, Any, Literal, get_args

from pydantic import (
    Discriminator,
    Field,
    StrictBool,
    StrictFloat,
    StrictInt,
    StrictStr,
    StringConstraints,
    Tag,
)

from app.api.schemas.common import Answer, Count, Name, Ref, Request, Resource
from app.api.schemas.runs import WithRun
from app.api.schemas.view_advice import CellValue, PairAdvice
from app.domain.catalogue.catalogue_types import QueryLanguage, SqlDialect
from app.domain.views.datalog import MOST_CHARACTERS
from app.domain.views.decision import Verdict
from app.domain.views.keys import KeysAdd
from app.domain.views.query_classes import QueryClass
from app.domain.views.ranges import Kind
from app.domain.views.relational_schema import ForeignKey, RelationDefinition
from app.domain.views.severity import Severity
from app.services.views.advice import Advice
from app.services.views.pair_verdicts import MOST_PLACES
from app.services.views.published import PairMethod, PairReason
from app.services.views.reading import MOST_CHARACTERS_OF_TABLES, WrittenQuery
from app.services.views.stored_checks import CreateViewCheck
from app.services.views.view_checks import MOST_PAIRS
from app.services.views.view_checks import ViewCheck as AskedCheck
from app.services.views.written_schema import WrittenSchema

RelationName = Annotated[str, StringConstraints(min_length=1, max_length=100, pattern=r"^[^\x00]*$")]
ColumnName = Annotated[str, StringConstraints(min_length=1, max_length=128, pattern=r"^[^\x00]*$")]
"""As long as databases have them."""
ColumnList = Annotated[list[ColumnName], Field(max_length=200)]
_Value = Annotated[StrictStr, Field(max_length=1000, pattern=r"^[^\x00]*$")] | StrictInt | StrictFloat
Domain = Kind | Annotated[list[_Value], Field(max_length=1000)]
Domains = Annotated[dict[ColumnName, Domain], Field(max_length=200, examples=[{"ward": "integer"}])]


class RelationBody(Request):
    """A relation: its columns, what they may hold, and which of its rows exclude each other."""

    attributes: Annotated[ColumnList, Field(examples=[["pid", "diagnosis", "medication", "ward"]])]
    """Columns in the order in which queries write them."""
    domains: Domains = {}  # noqa: RUF012 - pydantic copies it
    """What a column may hold: `any` (the default), values that are only compared for equality; `number` or
    `integer`, which have an order; or a list of all values. Listed numbers are read as doubles and have at
    most 60 digits. A domain that is larger than the true one makes no disclosure private. A constant in a
    query must be in its column's domain.
    """
    keys: Annotated[list[ColumnList], Field(max_length=20, examples=[[["pid"]]])] = []  # noqa: RUF012
    """Sets of columns in which no two rows have the same values. One with a column that may be NULL is a
    UNIQUE constraint: rows with NULL in one of its columns exclude no other. Keys change verdicts in both
    directions: declare those that hold, and no others.
    """
    fds: Annotated[
        list[Annotated[list[ColumnList], Field(min_length=2, max_length=2)]],
        Field(max_length=50, examples=[[[["zip"], ["city"]]]]),
    ] = []  # noqa: RUF012
    """Functional dependencies: rows that agree on the first columns agree on the second."""
    nullable: Annotated[ColumnList, Field(examples=[["medication"]])] = []  # noqa: RUF012
    """Columns that may be NULL. None of them may be in a functional dependency."""

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
    """Which relations refer to which. A row says something about the row that it refers to, and what a
    reader learns from that is not decided: a pair that is private but for foreign keys is `UNKNOWN`.
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

    def written(self) -> WrittenSchema:
        """The schema as use cases take it."""
        return WrittenSchema(
            {name: own.definition() for name, own in self.relations.items()},
            [ForeignKey(own.source, own.target) for own in self.foreign_keys],
            self.sql,
        )


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


def _form_of_schema(sent: object) -> str:
    return "reference" if isinstance(sent, str) else "schema"


SchemaOrRef = Annotated[
    Annotated[Ref, Tag("reference")] | Annotated[RelationalSchemaBody, Tag("schema")],
    Discriminator(_form_of_schema),
    Field(examples=["hospital"]),
]
"""A relational schema's id or name, or a schema."""


class NewViewCheck(Request):
    """What is to stay secret, and what is to be published."""

    name: Name | None = None
    """Its name; without one it is made of the content's hash."""
    relational_schema: SchemaOrRef
    """The relations that the queries read: a relational schema's id or name, or a schema."""
    secrets: Annotated[list[QueryBody], Field(min_length=1, max_length=50)]
    """Queries whose answers are to stay secret. All secrets and views together have at most 250,000
    characters.
    """
    views: Annotated[list[QueryBody], Field(min_length=1, max_length=200)]
    """Queries whose answers are to be published, each as a whole."""
    language: Annotated[QueryLanguage, Field(examples=["datalog"])] = "datalog"
    """The language of all queries."""
    dialect: Annotated[SqlDialect, Field(examples=["postgres"])] = "postgres"
    """The dialect of queries and tables in SQL."""
    ignore_foreign_keys: StrictBool = False
    """Decide as if there were no foreign keys: that a referenced row must exist is then not counted as
    something the reader knows.
    """
    advice: Annotated[list[Advice], Field(max_length=3, examples=[["changes"]])] = []  # noqa: RUF012
    """What else to say of a pair that discloses: `changes` of the view that pass, all `patterns` of rows that
    disclose, `leakage`: how much a belief changes on a small domain. It takes up to three seconds for a
    pair.
    """

    def request(self) -> CreateViewCheck:
        """What was sent, as the use case takes it."""
        sent = self.relational_schema
        stored, own = (sent, RelationalSchemaBody()) if isinstance(sent, str) else (None, sent)
        schema = own.written()
        asked = AskedCheck(
            schema.relations,
            schema.foreign_keys,
            [query.written() for query in self.secrets],
            [query.written() for query in self.views],
            self.ignore_foreign_keys,
            self.language,
            self.dialect,
            schema.sql,
            self.advice,
        )
        return CreateViewCheck(asked, stored, self.name)


class WitnessRow(Answer):
    """A row of the example that shows the disclosure; it is made up, and no row of yours."""

    relation: Annotated[str, Field(max_length=100, description="Its relation.", examples=["diagnosis"])]
    values: Annotated[dict[str, CellValue], Field(examples=[{"pid": "#1", "diagnosis": "cancer"}])]
    """Column → value. A text such as `#1` stands for any value that no query names, null is NULL, and a
    number that a double would round is written as a text: `0.12345678901234567891` or `1/3`.
    """


class TextPlace(Answer):
    """Where something stands in a query."""

    line: Annotated[int, Field(ge=1, description="Its line, from 1.", examples=[1])]
    column: Annotated[int, Field(ge=1, description="Its column, from 1.", examples=[15])]


class InexactOperator(TextPlace):
    """What is not read exactly in a query."""

    operator: Annotated[str, Field(max_length=100, examples=["LEFT JOIN"])]
    """What it is called in SQL."""


class WitnessSide(Answer):
    """Rows among which one row decides an answer."""

    deciding_row: WitnessRow
    """The row that decides."""
    other_rows: Annotated[list[WitnessRow], Field(max_length=200)]
    """The rows that must exist beside it."""
    answer: Annotated[list[CellValue], Field(max_length=200, examples=[["#2"]])]
    """The row that the answer contains, or contains more often, exactly if the deciding row exists. Empty
    for a query that is answered by yes or no.
    """
    places: Annotated[list[TextPlace], Field(max_length=MOST_PLACES)] = []  # noqa: RUF012
    """Where the subgoals, or in SQL the tables of `FROM`, are written that the deciding row stands for."""


class DisclosureWitness(Answer):
    """An example that proves a disclosure: it has been re-evaluated on the queries as they were sent."""

    secret: WitnessSide
    """How the row decides the secret."""
    view: WitnessSide
    """How that row, or one that a key or dependency ties to it, decides the view."""


class PairClasses(Answer):
    """Classes of queries, by their syntax, for which the check is known to be cheap."""

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
    """What the pair took."""

    subsets: Annotated[Count, Field(examples=[1])]
    """Pairs of sets of subgoals that were compared, at most 65,536 for each relation."""
    nodes: Annotated[Count, Field(examples=[7])]
    """Steps of the searches that led to the verdict: a row tried for a subgoal, a value tried for a
    variable, a set of subgoals or a pair of them looked at. Above 400,000 the pair is `UNKNOWN`.
    """
    ms: Annotated[float, Field(ge=0, examples=[0.4])]
    """Milliseconds, the severity and the words included."""


class KeysLeftOut(Answer):
    """A pair as it is decided with the keys left out, and what the keys add to that."""

    verdict: Annotated[Verdict, Field(examples=["PRIVATE_IF_KEYS_ARE_UNKNOWN_TO_READERS"])]
    """The verdict as to a reader who does not know that no two rows share a key."""
    method: Annotated[PairMethod, Field(description="What decided it.", examples=["no_overlap"])]
    reason_code: Annotated[PairReason, Field(description="Why.", examples=["NO_UNIFIABLE_SUBGOALS"])]
    explanation: Annotated[str, Field(description="Why, in words.")]
    keys_add: Annotated[KeysAdd | None, Field(examples=["certain_exclusion"])]
    """What keys add to a pair that is private without them. `nothing`: it is private with them as well.
    `certain_exclusion`: rows that can decide the two answers share a key and differ, so that at most one of
    them exists. `dependence_of_unknown_direction`: such rows share no key, but keys tie them by way of
    others, and a belief may rise or fall. Null of a pair that is not private without keys.
    """
    keys_add_explanation: Annotated[str | None, Field(description="The same in words.")]


class JudgedPair(Answer):
    """Whether a view discloses anything about a secret."""

    secret: Annotated[
        str, Field(max_length=100, description="Id of the secret.", examples=["cancer-patients"])
    ]
    view: Annotated[str, Field(max_length=100, description="Id of the view.", examples=["wards"])]
    verdict: Annotated[Verdict, Field(examples=["DISCLOSES"])]
    """`PRIVATE`: proved; `DISCLOSES`: proved by the witness; `UNKNOWN`: not decided, and not allowed. Where a
    policy ignores keys, it is decided without them, and what is proved then has a name of its own.
    """
    private_if_keys_are_unknown_to_readers: Annotated[bool | None, Field(examples=[True])] = None
    """Whether the pair is private to readers who do not know the keys: no perfect privacy. Null: not decided,
    or decided before this was asked.
    """
    method: Annotated[PairMethod, Field(description="What decided it.", examples=["row_determined"])]
    reason_code: Annotated[PairReason, Field(description="Why.", examples=["SHARED_CRITICAL_TUPLE"])]
    explanation: Annotated[str, Field(description="Why, in words.")]
    witness: DisclosureWitness | None
    """The rows that show a disclosure; null unless the verdict is `DISCLOSES`, and where witnesses would make
    the answer too large: then the explanation says so.
    """
    severity: Annotated[Severity | None, Field(examples=["statistical"])]
    """Advice on a disclosure, of this view alone: `certain` if some answer lets anybody derive a row of the
    secret; `statistical` if none is known to. Several views together may let a row be derived that none of
    them gives away alone. Null where it is not examined: with comparisons, unions, keys, dependencies,
    foreign keys or NULL.
    """
    not_exact: InexactOperators
    """The operators of SQL by which a query is judged by all rows that it may depend on: the method is then
    `envelope`, and what is not private is `UNKNOWN` for the reason `NON_CONJUNCTIVE`.
    """
    keys_left_out: KeysLeftOut | None = None
    """Null where neither query reads a relation with a key, and where it would make the answer too large."""


class ViewCheckPair(JudgedPair):
    """Whether a view discloses anything about a secret, and what finding it out took."""

    classes: PairClasses
    """Classes of both queries, as far as they are of any."""
    work: PairWork
    """What the pair took."""
    advice: PairAdvice | None
    """What was asked for; null of a pair that does not disclose, and where it would make the answer too
    large.
    """


class ViewCheckAnswer(Answer):
    """Whether the views may be published beside the secrets."""

    verdict: Annotated[Verdict, Field(description="The worst of all pairs.", examples=["DISCLOSES"])]
    gate: Annotated[Literal["ALLOW", "DENY"], Field(examples=["DENY"])]
    """`ALLOW` only if every pair is private with the keys considered."""
    private_if_keys_are_unknown_to_readers: Annotated[bool | None, Field(examples=[False])] = None
    """Whether every pair is private to readers who do not know the keys. Null: some pair is not decided."""
    pairs: Annotated[list[ViewCheckPair], Field(max_length=MOST_PAIRS)]
    """Every secret with every view."""
    assumptions: Annotated[list[str], Field(max_length=10)]
    """What the verdicts rest on."""
    warnings: list[str]
    """What of tables in SQL is left out or taken for something else, and what is inferred of datasets: all of
    the schema's.
    """
    constant_secrets: Annotated[list[str], Field(max_length=50, examples=[[]])]
    """Secrets whose answer is proved to depend on no row, since their conditions exclude each other or what
    a key or dependency allows: every view is private beside them, and they keep nothing secret.
    """


class CheckedQuery(Answer):
    """A query of a check."""

    id: Annotated[str, Field(max_length=100, description="What the result calls it.", examples=["wards"])]
    query: Annotated[str | None, Field(examples=["wards(w) :- diagnosis(p, d, m, w)."])]
    """As it was sent; null for keys that have neither the scope `assess` nor `data:read`."""
    keeps_duplicates: Annotated[bool, Field(examples=[False])]
    """Whether its answer says how often each row is found; SQL says so by itself."""


class ViewCheckSummary(Resource):
    """A check of views without its queries and its result."""

    relational_schema: Annotated[str | None, Field(max_length=100, examples=["hospital"])]
    """Name of the relational schema; null if the check declares its own."""
    language: Annotated[
        QueryLanguage, Field(description="The language of its queries.", examples=["datalog"])
    ]
    ignore_foreign_keys: Annotated[bool, Field(examples=[False])]
    """Whether it is decided as if there were no foreign keys."""
    n_secrets: Annotated[Count, Field(description="How many secrets it has.", examples=[1])]
    n_views: Annotated[Count, Field(description="How many views it has.", examples=[2])]


class ViewCheck(WithRun, ViewCheckSummary):
    """A check of views with its queries and its result."""

    secrets: Annotated[list[CheckedQuery], Field(max_length=50)]
    """The queries whose answers are to stay secret."""
    views: Annotated[list[CheckedQuery], Field(max_length=200)]
    """The queries whose answers are to be published."""
    decision: Annotated[str | None, Field(examples=["views/7"])] = None
    """The version of what has decided it: a later one may decide otherwise, or say more."""
    result: Annotated[ViewCheckAnswer | None, Field(description="Null until a run has brought it.")]
