"""Relational schemas under names: the relations that queries read."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from app.api.schemas.common import Answer, Count, Name, Ref, Resource, shown
from app.api.schemas.view_checks import RelationalSchemaBody
from app.domain.catalogue.catalogue_types import SqlDialect
from app.domain.views.ranges import Kind
from app.services.resources import Stored, document_of
from app.services.views.relational_schemas import MOST_DATASETS, CreateRelationalSchema


class NewRelationalSchema(RelationalSchemaBody):
    """Relations to be kept: declared one by one, in SQL, or made of stored datasets."""

    name: Name
    dialect: Annotated[SqlDialect, Field(examples=["postgres"])] = "postgres"
    """The dialect of tables in SQL."""
    datasets: Annotated[list[Ref] | None, Field(min_length=1, max_length=MOST_DATASETS)] = None
    """Datasets, in place of `relations` and `sql`: each becomes a relation of its name, with its declared
    columns in their order. No value of a cell gets into the schema. Numbers and dates have the domains of
    their types; a text of which the dataset takes only values of its hierarchy has the hierarchy's labels for
    its domain. The identifier, which no two records share, is a key, and columns in which a value is missing
    may be NULL. The warnings say each time what a verdict then rests on.
    """

    @model_validator(mode="after")
    def _has_one_source(self) -> Self:
        given = [bool(self.relations or self.foreign_keys), self.sql is not None, self.datasets is not None]
        if given.count(True) != 1:
            raise PydanticCustomError("exactly_one", "Give exactly one of relations, sql and datasets.")
        return self

    def request(self) -> CreateRelationalSchema:
        """What was sent, as the use case takes it."""
        own = self.written()
        return CreateRelationalSchema(
            self.name, own.relations, own.foreign_keys, own.sql, self.dialect, self.datasets or ()
        )


class RelationalSchemaSummary(Resource):
    """A relational schema without its relations."""

    source: Annotated[Literal["relations", "sql", "datasets"], Field(examples=["relations"])]
    """What it was made of."""
    datasets: Annotated[list[str], Field(max_length=MOST_DATASETS, examples=[[]])]
    """Names of the datasets that it was made of."""
    n_relations: Annotated[Count, Field(description="How many relations it has.", examples=[2])]
    warnings: Annotated[list[str], Field(examples=[[]])]
    """What of its source is left out or taken for something else, and so what a verdict rests on."""


class SchemaRelation(Answer):
    """A relation: its columns, what they may hold, and which of its rows exclude each other."""

    attributes: Annotated[list[str], Field(description="Its columns, in their order.", examples=[["pid"]])]
    domains: Annotated[dict[str, Kind | list[str | int | float]], Field(examples=[{"ward": "integer"}])]
    """What a column may hold; any text or number if it is not named."""
    keys: Annotated[list[list[str]], Field(examples=[[["pid"]]])]
    """Sets of columns in which no two rows have the same values."""
    fds: Annotated[list[list[list[str]]], Field(examples=[[[["zip"], ["city"]]]])]
    """Functional dependencies."""
    nullable: Annotated[list[str], Field(description="Columns that may be NULL.", examples=[["ward"]])]


class SchemaForeignKey(Answer):
    """Every row of one relation refers to a row of another."""

    source: Annotated[str, Field(alias="from", description="Whose rows refer.", examples=["diagnosis"])]
    target: Annotated[str, Field(alias="to", description="What is referred to.", examples=["patient"])]


class RelationalSchema(RelationalSchemaSummary):
    """A relational schema."""

    relations: Annotated[dict[str, SchemaRelation], Field(max_length=500)]
    """Its relations by name, as they are declared or were read."""
    foreign_keys: Annotated[list[SchemaForeignKey], Field(description="Which relations refer to which.")]


def shown_schema(stored: Stored) -> RelationalSchema:
    """A schema with its relations."""
    document = document_of(stored)
    return shown(
        RelationalSchema,
        stored,
        relations=document["relations"],
        foreign_keys=document["foreign_keys"],
    )
