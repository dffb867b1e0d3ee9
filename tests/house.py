"""Counts the house: its lines, the rooms of the domain and the imports between them.

``python -m tests.house`` prints the figures that docs/architecture.md states; ``--svg FILE`` draws the rooms
of the domain and their imports as a matrix; ``--top FOLDER`` counts another checkout.

A room is a folder or a loose file directly under ``app/domain``; an arrow leads from a room to another that
any of its files imports from.
"""

from __future__ import annotations

import argparse
import ast
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import grimp

TOP = Path(__file__).parents[1]
COUNTED = ("app", "privacy_risk", "tests/benchmarks")
DOMAIN = "app.domain."
CELL = 18


@dataclass(frozen=True)
class House:
    """The rooms of the domain from the top floor down, and how many imports lead from one to another."""

    rooms: tuple[str, ...]
    arrows: Mapping[tuple[str, str], int]

    @property
    def upward(self) -> list[tuple[str, str]]:
        """Arrows from a room to one on a higher floor."""
        floor = {room: number for number, room in enumerate(self.rooms)}
        return sorted((a, b) for a, b in self.arrows if floor[b] < floor[a])


def measured(top: Path = TOP) -> House:
    """The domain of the checkout at ``top``, its rooms in the order that its import rules state."""
    sys.path.insert(0, str(top))
    try:
        graph = grimp.build_graph("app", cache_dir=None)
    finally:
        sys.path.remove(str(top))
    arrows: Counter[tuple[str, str]] = Counter()
    rooms = set()
    for module in graph.modules:
        if not module.startswith(DOMAIN):
            continue
        room = _room(module)
        rooms.add(room)
        for imported in graph.find_modules_directly_imported_by(module):
            if imported.startswith(DOMAIN) and _room(imported) != room:
                arrows[room, _room(imported)] += 1
    stated = [room for room in _stated_order(top) if room in rooms]
    return House((*stated, *_by_imports(rooms - set(stated), arrows)), arrows)


def lines(top: Path = TOP) -> dict[str, int]:
    """Lines of Python per folder of ``app``, of the client and of the benchmarks."""
    counted: Counter[str] = Counter()
    for part in COUNTED:
        for file in (top / part).rglob("*.py"):
            inside = file.relative_to(top / part).parts
            folder = f"{part}/{inside[0]}" if part == "app" and len(inside) > 1 else part
            counted[folder] += len(file.read_bytes().splitlines())
    return dict(counted)


def _room(module: str) -> str:
    return module.removeprefix(DOMAIN).split(".")[0]


def _stated_order(top: Path) -> Iterator[str]:
    for contract in tomllib.loads((top / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]:
        if contract["type"] == "layers" and contract.get("containers") == ["app.domain"]:
            for layer in contract["layers"]:
                yield from (room.strip(" ()") for room in layer.split("|"))


def _by_imports(rooms: set[str], arrows: Mapping[tuple[str, str], int]) -> Iterator[str]:
    """Rooms whose order nothing states: always the one next that the others import least."""
    left = set(rooms)
    while left:
        reached = {room: sum(n for (a, b), n in arrows.items() if b == room and a in left) for room in left}
        left.remove(top := min(sorted(left), key=reached.__getitem__))
        yield top


def drawn(house: House) -> str:
    """The house as an SVG: a filled cell is an import of the row's room from the column's.

    Above the floor of a room stands who may import it, so that what is right of the diagonal leads downwards
    and what is left of it, in red, upwards.
    """
    size, left = len(house.rooms), 150
    cells = [
        f'<rect x="{left + house.rooms.index(b) * CELL}" y="{left + house.rooms.index(a) * CELL}"'
        f' width="{CELL}" height="{CELL}" fill="{"#b00020" if (a, b) in house.upward else "#3b6ea8"}">'
        f"<title>{a} imports {b}, {number} times</title></rect>"
        for (a, b), number in sorted(house.arrows.items())
    ]
    names = [
        f'<text x="{left - 6}" y="{left + i * CELL + 13}" text-anchor="end">{room}</text>'
        f'<text transform="translate({left + i * CELL + 13},{left - 6}) rotate(-90)">{room}</text>'
        f'<rect x="{left + i * CELL}" y="{left + i * CELL}" width="{CELL}" height="{CELL}" fill="#ccc"/>'
        for i, room in enumerate(house.rooms)
    ]
    edge = left + size * CELL + 1
    grid = "".join(
        f"M{left} {left + i * CELL}H{edge - 1}M{left + i * CELL} {left}V{edge - 1}" for i in range(size + 1)
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {edge} {edge}" width="{edge}" height="{edge}"'
        f' font-family="sans-serif" font-size="12"><rect width="100%" height="100%" fill="#fff"/>'
        f'{"".join(names + cells)}<path d="{grid}" stroke="#ddd" fill="none"/></svg>\n'
    )


def bodies(top: Path) -> int:
    """How many bodies of the interface are classes written by hand."""
    trees = (ast.parse(own.read_text(encoding="utf-8")) for own in (top / "app/api/schemas").glob("*.py"))
    return sum(isinstance(own, ast.ClassDef) for tree in trees for own in tree.body)


def main() -> None:
    """Print the figures, and draw the picture where one is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--top", type=Path, default=TOP, help="the checkout to count")
    parser.add_argument("--svg", type=Path, help="where to write the picture")
    asked = parser.parse_args()
    house, counted = measured(asked.top), lines(asked.top)
    for folder, number in sorted(counted.items()):
        print(f"{folder:24} {number:8,}")
    print(f"{'lines together':24} {sum(counted.values()):8,}")
    print(f"{'rooms of the domain':24} {len(house.rooms):8,}  {' '.join(house.rooms)}")
    print(f"{'arrows between them':24} {len(house.arrows):8,}")
    print(f"{'upwards':24} {len(house.upward):8,}  {' '.join(f'{a}->{b}' for a, b in house.upward)}")
    print(f"{'bodies written by hand':24} {bodies(asked.top):8,}")
    if asked.svg:
        asked.svg.write_text(drawn(house), encoding="utf-8")


if __name__ == "__main__":
    main()
