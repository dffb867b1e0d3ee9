"""Uploads: tables as they came, and how they might be read."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Query
from pydantic import Field

from app.api.schemas.common import Answer, Column, Count, Hash, Name, Request, Resource
from app.api.schemas.derived import Asking, model_of
from app.domain.hierarchies.cell_formats import CellFormat
from app.services.datasets.dataset_schema import OnMissing, OnUnreadable
from app.services.datasets.ingest.dialect import Dialect, LeadingZeros, UploadFormat
from app.services.datasets.ingest.pieces import Preview
from app.services.datasets.one_row_uploads import Kept, OneRowPerPerson
from app.services.datasets.uploads import CreateUpload

Missing = Annotated[str, Field(max_length=100, pattern=r"^[^\x00]*$")]


class DialectAnswer(Answer):
    """How a table is read."""

    delimiter: Annotated[str | None, Field(max_length=1, examples=[","])] = None
    """Separates cells; null: not text."""
    quote: Annotated[str | None, Field(max_length=1, examples=['"'])] = None
    """Quotes cells; null: nothing does."""
    encoding: Annotated[str | None, Field(max_length=40, examples=["utf-8"])] = None
    """Character encoding; null: not text."""
    header: Annotated[bool | None, Field(examples=[True])] = None
    """Whether the first line names the columns; null: neither text nor a workbook."""
    sheet: Annotated[str | None, Field(max_length=255, examples=[None])] = None
    """Sheet that was read; null: no workbook."""
    leading_zeros: Annotated[LeadingZeros | None, Field(examples=[None])] = None
    """What became of zeros that only the format of a workbook's numbers shows; null: there are none."""
    trim: Annotated[bool, Field(description="Whether blanks around cells are removed.", examples=[False])]
    missing: Annotated[list[str], Field(max_length=20, examples=[[""]])]
    """Texts that mean a missing value."""


class UploadParameters(Request):
    """How the body of an upload is to be read; declared, never guessed."""

    name: Name
    format: UploadFormat | None = None
    """Format of the body (arrow is the IPC stream format); if left out, what its content type or, in a form,
    the file's name says, else csv.
    """
    delimiter: Annotated[str, Field(min_length=1, max_length=1)] = ","
    """Separates cells of a CSV."""
    quote: Annotated[str, Field(max_length=1)] = '"'
    """Quotes cells of a CSV; empty: quotes are ordinary characters."""
    encoding: Annotated[str, Field(max_length=40, description="Character encoding of a CSV.")] = "utf-8"
    header: Annotated[bool, Field(description="Whether the first line names the columns.")] = True
    sheet: Annotated[str, Field(max_length=255)] = ""
    """Sheet of a workbook; empty: the only visible one. Hidden ones are read if they are named."""
    leading_zeros: LeadingZeros = "refuse"
    """What becomes of zeros that only the format of a workbook's numbers shows, as of 2139 as 02139: they are
    read, or dropped, or the workbook is refused.
    """
    trim: Annotated[bool, Field(description="Whether blanks around cells are removed.")] = False
    missing: Annotated[list[Missing], Field(max_length=20)] = [""]  # noqa: RUF012 - pydantic copies it
    """Texts that mean a missing value; default: the empty cell alone."""

    def request(self, otherwise: UploadFormat) -> CreateUpload:
        """The value that the use case takes; ``otherwise``: the format if none was declared."""
        dialect = Dialect(
            delimiter=self.delimiter,
            quote=self.quote or None,
            encoding=self.encoding,
            header=self.header,
            trim=self.trim,
            missing=tuple(self.missing),
            sheet=self.sheet or None,
            leading_zeros=self.leading_zeros,
        )
        return CreateUpload(self.name, self.format or otherwise, dialect)


UploadQuery = Annotated[UploadParameters, Query()]


class NewOneRowPerPerson(Asking[OneRowPerPerson]):
    """An upload to be made of one in which persons have several rows."""

    name: Name
    person: Annotated[Column, Field(examples=["patient"])]
    """Column that says whose each row is. Numbers are compared by value, texts without regard to case, blanks
    around them and Unicode form.
    """
    columns: Annotated[dict[Column, Kept], Field(max_length=10_000, examples=[{"cost": "sum"}])] = {}  # noqa: RUF012
    """What is kept of other columns: the `first`, `last` or most frequent cell that is not missing, or the
    exact sum or mean of its numbers, the mean to six digits behind the point. Default: `most_frequent`.
    """
    order_by: Annotated[Column | None, Field(examples=["visit_date"])] = None
    """Column of numbers or ISO dates that says what is first and last; default: the order of the rows."""
    on_missing: Annotated[OnMissing, Field(examples=["own_person"])] = "refuse"
    """What becomes of rows that name nobody: they are refused, or each is taken for another person."""


class Upload(Resource):
    """An upload."""

    format: Annotated[UploadFormat, Field(description="Format that it came in.", examples=["csv"])]
    dialect: Annotated[DialectAnswer, Field(description="How it was read.")]
    columns: Annotated[list[str], Field(max_length=10_000, examples=[["member_id", "city"]])]
    """Names of the columns."""
    rows: Annotated[Count, Field(description="Rows, the header not counted.", examples=[12])]
    pieces: Annotated[Count, Field(description="Encrypted pieces that hold it.", examples=[1])]
    bytes: Annotated[Count, Field(description="Bytes received.", examples=[700])]
    stored_bytes: Annotated[Count, Field(description="Bytes stored, before encryption.", examples=[2000])]
    content_sha256: Hash
    """Hash of the bytes received: what `sha256sum` says of the file; or of the table made here, as Arrow."""
    canonical_sha256: Hash | None = None
    """Hash of a CSV file's canonical form: UTF-8 without a mark, commas, line feeds, quotes only where
    they must be. The same for every file of these cells; null for other formats.
    """
    notes: Annotated[list[str], Field(max_length=10, examples=[[]])] = []  # noqa: RUF012
    """What is doubtful about how it was read, and which sheets of a workbook were not; or how it was made."""
    index: Annotated[str | None, Field(max_length=1000, examples=[None])] = None
    """Column that had no name in the file, as pandas writes its index; null: none."""
    one_row_per: Annotated[str | None, Field(max_length=1000, examples=[None])] = None
    """Column of persons, each of whom has one row, where the upload was made so; else null. Rows of datasets
    made of it are persons, unless one names another column of persons.
    """


TablePreview: Any = model_of(Preview, "TablePreview")


class AttributeProposalAnswer(Answer):
    """A type and a role that would fit one column."""

    name: Annotated[str, Field(max_length=1000, description="Name of the column.", examples=["city"])]
    type: Annotated[str, Field(max_length=40, description="Proposed type.", examples=["categorical"])]
    role: Annotated[str, Field(max_length=40, description="Proposed role.", examples=["quasi_identifier"])]
    distinct_in_sample: Annotated[Count, Field(description="Distinct values in the sample.", examples=[8])]
    missing_in_sample: Annotated[Count, Field(description="Missing values in the sample.", examples=[0])]
    reason: Annotated[str, Field(max_length=1000, examples=["Its name says places, which others may know."])]
    """Why, and what cannot be told from the cells."""
    format: Annotated[CellFormat | None, Field(examples=["dd.mm.yyyy"])] = None
    """Format to declare, if the cells do not write dates or numbers as datasets have them."""
    on_unreadable: Annotated[OnUnreadable | None, Field(examples=["missing"])] = None
    """What to declare for cells of another type, if the sample has any."""
    unreadable_in_sample: Annotated[Count, Field(examples=[1])] = 0
    """Present cells of the sample that are of another type."""
    unreadable_rows: Annotated[list[Count], Field(max_length=10, examples=[[17]])] = []  # noqa: RUF012
    """The first rows that have such cells, counted from 1 without the header."""
    unreadable_shapes: Annotated[
        list[Annotated[str, Field(max_length=100)]], Field(max_length=3, examples=[["99.99.9999", "a"]])
    ] = []  # noqa: RUF012
    """How such cells are built: 9 stands for a digit, a for letters in a row."""
    hierarchy: Annotated[
        dict[str, Any] | None,
        Field(examples=[{"kind": "flat", "upload": {"upload": "members", "column": "city"}}]),
    ] = None
    """A definition that would suit its values, as hierarchies are created by; null: none is proposed."""
    hierarchy_reason: Annotated[
        str | None, Field(max_length=1000, examples=["Dates over 10 years: by day, month, year."])
    ] = None
    """Why that hierarchy, or why none."""
    other_hierarchy: Annotated[dict[str, Any] | None, Field(examples=[None])] = None
    """Of amounts the definition that suits them in another role than the proposed one: sensitive ones are in
    bands between round bounds, the lowest and the highest open, quasi-identifiers in intervals.
    """


class DoubtAnswer(Answer):
    """A guess that would change numbers if it is wrong: say it instead."""

    decides: Annotated[str, Field(max_length=40, examples=["header"])]
    """What settles it: `delimiter`, `header` or `missing` of the dialect, or the `format` of a column."""
    sentence: Annotated[str, Field(max_length=5000, examples=["born: No day is above 12."])]
    """What is in doubt, and why."""
    choices: Annotated[list[str], Field(max_length=10, examples=[["dd/mm/yyyy", "mm/dd/yyyy"]])] = []  # noqa: RUF012
    """What may be said, where that is little."""
    column: Annotated[str | None, Field(max_length=1000, examples=["born"])] = None
    """The column that it is about, if it is about one."""


class SchemaProposalAnswer(Answer):
    """A proposal per column, to be read and corrected; nothing applies it by itself."""

    rows_in_sample: Annotated[Count, Field(description="Rows looked at.", examples=[12])]
    attributes: Annotated[list[AttributeProposalAnswer], Field(max_length=10_000)]
    """One proposal per column."""
    notes: Annotated[list[str], Field(max_length=10, examples=[[]])] = []  # noqa: RUF012
    """What is doubtful about the table as a whole."""
    doubts: Annotated[list[DoubtAnswer], Field(max_length=10_000)] = []  # noqa: RUF012
    """Columns of which it has to be said by `format` how they are written."""


class DialectProposalAnswer(Answer):
    """The dialect that fits a sample best; nothing applies it by itself."""

    dialect: Annotated[DialectAnswer, Field(description="The dialect.")]
    columns: Annotated[list[str], Field(max_length=10_000, examples=[["member_id"]])]
    """Columns that it would give."""
    rows_in_sample: Annotated[Count, Field(description="Rows that it would give.", examples=[12])]
    notes: Annotated[
        list[str], Field(max_length=100, description="What is taken for granted.", examples=[[]])
    ]
    doubts: Annotated[list[DoubtAnswer], Field(max_length=100)] = []  # noqa: RUF012
    """What has to be said of the dialect instead."""
