"""Where people are whom the mechanism dirichlet_multinomial drew, and where those of the original are."""

from __future__ import annotations

import asyncio
import csv
import io
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

from markupsafe import Markup

from app.charts.drawing import Caption
from app.charts.point_maps import MOST_CIRCLES, Place, draw_point_maps
from app.web.drawn_releases import as_it_was
from app.web.forms import Fault, Form, name_faults
from app.web.visits import NoSuchPage, Page, Visit, found
from app.web.words import number
from privacy_risk import Json, ProblemError

MOST_DRAWN: Final = 200_000
MOST_STORED: Final = 20_000
"""Rows up to which a dataset is read: the interface shows 200 at a time."""
AXES: Final = (("x", "y"), ("longitude", "latitude"))
AS_IT_IS: Final = {"kind": "table_level", "levels": {}}

Table = tuple[Sequence[str], Sequence[Sequence[str | None]]]  # columns and rows


async def drawn_map(visit: Visit) -> Page:
    """The form that names a dataset of places and a partition, and the maps of what it names."""
    release = (await visit.client.releases.get(visit.ref)).document
    mechanism = release.get("mechanism") or {}
    if mechanism.get("name") != "dirichlet_multinomial":
        raise NoSuchPage
    form = Form({name: [text] for name, text in visit.request.query_params.items()})
    is_given_out = visit.reads_data and not release.get("withdrawn_at") and release["rows"] <= MOST_DRAWN
    maps = None
    if is_given_out and form.text("places"):
        maps = await _maps(visit, release, form)
        if isinstance(maps, Fault):
            form, maps = form.with_faults(maps), None
    shown = {"release": release, "form": form, "maps": maps, "published": mechanism["published"]}
    return Page("drawn_map.html", {**shown, "most_drawn": MOST_DRAWN}, 422 if form.faults else 200)


async def _maps(visit: Visit, release: Json, form: Form) -> dict[str, Any] | Fault:
    """The maps and what is not in them; or what is wrong with the form."""
    published = release["mechanism"]["published"]
    attribute = published["attribute"]
    unnamed = name_faults(form, "places")
    places = unnamed[0] if unnamed else await _places(visit, form.text("places"), attribute)
    if isinstance(places, Fault):
        return places
    sent = ((name, form.text(f"of/{name}")) for name in published["partition"])
    wanted = {name: value for name, value in sent if value}
    rule = release["rule"]["name"] or AS_IT_IS
    drawn, original = await asyncio.gather(
        _drawn(visit, release), found(_stored(visit, release["dataset"], rule))
    )
    people = _counted(drawn, attribute, wanted)
    if not people.keys() & places.keys():
        said = f"None of the {number(people.total())} drawn people with these values is at any of its places."
        return Fault("places", said, f"Give values, and places by {attribute}, as the released table does.")
    columns = {"Drawn people": people}
    if original is not None:
        columns["Original"] = _counted(original, attribute, wanted)
    used = [place for name, place in places.items() if any(counts[name] for counts in columns.values())]
    maps, notes = {}, []
    for title, counts in columns.items():
        at_places = [counts[place.name] for place in used]
        placed, total, more = sum(at_places), counts.total(), sum(map(bool, at_places)) - MOST_CIRCLES
        maps[f"{title}: {number(placed)}"] = at_places
        notes.append({"title": title, "total": total, "unplaced": total - placed, "hidden": max(more, 0)})
    caption = Caption("map", "People by place", "A circle per place; its area is the number of people there.")
    picture = Markup(draw_point_maps(caption, used, maps))  # noqa: S704 - made here, every text escaped
    return {"picture": picture, "notes": notes}


async def _places(visit: Visit, dataset: str, attribute: str) -> Mapping[str, Place] | Fault:
    """The places of a dataset by name, or what is wrong with it."""
    try:
        stored = await _stored(visit, dataset, AS_IT_IS)
    except ProblemError as problem:
        fault = Form().refused(problem).faults[0]
        return Fault("places", fault.said, fault.remedy or "Name a dataset of places.")
    if stored is None:
        return Fault("places", f"It has more than {MOST_STORED:,} rows.", "Name a dataset of fewer places.")
    columns, rows = stored
    axes = next((own for own in AXES if {attribute, *own} <= set(columns)), None)
    if axes is None:
        said = f"It does not show {attribute} with x and y, or with longitude and latitude."
        return Fault("places", said, "Name a dataset in which these three columns are quasi-identifiers.")
    positions = [columns.index(name) for name in (attribute, *axes)]
    places: dict[str, Place] = {}
    for row in rows:
        name, x, y = (row[position] or "" for position in positions)
        try:
            place = Place(name, float(x), float(y))
        except ValueError:
            continue
        if abs(place.x) <= 1e9 and abs(place.y) <= 1e9:
            places.setdefault(name, place)
    said = f"Its columns {axes[0]} and {axes[1]} have no numbers up to a thousand million in any row."
    return places or Fault("places", said, "Write coordinates as decimals with a point, such as -87.5.")


async def _stored(visit: Visit, dataset: str, rule: Json | str) -> Table | None:
    """A dataset as a rule shows it; None if it has more rows than are read."""
    rows: list[Sequence[str | None]] = []
    while True:
        body = {"dataset": dataset, "rule": rule, "first": len(rows) + 1, "limit": 200}
        preview = await visit.client.rules.preview(body)
        rows += [record["after"] for record in preview["records"]]
        if preview["total_rows"] > MOST_STORED or len(rows) >= preview["total_rows"]:
            return None if preview["total_rows"] > MOST_STORED else (preview["columns"], rows)


async def _drawn(visit: Visit, release: Json) -> Table:
    """The released table."""
    pieces = [piece async for piece in visit.client.releases.data(release["name"])]
    rows = csv.reader(io.StringIO(b"".join(pieces).decode(), newline=""))
    columns = next(rows)
    shown = release["neutralise_formulas"]
    return columns, await asyncio.to_thread(lambda: [[as_it_was(own, shown) for own in row] for row in rows])


def _counted(table: Table, attribute: str, wanted: Mapping[str, str]) -> Counter[str | None]:
    """Rows with the wanted values, by value of the attribute."""
    columns, rows = table
    place = columns.index(attribute)
    conditions = [(columns.index(name), value) for name, value in wanted.items()]
    return Counter(row[place] for row in rows if all(row[i] == value for i, value in conditions))
