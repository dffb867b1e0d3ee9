"""What a search works on: the table, the attacker's dictionary, sensitivity, risk model and utility."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from app.domain.dictionaries import Dictionary, LinkedAttribute
from app.domain.risk.models import MODEL_I, RiskModel
from app.domain.sensitivity import Sensitivity
from app.domain.tables import Table
from app.domain.utility import Utility


@dataclass(frozen=True, eq=False)
class SearchContext:
    """The instance of an optimisation, the same for every problem posed on it.

    ``sensitivity`` is Φ; ``failure`` is Ψ, the harm if the attacker names the wrong person (None: none).
    """

    table: Table
    dictionary: Dictionary
    sensitivity: Sensitivity
    utility: Utility
    failure: Sensitivity | None = None
    model: RiskModel = MODEL_I

    @cached_property
    def links(self) -> tuple[LinkedAttribute | None, ...]:
        """The dictionary's link per attribute of the table, None where it has none."""
        by_name = {link.attribute: link for link in self.dictionary.links}
        return tuple(by_name.get(attribute) for attribute in self.table.attributes)

    @cached_property
    def groups(self) -> npt.NDArray[np.int32] | None:
        """Weight group per record, None if all have the same weights."""
        return self.sensitivity.groups if self.sensitivity.is_personal else None
