"""Which values an attribute can have: from declarations, never from the records that a mechanism draws for.

Where nothing is declared, the values that may be published are those that occur, and one record more or less
changes them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from app.domain.catalogue.catalogue_types import Hypothesis
from app.domain.mechanisms.mechanism import MechanismContext
from app.domain.mechanisms.rule_before import shown_attributes

DOMAIN_IS_PUBLIC: Final = "domain_is_public"
NAMED: Final = 5

DRAWN_BEFORE: Final = Hypothesis(
    DOMAIN_IS_PUBLIC,
    "assumed",
    "It was drawn before anybody looked whether the values that can be published come from the records.",
)
"""What is known of the releases of which nothing is stored on their domains."""


def why_undeclared(
    context: MechanismContext, attributes: Iterable[str], why: str, otherwise: str = ""
) -> str | None:
    """Why the values of these attributes must be declared, if those of some are not.

    ``why`` says what would tell of records, as a clause; ``otherwise`` what would do as well.
    """
    of_data = [name for name in attributes if name not in context.public]
    if not of_data:
        return None
    named = ", ".join(map(repr, of_data[:NAMED])) + (", …" if len(of_data) > NAMED else "")
    return (
        f"Which values {named} can have is not declared, or values that the data have were attached to what "
        f"is{why} Declare a hierarchy with on_unknown refuse or missing{otherwise}."
    )


def why_not_drawn(context: MechanismContext, attribute: str) -> str | None:
    """Why drawing this attribute would protect nobody; None if it does.

    Because its values would tell of the records, or because what is sensitive leaves as it is beside it.
    """
    sensitive = context.table.sensitive
    raw = [own for own in shown_attributes(context) if own in sensitive]
    if raw and attribute not in sensitive:
        return (
            f"{attribute!r} is not sensitive, and {', '.join(map(repr, raw))} would be released as it is "
            "beside it. Draw what is sensitive, or suppress that by a rule."
        )
    why = ". All values that can be published are told, and would tell which of them the records have."
    return why_undeclared(context, [attribute], why)


def domain_is_public(context: MechanismContext, attribute: str) -> Hypothesis:
    """What is known of where the values that can be published come from."""
    origin = context.origins.get(attribute)
    if origin is None or not origin.is_of_data:
        is_declared = attribute in context.public
        return Hypothesis(
            DOMAIN_IS_PUBLIC,
            "yes" if is_declared else "assumed",
            f"A hierarchy that was not made from an upload's column declares which values {attribute!r} can "
            "have."
            if is_declared
            else f"Nobody declares which values {attribute!r} can have apart from the records.",
        )
    made = "was made" if origin.is_recorded else "may have been made"
    return Hypothesis(
        DOMAIN_IS_PUBLIC,
        "no" if origin.is_recorded else "assumed",
        f"The hierarchy {origin.hierarchy!r} of {attribute!r} {made} from an upload's column: which values "
        "can be published tells of records. Declare them from public knowledge under another name.",
    )
