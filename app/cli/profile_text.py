"""The profile of a table as text for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from app.cli.plain_lines import number_text, text_table
from privacy_risk.singled_out import singled_out_told, values_alone_told

_ROWS_SHOWN: Final = 3


@dataclass(frozen=True)
class Profiled:
    """The profile, and how the columns were taken.

    ``left_aside`` are columns that were not looked at, each with the reason; ``proposed`` says whether the
    roles are the service's proposal. ``unreadable`` are columns with cells of another type, each with what
    became of them. ``notes`` say what a row is, and how the table was made of another.
    """

    quasi_identifiers: tuple[str, ...]
    sensitive: tuple[str, ...]
    left_aside: Mapping[str, str]
    proposed: bool
    result: dict[str, Any]
    seconds: Mapping[str, float]
    unreadable: Mapping[str, str]
    notes: Sequence[str] = ()


def profile_text(name: str, profiled: Profiled) -> str:
    """Columns, records, one line per figure, and the time of the call that measured them."""
    judged, figures = profiled.result["judged"], profiled.result["figures"]
    told = (*singled_out_told(profiled.result["singled_out"]), *values_alone_told(profiled.result))
    basis = " (proposed by the service)" if profiled.proposed else ""
    lines = [
        *profiled.notes,
        f"{name}: {judged['records']:,} records",
        f"  quasi-identifiers  {', '.join(profiled.quasi_identifiers)}{basis}",
        f"  sensitive          {', '.join(profiled.sensitive) or 'none named: see --sensitive'}",
        *(f"  left aside         {column}: {why}" for column, why in profiled.left_aside.items()),
        *(f"  unreadable         {column}: {what}" for column, what in profiled.unreadable.items()),
        f"  judged             {judged['records_judged']:,} records in {judged['classes']:,} classes; "
        f"missing values: {judged['missing'].replace('_', ' ')}",
        f"  left out           {judged['records_missing']:,} records with missing values, "
        f"{judged['records_suppressed']:,} that are suppressed",
        *(f"  {'' if place else 'singled out':<17}  {own}" for place, own in enumerate(told)),
        "",
        text_table(
            [("measure", "attribute", "number", "value", "safer", "worst class"), *map(_line, figures)]
        ),
        "",
        *(f"Not shown of {own['measure']}: {own['reason']}" for own in profiled.result["left_out"]),
        f"Measured by one call in {profiled.seconds['profile']:.3f} s.",
    ]
    return "\n".join(lines)


def _line(figure: dict[str, Any]) -> Sequence[str]:
    return (
        figure["measure"],
        figure["attribute"] or "",
        figure["name"],
        number_text(figure["value"]),
        figure["safer"],
        _worst(figure["worst"]),
    )


def _worst(worst: dict[str, Any] | None) -> str:
    if worst is None:
        return ""
    rows, records = worst["rows"], worst["records"]
    shown = ", ".join(map(str, rows[:_ROWS_SHOWN])) + (", …" if records > _ROWS_SHOWN else "")
    return f"row {shown}" if records == 1 else f"rows {shown} ({records:,} records)"
