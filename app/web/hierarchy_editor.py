"""Changing the hierarchy of an attribute by hand; what is stored is a new one, and the old one stays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote

from starlette.responses import RedirectResponse, Response

from app.web.forms import Fault, Form
from app.web.hierarchy_lines import (
    Rows,
    definition_of,
    groups_of,
    is_whole,
    levels_of,
    merged,
    moved,
    rows_of,
    rows_of_tree,
    text_of,
    with_level,
    without_level,
)
from app.web.new_names import name_faults
from app.web.visits import NoSuchPage, Page, Visit
from app.web.words import address, heights_of
from privacy_risk import Json, ProblemError

MOST_VALUES: Final = 2_000
"""Values that somebody can look through in lines."""
MOST_SHOWN: Final = 200
"""Children of a value that the interface shows."""
MOST_LEVELS: Final = 10
"""Generations that it shows at once."""


@dataclass(frozen=True)
class Subject:
    """The attribute whose hierarchy is changed: its rows and the records of each value, None if not known.

    ``from_data`` says that records may have decided what is changed. ``obstacle`` says why it cannot be
    changed in lines; there are no rows then.
    """

    dataset: Json
    attribute: str
    top_label: str
    rows: Rows
    records: Mapping[str, int] | None
    from_data: bool
    obstacle: str | None = None


async def editor(visit: Visit) -> Page:
    """The hierarchy in lines, as it is."""
    return await _page(visit, await _subject(visit), Form())


async def edited(visit: Visit, form: Form) -> Page | Response:
    """The lines after a change, or the hierarchy that has been made of them."""
    subject = await _subject(visit)
    if subject.obstacle is not None:
        return await _page(visit, subject, form)
    rows, faults = rows_of(form.text("lines"))
    if faults:
        return await _page(visit, subject, form.with_faults(*(Fault("lines", said) for said in faults)))
    if form.text("do") == "store":
        return await _store(visit, subject, form, rows)
    changed = _changed(rows, form)
    if isinstance(changed, Form):
        return await _page(visit, subject, changed)
    # What was ticked and named has been dealt with.
    kept = {name: sent for name, sent in form.sent.items() if name not in ("pick", "into")}
    level = str(_level(form, changed))
    return await _page(visit, subject, Form({**kept, "lines": (text_of(changed),), "level": (level,)}))


def _changed(rows: Rows, form: Form) -> Rows | Form:
    """The rows after what the button says; the form if that cannot be done."""
    do, level = form.text("do"), _level(form, rows)
    chosen = set(form.sent.get("pick", ())) & {row[level] for row in rows}
    name = form.text("into")
    fault = _fault_of(do, level, len(rows[0]), bool(chosen), bool(name))
    if fault is not None:
        return form.with_faults(fault)
    if do == "move":
        return moved(rows, level, chosen, name)
    if do == "merge":
        return merged(rows, level, chosen, name)
    if do == "add":
        return with_level(rows, level)
    return without_level(rows, level) if do == "remove" else rows


def _fault_of(do: str, level: int, levels: int, is_chosen: bool, is_named: bool) -> Fault | None:
    """Why a change cannot be made."""
    if do in ("move", "merge") and not is_chosen:
        return Fault("pick", "Nothing is ticked.", "Tick one value or group, or more.")
    if do in ("move", "merge") and not is_named:
        return Fault("into", "The group has no name.", "Give one that is there, or a new one.")
    if do == "move" and level + 1 == levels:
        return Fault("level", "There is no level above this one.", "Add a level above it first.")
    if do == "merge" and level == 0:
        return Fault("level", "Values of the data cannot be merged or renamed.", "Put them into one group.")
    if do == "remove" and level == 0:
        return Fault("level", "The values themselves cannot be removed.", "Choose a level of groups.")
    if do == "add" and levels == MOST_LEVELS:
        return Fault("level", f"There are {MOST_LEVELS} levels already.", "Remove another one first.")
    return None


def _level(form: Form, rows: Rows) -> int:
    written = form.text("level", "0")
    number = int(written[:4]) if written.isascii() and written.isdecimal() else 0
    return min(number, len(rows[0]) - 1)


# --- storing -----------------------------------------------------------------------------------------------


async def _store(visit: Visit, subject: Subject, form: Form, rows: Rows) -> Page | Response:
    faults = name_faults(form)
    if form.text("dataset"):
        faults += name_faults(form, "dataset")
    if faults:
        return await _page(visit, subject, form.with_faults(*faults))
    body: Json = {
        "name": form.text("name"),
        "definition": definition_of(rows, subject.top_label),
        "from_data": subject.from_data,
    }
    try:
        made = await visit.client.hierarchies.create(body)
    except ProblemError as problem:
        place = form.refused(problem, lambda place: "lines" if place.startswith("definition") else "name")
        return await _page(visit, subject, place)
    if not form.text("dataset"):
        return RedirectResponse(address("hierarchies", made.name), 303)
    try:
        dataset = await visit.client.datasets.create(
            _with_hierarchy(subject, form.text("dataset"), made.name)
        )
    except ProblemError as problem:
        said = f"The hierarchy {made.name} is stored, but the dataset could not be made."
        return await _page(
            visit, subject, form.with_faults(Fault("dataset", said)).refused(problem, lambda _: "dataset")
        )
    return RedirectResponse(address("datasets", dataset.name), 303)


def _with_hierarchy(subject: Subject, name: str, hierarchy: str) -> Json:
    """The same dataset under another name, with another hierarchy of the attribute."""
    attributes = []
    for own in subject.dataset["attributes"]:
        declared = {"name": own["name"], "type": own["type"], "role": own["role"]}
        used = hierarchy if own["name"] == subject.attribute else own["hierarchy"]
        attributes.append(declared | ({"hierarchy": used} if used else {}))
    return {"name": name, "upload": subject.dataset["upload"], "attributes": attributes}


# --- the page ----------------------------------------------------------------------------------------------


async def _subject(visit: Visit) -> Subject:
    dataset = (await visit.client.datasets.get(visit.ref)).document
    attribute = str(visit.request.path_params["attribute"])
    heights = heights_of(dataset)
    if attribute not in heights:
        raise NoSuchPage
    quoted = quote(attribute, safe="")
    short = await visit.client.datasets.tree(dataset["name"], quoted, depth=0)
    root, records = short["root"], None
    rows: Rows = ()
    obstacle = _obstacle(heights[attribute], root["leaves"])
    if obstacle is None:
        whole = await visit.client.datasets.tree(dataset["name"], quoted, depth=MOST_LEVELS, limit=MOST_SHOWN)
        root = whole["root"]
        if is_whole(root):
            rows, records = rows_of_tree(root, heights[attribute]), _records(root)
        if len({row[0] for row in rows}) != root["leaves"]:
            obstacle = f"A value of it has more than {MOST_SHOWN} below it, or several above it."
    shown = () if obstacle else rows
    of_data = await _is_from_data(visit, dataset, attribute)
    return Subject(dataset, attribute, root["label"], shown, records, of_data, obstacle)


async def _is_from_data(visit: Visit, dataset: Json, attribute: str) -> bool:
    """Whether values come from the column, or the hierarchy is not known to be declared."""
    (own,) = (own for own in dataset["attributes"] if own["name"] == attribute)
    if not own["hierarchy"]:
        return True
    known = (await visit.client.hierarchies.get(own["hierarchy"])).document
    if own["leaves"] != known["leaves"]:  # values of the data were attached to it
        return True
    from_data: bool | None = known["from_data"]
    return known["kind"] not in ("parents", "rows") if from_data is None else from_data


def _obstacle(height: int, leaves: int) -> str | None:
    if leaves > MOST_VALUES:
        return f"It has {leaves:,} values; up to {MOST_VALUES:,} can be changed by hand."
    if height > MOST_LEVELS:
        return f"It has {height} levels; up to {MOST_LEVELS} can be changed by hand."
    return None


def _records(root: Json) -> Mapping[str, int] | None:
    """The records of each value; None for a key that may not know."""
    if root["records"] is None:
        return None
    counts: dict[str, int] = {}
    stack = [root]
    while stack:
        node = stack.pop()
        stack.extend(node["children"])
        if not node["children"]:
            counts[node["label"]] = node["records"]
    return counts


async def _page(visit: Visit, subject: Subject, form: Form) -> Page:
    rows, _ = rows_of(form.text("lines")) if form.sent else (subject.rows, [])
    is_readable = bool(rows) and not form.at("lines")
    shown: dict[str, Any] = {
        "dataset": subject.dataset,
        "attribute": subject.attribute,
        "obstacle": subject.obstacle,
        "top_label": subject.top_label,
        "form": form,
        "lines": text_of(subject.rows),
        "levels": [],
    }
    if is_readable:
        level = _level(form, rows)
        # Of values of the data that no line is about, how many records have each.
        values = {row[0] for row in rows}
        left = [count for value, count in (subject.records or {}).items() if count and value not in values]
        shown |= {
            "level": level,
            "levels": levels_of(rows, subject.records),
            "choices": [
                (number, "0: the values" if number == 0 else f"{number}: groups")
                for number in range(len(rows[0]))
            ],
            "groups": groups_of(rows, level, subject.records),
            "picked": set(form.sent.get("pick", ())),
            "names": list(dict.fromkeys(row[level + 1] for row in rows)) if level + 1 < len(rows[0]) else [],
            "without_line": {"values": len(left), "records": sum(left)} if left else None,
        }
    return Page("hierarchy_editor.html", shown, 422 if form.faults else 200)
