"""Measurements as text: lines for a terminal, or the table of the page on choosing an algorithm."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tests.benchmarks.measurement import Measurement

_COLUMNS = ("Work", "Bar (aim)", "Ours", "Baseline", "Ratio", "Peak MiB", "Counters", "Same result")


def lines(found: Measurement) -> list[str]:
    """One measurement for a terminal."""
    aim = f", aim {found.aim}" if found.aim else ""
    missed = ", MISSED" if found.bar_met is False else ""
    parts = [f"{found.ours:.4g} {found.unit} (bar {found.bar}{aim}{missed})"]
    if found.baseline_value is not None and found.ratio is not None:
        name = found.baseline or "baseline"
        parts.append(f"{name} {found.baseline_value:.4g} {found.unit}, ratio {found.ratio:.3g}")
    if found.limit is not None:
        parts.append(f"memory alone {found.limit:.3g} s")
    if found.peak_mib is not None:
        parts.append(f"peak {found.peak_mib:.0f} MiB")
    if found.same_result is not None:
        parts.append("same result" if found.same_result else "WRONG RESULT")
    told = [found.work, "    " + ", ".join(parts)]
    if found.counters:
        told.append("    " + counters_text(found.counters))
    if found.detail:
        told.append("    " + found.detail)
    return told


def markdown_table(measured: Sequence[Measurement]) -> list[str]:
    """All measurements as one table, without their details."""
    rows = [_COLUMNS, tuple("---" for _ in _COLUMNS), *(_cells(found) for found in measured)]
    return ["| " + " | ".join(row) + " |" for row in rows]


def _cells(found: Measurement) -> tuple[str, ...]:
    aim = f" ({found.aim})" if found.aim else ""
    missed = " **missed**" if found.bar_met is False else ""
    theirs = (
        ""
        if found.baseline_value is None
        else f"{found.baseline or 'baseline'} {amount(found.baseline_value, found.unit)}"
    )
    return (
        found.work,
        f"{found.bar}{aim}{missed}",
        amount(found.ours, found.unit),
        theirs,
        "" if found.ratio is None else f"{found.ratio:.3g}",
        "" if found.peak_mib is None else f"{found.peak_mib:.0f}",
        counters_text(found.counters),
        {None: "", True: "yes", False: "**no**"}[found.same_result],
    )


def amount(value: float, unit: str) -> str:
    """A value with three figures, seconds in a unit that fits them."""
    if unit != "s":
        return f"{value:.3g}"
    for name, least in (("s", 1.0), ("ms", 1e-3)):
        if value >= least:
            return f"{value / least:.3g} {name}"
    return f"{value * 1e6:.3g} µs"


def counters_text(counters: Mapping[str, int | float]) -> str:
    """Counters by their names."""
    return ", ".join(f"{name} {_number(value)}" for name, value in counters.items())


def _number(value: int | float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:.4g}"
