"""A table judged as a synthetic one of the measured dataset: three entries of the catalogue.

It is another dataset, or a release that a mechanism drew of the measured one.

Of fewer than some fifty synthetic records attacks succeed or fail by chance: their intervals are wide.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Annotated, Any, Final

import numpy as np
from annotated_types import Ge, Gt, Le, Lt, MaxLen, doc

from app.domain.analyses.compared_tables import ComparedColumn, ComparedTables, require_held_out
from app.domain.analyses.pair_distances import coordinates_of, pair_distances
from app.domain.analyses.synthetic_attacks import SyntheticAttacks, synthetic_attacks
from app.domain.analyses.synthetic_distances import SyntheticDistances, synthetic_distances
from app.domain.analyses.synthetic_utility import SyntheticUtility, synthetic_utility
from app.domain.arrays import Ints
from app.domain.catalogue.catalogue_types import ADDED_LATER, ColumnName, DatasetRef
from app.domain.errors import InvalidInput
from app.domain.models.criterion import BY_ROWS
from app.domain.models.entry import Cost, Example, Measure, MeasureContext, Tick
from app.domain.tables.table import Table

SECONDS_PER_COMPARISON: Final = 1.5e-9
BYTES_PER_CELL: Final = 48
Kilometres = Annotated[float, Gt(0), Le(20_040)]


@dataclass(frozen=True)
class ComparedDatasets:
    """What is compared with the measured dataset, of which the synthetic one was made."""

    synthetic: Annotated[
        DatasetRef | None,
        doc(
            "The synthetic table: a dataset with the same disclosed attributes; null: the release that is "
            "measured, which a mechanism drew of the dataset."
        ),
    ] = None  # fmt: skip
    holdout: Annotated[
        DatasetRef | None,
        doc("Records of the same population of which it was not made; null: there are none."),
    ] = None  # fmt: skip
    seed: Annotated[int, Ge(0), Le(2**63 - 1), doc("Seed of all draws; the same for the same result.")] = 0


@dataclass(frozen=True)
class AttackParameters(ComparedDatasets):
    """How a table is attacked by a synthetic one."""

    attacks: Annotated[int, Ge(1), Le(10_000), doc("Attacks of each kind on each table.")] = 500
    secrets: Annotated[tuple[ColumnName, ...], MaxLen(20), doc("Attributes to be inferred.")] = ()
    linkable: Annotated[
        tuple[ColumnName, ...], MaxLen(100), doc("Attributes of one other table; with `linkable_with`.")
    ] = ()
    linkable_with: Annotated[
        tuple[ColumnName, ...], MaxLen(100), doc("Attributes of a second other table, none of them in both.")
    ] = ()
    confidence: Annotated[float, Gt(0), Lt(1), doc("Level of each interval by itself.")] = 0.95


@dataclass(frozen=True)
class DistanceParameters(ComparedDatasets):
    """What distances are looked at."""

    quasi_identifiers: Annotated[
        tuple[ColumnName, ...], MaxLen(100), doc("Attributes of which equal values are counted as well.")
    ] = ()
    confidence: Annotated[float, Gt(0), Lt(1), doc("Level of the interval.")] = 0.95


@dataclass(frozen=True)
class UtilityParameters(ComparedDatasets):
    """What resemblance is scored."""

    k: Annotated[int, Ge(1), Le(3), doc("Columns of each set of the k-marginal score.")] = 2
    pair: Annotated[tuple[ColumnName, ...], MaxLen(2), ADDED_LATER, doc("Two attributes of places.")] = ()
    places: Annotated[DatasetRef | None, ADDED_LATER, doc("Has `longitude` and `latitude` of these.")] = None
    bands: Annotated[tuple[Kilometres, ...], MaxLen(100), ADDED_LATER, doc("Limits; none: deciles.")] = ()

    def __post_init__(self) -> None:
        if len(set(self.pair)) != 2 * (self.places is not None) or (self.bands and not self.pair):
            words = "Distances need two attributes and a dataset of places."
            raise InvalidInput.of("/pair", "incomplete", words, "Give both, or none.")


def _tables(context: MeasureContext, parameters: ComparedDatasets) -> ComparedTables:
    """The tables by common codes, all at the levels of a drawn release; InvalidInput where they differ."""
    named = {"synthetic": parameters.synthetic, "holdout": parameters.holdout}
    tables = {name: context.others[own].table for name, own in named.items() if own is not None}
    levels: Mapping[str, int] = {}
    if context.drawn is not None:
        tables, levels = {"synthetic": context.drawn.table, **tables}, context.drawn.levels
    original = context.table
    for name, own in tables.items():
        if set(own.attributes) != set(original.attributes):
            raise InvalidInput.of(
                f"/measure/{name}", "other-columns",
                f"The dataset's attributes are {', '.join(own.attributes)}; those of the measured one are "
                f"{', '.join(original.attributes)}.",
                "Declare the same disclosed attributes in both.",
            )  # fmt: skip
    columns, codes = [], []
    for name in original.attributes:
        column, own_codes = _coded(name, [original, *tables.values()], levels.get(name, 0))
        columns.append(column)
        codes.append(own_codes)
    stacked = [np.stack(own, axis=1) for own in zip(*codes, strict=True)]
    compared = ComparedTables(
        tuple(columns), stacked[0], stacked[1], stacked[2] if len(stacked) > 2 else None
    )
    require_held_out(compared, "/measure/holdout")
    return compared


def _coded(name: str, tables: list[Table], level: int) -> tuple[ComparedColumn, list[Ints]]:
    """One column by the labels of its values, as numbers if all labels that occur in the original are.

    All values are raised to a level of the original's hierarchy, those that are there already stay.
    """
    original = tables[0].hierarchies[tables[0].position(name)]
    known: dict[str, int] = {}
    found = []
    for table in tables:
        j = table.position(name)
        nodes, labels = table.codes[:, j], table.hierarchies[j].labels
        if level and table.hierarchies[j].height != original.height:
            raise InvalidInput.of(
                "/measure/holdout", "other-hierarchy",
                f"The release shows {name!r} at level {level}, and the hierarchy of the records held out is "
                f"of {table.hierarchies[j].height} levels; that of the original has {original.height}.",
                "Declare both datasets with the same hierarchy.",
            )  # fmt: skip
        nodes = table.hierarchies[j].ancestors_at(level)[nodes]
        used = np.unique(nodes)
        to_code = np.zeros(len(labels), dtype=np.int32)
        for node in used[used > 0].tolist():
            to_code[node] = known.setdefault(labels[node], len(known) + 1)
        found.append(to_code[nodes])
        if table is tables[0]:
            is_numeric = bool(known) and all(math.isfinite(_number(own)) for own in known)
    numbers = np.array([math.nan, *map(_number, known)]) if is_numeric else None
    return ComparedColumn(name, ["", *known], numbers), found


def _number(label: str) -> float:
    try:
        return float(label)
    except ValueError:
        return math.nan


@contextmanager
def _faults_of_measure() -> Iterator[None]:
    """Faults of what is computed point into the question."""
    places = {"/linkable/0": "/linkable", "/linkable/1": "/linkable_with"}
    try:
        yield
    except InvalidInput as error:
        faults = []
        for own in error.faults:
            start = next((one for one in places if own.pointer.startswith(one)), "")
            pointer = f"/measure{places.get(start, '')}{own.pointer.removeprefix(start)}"
            faults.append(replace(own, pointer=pointer))
        raise InvalidInput(faults) from None


def _supports(context: MeasureContext, parameters: ComparedDatasets) -> str | None:
    drawn = context.drawn
    if drawn is None:
        if parameters.synthetic is not None:
            return None
        return (
            "Nothing says which table is the synthetic one. Name a dataset as synthetic, or measure a "
            "release that a mechanism drew."
        )
    if parameters.synthetic is not None:
        return "Both a release and a dataset are to be the synthetic table. Leave out one of them."
    several = [name for name in context.table.attributes if name not in drawn.levels]
    if several:
        return (
            f"The release may show values of {several[0]!r} at several levels, so that its rows equal none "
            "of the original. Measure its classes."
        )
    return None


def _attacked(context: MeasureContext, parameters: AttackParameters, tick: Tick) -> SyntheticAttacks:
    tables, sides = _tables(context, parameters), (parameters.linkable, parameters.linkable_with)
    with _faults_of_measure():
        return synthetic_attacks(
            tables,
            attacks=parameters.attacks,
            linkable=sides if any(sides) else None,
            secrets=parameters.secrets,
            confidence=parameters.confidence,
            rng=np.random.default_rng(parameters.seed),
        )


def _distances(context: MeasureContext, parameters: DistanceParameters, tick: Tick) -> SyntheticDistances:
    tables = _tables(context, parameters)
    with _faults_of_measure():
        return synthetic_distances(
            tables,
            quasi_identifiers=parameters.quasi_identifiers,
            confidence=parameters.confidence,
            rng=np.random.default_rng(parameters.seed),
        )


def _resemblance(context: MeasureContext, parameters: UtilityParameters, tick: Tick) -> SyntheticUtility:
    tables, pairs = _tables(context, parameters), None
    if parameters.places is not None:
        of, columns = context.others[parameters.places].table, {}
        for name, own, codes in zip(of.attributes, of.hierarchies, of.codes.T, strict=True):
            columns[name] = [own.labels[code] if code else "" for code in codes.tolist()]
        with _faults_of_measure():
            places = coordinates_of(columns, parameters.pair)
            pairs = pair_distances(tables, parameters.pair, places, parameters.bands)
    found = synthetic_utility(tables, k=parameters.k, rng=np.random.default_rng(parameters.seed))
    noise_share = None if context.drawn is None else context.drawn.noise_share
    return replace(found, noise_share=noise_share, pairs=pairs)


def _cost(context: MeasureContext, parameters: Any) -> Cost:  # noqa: ANN401 - of any of the three
    drawn = () if context.drawn is None else (context.drawn.table,)
    others = (other.table for other in context.others.values())
    cells = sum(own.codes.size for own in (context.table, *drawn, *others))
    repeated = getattr(parameters, "attacks", 1_000) * (2 + len(getattr(parameters, "secrets", ())))
    return Cost(cells * repeated * SECONDS_PER_COMPARISON, cells * BYTES_PER_CELL, 1, "codes")


SYNTHETIC_ATTACKS: Final = Measure(
    name="synthetic_attacks",
    title="Attacks by a synthetic table on the people of whom it was made",
    source="Giomi et al. (2023), section 4; Koopman (1984)",
    guarantee="statistical",
    parameters=AttackParameters,
    result=SyntheticAttacks,
    cost=_cost,
    compute=_attacked,
    supports=_supports,
    judges_synthetic=True,
    reads=frozenset({"records", "table"}),
    tells_counts=True,
    example=Example(
        "does a synthetic table give members away?", "members-attacked", parameters={"synthetic": "members"}
    ),
)
SYNTHETIC_DISTANCES: Final = Measure(
    name="synthetic_distances",
    title="Copies in a synthetic table, and its distances to the original",
    source="Gower (1971); Yao et al. (2025)",
    guarantee="statistical",
    parameters=DistanceParameters,
    result=SyntheticDistances,
    cost=_cost,
    compute=_distances,
    protects=False,
    supports=_supports,
    judges_synthetic=True,
    reads=frozenset({"records", "table"}),
    tells_counts=True,
    example=Example("how many members are copied?", "members-copied", parameters={"synthetic": "members"}),
    by_persons=BY_ROWS,
)
SYNTHETIC_UTILITY: Final = Measure(
    name="synthetic_utility",
    title="Resemblance of a synthetic table to the original",
    source="NIST: k-marginal score of the Collaborative Research Cycle",
    guarantee="statistical",
    parameters=UtilityParameters,
    result=SyntheticUtility,
    cost=_cost,
    compute=_resemblance,
    protects=False,
    tells_counts=True,
    supports=_supports,
    judges_synthetic=True,
    reads=frozenset({"records", "table"}),
    example=Example(
        "how well does a synthetic table resemble members?",
        "members-resembled",
        parameters={"synthetic": "members"},
    ),
    by_persons=BY_ROWS,
)
