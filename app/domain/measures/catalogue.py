"""The measures there are: adding one is its file here, one line below, its tests, example and docs."""

from __future__ import annotations

from typing import Any, Final

from app.domain.measures.anonymity import ANONYMITY
from app.domain.measures.entry import Measure

MEASURES: Final[tuple[Measure[Any, Any], ...]] = (ANONYMITY,)
