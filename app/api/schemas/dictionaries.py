"""Dictionaries: what an attacker can look up."""

from __future__ import annotations

from datetime import date
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from app.api.schemas.common import Answer, Column, Count, Name, Ref, Resource, Text
from app.api.schemas.derived import Asking
from app.services.datasets import dictionaries
from app.services.datasets.dictionaries import CreateDictionary

MOST_LINKS = 1000


class SameValue(Asking[dictionaries.IdentityTransform]):
    """The cell is a value of the dataset's hierarchy."""

    kind: Annotated[Literal["identity"], Field(description="Kind of transform.")]


class Lookup(Asking[dictionaries.LookupTransform]):
    """The cell is looked up: in an inline table, or in two columns of an upload."""

    kind: Annotated[Literal["lookup"], Field(description="Kind of transform.")]
    table: Annotated[
        dict[Text, Text] | None,
        Field(min_length=1, max_length=1_000_000, examples=[{"47906": "West Lafayette"}]),
    ] = None
    """Cell → value of the dataset's hierarchy."""
    upload: Annotated[Ref | None, Field(examples=["zip-city"])] = None
    """Upload that holds the table."""
    key: Annotated[Column | None, Field(description="Its column of cells.", examples=["zip"])] = None
    value: Annotated[Column | None, Field(description="Its column of values.", examples=["city"])] = None
    missing_entry: Literal["error", "missing", "elsewhere"] = "error"
    """What a cell without an entry is: an error, a missing value (consistent with all), or elsewhere
    (consistent only with the top).
    """

    @model_validator(mode="after")
    def _has_one_table(self) -> Self:
        columns = (self.upload, self.key, self.value)
        is_inline = self.table is not None and columns == (None, None, None)
        if not is_inline and (self.table is not None or None in columns):
            raise PydanticCustomError("exactly_one", "Give either table, or upload with key and value.")
        return self


class Age(Asking[dictionaries.AgeTransform]):
    """The cell is an age in completed years at a date; the dataset's attribute holds birth dates."""

    kind: Annotated[Literal["age"], Field(description="Kind of transform.")]
    reference_date: Annotated[date, Field(description="Day on which the ages hold.", examples=["2020-04-01"])]

    def _made(self) -> dictionaries.AgeTransform:
        return dictionaries.AgeTransform(self.reference_date.isoformat())


class Link(Asking[dictionaries.Link]):
    """Which column tells what about which attribute of the dataset."""

    attribute: Annotated[Column, Field(description="Attribute of the dataset.", examples=["city"])]
    column: Annotated[Column, Field(description="Column of the dictionary's upload.", examples=["zip"])]
    hierarchy: Ref | None = None
    """Hierarchy of the attribute; default: that of the dataset it is used with."""
    transform: Annotated[SameValue | Lookup | Age, Field(discriminator="kind")] = SameValue(kind="identity")
    """How a cell becomes values of the attribute."""


class NewDictionary(Asking[CreateDictionary]):
    """A dictionary: either of an upload with links, or of a dataset's own disclosed attributes."""

    name: Name
    upload: Annotated[Ref | None, Field(description="Upload with the entities.", examples=["census"])] = None
    links: Annotated[list[Link] | None, Field(min_length=1, max_length=MOST_LINKS)] = None
    """What its columns tell."""
    identifier: Annotated[Column | None, Field(examples=["person_id"])] = None
    """Column that identifies entities."""
    same_entities_as: Annotated[Ref | None, Field(examples=["members"])] = None
    """Dataset whose identifiers mean the same people."""
    from_dataset: Annotated[Ref | None, Field(examples=["members"])] = None
    """Instead of upload and links: the dataset's own records."""

    @model_validator(mode="after")
    def _has_one_source(self) -> Self:
        others = (self.upload, self.links, self.identifier, self.same_entities_as)
        is_of_upload = self.from_dataset is None and self.upload is not None and self.links is not None
        is_of_dataset = self.from_dataset is not None and others == (None,) * len(others)
        if not (is_of_upload or is_of_dataset):
            raise PydanticCustomError("exactly_one", "Give either upload with links, or from_dataset alone.")
        return self

    def request(self) -> CreateDictionary:
        """The value that the use case takes."""
        return CreateDictionary(
            name=self.name,
            upload=self.upload,
            links=tuple(link.request() for link in self.links or ()),
            identifier=self.identifier,
            same_entities_as=self.same_entities_as,
            from_dataset=self.from_dataset,
        )


class LinkSummary(Answer):
    """One link of a dictionary."""

    attribute: Annotated[str, Field(max_length=1000, examples=["city"])]
    """Attribute of the dataset."""
    column: Annotated[str, Field(max_length=1000, description="Column of the dictionary.", examples=["zip"])]
    hierarchy: Annotated[str | None, Field(max_length=100, description="Named hierarchy.", examples=["city"])]
    transform: Annotated[str, Field(max_length=40, description="Kind of transform.", examples=["lookup"])]
    missing: Annotated[Count | None, Field(description="Rows without a value.", examples=[0])]
    elsewhere: Annotated[Count | None, Field(examples=[0])]
    """Rows outside the hierarchy; null if none is named."""


class Dictionary(Resource):
    """A dictionary."""

    entities: Annotated[Count, Field(description="Entities.", examples=[20])]
    upload: Annotated[str | None, Field(max_length=100, examples=["census"])]
    """Name of its upload."""
    identifier: Annotated[str | None, Field(max_length=1000, examples=["person_id"])]
    """Column that identifies entities."""
    same_entities_as: Annotated[str | None, Field(max_length=100, description="Dataset of the same people.")]
    from_dataset: Annotated[str | None, Field(max_length=100, description="Dataset that it was made of.")]
    links: Annotated[list[LinkSummary], Field(max_length=MOST_LINKS, description="What its columns tell.")]
    warnings: Annotated[list[str], Field(max_length=1000, description="What is unusual.", examples=[[]])]
