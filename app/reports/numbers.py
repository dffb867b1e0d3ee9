"""Numbers as people read them."""

from __future__ import annotations

import math
from typing import Any


def number(value: Any) -> str:  # noqa: ANN401 - a value of a document
    """Whole numbers in full, real ones to four digits or one decimal; a dash for what there is not."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    found = float(value)
    if math.isinf(found):
        return "∞" if found > 0 else "−∞"
    if found == int(found) and abs(found) < 1e15:
        return f"{int(found):,}"
    if abs(found) >= 1e15 or abs(found) < 1e-4:
        return f"{found:.3e}"
    return f"{found:,.1f}" if abs(found) >= 1000 else f"{found:.4g}"


def records(count: Any) -> str:  # noqa: ANN401 - a number of a document
    """``1 record``, ``1,234 records``."""
    return "1 record" if count == 1 else f"{number(count)} records"
