"""Which numbers criteria take: InvalidInput at the field of those that are out of range, NaN among them."""

from __future__ import annotations

from app.domain.errors import InvalidInput


def require_within(name: str, value: float, lowest: float, highest: float) -> None:
    """Refuse what is below the lowest or above the highest value."""
    if not lowest <= value <= highest:
        raise InvalidInput.of(
            f"/{name}", "out-of-range", f"{name} must be between {lowest:g} and {highest:g}."
        )


def require_positive_share(name: str, value: float) -> None:
    """Refuse what is no share above 0."""
    if not 0 < value <= 1:
        raise InvalidInput.of(f"/{name}", "out-of-range", f"{name} must be above 0 and at most 1.")
