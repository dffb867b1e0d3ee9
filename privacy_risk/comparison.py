"""``compare``: several releases of a table side by side, found in one run, as ``anonymise`` answers them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from privacy_risk.anonymisation import (
    Criteria,
    PerAttribute,
    answered,
    asked_for,
    found_by,
    infeasible,
    release_by,
)
from privacy_risk.arguments import InvalidArgument
from privacy_risk.client import Client
from privacy_risk.columns import Said, require_column
from privacy_risk.loading import Loaded, content_name
from privacy_risk.notebook_views import GOOD, PLAIN, Bar, bars, view
from privacy_risk.releases import AttributeLoss, Reached, Release, Report
from privacy_risk.tables import table_of
from privacy_risk.text_tables import html_list, number_text
from privacy_risk.usual import APART, MAX_SUPPRESSED, NUMBERS, number_of, others_told
from privacy_risk.values import Json, Progress

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Frame = TypeVar("Frame")


@dataclass(frozen=True, repr=False)
class Comparison(Generic[Frame]):
    """Releases side by side, by the ids of docs/alternatives.md; printed as what each shows and costs.

    ``alternatives`` are as POST /v1/optimisations answers them; iterating gives their ids. ``curves`` are the
    losses by limit and by k. ``suggested`` is the one to take if nothing else is known.
    """

    suggested: str
    alternatives: Mapping[str, Json]
    curves: Mapping[str, Sequence[Json]]
    notes: tuple[str, ...]
    records: int
    _make: Callable[[str], Release[Frame]] = field(repr=False)

    def __iter__(self) -> Iterator[str]:
        return iter(self.alternatives)

    def __getitem__(self, name: str) -> Json:
        """An alternative by its id, or by that of another one that releases the same."""
        for own in self.alternatives.values():
            if name in (own["id"], *own["also"]):
                return own
        raise InvalidArgument("id", f"There is no alternative {name!r}.", f"There are: {', '.join(self)}.")

    def release(self, id: str | None = None) -> Release[Frame]:
        """The release of an alternative, the suggested one if none is named; nothing is searched again."""
        return self._make(self[id or self.suggested]["id"])

    def plot(self) -> Figure:
        """The loss of each alternative, and that of one level per column by limit and by k.

        ImportError without matplotlib, which is the extra ``plot``.
        """
        try:
            from matplotlib.figure import Figure
        except ImportError:
            raise ImportError("A plot needs matplotlib: install privacy-risk[plot].") from None
        figure = Figure(figsize=(12, 3.6), layout="constrained")
        bars, by_limit, by_k = figure.subplots(1, 3)
        names = list(self.alternatives)
        colours = ["#0f766e" if name == self.suggested else "#94a3b8" for name in names]
        bars.barh(names, [own["loss"] for own in self.alternatives.values()], color=colours)
        bars.invert_yaxis()
        bars.set(title="Alternatives, the suggested one darker", xlabel="loss")
        for axes, curve, label in ((by_limit, "suppression", "share suppressed at most"), (by_k, "k", "k")):
            points = [(own["at"], own["loss"]) for own in self.curves[curve] if own["loss"] is not None]
            axes.plot([at for at, _ in points], [loss for _, loss in points], marker="o", color="#0f766e")
            axes.set(title="One level per column", xlabel=label, ylabel="loss")
        return figure

    @property
    def table(self) -> list[list[str]]:
        """A head, and a row per alternative: what it shows of each column in words, and its figures."""
        first = self[self.suggested]
        criteria = [Reached(own["criterion"], None) for own in first["privacy"]]
        names = [own["attribute"] for own in (*first["columns"], *first["sensitive"])]
        head = ["alternative", *names, "suppressed", "loss"]
        rows = [[*head, *(own.letter + own.of for own in criteria), "highest risk", "mean risk"]]
        for own in self.alternatives.values():
            mark = " (suggested)" if own["id"] == self.suggested else ""
            rows.append(
                [
                    ", ".join((own["id"], *own["also"])) + mark,
                    *(in_words(column) for column in (*own["columns"], *own["sensitive"])),
                    _suppressed(own, self.records),
                    number_text(own["loss"]),
                    *(number_text(one["attained"]) for one in own["privacy"]),
                    number_text(own["highest_risk"]),
                    number_text(own["mean_risk"]),
                ]
            )
        return rows

    def __str__(self) -> str:
        head, *rows = self.table
        width = max(map(len, head))
        blocks = [
            "\n".join(
                (row[0], *(f"  {name:{width}}  {cell}" for name, cell in zip(head[1:], row[1:], strict=True)))
            )
            for row in rows
        ]
        return "\n\n".join((*blocks, "\n".join(self.notes)))

    __repr__ = __str__

    def _repr_html_(self) -> str:
        suggested = self[self.suggested]
        number, loss = len(self.alternatives), number_text(suggested["loss"])
        headline = (
            f"{number} ways to release {self.records:,} records; suggested: {self.suggested}, loss {loss}"
        )
        shown = [
            Bar(own["id"], own["loss"], number_text(own["loss"]), GOOD if own is suggested else PLAIN)
            for own in self.alternatives.values()
        ]
        folded = [("notes", html_list(self.notes[1:]))]
        return view(headline, bars("Loss of each", shown), self.notes[:1], self.table, folded)


def rule_name(name: str, way: str) -> str:
    """The name of an alternative's rule, by that of its optimisation."""
    return f"{name}-{way.replace('_', '-')}"


def in_words(column: Json) -> str:
    """What is shown of a column, the most frequent first, such as ``level 1, such as [20, 40[``."""
    levels = sorted(column["levels"], key=lambda own: -own["records"])
    total = sum(own["records"] for own in levels)
    said = []
    for own in levels:
        what = {0: "as it is", column["height"]: "not at all"}.get(own["level"], f"level {own['level']}")
        if 0 < own["level"] < column["height"] and own["example"] is not None:
            what += f", such as {own['example']}"
        share = f" ({100 * own['records'] / total:.3g} %)" if len(levels) > 1 else ""
        said.append(what + share)
    return "; ".join(said) or "not at all"


def _suppressed(own: Json, records: int) -> str:
    lost = "" if own["persons"] is None else f", {own['persons_suppressed']:,} of {own['persons']:,} persons"
    return f"{own['suppressed_records']:,} of {records:,}{lost}"


def compare(
    frame: Frame,
    *,
    k: int,
    l: PerAttribute | None = None,  # noqa: E741 - its name in the field
    t: PerAttribute | None = None,
    beta: PerAttribute | None = None,
    max_suppressed: float = MAX_SUPPRESSED,
    important: Sequence[str] = (),
    others: str = APART,
    quasi_identifiers: Sequence[str] = (),
    sensitive: Sequence[str] = (),
    roles: Mapping[str, str] | None = None,
    person: str | None = None,
    rows_are: str | None = None,
    hierarchies: Mapping[str, object] | None = None,
    one_row_per_person: str | Mapping[str, object] | None = None,
    date_formats: Mapping[str, str] | None = None,
    missing_markers: Sequence[str] = (),
    server: str | None = None,
    key: str | None = None,
) -> Comparison[Frame]:
    """Several releases of a table that meet the criteria, each losing little in another way.

    ``important`` columns are generalised last by one of them. All other arguments, and the errors, are those
    of :func:`anonymise`.
    """
    table = table_of(frame, "frame", missing_markers)
    said = Said(
        quasi_identifiers, sensitive, roles or {}, hierarchies or {}, person, rows_are, date_formats or {}
    )
    criteria = Criteria(k, l, t, max_suppressed, others=others, beta=beta)
    answer = partial(compared, important=important)
    return answered(table, said, criteria, one_row_per_person, (server, key), answer)


def compared(
    client: Client,
    loaded: Loaded,
    rows: int,
    criteria: Criteria,
    tell: Callable[[Progress], None],
    given_back: Callable[[bytes], Any],
    *,
    important: Sequence[str],
) -> Comparison[Any]:
    """The comparison for a dataset of so many rows; ``given_back`` makes a table of what comes in Parquet."""
    for column in important:
        require_column("important", column, loaded.roles.of("quasi_identifier"))
    loaded, asked = asked_for(client, loaded, criteria)
    objective = {"kind": "alternatives", **asked, "important": list(important)}
    question = {"dataset": loaded.dataset, "objective": objective}
    name = content_name("compared", question)
    found = found_by(client, {"name": name, **question}, tell)
    if not found["alternatives"]:
        raise infeasible(found, asked["privacy"], loaded.roles)
    alternatives = {own["id"]: own for own in found["alternatives"]}

    def make(way: str) -> Release[Any]:
        own = alternatives[way]
        rule = rule_name(name, way)
        report = _report(own, alternatives, rows)
        return release_by(client, loaded, asked, (rule, own["rule"]), report, given_back)

    notes = (
        *loaded.notes,
        *others_told(asked["privacy"]),
        *_more_would_do(found),
        *_likeness_told(found["curves"]),
    )
    return Comparison(found["suggested"], alternatives, found["curves"], notes, rows, make)


def likeness_costs(curves: Json) -> Iterator[tuple[str, str, Json]]:
    """Of β-likeness and the ℓ and the t that it implies: what is asked for, what it promises, its point."""
    for point in curves.get("likeness", ()):
        field = number_of(point["privacy"][0])
        criteria = (f"{NUMBERS[field]} = {own[field]:.15g} of {own['attribute']}" for own in point["privacy"])
        yield ", ".join(criteria), _PROMISES[field], point


_PROMISES: Final = {
    "beta": "no value is more likely in a class than in the table by more than β times its share there",
    "l": "so many different values are in every class; nothing of how likely each of them is",
    "t": "at most this share of a class has other values than the table's shares give it; "
    "a rare value may be many times as likely",
}


def _likeness_told(curves: Json) -> Iterator[str]:
    """What β-likeness costs beside the weaker models that it implies, in sentences."""
    for asked, promise, point in likeness_costs(curves):
        lost = "no rule meets it" if point["loss"] is None else f"loses {number_text(point['loss'])}"
        proven = "" if point["is_proven"] else " (the best found)"
        yield f"One level per column, {asked} ({promise}): {lost}{proven}."


def _more_would_do(found: Json) -> Iterator[str]:
    """How many more suppressed records would do to show every column at one level each, if any."""
    short = found["records_short"]
    if short is not None:
        most = "" if short["is_least"] else "at most "
        yield (
            f"One level per column shows every column with {most}{short['records']:,} more suppressed "
            "records (max_suppressed)."
        )


def _report(own: Json, alternatives: Mapping[str, Json], records: int) -> Report:
    """What was reached by an alternative; of a weighed loss the gap is to that of one level per column."""
    levels = own["rule"]["levels"] or {}
    gap = own["gap"]
    if not math.isclose(own["minimised"], own["loss"]):
        gap = own["loss"] - alternatives["one_level_per_column"]["lower_bound"]
    return Report(
        records=records,
        suppressed=own["suppressed_records"],
        classes=own["classes"],
        smallest_class=own["smallest_class"],
        loss=own["loss"],
        gap=gap,
        reached=tuple(Reached(one["criterion"], one["attained"]) for one in own["privacy"]),
        losses=tuple(
            AttributeLoss(one["attribute"], levels.get(one["attribute"]), one["loss"])
            for one in own["columns"]
        ),
        persons=own["persons"],
        persons_suppressed=own["persons_suppressed"],
    )
