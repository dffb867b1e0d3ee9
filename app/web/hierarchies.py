"""Hierarchies: how they are defined, their trees, and what uses them."""

from __future__ import annotations

import asyncio
from typing import Final

from markupsafe import Markup

from app.charts.drawing import Caption
from app.charts.icicle import IcicleNode, draw_icicle
from app.web.data import GENERATIONS, LOOKED_THROUGH, MOST_CHILDREN, tree_rows, without_crowd
from app.web.visits import Page, Visit
from app.web.words import address, number
from privacy_risk import Json

DEFINITIONS: Final = {
    "rows": "listed: a line for each value, from the value to its most general group",
    "parents": "listed: the groups directly above each value",
    "intervals": "intervals of numbers, wider on each level",
    "bounds": "parts of a range of numbers, cut at chosen bounds",
    "ordered_groups": "neighbours in the order of the values, grouped",
    "masking": "one character more masked on each level",
    "dates": "dates cut to longer periods, such as months and years",
    "flat": "every value directly below the top",
    "code_prefixes": "codes cut to their first characters",
    "postcodes": "postcodes below the areas that they begin with",
    "diagnoses": "codes of diagnoses below category, block and chapter",
    "countries": "countries below sub-region and region of the United Nations",
    "us_states": "states of the United States below division and region",
    "times": "times of day below hour and part of the day",
    "vocabulary": "known words below their groups",
    "rare_values": "rare values below one label",
}
"""Kinds of definition in words."""


async def hierarchy(visit: Visit) -> Page:
    """A hierarchy, part of its tree, and the datasets and dictionaries with it."""
    document = (await visit.client.hierarchies.get(visit.ref)).document
    name = document["name"]
    node, datasets, dictionaries = await asyncio.gather(
        visit.client.hierarchies.tree(
            name, node=visit.number("node", 0), depth=GENERATIONS, limit=MOST_CHILDREN
        ),
        visit.client.datasets.page(limit=LOOKED_THROUGH),
        visit.client.dictionaries.page(limit=LOOKED_THROUGH),
    )
    root = without_crowd(node)
    caption = Caption(
        "hierarchy",
        f"Hierarchy {name} below {root['label']}",
        "Each column is one generation; the height of a value is its share of the leaves. "
        "The same numbers are in the table below.",
    )
    picture = draw_icicle(caption, _box(name, root, is_root=True))
    return Page(
        "hierarchy.html",
        {
            "hierarchy": document,
            "said": DEFINITIONS.get(document["kind"], document["kind"]),
            "levels": [
                {"level": document["height"] - depth, "values": values}
                for depth, values in enumerate(document["level_nodes"])
            ][::-1],
            "root": root,
            "picture": Markup(picture),  # noqa: S704 - made here, every text in it escaped
            "rows": list(tree_rows(root, lambda below: _href(name, below))),
            "uses": [
                {"dataset": one.name, "attribute": attribute["name"]}
                for one in datasets.items
                for attribute in one.document["attributes"]
                if attribute["hierarchy"] == name
            ],
            "dictionaries": [
                one.name
                for one in dictionaries.items
                if name in [link["hierarchy"] for link in one.document["links"]]
            ],
        },
    )


def _href(name: str, node: Json) -> str:
    return address("hierarchies", name, node=node["node"] or None)


def _box(name: str, node: Json, is_root: bool = False) -> IcicleNode:
    return IcicleNode(
        label=node["label"],
        size=float(node["leaves"]),
        weight=None,
        said=f"{node['label']}, {number(node['leaves'])} leaves",
        href=_href(name, node) if node["n_children"] and not is_root else None,
        children=tuple(_box(name, child) for child in node["children"]),
    )
