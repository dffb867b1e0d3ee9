"""What a search works on: the table, the attacker's dictionary, sensitivity, risk model and utility."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from app.domain.counting.calibration import SECONDS_PER_AXIS, SECONDS_PER_AXIS_AND_ROW
from app.domain.dictionaries.dictionary import Dictionary, LinkedAttribute
from app.domain.errors import InvalidInput
from app.domain.risk.attackers import DictionarySet, View
from app.domain.risk.models import MODEL_I, RiskModel
from app.domain.risk.utility import Utility
from app.domain.rules.rule import Rule
from app.domain.sensitivity.sensitivity import Sensitivity
from app.domain.tables.numbers import exact_sum
from app.domain.tables.table import Table


@dataclass(frozen=True, eq=False)
class SearchContext:
    """The instance of an optimisation, the same for every problem posed on it.

    ``sensitivity`` is Φ; ``failure`` is Ψ, the harm if the attacker names the wrong person (None: none).
    ``dictionaries`` are those that an attacker may have: then ``dictionary`` is not used, without them it is
    the one there is. ``rules`` are what references to rules in a solver's parameters lead to, by reference.
    ``threads`` is how many may work at once, which changes no answer.
    """

    table: Table
    dictionary: Dictionary
    sensitivity: Sensitivity
    utility: Utility
    failure: Sensitivity | None = None
    model: RiskModel = MODEL_I
    dictionaries: DictionarySet | None = None
    rules: Mapping[str, Rule] = field(default_factory=dict)
    threads: int = 1

    @cached_property
    def links(self) -> tuple[LinkedAttribute | None, ...]:
        """The dictionary's link per attribute of the table, None where it has none."""
        by_name = {link.attribute: link for link in self.dictionary.links}
        return tuple(by_name.get(attribute) for attribute in self.table.attributes)

    @cached_property
    def groups(self) -> npt.NDArray[np.int32] | None:
        """Weight group per record, None if all have the same weights."""
        return self.sensitivity.groups if self.sensitivity.is_personal else None

    @cached_property
    def failure_groups(self) -> npt.NDArray[np.int32] | None:
        """Weight group of Ψ per record, None if there is no Ψ or all have the same weights."""
        return None if self.failure is None or not self.failure.is_personal else self.failure.groups

    @cached_property
    def total_weight(self) -> float:
        """What sums over records are divided by to give means."""
        weights = self.table.weights
        return float(self.table.n_records) if weights is None else exact_sum(weights)

    @property
    def n_rules(self) -> int:
        """Rules with one level per attribute; nodes of the lattice of a record of the greatest depth."""
        return math.prod(height + 1 for height in self.table.heights)

    @property
    def preparing_seconds(self) -> float:
        """Estimated time to prepare the attributes for a search of table-level rules."""
        rows = self.table.reduced.size + self.dictionary.reduced.size
        return self.table.n_attributes * (SECONDS_PER_AXIS + rows * SECONDS_PER_AXIS_AND_ROW)

    @property
    def harm_is_monotone(self) -> bool:
        """Whether it is proved that generalising raises neither Φ nor Ψ nor what the model makes of them."""
        failure = self.failure is None or self.failure.is_monotone
        return self.sensitivity.is_monotone and failure and self.model.is_monotone

    def against(self, dictionary: Dictionary) -> SearchContext:
        """The same instance with one dictionary."""
        return replace(self, dictionary=dictionary, dictionaries=None)

    def attackers(self, view: View) -> tuple[tuple[SearchContext, float], ...]:
        """The dictionaries that count in a view of the attacker, with the prior of each (1 where none does).

        InvalidInput for a view that does not fit the number of dictionaries, or needs a prior that is not
        there.
        """
        if self.dictionaries is None:
            if view not in ("known", "estimated"):
                raise _unfit(f"The view {view} is that of a set of dictionaries.", "known or estimated")
            return ((self, 1.0),)
        if view in ("known", "estimated"):
            choices = "bayes, worst_case or worst_case_per_record"
            raise _unfit(f"The view {view} is that of a single dictionary.", choices)
        contexts = [self.against(dictionary) for dictionary in self.dictionaries.dictionaries]
        if view != "bayes":
            return tuple((context, 1.0) for context in contexts)
        prior = self.dictionaries.prior
        if prior is None:
            raise _unfit("Bayes risk needs a prior.", "a worst case, or give the set of dictionaries a prior")
        total = math.fsum(prior)
        return tuple((context, q / total) for context, q in zip(contexts, prior, strict=True) if q > 0)


def _unfit(message: str, choices: str) -> InvalidInput:
    return InvalidInput.of("/attacker_view", "view-does-not-fit", message, f"Choose {choices}.")
