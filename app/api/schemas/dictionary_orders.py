"""The order of two dictionaries."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from app.api.schemas.common import Answer, Ref
from app.api.schemas.derived import Asking
from app.domain.risk.dictionary_order import Breach
from app.services.datasets.dictionary_orders import CompareDictionaries


class NewDictionaryOrder(Asking[CompareDictionaries]):
    """Two dictionaries to be compared."""

    dataset: Annotated[
        Ref, Field(description="Dataset to whose hierarchies both are linked.", examples=["members"])
    ]
    smaller: Annotated[
        Ref,
        Field(description="The one that is to hold less, more precisely.", examples=["members-themselves"]),
    ]
    larger: Annotated[
        Ref, Field(description="The one that is to hold all of it, perhaps vaguer.", examples=["register"])
    ]


class FirstBreach(Answer):
    """The first entity of the smaller dictionary that breaks the order."""

    kind: Annotated[
        Breach,
        Field(
            description="The larger dictionary lacks the entity, or has a value of it that is neither the "
            "same nor more general.",
            examples=["entity_missing"],
        ),
    ]
    row: Annotated[int, Field(ge=1, description="Row of the smaller dictionary, from 1.", examples=[4])]
    entity: Annotated[
        str | None, Field(description="The entity's identifier; null without the scope `data:read`.")
    ]
    attribute: Annotated[
        str | None, Field(description="The attribute whose value breaks it; null if the entity is missing.")
    ]


class DictionaryOrder(Answer):
    """Whether all that the smaller dictionary holds is in the larger one, as precisely or vaguer."""

    holds: Annotated[bool, Field(description="Whether it is.", examples=[True])]
    first_breach: Annotated[FirstBreach | None, Field(description="Null if the order holds.")]
    own_rows_consistent: Annotated[
        bool | None,
        Field(
            description="Whether every record's own entity is in the smaller dictionary and consistent with "
            "the record as it is: hypothesis (iii) of the upper bound. Null where identifiers do not tell.",
            examples=[True],
        ),
    ]
