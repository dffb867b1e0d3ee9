"""R1 and R3: groups that plain perturbation leaves too well told (Wang et al. (2012), figures 2 and 4)."""

from __future__ import annotations

from typing import Final

import numpy as np

from app.domain.arrays import Floats
from app.domain.classes.reconstruction_groups import GroupsUnderTest
from app.domain.mechanisms.query_pool import GroupedValues
from app.experiments.cells import data_hash
from app.experiments.reconstruction_grid import NAMES, SETTINGS, Setting, axis
from app.experiments.report import Claim, Effort, Picture, Report, ResultTable, curves, exact, qualitative
from app.experiments.solving import never_falls
from app.experiments.stand_in_census import ATTRIBUTES, EDUCATION, OCCUPATION, base_tables, named

COLUMNS: Final = ("% of groups", "% of records", "% of groups, full bound")


def education(effort: Effort) -> Report:
    """Of education."""
    return _report("R1", EDUCATION, effort)


def occupation(effort: Effort) -> Report:
    """Of occupation."""
    return _report("R3", OCCUPATION, effort)


def _report(name: str, sensitive: int, effort: Effort) -> Report:
    tables = base_tables(effort, sensitive)
    sizes = tuple(own.n_records for own in tables)
    hashes = [data_hash(own) for own in tables]

    def violating(own: Setting) -> tuple[float, ...]:
        table = tables[own.table]
        return effort.cells.of(
            own.asked(name), hashes[own.table], len(COLUMNS), lambda: _violating(table, own)
        )

    found = {varied: np.array([*map(violating, settings)]) for varied, settings in SETTINGS.items()}
    middle = tables[SETTINGS["p"][0].table]
    return Report(
        id=name,
        title=f"Groups whose {ATTRIBUTES[sensitive]} is too well told after plain perturbation",
        setting=f"{named(effort)}, {middle.n_records:,} records in {middle.counts.n_classes:,} groups, "
        "p = 0.5, ε = 0.5, δ = 0.3 unless varied; chernoff_simple unless said otherwise",
        tables=tuple(
            ResultTable.of(
                f"Violating groups by {NAMES[varied]}",
                (NAMES[varied], *COLUMNS),
                axis(varied, sizes),
                own,
            )
            for varied, own in found.items()
        ),
        pictures=tuple(
            Picture(
                f"{name.lower()}-{varied}",
                f"Violating groups by {NAMES[varied]}",
                NAMES[varied],
                "Percentage",
                curves(COLUMNS, axis(varied, sizes), own),
            )
            for varied, own in found.items()
        ),
        claims=_claims(found),
    )


def _violating(table: GroupedValues, setting: Setting) -> tuple[float, float, float]:
    """Percentages of groups and of records, and of groups by the tighter bound."""
    tested = GroupsUnderTest(table.counts, setting.question(table.n_values))
    simple, full = tested.failing("chernoff_simple"), tested.failing("chernoff_full")
    records = table.counts.sizes[simple].sum()
    return 100 * float(simple.mean()), 100 * float(records) / table.n_records, 100 * float(full.mean())


def _claims(found: dict[str, Floats]) -> tuple[Claim, ...]:
    grown = [
        exact(
            f"The share of violating groups never falls as {NAMES[varied]} grows",
            never_falls(found[varied].T),
            _shown(found[varied]),
        )
        for varied in ("p", "epsilon", "delta")
    ]
    default = SETTINGS["p"].index(Setting())
    return (
        *grown,
        exact(
            "The tighter bound finds no fewer groups",
            all(bool((own[:, 2] >= own[:, 0]).all()) for own in found.values()),
            f"at the middle {found['p'][default][2]:.3g} % for {found['p'][default][0]:.3g} %",
        ),
        qualitative(
            "The share grows with the number of records",
            never_falls(found["table"][:, 0]),
            _shown(found["table"]),
        ),
        qualitative(
            "It nearly vanishes where p is below 0.2",
            bool(found["p"][0, 0] <= 0.1),
            f"{found['p'][0, 0]:.3g} % of the groups at p = 0.1",
        ),
    )


def _shown(own: Floats) -> str:
    return "% of groups " + " ".join(f"{share:.3g}" for share in own[:, 0])
