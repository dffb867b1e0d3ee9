"""Datasets, and the hierarchies of their attributes with what the dataset and a profile say of each value."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Final
from urllib.parse import quote

from markupsafe import Markup

from app.charts.drawing import Caption
from app.charts.icicle import IcicleNode, draw_icicle
from app.web.visits import Page, Visit
from app.web.words import ROWS_SAID, address, as_number, number, share
from privacy_risk import Json
from privacy_risk.persons import rows_told

GENERATIONS: Final = 2
MOST_CHILDREN: Final = 100
MOST_BELOW: Final = 90
"""Of values two generations down so many are shown, or none."""
LOOKED_THROUGH: Final = 200
"""Newest resources of a kind among which those of a dataset are sought."""


async def dataset(visit: Visit) -> Page:
    """A dataset: its columns, and what was asked about it."""
    document = (await visit.client.datasets.get(visit.ref)).document
    name = document["name"]
    profile = await visit.client.datasets.profile(name, limit=1)
    columns = {column["name"]: column for column in profile["attributes"]}
    kinds = (
        "assessments",
        "optimisations",
        "frontiers",
        "rules",
        "measurements",
        "releases",
        "sensitivity_profiles",
    )
    related = await asyncio.gather(*(of_dataset(visit, kind, name) for kind in kinds))
    shown = {"dataset": document, "columns": columns, "related": dict(zip(kinds, related, strict=True))}
    return Page("dataset.html", {**shown, "rows_told": rows_told(document, profile, ROWS_SAID)})


async def of_dataset(visit: Visit, kind: str, name: str) -> list[Json]:
    """The newest resources of a kind that are about the dataset."""
    page = await getattr(visit.client, kind).page(limit=LOOKED_THROUGH)
    return [one.document for one in page.items if one.document["dataset"] == name]


async def attribute(visit: Visit) -> Page:
    """Part of an attribute's hierarchy: records at or below each value, and weights under a profile."""
    own = str(visit.request.path_params["attribute"])
    document = (await visit.client.datasets.get(visit.ref)).document
    profiles = await of_dataset(visit, "sensitivity_profiles", document["name"])
    names = [profile["name"] for profile in profiles]
    asked = visit.asked("sensitivity")
    chosen = asked if asked in names else next(iter(names), None)
    tree = await visit.client.datasets.tree(
        document["name"],
        quote(own, safe=""),
        node=visit.number("node", 0),
        depth=GENERATIONS,
        limit=MOST_CHILDREN,
        sensitivity=chosen,
    )
    tree = {**tree, "root": without_crowd(tree["root"])}
    here = _Place(document["name"], own, chosen, tree)
    return Page(
        "attribute.html",
        {
            "dataset": document,
            "attribute": own,
            "tree": tree,
            "profiles": names,
            "chosen": chosen,
            "counted": tree["root"]["records"] is not None,
            "weighed": tree["root"]["weight"] is not None,
            "path": [{**node, "href": here.href(node)} for node in tree["path"]],
            "picture": Markup(here.picture()),  # noqa: S704 - made here, every text in it escaped
            "rows": list(tree_rows(tree["root"], here.href)),
            "node": tree["root"]["node"],
        },
    )


def without_crowd(root: Json) -> Json:
    """The node with the second generation below it only where that can be looked over."""
    if sum(len(child["children"]) for child in root["children"]) <= MOST_BELOW:
        return root
    return {**root, "children": [{**child, "children": []} for child in root["children"]]}


class _Place:
    """Where a node of the tree is on the site, and what is said of it."""

    def __init__(self, dataset: str, attribute: str, chosen: str | None, tree: Json) -> None:
        self._dataset = dataset
        self._attribute = attribute
        self._chosen = chosen
        self._tree = tree

    def href(self, node: Json) -> str:
        return address(
            "datasets",
            self._dataset,
            "attributes",
            self._attribute,
            node=node["node"] or None,
            sensitivity=self._chosen,
        )

    def picture(self) -> str:
        root = self._tree["root"]
        caption = Caption(
            "hierarchy",
            f"Hierarchy of {self._attribute} below {root['label']}",
            "Each column is one generation; the height of a value is its share of the "
            + ("records" if root["records"] is not None else "leaves")
            + ". The same numbers are in the table below.",
        )
        return draw_icicle(caption, self._box(root, is_root=True))

    def _box(self, node: Json, is_root: bool = False) -> IcicleNode:
        size = node["leaves"] if node["records"] is None else node["records"]
        return IcicleNode(
            label=node["label"],
            size=float(size),
            weight=None if node["weight"] is None else as_number(node["weight"]),
            said=self._said(node),
            href=self.href(node) if node["n_children"] and not is_root else None,
            children=tuple(self._box(child) for child in node["children"]),
        )

    def _said(self, node: Json) -> str:
        said = [node["label"], f"{number(node['leaves'])} leaves"]
        if node["records"] is not None:
            part = share(node["records"], self._tree["rows"])
            said.insert(1, f"{number(node['records'])} records ({part})")
        if node["weight"] is not None:
            said.append(f"weight {number(node['weight'])}")
        return ", ".join(said)


def tree_rows(node: Json, href: Callable[[Json], str], indent: int = 0) -> Iterator[Json]:
    """The nodes of a tree as rows of a table, each with the address of what is below it, if anything is."""
    yield {**node, "indent": indent, "href": href(node) if node["n_children"] and indent else None}
    for child in node["children"]:
        yield from tree_rows(child, href, indent + 1)
    hidden = node["n_children"] - len(node["children"])
    if hidden and (node["children"] or not indent):
        yield {"hidden": hidden, "indent": indent + 1}
