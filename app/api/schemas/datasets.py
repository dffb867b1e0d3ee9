"""Datasets: an upload with its schema and hierarchies, and an attribute on its hierarchy."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from app.api.schemas.common import Answer, Column, Count, Name, Number, Ref, Request, Resource, Text, is_none
from app.api.schemas.coverage import FoundSpelling
from app.api.schemas.derived import Asking, model_of
from app.api.schemas.uploads import SchemaProposalAnswer
from app.domain.hierarchies.cell_formats import CellFormat
from app.services.datasets import attribute_trees, dataset_profiles, person_signs
from app.services.datasets.dataset_making import CreateDataset
from app.services.datasets.dataset_schema import (
    AttributeDeclaration,
    AttributeType,
    DatasetStatus,
    OnMissing,
    OnUnknown,
    OnUnreadable,
    Role,
    RowsAre,
)
from app.services.datasets.ingest import pieces
from app.services.datasets.ingest.dialect import LeadingZeros

MOST_ATTRIBUTES = 10_000


class Attribute(Asking[AttributeDeclaration]):
    """One column."""

    name: Annotated[Column, Field(description="Name of the upload's column.", examples=["city"])]
    type: Annotated[AttributeType, Field(description="What its texts are.", examples=["categorical"])]
    role: Annotated[Role, Field(examples=["quasi_identifier"])]
    """Quasi-identifiers and sensitive columns are disclosed: they have levels, weights and utility. A weight
    (a number ≥ 0) says how much each record counts in means. An `identifier` has another value in each row; a
    `person` says whom a row is about and may repeat, at most one column: its spellings of one number or text
    are one person. Identifiers, persons, weights and others never leave the service.
    """
    hierarchy: Ref | None = None
    """Its hierarchy; without one the values are directly below the top."""
    on_unknown: OnUnknown = OnUnknown.REFUSE
    """What becomes of values outside the hierarchy: `refuse` (the dataset needs attention), `attach` them
    below the top, or take them as `missing`.
    """
    map: Annotated[
        dict[Text, Text], Field(max_length=1_000_000, examples=[{"W. Lafayette": "West Lafayette"}])
    ] = {}  # noqa: RUF012 - pydantic copies it
    """Replacements of values, made before they are read or looked up in the hierarchy: give the value as the
    dataset is to have it, such as `1975-02-28` for `31.02.1975`.
    """
    format: Annotated[CellFormat | None, Field(examples=["dd.mm.yyyy"])] = None
    """How the cells write dates or numbers; they become dates like `1975-05-10` and numbers like `17100.5`,
    equal ones one value. A time of day is not kept. Without a format, cells are to be written so already.
    """
    on_unreadable: Annotated[OnUnreadable, Field(examples=["missing"])] = OnUnreadable.REFUSE
    """What becomes of cells that are no date, or no number, so written: `refuse` the dataset and name their
    rows, or take them as `missing`.
    """
    on_missing: Annotated[OnMissing, Field(examples=["own_person"])] = "refuse"
    """What becomes of rows whose person is empty: `refuse` them by number, or each is another person."""


class FoundRows(Answer):
    """What a row of the data is."""

    kind: Annotated[Literal["person_column", "persons", "not_said"], Field(examples=["person_column"])]
    """Rows are of the persons whom a column names, or persons each, or nobody said: then this is assumed."""
    column: Annotated[str | None, Field(description="Column of persons; null without.", examples=["pid"])]
    persons: Annotated[Count | None, Field(description="Persons by it; null without.", examples=[8])]
    said_by: Annotated[Literal["dataset", "policy"] | None, Field(examples=["dataset"])]
    """Who said so; null: nobody."""
    sentence: Annotated[str, Field(description="The same in a sentence.")]


class NewDataset(Asking[CreateDataset]):
    """A dataset to be created; columns of the upload that are not listed count as `other`."""

    name: Name
    upload: Annotated[Ref, Field(description="The upload that holds the columns.", examples=["members"])]
    attributes: Annotated[list[Attribute], Field(max_length=MOST_ATTRIBUTES)] = []  # noqa: RUF012
    """The schema; with `propose` the columns of which something else is to hold than what is proposed."""
    propose: bool = False
    """Take the other columns as `GET /v1/uploads/{ref}/proposal` proposes them, and make the hierarchies.
    A doubt that changes numbers is refused with what settles it. Needs the scope `data:read`, too.
    """
    rows_are: Annotated[RowsAre | None, Field(examples=["persons"])] = None
    """Say `persons` if each row is a person and no column names persons; else that is only assumed."""


class AttributeSummary(Answer):
    """One column of a dataset."""

    name: Annotated[str, Field(max_length=1000, description="Name of the column.", examples=["city"])]
    type: Annotated[AttributeType, Field(description="Its type.", examples=["categorical"])]
    role: Annotated[Role, Field(description="Its role.", examples=["quasi_identifier"])]
    hierarchy: Annotated[str | None, Field(max_length=100, examples=["city"])] = None
    """Name of its hierarchy."""
    height: Annotated[Count | None, Field(description="Levels of its hierarchy.", examples=[4])] = None
    leaves: Annotated[Count | None, Field(description="Leaves of its hierarchy.", examples=[8])] = None
    missing: Annotated[Count | None, Field(description="Rows without a value.", examples=[0])] = None
    unreadable: Annotated[Count | None, Field(examples=[0])] = None
    """Rows whose cell is no date or number as declared, and counts as missing."""
    unknown: Annotated[Count | None, Field(examples=[0])] = None
    """Rows with a value outside the hierarchy."""
    unknown_values: Annotated[Count | None, Field(description="Distinct such values.", examples=[0])] = None
    spellings: Annotated[Count | None, Field(examples=[0])] = None
    """Texts of the file that are read as one value with others, or as missing: see the profile."""


class Dataset(Resource):
    """A dataset."""

    status: Annotated[DatasetStatus, Field(examples=["ready"])]
    """`needs_attention` while values lie outside their hierarchies: see the profile, then create it anew with
    `map` or `on_unknown`.
    """
    rows: Annotated[Count, Field(description="Rows.", examples=[12])]
    upload: Annotated[str, Field(max_length=100, description="Name of its upload.", examples=["members"])]
    identifier: Annotated[str | None, Field(max_length=1000, examples=["member_id"])]
    """Column that identifies entities."""
    rows_are: Annotated[RowsAre | None, Field(examples=["persons"])] = None
    """`persons` if the schema says that each row is a person; null if it does not say."""
    person: Annotated[str | None, Field(max_length=1000, examples=["patient_id"])] = None
    """Column that says whom a row is about."""
    persons: Annotated[Count | None, Field(examples=[5])] = None
    """Different persons of that column; null without one."""
    attributes: Annotated[list[AttributeSummary], Field(max_length=MOST_ATTRIBUTES)]
    """The columns, in schema order."""
    warnings: Annotated[list[str], Field(max_length=1000, description="What is unusual.", examples=[[]])]
    proposal: Annotated[SchemaProposalAnswer | None, Field(exclude_if=is_none)] = None
    """What was proposed and taken, with the reasons, where it was just created so; else left out."""


class ColumnReading(Request):
    """How the cells of a column are read and generalised, as an attribute of a dataset declares it."""

    type: Annotated[AttributeType, Field(examples=["number"])]
    """What its texts are."""
    format: Annotated[CellFormat | None, Field(examples=[None])] = None
    """How its cells write dates or numbers."""
    on_unreadable: Annotated[OnUnreadable | None, Field(examples=["missing"])] = None
    """What becomes of cells that are not written so."""
    on_unknown: OnUnknown | None = None
    """What becomes of values outside the hierarchy."""
    on_missing: OnMissing | None = None
    """What becomes of rows whose person is empty."""
    map: Annotated[dict[Text, Text] | None, Field(max_length=10_000, examples=[{"unknown": "other"}])] = None
    """Replacements of values."""
    hierarchy: Annotated[
        dict[Text, Any] | None, Field(max_length=100, examples=[{"kind": "intervals", "widths": ["5", "10"]}])
    ] = None
    """Its hierarchy as `POST /v1/hierarchies` takes it; leaves that it does not name are those of the data
    that are judged. Or `file`, with the name and the hash of a file of rows beside that of a policy.
    """


class FileReading(Request):
    """How a file is read where that is not the usual way, as an upload's dialect."""

    missing: Annotated[list[Text] | None, Field(min_length=1, max_length=100, examples=[["", "NA"]])] = None
    """Texts that mean a missing value; those of the table's file count for a release, too."""
    delimiter: Annotated[str | None, Field(min_length=1, max_length=1, examples=[";"])] = None
    """Separates cells."""
    quote: Annotated[str | None, Field(min_length=1, max_length=1, examples=[None])] = None
    """Encloses cells."""
    encoding: Annotated[str | None, Field(min_length=1, max_length=40, examples=["cp1252"])] = None
    """Character encoding."""
    header: Annotated[bool | None, Field(strict=True, examples=[None])] = None
    """Whether the first line names the columns."""
    trim: Annotated[bool | None, Field(strict=True, examples=[None])] = None
    """Whether blanks around cells are left out."""
    sheet: Annotated[str | None, Field(min_length=1, max_length=100, examples=[None])] = None
    """Sheet of a workbook."""
    leading_zeros: Annotated[LeadingZeros | None, Field(examples=[None])] = None
    """What becomes of zeros that only the format of a workbook's numbers shows."""


class TableReading(Answer):
    """How a dataset is read, as the schema of a policy says it."""

    columns: Annotated[dict[Column, ColumnReading], Field(max_length=MOST_ATTRIBUTES)]
    """Its columns but for identifiers."""
    file: FileReading
    """Its upload's file."""


DatasetPreview: Any = model_of(pieces.Preview, "DatasetPreview")


ValueCount: Any = model_of(dataset_profiles.ValueCount, "ValueCount")


class AttributeProfile(Answer):
    """One column in numbers."""

    name: Annotated[str, Field(max_length=1000, description="Name of the column.", examples=["city"])]
    role: Annotated[str, Field(max_length=40, description="Its role.", examples=["quasi_identifier"])]
    distinct: Annotated[Count, Field(description="Distinct values.", examples=[8])]
    missing: Annotated[Count, Field(description="Rows without a value.", examples=[0])]
    unknown_rows: Annotated[Count, Field(examples=[0])]
    """Rows with a value outside the hierarchy."""
    unknown_distinct: Annotated[Count, Field(description="Distinct such values.", examples=[0])]
    unknown: Annotated[list[ValueCount] | None, Field(max_length=200)]
    """Values outside the hierarchy; null without data:read."""
    frequent: Annotated[list[ValueCount] | None, Field(max_length=200)]
    """Most frequent values; null without data:read."""
    spellings: Annotated[list[FoundSpelling] | None, Field(max_length=100)] = None
    """Texts of the file that are read as one value with others, or as missing; null without data:read."""
    rarest: Annotated[int | None, Field(examples=[1])] = None
    """Rows of the sensitive value that fewest have, a missing one being a value; null of other columns."""


PersonSign: Any = model_of(person_signs.PersonSign, "PersonSign")


PersonSigns: Any = model_of(
    person_signs.PersonSigns, "PersonSigns", parts={person_signs.PersonSign: PersonSign}
)


DatasetProfile: Any = model_of(
    dataset_profiles.Profile,
    "DatasetProfile",
    parts={dataset_profiles.AttributeProfile: AttributeProfile, person_signs.PersonSigns: PersonSigns},
)


class CountedNode(Answer):
    """A node of the hierarchy, the dataset's records at or below it, and what is below it."""

    node: Annotated[Count, Field(description="Code of the node; 0 is the top.", examples=[0])]
    label: Annotated[str, Field(max_length=1000, description="Its label.", examples=["Indiana"])]
    depth: Annotated[Count, Field(description="Steps from the top.", examples=[2])]
    leaves: Annotated[Count, Field(description="Leaves below it.", examples=[4])]
    records: Annotated[Count | None, Field(examples=[7])]
    """Records whose value is the node or below it; null without the scope `data:read`."""
    weight: Annotated[Number | None, Field(examples=[0.15])]
    """Its weight in the sensitivity profile that was named, where that has weights of values; null without
    the scope `data:read`.
    """
    n_children: Annotated[Count, Field(description="All its children, shown or not.", examples=[2])]
    children: Annotated[list[CountedNode], Field(max_length=1000)]
    """Those of its children that are shown."""


Ancestor: Any = model_of(attribute_trees.Ancestor, "Ancestor")


AttributeTree: Any = model_of(
    attribute_trees.AttributeTree,
    "AttributeTree",
    parts={attribute_trees.Ancestor: Ancestor, attribute_trees.CountedNode: CountedNode},
)
