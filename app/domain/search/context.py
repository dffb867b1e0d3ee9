"""What a search works on: the table, the attacker's dictionary, sensitivity and utility."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from app.domain.dictionaries import Dictionary, LinkedAttribute
from app.domain.sensitivity import Sensitivity
from app.domain.tables import Table
from app.domain.utility import Utility


@dataclass(frozen=True, eq=False)
class SearchContext:
    """The instance of an optimisation, the same for every problem posed on it."""

    table: Table
    dictionary: Dictionary
    sensitivity: Sensitivity
    utility: Utility

    @cached_property
    def links(self) -> tuple[LinkedAttribute | None, ...]:
        """The dictionary's link per attribute of the table, None where it has none."""
        by_name = {link.attribute: link for link in self.dictionary.links}
        return tuple(by_name.get(attribute) for attribute in self.table.attributes)

    @cached_property
    def groups(self) -> npt.NDArray[np.int32] | None:
        """Weight group per record, None if all have the same weights."""
        return self.sensitivity.groups if self.sensitivity.is_personal else None
