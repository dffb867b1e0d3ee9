"""What a number of a result can be, and what it says of people: marks in the annotation of its field.

``unique_share: Annotated[float, SHARE, LOW, doc("…")]``. Policies and gates read them there. A mark on a part
of a result holds for the numbers in it that have none of the kind.

Without a range a number can be any, a whole number any from 0. Without a direction none is known, and nothing
is said about it: so it is with sizes of the question (records judged, entities, values), with what does not
depend on the release, and with what is safer and less useful at once.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, Literal

Safer = Literal["low", "high"]
"""On which side of a threshold people are safer, or the data more useful."""
IfAlone = Literal["good", "one", "loss", "gain", "ratio", "fails"]
"""What a value is at worst if every record is alone, and found by whoever looks for it."""


@dataclass(frozen=True)
class Range:
    """The least and the greatest number that a value can be; infinite where there is no bound.

    ``of_losses`` says that it has none under a risk model whose losses may be negative.
    """

    least: float = -math.inf
    greatest: float = math.inf
    of_losses: bool = False


@dataclass(frozen=True)
class Meaning:
    """What is known of a value.

    ``asked`` says that it only repeats the question, whatever the data are; ``of_dictionary`` that there is
    none without a dictionary.
    """

    range: Range | None = None
    safer: Safer | None = None
    if_alone: IfAlone | None = None
    asked: bool = False
    of_dictionary: bool = False

    def __or__(self, other: Meaning) -> Meaning:
        """The same, and what another one knows besides."""
        return Meaning(
            self.range or other.range,
            self.safer or other.safer,
            self.if_alone or other.if_alone,
            self.asked or other.asked,
            self.of_dictionary or other.of_dictionary,
        )


NOTHING_KNOWN: Final = Meaning()

SHARE: Final = Meaning(Range(0.0, 1.0))
PERCENTAGE: Final = Meaning(Range(0.0, 100.0))
FROM_ZERO: Final = Meaning(Range(0.0))
"""Counts to be expected, ratios, distances and losses of information."""
FROM_ONE: Final = Meaning(Range(1.0))
FROM_MINUS_ONE: Final = Meaning(Range(-1.0))
LOSS: Final = Meaning(Range(0.0, of_losses=True))

LOW: Final = Meaning(safer="low")
HIGH: Final = Meaning(safer="high")
ASIDE: Final = Meaning(if_alone="good")
"""Good where nobody is protected: of usefulness, of gaps of the dictionary, of prohibited values, of one
release compared with another, of the record that is safest, of a bound from below, of one chosen person."""
HIDING: Final = Meaning(safer="high", if_alone="one")
"""People or values among whom somebody is: 1 for whoever is alone."""
FAILING: Final = Meaning(safer="low", if_alone="fails")
"""For how many a criterion with the measure's own parameters fails."""
MET: Final = Meaning(safer="high", if_alone="fails")
"""Whether it holds."""
GAIN: Final = Meaning(safer="low", if_alone="gain")
"""A relative gain on a value, at most that of whoever is alone."""
RATIO: Final = Meaning(Range(0.0), safer="low", if_alone="ratio")
"""Such a gain and 1."""
HARM: Final = Meaning(safer="low", if_alone="loss")
"""At most the greatest loss of a record."""
RISK: Final = LOSS | HARM
LOW_SHARE: Final = SHARE | LOW
LOW_AMOUNT: Final = FROM_ZERO | LOW
LOW_ASIDE: Final = LOW | ASIDE
UTILITY: Final = FROM_ZERO | HIGH | ASIDE
ASKED: Final = Meaning(asked=True)
OF_DICTIONARY: Final = Meaning(of_dictionary=True)


@dataclass(frozen=True)
class Stricter:
    """Marks a parameter of a criterion that asks for more the greater it is, or the less."""

    greater: bool


STRICTER_UP: Final = Stricter(True)
STRICTER_DOWN: Final = Stricter(False)
