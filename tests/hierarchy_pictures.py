"""Draws the hierarchies that docs/hierarchies.md defines: ``python -m tests.hierarchy_pictures``.

Each definition stands on the page as one line of JSON and is built as a request would have it; its picture is
``docs/hierarchies/<kind>.svg``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from app.api.schemas.hierarchies import NewHierarchy
from app.charts.drawing import Caption
from app.charts.icicle import IcicleNode, draw_icicle
from app.domain.hierarchies.hierarchy import Hierarchy
from app.services.datasets.attribute_trees import CountedNode, Shown, counted_nodes
from app.services.datasets.hierarchy_building import build

DOCS = Path(__file__).parents[1] / "docs"
PAGE = DOCS / "hierarchies.md"
PICTURES = DOCS / "hierarchies"
DEFINITIONS = re.compile(r"^```json\n(.+)\n```$", re.MULTILINE)
COLUMN: Mapping[str, int] = {"Chicago": 400, "Gary": 60, "Lafayette": 25, "Delphi": 3, "Lowell": 2}
"""The column whose values a definition on the page takes."""

STYLE = "svg{background:#fff}rect{fill:#dbe8f5;stroke:#3b6ea8}text{font:14px sans-serif;fill:#14202c}"


def defined() -> Iterator[tuple[str, Hierarchy]]:
    """The kinds on the page and what their definitions build."""
    for line in DEFINITIONS.findall(PAGE.read_text(encoding="utf-8")):
        body = NewHierarchy.model_validate({"name": "picture", "definition": json.loads(line)})
        definition = body.request().definition
        yield definition.kind, build(definition, COLUMN if '"upload"' in line else None)


def drawn(kind: str, hierarchy: Hierarchy) -> str:
    """The hierarchy as a picture that stands alone."""
    root = counted_nodes(hierarchy, Shown(0, hierarchy.height, 100))
    caption = Caption(kind, f"A hierarchy of the kind {kind}", "The top on the left, leaves on the right.")
    picture = draw_icicle(caption, _node(root))
    opening, rest = picture.split("\n", 1)
    opening = opening.replace("<svg", '<svg xmlns="http://www.w3.org/2000/svg"')
    return f"{opening}\n<style>{STYLE}</style>\n{rest}\n"


def _node(node: CountedNode) -> IcicleNode:
    said = f"{node.label}: {node.leaves}"
    return IcicleNode(f"{node.label} ·", node.leaves, None, said, None, tuple(map(_node, node.children)))


def main() -> None:
    """Write every picture."""
    PICTURES.mkdir(exist_ok=True)
    for kind, hierarchy in defined():
        (PICTURES / f"{kind}.svg").write_text(drawn(kind, hierarchy), encoding="utf-8")


if __name__ == "__main__":
    main()
