"""Numbers as people read them."""

from __future__ import annotations

import math
from typing import Any


def real(value: Any) -> float:  # noqa: ANN401 - a number of a document
    """The number of a document, where infinity is the text "inf"."""
    return float(value)


def number(value: Any) -> str:  # noqa: ANN401 - a value of a document
    """Whole numbers in full, real ones to four digits, ∞, yes and no; a dash for what there is not."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    found = real(value)
    if math.isinf(found):
        return "∞" if found > 0 else "−∞"
    if found == int(found) and abs(found) < 1e15:
        return f"{int(found):,}"
    return f"{found:.4g}" if 1e-4 <= abs(found) < 1e6 else f"{found:.3e}"


def share(part: Any, whole: Any) -> str:  # noqa: ANN401 - numbers of a document
    """A part as a percentage of the whole."""
    return f"{100 * part / whole:.3g} %" if whole else "–"


def records(count: Any) -> str:  # noqa: ANN401 - a number of a document
    """``1 record``, ``1,234 records``."""
    return "1 record" if count == 1 else f"{number(count)} records"
