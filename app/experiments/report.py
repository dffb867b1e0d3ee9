"""What an experiment reports: tables, pictures, and claims that hold or do not."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from app.charts.series import Mark, Series
from app.domain.arrays import Floats
from app.domain.tables.numbers import to_json_number
from app.experiments.cells import Cells
from app.experiments.census import Census

Grade = Literal["exact", "qualitative"]
Cell = str | int | float


@dataclass(frozen=True)
class Claim:
    """``exact`` claims are provable and must hold on every run; ``qualitative`` ones are expected."""

    text: str
    grade: Grade
    holds: bool
    evidence: str


def exact(text: str, holds: bool, evidence: str) -> Claim:
    """A claim that is provable."""
    return Claim(text, "exact", bool(holds), evidence)


def qualitative(text: str, holds: bool, evidence: str) -> Claim:
    """A claim that is expected."""
    return Claim(text, "qualitative", bool(holds), evidence)


@dataclass(frozen=True)
class ResultTable:
    """Rows under named columns."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]

    @classmethod
    def of(cls, title: str, columns: tuple[str, ...], x: Iterable[Cell], y: Floats) -> ResultTable:
        """A row per value of ``x`` (n), with its row of ``y`` (n, columns but the first)."""
        return cls(title, columns, tuple((at, *row) for at, row in zip(x, y.tolist(), strict=True)))


@dataclass(frozen=True)
class Picture:
    """One picture, not drawn yet."""

    name: str
    title: str
    x_label: str
    y_label: str
    series: tuple[Series, ...]


def curves(
    names: Sequence[str], x: Sequence[float] | Floats, y: Floats, mark: Mark = "line"
) -> tuple[Series, ...]:
    """A series per name over ``x`` (n), from the columns of ``y`` (n, names)."""
    at = tuple(map(float, x))
    return tuple(Series(name, at, tuple(y[:, i].tolist()), mark) for i, name in enumerate(names))


@dataclass(frozen=True)
class Report:
    """All that one experiment found."""

    id: str
    title: str
    setting: str
    tables: tuple[ResultTable, ...]
    pictures: tuple[Picture, ...]
    claims: tuple[Claim, ...]
    source: str = ""
    data: str = "generated, or printed in the source"

    @property
    def holds(self) -> bool:
        """Whether every exact claim does."""
        return all(claim.holds for claim in self.claims if claim.grade == "exact")

    def to_document(self) -> dict[str, Any]:
        """Plain JSON-able form."""
        return {
            "id": self.id,
            "title": self.title,
            "source": self.source,
            "setting": self.setting,
            "data": self.data,
            "tables": [
                {
                    "title": table.title,
                    "columns": list(table.columns),
                    "rows": [
                        [to_json_number(cell) if isinstance(cell, float) else cell for cell in row]
                        for row in table.rows
                    ],
                }
                for table in self.tables
            ],
            "claims": [asdict(claim) for claim in self.claims],
        }


@dataclass(frozen=True)
class Effort:
    """How much an experiment draws: seeds to average over, records to disclose, entities in all.

    ``census`` is an extract of the reader's own for the experiments on one. ``cells`` are what was computed
    before. ``commuters`` is a table of the reader's own of home, work, workers and metres, or without metres
    beside the coordinates of its ``places``; ``networks`` are tables of who is a friend of whom, ``adult``
    is UCI's table. ``case_study`` lets X4 to X7 take as many people of the sample instead of the synthetic
    attributes.
    """

    seeds: int = 5
    records: int = 200
    entities: int = 4000
    census: Census | None = None
    cells: Cells = field(default_factory=Cells)
    commuters: Path | None = None
    places: Path | None = None
    networks: tuple[Path, ...] = ()
    adult: Path | None = None
    case_study: bool = False


@dataclass(frozen=True)
class Experiment:
    """One experiment of the papers; ``seconds`` are of a processor, rounded, on generated data."""

    id: str
    run: Callable[[Effort], Report]
    seconds: int
    source: str
    question: str
