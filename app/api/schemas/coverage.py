"""What a verdict says of columns and of earlier releases."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from app.api.schemas.common import Answer, Hash, Number, is_none
from app.api.schemas.derived import model_of
from app.domain.gates import coverage
from app.domain.gates.coverage import Why
from app.domain.policies.schema import Giver
from app.services.datasets import spellings
from app.services.gates.coverage import Outcome

Whole = Annotated[int, Field(ge=0)]


FoundLevels: Any = model_of(coverage.Levels, "FoundLevels")


class FoundIdentifier(Answer):
    """A kind of direct identifier that a column looks like."""

    kind: Annotated[str, Field(description="Which one.", examples=["email"])]
    share: Annotated[Number, Field(description="Share of the cells that are of it.", examples=[0.98])]


FoundSpelling: Any = model_of(spellings.Spelling, "FoundSpelling")


class FoundColumn(Answer):
    """A column that is disclosed."""

    name: Annotated[str, Field(description="Its name.", examples=["city"])]
    role: Literal["quasi_identifier", "sensitive", "key"]
    """Its role; `key`: says which record of a release file is which."""
    given_by: Annotated[Giver, Field(examples=["policy"])]
    """Who gave it the role: the `policy` by name or by a `pattern`, or the `dataset`: whoever described its
    columns, who may be whoever asks.
    """
    levels: FoundLevels | None
    """How far it is generalised; null where nobody knows."""
    values: Annotated[Whole, Field(description="Different values that are released.", examples=[3])]
    singled_out: Annotated[Whole, Field(examples=[0])]
    """Records whose value fewer than `least_persons` persons have; without that, no other record shows."""
    singled_out_share: Annotated[Number, Field(examples=[0])]
    """The same as a share of the records."""
    identifiers: list[FoundIdentifier]
    """Kinds of direct identifiers that it looks like."""
    judged_by: Annotated[list[str], Field(examples=[["several-people"]])]
    """Blocking criteria that read it."""
    warned_by: Annotated[list[str], Field(examples=[["small-classes"]])]
    """Criteria that read it and only warn."""
    waived: Annotated[list[str], Field(default_factory=list, examples=[[]])]
    """Criteria that read it and would block, but fail and are waived: they cover nothing."""
    reason: Annotated[str | None, Field(examples=[None])]
    """Why the policy lets it leave unjudged; null: it does not."""
    spellings: Annotated[list[FoundSpelling] | None, Field(exclude_if=is_none)] = None
    """Of what leaves as it is the rarest of the texts that are read as one value with others, or as missing.
    Not in evidence, nor without data:read.
    """


class FoundUncovered(Answer):
    """Columns that are not covered."""

    columns: Annotated[list[str], Field(description="Their names.", examples=[["remark"]])]
    why: Annotated[Why, Field(examples=["singles_out"])]
    """They single out too many records, alone or together; look like a direct identifier; or are the key of a
    release file. `rows`: the dataset cannot have produced rows of a release file; then no columns are named.
    """
    singled_out: Annotated[Whole, Field(description="Records that they single out.", examples=[12])]
    singled_out_share: Annotated[Number, Field(description="The same as a share.", examples=[1])]
    identifier: FoundIdentifier | None
    """What they look like; null where that is not the reason."""
    message: Annotated[str, Field(description="What is wrong, in a sentence.")]
    remedy: Annotated[str, Field(description="What would be right.")]


class FoundFileRows(Answer):
    """What the rows of a release file stand for."""

    rows: Annotated[Whole, Field(description="Rows of the file.", examples=[3000])]
    matched: Annotated[Whole, Field(examples=[3000])]
    """How many of them can be of the records at most, each of another one."""
    records: Annotated[Whole, Field(description="Records of the dataset.", examples=[7634])]
    suppressed: Annotated[Whole, Field(examples=[4634])]
    """Records of which no row shows a quasi-identifier: those without a row, and those with an empty one."""
    without_row: Annotated[Whole, Field(description="Records that no row stands for.", examples=[4634])]
    unmatched: Annotated[list[Whole], Field(examples=[[]])]
    """The first 20 rows, from 1, of as few as are left over: an example, others may be in their place."""


class FoundCoverage(Answer):
    """What was checked before any criterion: the columns, and whether something judges each of them."""

    outcome: Annotated[Outcome, Field(examples=["covered"])]
    """`not_covered` makes the verdict `fail`; so does `not_of_dataset`, where the dataset cannot have made
    the rows of a release file, whatever else was found. `draft_schema`, where nobody answers for the policy's
    roles yet, `missing_reason`, where nobody has written why the columns under `not_covered` may leave, and
    `not_computable` make it `error`.
    """
    explanation: Annotated[str, Field(description="The same in a sentence.")]
    records: Annotated[Whole | None, Field(description="Records of the release.", examples=[12])]
    allowed_share: Annotated[Number | None, Field(examples=[0.001])]
    """Share of them that may be singled out."""
    least_persons: Annotated[Whole | None, Field(examples=[5], exclude_if=is_none)] = None
    """So many persons must have a value for it to single nobody out: the policy's largest k, 2 without any.
    Not there where rows were counted that are unique, by version 1 of the check.
    """
    to_confirm: Annotated[list[str], Field(examples=[[]])]
    """Columns whose role nobody has confirmed."""
    uncovered: Annotated[list[FoundUncovered], Field(description="What is not covered; empty: nothing.")]
    columns: Annotated[list[FoundColumn], Field(description="Every disclosed column.")]
    rows: Annotated[FoundFileRows | None, Field(exclude_if=is_none)] = None
    """Of a finished release file: how its rows were matched with the dataset's records."""


class EarlierRelease(Answer):
    """A release of the same data."""

    name: Annotated[str, Field(description="Its name.", examples=["members-release"])]
    date: Annotated[str, Field(description="Day (UTC) on which it was made.", examples=["2026-11-22"])]
    csv_sha256: Annotated[Hash, Field(description="Hash of its data as CSV.")]
    dataset: Annotated[str, Field(description="The dataset that it was made of.", examples=["members"])]
    dataset_sha256: Annotated[Hash | None, Field(examples=["0" * 64])]
    """Hash of that dataset; null in a verdict on a differentially private release."""
    rule: Annotated[str, Field(examples=["members-optimum"])]
    """The rule that made it; empty where a mechanism took the records as they are."""
    mechanism: Annotated[str | None, Field(examples=["perturbation"], exclude_if=is_none)] = None
    """The mechanism that drew it, if one did."""
    order: Annotated[Literal["shuffled", "records"] | None, Field(examples=["shuffled"])] = None
    """Whether its rows left in the `records`' order, which says whose they are; null in verdicts of earlier
    versions, which do not say.
    """
    judged_by: Annotated[list[str], Field(examples=[[]])]
    """Criteria that took it into account; empty: none."""


class EarlierReleases(Answer):
    """The releases of all datasets of the same upload that were stored when it was asked for."""

    releases: Annotated[list[EarlierRelease], Field(description="The latest 100, the latest first.")]
    total: Annotated[Whole, Field(description="How many there are.", examples=[1])]
    taken_into_account: Annotated[Whole, Field(examples=[0])]
    """How many a criterion took into account."""
    explanation: Annotated[
        str,
        Field(
            description="The same in a sentence.",
            examples=["This release was judged alone; no earlier releases of the same data are known here."],
        ),
    ]
