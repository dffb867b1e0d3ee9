"""Which numbers criteria take: those within the bounds of the annotations of their fields."""

from __future__ import annotations

from dataclasses import fields
from functools import cache
from typing import Any, get_type_hints

from annotated_types import Ge, Gt, Le, Lt

from app.domain.errors import InvalidInput


def require_bounds(criterion: object) -> None:
    """Refuse a number that is beyond the bounds of its field, NaN among them: InvalidInput at the field."""
    for name, bounds in _bounds(type(criterion)).items():  # type: ignore[arg-type] # types are hashable
        value = getattr(criterion, name)
        if value is not None and not all(_is_within(value, bound) for bound in bounds):
            allowed = " and ".join(map(_described, bounds))
            raise InvalidInput.of(f"/{name}", "out-of-range", f"{name} must be {allowed}.")


@cache
def _bounds(of: type[Any]) -> dict[str, tuple[Any, ...]]:
    """The bounds of each field."""
    hints = get_type_hints(of, include_extras=True)
    marks = {own.name: getattr(hints[own.name], "__metadata__", ()) for own in fields(of)}
    return {
        name: tuple(own for own in said if isinstance(own, Ge | Gt | Le | Lt)) for name, said in marks.items()
    }


def _is_within(value: Any, bound: Any) -> bool:  # noqa: ANN401 - what can be compared
    match bound:
        case Ge(least):
            return bool(value >= least)
        case Gt(below):
            return bool(value > below)
        case Le(most):
            return bool(value <= most)
        case _:
            return bool(value < bound.lt)


def _described(bound: Any) -> str:  # noqa: ANN401 - one of four
    match bound:
        case Ge(least):
            return f"at least {least:g}"
        case Gt(below):
            return f"above {below:g}"
        case Le(most):
            return f"at most {most:g}"
        case _:
            return f"below {bound.lt:g}"
