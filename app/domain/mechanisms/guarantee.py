"""What a mechanism promises: one form for every privacy model.

A promise is worth as much as what it rests on. Each hypothesis says whether it was checked and holds, was
checked and does not, or can only be assumed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

from app.domain.catalogue.catalogue_types import Hypothesis

Status = Literal["certified", "as_published", "heuristic", "none"]
"""``certified``: proved from its hypotheses. ``as_published``: the source claims it, its proof gives less.
``heuristic``: likely, without a proof. ``none``: a hypothesis does not hold."""


@dataclass(frozen=True)
class PrivacyGuarantee:
    """What a release promises of the people in it.

    Parameters
    ----------
    model
        The privacy model, in the field's term.
    parameters
        Its numbers, and the attribute that it is about.
    sentence
        What it says, for somebody who has not read the source.
    status
        What it is worth if the hypotheses that are assumed hold; read :attr:`standing` for what is left of
        it where one does not.
    hypotheses
        All that it rests on.
    claimed_by_source
        What the source claims, where that is more than this; empty where it is the same.
    """

    model: str
    parameters: Mapping[str, float | str]
    sentence: str
    status: Status
    hypotheses: tuple[Hypothesis, ...]
    claimed_by_source: str = ""

    @property
    def standing(self) -> Status:
        """``none`` if a hypothesis does not hold, else the status."""
        return "none" if any(own.holds == "no" for own in self.hypotheses) else self.status

    @property
    def rests_on_assumptions(self) -> bool:
        """Whether some hypothesis could not be checked."""
        return any(own.holds == "assumed" for own in self.hypotheses)

    def given(self, found: Hypothesis) -> PrivacyGuarantee:
        """The same with what is now known of one of its hypotheses; ValueError if it does not rest on it."""
        if found.id not in {own.id for own in self.hypotheses}:
            raise ValueError(f"the guarantee does not rest on {found.id!r}")
        known = tuple(found if own.id == found.id else own for own in self.hypotheses)
        return replace(self, hypotheses=known)
