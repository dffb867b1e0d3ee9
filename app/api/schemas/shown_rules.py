"""What answers show of the records that a rule suppresses beside its levels."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, model_validator

from app.api.schemas.common import Answer, Count
from app.domain.models.class_suppression import ALL_ATTRIBUTES


class ShownSuppression(Answer):
    """The records that a rule of one level per attribute suppresses beside its levels."""

    suppress_classes_below: Count | None = None
    """Records of classes of fewer than so many are suppressed; `meaning` says what a class is. Null: none for
    that.
    """
    meaning: Annotated[int | None, Field(examples=[2])] = None
    """Version of the meaning of `suppress_classes_below`: 2 counts equivalence classes of the
    quasi-identifiers, 1 compares sensitive values, too, as rules did that were stored before there was a 2.
    Null where no small classes are suppressed.
    """
    suppress_classes_failing: Annotated[list[dict[str, Any]] | None, Field(max_length=20)] = None
    """Criteria: records of classes that fail any of them are suppressed; null: none for that."""
    dictionary: Annotated[str | None, Field(max_length=100, examples=["census"])] = None
    """Name of the dictionary that the criteria compare the classes with; null: with none."""
    missing: Annotated[str | None, Field(max_length=40)] = None
    """`excluded`: records with a missing quasi-identifier are suppressed as well; null: not."""
    suppressed: Annotated[str | None, Field(max_length=40)] = None
    """`own_block`: sensitive values of suppressed records are shown; null: they are not."""

    suppression_order: Annotated[str | None, Field(max_length=40)] = None
    """`class_by_class`: for criteria of the whole table no more classes are suppressed than have to be; null:
    all classes of one size after another.
    """

    @model_validator(mode="before")
    @classmethod
    def _say_the_first_meaning(cls, shown: Any) -> Any:  # noqa: ANN401 - whatever is stored
        """What was stored before there was a second meaning says none."""
        if isinstance(shown, dict) and shown.get("suppress_classes_below") is not None:
            return {**shown, "meaning": shown.get("meaning") or ALL_ATTRIBUTES}
        return shown
