"""What an optimisation asks for, made of the domain's objectives, and the loss that one of them minimises."""

from __future__ import annotations

from typing import Annotated, Any, Final

from pydantic import Discriminator, Field, Tag

from app.api.schemas.criteria import ASKED_CRITERION
from app.api.schemas.derived import one_of, request_of
from app.domain.losses.loss import LossChoice, LossKind
from app.domain.search.objectives import OBJECTIVES, MinLoss

_KIND_OF_LOSS: Final = Annotated[LossKind, Field(description="Kind of loss.", examples=["ail"])]
LossFields: Final = request_of(
    LossChoice, "LossFields", "", fields={"kind": (_KIND_OF_LOSS, ...)}, strict_numbers=False
)


def _form_of_loss(loss: object) -> str:
    """A loss is its name, or an object: what is wrong with one form is no fault of the other."""
    return "kind_alone" if isinstance(loss, str) else "with_more"


_LOSS: Any = Annotated[
    Annotated[LossKind, Tag("kind_alone")] | Annotated[LossFields, Tag("with_more")],
    Discriminator(_form_of_loss),
    Field(
        description="`geometric` and `arithmetic`: share of each hierarchy's leaves under the values "
        "disclosed, averaged over the records and normalised, then the attributes' losses by their "
        "geometric or arithmetic mean. `squared_error`: of numbers, see `numeric`. The "
        "others as the measure `information_loss` defines them."
    ),
]

AskedObjective = one_of(
    tuple(
        request_of(
            own,
            own.__name__,
            kind,
            said_of_kind="Kind of objective.",
            fields={"loss": (_LOSS, "geometric")} if own is MinLoss else {},
            parts=ASKED_CRITERION,
            strict_numbers=False,
        )
        for kind, own in OBJECTIVES.items()
    )
)
