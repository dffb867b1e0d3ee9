"""Dictionary sets, which the attacker has one of; and the order of two dictionaries."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from app.api.schemas.common import Answer, Count, Name, Ref, Resource
from app.api.schemas.derived import Asking, model_of
from app.services.datasets import dictionary_orders, dictionary_sets
from app.services.datasets.dictionary_orders import CompareDictionaries
from app.services.datasets.dictionary_sets import MOST_MEMBERS, CreateDictionarySet

Prior = Annotated[
    float | None,
    Field(
        ge=0,
        le=1,
        allow_inf_nan=False,
        description="Probability that the attacker has this dictionary. All members have one, with sum 1, or "
        "none: then there is no Bayes risk.",
        examples=[0.75],
    ),
]


class NewMember(Asking[dictionary_sets.Member]):
    """One dictionary of a set."""

    dictionary: Annotated[Ref, Field(description="The dictionary.", examples=["census"])]
    prior: Prior = None


class NewDictionarySet(Asking[CreateDictionarySet]):
    """A set of dictionaries of which the attacker has one."""

    name: Name
    dictionaries: Annotated[list[NewMember], Field(min_length=1, max_length=MOST_MEMBERS)]
    """What the attacker may have, each once."""

    @property
    def members(self) -> list[NewMember]:
        """The dictionaries, as the use case calls them."""
        return self.dictionaries


class Member(Answer):
    """One dictionary of a set."""

    dictionary: Annotated[str, Field(max_length=100, description="Its name.", examples=["census"])]
    entities: Annotated[Count, Field(description="Its entities.", examples=[20])]
    prior: Prior


class DictionarySet(Resource):
    """A set of dictionaries."""

    dictionaries: Annotated[list[Member], Field(max_length=MOST_MEMBERS)]
    """What the attacker may have, in the order of results."""
    warnings: Annotated[list[str], Field(max_length=1000, description="What is unusual.", examples=[[]])]


class NewDictionaryOrder(Asking[CompareDictionaries]):
    """Two dictionaries to be compared."""

    dataset: Annotated[Ref, Field(examples=["members"])]
    """Dataset to whose hierarchies both are linked."""
    smaller: Annotated[Ref, Field(examples=["members-themselves"])]
    """The one that is to hold less, more precisely."""
    larger: Annotated[Ref, Field(examples=["register"])]
    """The one that is to hold all of it, perhaps vaguer."""


FirstBreach: Any = model_of(dictionary_orders.FirstBreach, "FirstBreach")


DictionaryOrder: Any = model_of(
    dictionary_orders.DictionaryOrder, "DictionaryOrder", parts={dictionary_orders.FirstBreach: FirstBreach}
)
