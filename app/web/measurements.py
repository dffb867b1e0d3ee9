"""A measurement: what was asked, what was found, and what the catalogue says of each number."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from markupsafe import Markup

from app.charts.drawing import Caption
from app.charts.neighbourhood import draw_neighbourhood
from app.web.measured import measured
from app.web.visits import Page, Visit, found
from app.web.words import letter, number, words
from privacy_risk import Json

GUARANTEES: Final = {
    "exact": "The result is exact.",
    "bound": "The result is a bound that the truth does not exceed.",
    "statistical": "The result is an estimate from samples; its standard error stands beside it.",
    "heuristic": "The result is a best effort: the truth may be worse.",
}
"""What a result is worth at best."""
MOST_ROWS: Final = 50
"""Of a long list in a result so many items are shown."""

TIMES: Final = ("0.25", "0.5", "1", "2", "4")  # at which the spread of an item is shown on request

_ABOUT_ITSELF: Final = ("kind", "version")


async def measurement(visit: Visit) -> Page:
    """One measurement."""
    document = (await visit.client.measurements.get(visit.ref)).document
    catalogue, run = await asyncio.gather(
        visit.client.catalogue(),
        found(visit.client.runs.get(document["name"])) if document["result"] is None else _nothing(),
    )
    entry = next((one for one in catalogue["measures"] if one["name"] == document["measure"]), None)
    is_of_catalogue = entry is not None and entry["version"] == document["version"]
    schema, known = (entry["result"], entry["values"]) if entry and is_of_catalogue else ({}, ())
    profile = None
    if document["sensitivity"]:
        profile = await found(visit.client.sensitivity_profiles.get(document["sensitivity"]))
    said = {} if entry is None else entry["parameters"].get("properties", {})
    return Page(
        "measurement.html",
        {
            "measurement": document,
            "entry": entry,
            "is_of_catalogue": is_of_catalogue,
            "says": paragraphs(schema),
            "guarantee": GUARANTEES[document["guarantee"]],
            "parameters": [
                {
                    "name": letter(name),
                    "value": _text(value),
                    "said": said.get(name, {}).get("description", ""),
                }
                for name, value in document["parameters"].items()
            ],
            "unit": None if profile is None else profile.document["unit"],
            "result": None if document["result"] is None else shown_result(document["result"], schema, known),
            "run": None if run is None else run.document,
            "neighbourhood": await _neighbourhood(visit, document),
        },
    )


async def _neighbourhood(visit: Visit, document: Json) -> Json | None:
    """Who is near an item's owner at a time, for who may read the data: trust is its owner's matter."""
    result, parameters = document["result"], document["parameters"]
    if not visit.reads_data or "neighbourhood" not in (result or {}):
        return None
    time, wanted = f"{parameters['time']:g}", visit.request.query_params.get("time", "")
    times = () if parameters["kernel"] == "steps" else sorted({*TIMES, time}, key=float)
    if wanted in times and wanted != time:
        measure = {**parameters, "kind": document["measure"], "time": float(wanted)}
        later = await measured(
            visit, {"dataset": document["dataset"], "measure": measure}, document["sha256"]
        )
        result, time = (result, time) if later is None else (later, wanted)
    said = "Larger circles are riskier to give the item to; darker ones are less trusted."
    caption = Caption("near", f"Friends of {parameters['owner']} and their friends", said)
    drawn = draw_neighbourhood(caption, parameters["owner"], result["neighbourhood"])
    shown = {"picture": Markup(drawn), "said": said}  # noqa: S704 - made here, every text in it escaped
    return {**shown, "left_out": result["neighbours_left_out"], "time": time, "times": times}


async def _nothing() -> None:
    return None


def paragraphs(schema: Json) -> list[str]:
    """What the catalogue says of a result, without its title."""
    return str(schema.get("description", "")).split("\n\n")[1:]


@dataclass(frozen=True)
class Listing:
    """A list of a result as a table; ``hidden`` items are not shown."""

    title: str
    said: str
    columns: list[str]
    rows: list[list[str]]
    hidden: int


def shown_result(result: Json, schema: Json, known: Sequence[Json]) -> ShownResult:
    """A result as a page shows it, described as far as ``schema`` and the ``known`` values describe it."""
    named = {name: value for name, value in result.items() if name not in _ABOUT_ITSELF}
    shown = ShownResult({one["path"]: one for one in known}, schema.get("$defs", {}))
    shown.collect(named, schema, ())
    return shown


@dataclass
class ShownResult:
    """The numbers of a result, each with its meaning, and its lists.

    ``known`` are values by their paths, ``parts`` the schemas that others name.
    """

    known: Mapping[str, Json]
    parts: Mapping[str, Json]
    values: list[Json] = field(default_factory=list)
    lists: list[Listing] = field(default_factory=list)

    def collect(self, part: Mapping[str, Any], schema: Json, place: tuple[str, ...]) -> None:
        """Take in a part of the result: what it says itself stands before what it says of its parts."""
        properties = schema.get("properties", {})
        for name, value in sorted(part.items(), key=lambda item: isinstance(item[1], Mapping)):
            own, here = properties.get(name, {}), (*place, name)
            title = ": ".join(words(letter(step)) for step in here)
            said = own.get("description", "")
            if isinstance(value, Mapping):
                self.collect(value, _resolved(own, self.parts), here)
            elif isinstance(value, list) and value and isinstance(value[0], Mapping):
                columns = list(dict.fromkeys(name for item in value for name in item))
                rows = [[_text(item.get(name)) for name in columns] for item in value[:MOST_ROWS]]
                names = [words(letter(name)) for name in columns]
                self.lists.append(Listing(title, said, names, rows, max(len(value) - MOST_ROWS, 0)))
            else:
                known = self.known.get(".".join(here)) or self.known.get(".".join((*place, "<key>")), {})
                self.values.append({"name": title, "value": _text(value), "said": said, **_bounds(known)})


def _resolved(schema: Json, parts: Mapping[str, Json]) -> Json:
    """The schema of an object, which may be named elsewhere, and may be null instead."""
    options = [schema, *schema.get("anyOf", ())]
    name = next((one["$ref"].rpartition("/")[2] for one in options if "$ref" in one), None)
    return schema if name is None else parts.get(name, {})


_BETTER: Final = {
    ("boolean", "low"): "no",
    ("boolean", "high"): "yes",
    ("number", "low"): "lower",
    ("number", "high"): "higher",
}


def _bounds(known: Json) -> Json:
    """What a value can be and which way is better, as far as that is known and not plain."""
    if not known:
        return {"range": None, "better": None}
    if known["kind"] == "boolean":
        return {"range": None, "better": _BETTER.get(("boolean", known["safer"]))}
    possible = f"{number(known['least'])} to {number(known['greatest'])}"
    return {"range": possible, "better": _BETTER.get(("number", known["safer"]))}


def _text(value: object) -> str:
    """A value in one line."""
    if isinstance(value, Mapping):
        return "; ".join(f"{words(name)}: {_text(own)}" for name, own in value.items()) or "–"
    if isinstance(value, list):
        shown = ", ".join(_text(own) for own in value[:MOST_ROWS])
        return (f"{shown}, …" if len(value) > MOST_ROWS else shown) or "–"
    return number(value)
