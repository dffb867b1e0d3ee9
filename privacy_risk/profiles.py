"""``profile``: the risk profile of a table by one call."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from privacy_risk.client import Client
from privacy_risk.columns import Roles, Said
from privacy_risk.embedded import client_of
from privacy_risk.loading import content_name, load, one_row
from privacy_risk.notebook_views import BAD, GOOD, Bar, bars, view
from privacy_risk.singled_out import SETS_TOLD, listed, singled_out_told, values_alone_told
from privacy_risk.tables import Table, table_of
from privacy_risk.text_tables import html_list, number_text, text_table
from privacy_risk.values import Json


@dataclass(frozen=True, repr=False)
class Profile:
    """What a table gives away as it is; printed, and shown in notebooks, as a table of figures.

    ``figures`` are those of the measure ``privacy_profile`` of docs/measures.md, each with ``measure``,
    ``attribute``, ``name``, ``value`` and which direction is ``safer``. The first of the ``notes`` says what
    a row is, or that one person seems to have several. ``singled_out`` says what singles people out.
    """

    records: int
    classes: int
    figures: Sequence[Json]
    roles: Roles
    notes: tuple[str, ...]
    singled_out: Json

    def __getitem__(self, name: str) -> float:
        """The first figure of this name, such as ``k``; NaN where nothing was judged, infinity as such."""
        for figure in self.figures:
            if figure["name"] == name:
                return float("nan" if figure["value"] is None else figure["value"])
        raise KeyError(name)

    def __str__(self) -> str:
        told = (*self.notes, self._heading, *singled_out_told(self.singled_out))
        return "\n".join((*told, "", str(self.roles), "", text_table(list(self._rows()))))

    __repr__ = __str__

    def _repr_html_(self) -> str:
        told = (*self.notes[:1], *singled_out_told(self.singled_out))
        folded = [("columns", self.roles._repr_html_()), ("notes", html_list(self.notes[1:]))]
        return view(self._heading, self._picture(), told, list(self._rows()), folded)

    def _picture(self) -> str:
        """The people whom sets of columns single out, as bars."""
        found = self.singled_out
        sets = [(listed(own["columns"]), own["persons"]) for own in found["smallest_sets"][:SETS_TOLD]]
        shown = [("all columns together", found["singled_out"]), *sets]
        people = max(found["persons"], 1)
        title = "People who are singled out, by the columns that do it"
        return bars(
            title, [Bar(name, n / people, f"{n:,} of {people:,}", BAD if n else GOOD) for name, n in shown]
        )

    @property
    def _heading(self) -> str:
        return f"{self.records:,} records in {self.classes:,} classes of equal quasi-identifiers"

    def _rows(self) -> Iterator[Sequence[str]]:
        yield ("measure", "attribute", "number", "value", "safer")
        for own in self.figures:
            value = number_text(own["value"])
            yield (own["measure"], own["attribute"] or "", own["name"], value, own["safer"])


def profile(
    frame: object,
    *,
    quasi_identifiers: Sequence[str] = (),
    sensitive: Sequence[str] = (),
    roles: Mapping[str, str] | None = None,
    person: str | None = None,
    rows_are: str | None = None,
    one_row_per_person: str | Mapping[str, object] | None = None,
    date_formats: Mapping[str, str] | None = None,
    missing_markers: Sequence[str] = (),
    server: str | None = None,
    key: str | None = None,
) -> Profile:
    """Measure k-anonymity, ℓ-diversity, t-closeness and the other models of a table as it is.

    ``frame`` is a DataFrame of pandas or polars, or a table of pyarrow. What is not said of its columns is
    proposed by the service, and told in ``roles`` of the result. A service is started for this Python process
    unless ``server`` and ``key`` name one that runs, which then keeps the table. ``person`` names the column
    that says whom a row is about: persons are counted then. ``rows_are`` may say ``persons`` instead.
    ``one_row_per_person`` names the column of persons who have several rows, each of whom gets one, of the
    most frequent values; or is all that POST /v1/uploads/{ref}/one-row-per-person takes but its name.
    ``date_formats`` say how columns of dates are written, such as ``dd/mm/yyyy``; it is asked for where that
    cannot be told. Texts among the ``missing_markers`` mean a missing value; others never do.

    Raises InvalidArgument (a ValueError) and WrongType (a TypeError), ProblemError for what the service
    refuses, ServiceNotStarted if none can be started.
    """
    table = table_of(frame, "frame", missing_markers)
    said = Said(quasi_identifiers, sensitive, roles or {}, {}, person, rows_are, date_formats or {})
    said.by_column(table.columns)  # before a service is started
    client = client_of(server, key)
    return profiled(client, *one_row(client, table, said, one_row_per_person))


def profiled(client: Client, table: Table, said: Said) -> Profile:
    """The profile of a table, by this client."""
    loaded = load(client, table, said, is_generalised=False)
    body = {"dataset": loaded.dataset, "measure": {"kind": "privacy_profile", "singled_out": True}}
    result = measured(client, body)
    judged = result["judged"]
    not_shown = (f"Not shown of {own['measure']}: {own['reason']}" for own in result["left_out"])
    notes = (*loaded.notes, *values_alone_told(result), *not_shown)
    singled = result["singled_out"]
    return Profile(judged["records"], judged["classes"], result["figures"], loaded.roles, notes, singled)


def measured(client: Client, body: Json) -> Json:
    """The result of a measurement, by a run if it is too much for a direct answer."""
    named = {"name": content_name("measured", body), **body}
    result: Json = client.measurements.answer(named).document["result"]
    return result
