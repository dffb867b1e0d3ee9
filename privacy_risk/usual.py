"""What a release is asked for where nobody says otherwise: by the pages, in Python and by the command."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from privacy_risk.values import Json

MAX_SUPPRESSED: Final = 0.02
"""Share of the records that may be suppressed."""

APART: Final = "apart"
OTHERS: Final[Mapping[str, str]] = {
    APART: "knows no other sensitive value (each attribute is judged by itself)",
    "in_classes": "may know the other sensitive values (they split the classes)",
}
"""What the attacker of ℓ-diversity knows of the other sensitive attributes; the first is usual."""


def others_told(privacy: Sequence[Json]) -> Iterator[str]:
    """What criteria of ℓ-diversity assume of other sensitive attributes, in a sentence if they do."""
    for others in dict.fromkeys(own["others"] for own in privacy if "others" in own):
        yield f"Assumed: whoever knows somebody {OTHERS[others]}: others={others}."
