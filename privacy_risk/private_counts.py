"""``dp_counts``: how many rows have which values, with noise that protects every person."""

from __future__ import annotations

import io
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

from privacy_risk.arguments import InvalidArgument
from privacy_risk.client import Client
from privacy_risk.columns import require_column
from privacy_risk.embedded import client_of
from privacy_risk.loading import content_name, uploaded
from privacy_risk.notebook_views import view
from privacy_risk.parquet_reading import arrow_table
from privacy_risk.problems import ProblemError
from privacy_risk.tables import Table, table_of
from privacy_risk.text_tables import text_table
from privacy_risk.values import Json

Frame = TypeVar("Frame")
COUNT: Final = "noisy_count"
_ASSUMED: Final = ("assumed", "no")


@dataclass(frozen=True, repr=False)
class PrivateCounts(Generic[Frame]):
    """Noisy counts, and what is promised of them; printed as the promise first.

    ``frame`` has the columns and ``noisy_count``, the greatest first, of the library of the table that was
    given. A count is off by at most ``error_bound`` with a probability of 95 %. ``assumptions`` are what the
    ``guarantee`` rests on and nobody has checked; ``document`` is the release as the service answers it.
    """

    frame: Frame
    guarantee: str
    assumptions: tuple[str, ...]
    error_bound: int
    error: str
    document: Json
    _rows: tuple[tuple[str, ...], ...]

    def __str__(self) -> str:
        assumed = (f"  {own}" for own in self.assumptions)
        return "\n".join((self.guarantee, *assumed, self.error, "", text_table(self._rows)))

    __repr__ = __str__

    def _repr_html_(self) -> str:
        said = self.document["mechanism"]["published"]
        headline = f"{len(self._rows) - 1:,} noisy counts, ε = {said['epsilon']:g}, δ = {said['delta']:g}"
        return view(headline, "", (self.guarantee, *self.assumptions, self.error), self._rows)


def dp_counts(
    frame: Frame,
    *,
    by: str | Sequence[str],
    epsilon: float = 1.0,
    delta: float = 1e-6,
    values: Mapping[str, Sequence[str]] | None = None,
    independent_of_earlier: bool = False,
    missing_markers: Sequence[str] = (),
    server: str | None = None,
    key: str | None = None,
) -> PrivateCounts[Frame]:
    """Count the rows of a table by columns, differentially private: each row is taken for one person.

    Combinations of values that occur are counted by the mechanism ``stability_histogram``: (ε, δ) holds
    though the values are looked up in the table, as combinations of few rows are left out. With ``values``,
    all that each column can have, known without looking at the records, ``laplace_histogram`` counts every
    combination: ε alone holds, and ``delta`` is not used. A table is counted once: another question about it,
    which spends its ε again, has to say ``independent_of_earlier``.

    ``missing_markers``, ``server``, ``key`` and the errors are those of :func:`profile`.
    """
    table = table_of(frame, "frame", missing_markers)
    columns = (by,) if isinstance(by, str) else tuple(by)
    for name in columns:
        require_column("by", name, table.columns)
    if not columns or len(set(columns)) < len(columns) or COUNT in columns:
        raise InvalidArgument(
            "by", f"{list(columns)!r} are no columns to count by.", f"Name each once, and none {COUNT}."
        )
    if values is not None and {*values} != {*columns}:
        raise InvalidArgument(
            "values",
            f"has other columns than {', '.join(columns)}.",
            "List the values of each, or leave it out.",
        )
    mechanism: Json = {"kind": "laplace_histogram", "epsilon": epsilon} if values is not None else {
        "kind": "stability_histogram", "epsilon": epsilon, "delta": delta, "least_records": 1
    }  # fmt: skip
    client = client_of(server, key)
    body: dict[str, Any] = {"dataset": _dataset(client, table, columns, values), "mechanism": mechanism}
    if independent_of_earlier:
        body["independent_of_earlier"] = True
    return _counted(client, table, columns, {"name": content_name("counted", body), **body})


def _dataset(
    client: Client, table: Table, columns: Sequence[str], values: Mapping[str, Sequence[str]] | None
) -> str:
    """The dataset of the columns, each with a hierarchy of the values given, or that occur in it."""
    cells = list(zip(*table.cells(), strict=True))
    attributes = []
    for name in columns:
        found = {*cells[table.columns.index(name)]} - {*table.missing}
        given = found if values is None else {*map(str, values[name])}
        if found - given:
            raise InvalidArgument(
                "values", f"does not list every value that {name} has.", "List all that it can have."
            )
        definition = {"kind": "rows", "rows": [[own] for own in sorted(given)]}
        hierarchy = {"name": content_name("values", definition), "definition": definition}
        attributes.append(
            {
                "name": name, "type": "categorical", "role": "quasi_identifier", "on_unknown": "missing",
                "hierarchy": client.hierarchies.create(hierarchy).name,
            }
        )  # fmt: skip
    body = {"upload": uploaded(client, table), "attributes": attributes}
    return client.datasets.create({"name": content_name("table", body), **body}).name


def _counted(client: Client, table: Table, columns: Sequence[str], body: Json) -> PrivateCounts[Any]:
    try:
        document = client.releases.create(body).document
    except ProblemError as problem:
        if problem.code != "direct-budget-exceeded":
            raise
        client.runs.wait(client.releases.start_run(body).id)
        document = client.releases.get(body["name"]).document
    drawn = arrow_table(b"".join(client.releases.data(body["name"], format="parquet")))
    counted = drawn.group_by(list(columns), use_threads=False).aggregate([([], "count_all")])
    counted = counted.rename_columns([*columns, COUNT])
    counted = counted.sort_by([(COUNT, "descending"), *((name, "ascending") for name in columns)])
    import pyarrow.parquet as pq

    sink = io.BytesIO()
    pq.write_table(counted, sink)
    rows = ((*map(str, own.values()),) for own in counted.to_pylist())
    mechanism = document["mechanism"]
    guarantee = mechanism["guarantees"][0]
    published = mechanism["published"]
    bound = error_bound(float(published["epsilon"]))
    left_out = (
        f"combinations whose noisy count is below {published['threshold']:,} are left out."
        if "threshold" in published
        else f"of {published['cells']:,} combinations, a missing value (*) among each column's, those whose "
        "noisy count is 0 or below are left out."
    )
    return PrivateCounts(
        table.given_back(sink.getvalue()),
        f"{guarantee['model'].replace('_', ' ').capitalize()}: {guarantee['sentence']}",
        tuple(_assumptions(guarantee, mechanism)),
        bound,
        f"Each count is off by at most {bound:,} with a probability of 95 %; {left_out}",
        document,
        ((*columns, COUNT), *rows),
    )


def error_bound(epsilon: float) -> int:
    """The least b that noise is beyond with a probability, 2·e^(−ε(b+1)) / (1 + e^(−ε)), of 5 % at most."""
    return max(0, math.ceil(math.log(2 / (0.05 * (1 + math.exp(-epsilon)))) / epsilon) - 1)


def _assumptions(guarantee: Json, mechanism: Json) -> Iterator[str]:
    """What nobody has checked, and what does not hold."""
    for own in guarantee["hypotheses"]:
        if own["holds"] in _ASSUMED and own["id"] != "parameters_are_public":
            yield f"{own['id'].replace('_', ' ')} ({own['holds']}): {own['reason']}"
    looked_up = (
        ""
        if "cells" in mechanism["published"]
        else " The values were looked up, and their list is not published: a combination shows by its noisy "
        "count alone. Whoever can read the service's hierarchies sees it."
    )
    yield (
        "parameters are public (assumed): Columns, ε, δ and what values are given are taken to be chosen "
        f"without looking at the records.{looked_up}"
    )
    if mechanism["together"] is not None:
        yield mechanism["together"]["sentence"]
