"""Numbers, and privacy models with their numbers, in a few words."""

from __future__ import annotations

import math
from dataclasses import fields
from typing import Final

from app.domain.models.criterion import Criterion
from app.domain.policies.comparison import Value

SYMBOLS: Final = {"l": "ℓ", "alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "epsilon": "ε"}
"""Names of parameters as the field writes them."""


def number(value: Value) -> str:
    """A number in words and digits: whole ones in full, reals to six digits."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return f"{value:,}"
    if math.isinf(value):
        return "infinite" if value > 0 else "minus infinity"
    return f"{value:,.6g}"


def model_in_short(model: Criterion) -> str:
    """``k-anonymity (k = 11)``: its name with the numbers it requires; values of cells are left out."""
    given = {own.name: getattr(model, own.name) for own in fields(model) if own.name != "version"}
    numbers = [
        f"{SYMBOLS.get(name, name.replace('_', ' '))} = {number(value)}"
        for name, value in given.items()
        if isinstance(value, int | float) and not isinstance(value, bool)
    ]
    name = model.title.partition(":")[0]
    return f"{name} ({', '.join(numbers)})" if numbers else name
