"""What is asked for where a release is made."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from app.domain.errors import Fault, refuse

LineOrder = Literal["shuffled", "records"]
"""``shuffled``: classes sorted, lines within them permuted by a secret. ``records``: as in the dataset."""


@dataclass(frozen=True)
class ChosenMechanism:
    """A mechanism of the catalogue, with a value of its own type of parameters."""

    name: str
    parameters: Any


@dataclass(frozen=True)
class CreateRelease:
    """A dataset under a rule, or as a mechanism draws it, maybe after a rule.

    Formulas of spreadsheets are made harmless if asked for. ``independent_of_earlier`` asks for a further
    draw of data that were drawn before.
    """

    name: str
    dataset: str
    rule: str | None = None
    neutralise_formulas: bool = False
    order: LineOrder = "shuffled"
    mechanism: ChosenMechanism | None = None
    independent_of_earlier: bool = False

    def require_whole(self) -> None:
        """Raise InvalidInput for fields that do not fit together."""
        faults = []
        if self.mechanism is None and self.rule is None:
            faults.append(
                Fault(
                    "/rule",
                    "missing",
                    "Neither a rule nor a mechanism says how the release is made.",
                    "Name a rule, or give a mechanism of the catalogue with its parameters.",
                )
            )
        if self.mechanism is None and self.independent_of_earlier:
            faults.append(
                Fault(
                    "/independent_of_earlier",
                    "without-mechanism",
                    "A release under a rule draws nothing that could be independent.",
                    "Leave it out, or give a mechanism.",
                )
            )
        if self.mechanism is not None and self.order == "records":
            faults.append(
                Fault(
                    "/order",
                    "order-not-offered",
                    "A release that a mechanism makes never leaves in the records' order.",
                    "Leave the order out: it is shuffled.",
                )
            )
        refuse(faults)
