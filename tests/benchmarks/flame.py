"""Stacks with the time spent in them, and a picture of them: callers below what they call."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from html import escape
from typing import Final

Stack = tuple[str, ...]
"""Functions as ``module:name``, the outermost first."""

WIDTH: Final = 1200.0
ROW: Final = 17.0
_HEAD: Final = 28.0
_LEAST: Final = 0.002
"""Share of the whole below which a box is left out."""
_LETTER: Final = 6.7

_COLOURS: Final = (
    (("app.domain", "numpy"), "#e8a33d"),
    (("app.persistence", "sqlalchemy", "psycopg", "psycopg_binary"), "#7fa8d9"),
    (("app", "privacy_risk"), "#e5705a"),
    (("fastapi", "starlette", "pydantic", "uvicorn", "h11", "httptools", "anyio"), "#8cc084"),
)
"""Packages, the first that fits, and their colour; whatever else is grey."""
_OTHERS: Final = "#c9c9c9"


@dataclass
class Node:
    """A function as it was called from those below it, and the seconds spent in it and above it."""

    name: str
    seconds: float = 0.0
    children: dict[str, Node] = field(default_factory=dict)

    @property
    def depth(self) -> int:
        """How many functions stand on one another here, this one included."""
        return 1 + max((child.depth for child in self.children.values()), default=0)


def folded(stacks: Mapping[Stack, float], name: str = "all") -> Node:
    """The tree of the stacks: equal beginnings are one."""
    root = Node(name)
    for stack, seconds in stacks.items():
        root.seconds += seconds
        node = root
        for called in stack:
            node = node.children.setdefault(called, Node(called))
            node.seconds += seconds
    return root


def pruned(root: Node, least: float) -> Node:
    """The tree without what took fewer than so many seconds."""
    kept = {name: pruned(child, least) for name, child in root.children.items() if child.seconds >= least}
    return Node(root.name, root.seconds, kept)


def drawn(root: Node, title: str, requests: int) -> str:
    """The tree as an SVG whose boxes say what they are; milliseconds are those of one of so many requests."""
    shown = pruned(root, _LEAST * root.seconds)
    height = _HEAD + ROW * shown.depth + 4
    boxes = "\n".join(_boxes(shown, 0.0, height - ROW - 2, WIDTH / root.seconds, root.seconds, requests))
    said = f"{title}: {1000 * root.seconds / requests:.1f} ms of processor time"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH:g} {height:g}" '
        f'font-family="monospace" font-size="11" role="img">\n<title>{escape(said)}</title>\n'
        f'<rect width="{WIDTH:g}" height="{height:g}" fill="#fff"/>\n'
        f'<text x="6" y="18" font-size="14">{escape(said)}</text>\n{boxes}\n</svg>\n'
    )


def _boxes(node: Node, left: float, top: float, scale: float, whole: float, requests: int) -> Iterator[str]:
    width = node.seconds * scale
    said = f"{node.name}, {1000 * node.seconds / requests:.2f} ms, {node.seconds / whole:.1%}"
    letters = int((width - 4) / _LETTER)
    text = ""
    if letters >= 4:
        name = node.name.rpartition(":")[2] if len(node.name) > letters else node.name
        name = name if len(name) <= letters else f"{name[: letters - 1]}…"
        text = f'<text x="{left + 2:.1f}" y="{top + 12:.1f}">{escape(name)}</text>'
    drawn_width = max(width - 0.5, 0.5)
    yield (
        f'<g><title>{escape(said)}</title><rect x="{left:.1f}" y="{top:.1f}" width="{drawn_width:.1f}" '
        f'height="{ROW - 1:g}" fill="{colour(node.name)}"/>{text}</g>'
    )
    for child in sorted(node.children.values(), key=lambda one: one.name):
        yield from _boxes(child, left, top - ROW, scale, whole, requests)
        left += child.seconds * scale


def colour(name: str) -> str:
    """The colour of a function, by its package."""
    module = name.partition(":")[0]
    for packages, chosen in _COLOURS:
        if any(module == package or module.startswith(f"{package}.") for package in packages):
            return chosen
    return _OTHERS
