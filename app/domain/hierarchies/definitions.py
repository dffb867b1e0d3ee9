"""Nodes of a hierarchy from the forms in which people give it: parents per value, or rows of a table.

Both forms are checked completely: every fault names its value and row, and nothing is guessed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from app.domain.errors import Fault, InvalidInput, TooLarge, joined

TOP = 0
TOP_LABEL = "*"
MAX_FAULTS = 100
MAX_ANCESTORS = 5_000_000

Definition = tuple[tuple[str, ...], tuple[tuple[int, ...], ...], tuple[str, ...]]
"""Labels and covering parents per node in depth-first order (⊥ first), and warnings."""


def listed(faults: Sequence[Fault], pointer: str) -> list[Fault]:
    """All faults, or the first ``MAX_FAULTS`` and how many more there are."""
    more = len(faults) - MAX_FAULTS
    if more <= 0:
        return list(faults)
    message = f"{more} more {'is' if more == 1 else 'are'} wrong in the same or another way."
    return [*faults[:MAX_FAULTS], Fault(pointer, "more-faults", message, "Correct those listed first.")]


def _faults_of_parents(
    parents: Mapping[str, Sequence[str | None]], top_label: str, pointer: str
) -> list[Fault]:
    faults = []
    for label, above in parents.items():
        here = joined(pointer, label)
        if label == "":
            faults.append(Fault(here, "empty-label", "A value has an empty label.", "Name every value."))
        if label == top_label:
            faults.append(
                Fault(
                    here,
                    "duplicate-label",
                    f"The value {label!r} has the label of the top.",
                    "Leave the top out (null stands for it), or choose another top_label.",
                )
            )
        if not above:
            faults.append(
                Fault(
                    here,
                    "no-path-to-top",
                    f"The value {label!r} has no parent and is not the top.",
                    "Write [null] for a value directly below the top.",
                )
            )
        faults.extend(
            Fault(
                here,
                "undefined-parent",
                f"The parent {parent!r} of {label!r} is not defined.",
                "Define it as a value of its own, or write null for the top.",
            )
            for parent in above
            if parent is not None and parent not in parents
        )
    return faults


def _emission_order(above: Mapping[str, Sequence[str | None]]) -> list[str]:
    """Values in depth-first order, each after its last parent; values on or below cycles are left out."""
    children: dict[str | None, list[str]] = {}
    waiting = {}
    for label, parents in above.items():
        waiting[label] = len(parents)
        for parent in parents:
            children.setdefault(parent, []).append(label)
    order: list[str] = []
    stack: list[str | None] = [None]
    while stack:
        current = stack.pop()
        if current is not None:
            order.append(current)
        ready = []
        for child in children.get(current, ()):
            waiting[child] -= 1
            if not waiting[child]:
                ready.append(child)
        stack.extend(reversed(ready))
    return order


def _without_implied_edges(
    order: Sequence[str], above: Mapping[str, Sequence[str | None]]
) -> tuple[dict[str, list[str | None]], list[str]]:
    """Covering edges only, since depth is counted on them, and a warning per edge that was dropped."""
    strict: dict[str | None, set[str | None]] = {None: set()}
    kept: dict[str, list[str | None]] = {}
    warnings = []
    pairs = 0
    for label in order:
        parents = list(above[label])
        implied = set().union(*(strict[parent] for parent in parents)) if len(parents) > 1 else set()
        kept[label] = [parent for parent in parents if parent not in implied]
        for parent in parents:
            if parent in implied:
                name = "the top" if parent is None else repr(parent)
                warnings.append(f"The edge from {label!r} to {name} is implied by others and was dropped.")
        strict[label] = set(parents).union(*(strict[parent] for parent in parents))
        pairs += len(strict[label])
        if pairs > MAX_ANCESTORS:
            raise TooLarge(
                "The values have too many ancestors, counted together.",
                "Give fewer values several parents, or leave levels out.",
                MAX_ANCESTORS,
            )
    return kept, warnings


def nodes_from_parents(
    parents: Mapping[str, Sequence[str | None]], top_label: str, pointer: str
) -> Definition:
    """Labels, parents and warnings of a hierarchy given by the parents of each value; None is the top.

    Edges that others imply are dropped, with a warning each. InvalidInput, with all faults and their
    pointers below ``pointer``: empty, undefined or repeated labels, no path to the top, cycles. TooLarge:
    too many ancestors.
    """
    faults = _faults_of_parents(parents, top_label, pointer)
    if faults:
        raise InvalidInput(listed(faults, pointer))
    above = {label: list(dict.fromkeys(given)) for label, given in parents.items()}
    order = _emission_order(above)
    if len(order) < len(above):
        placed = set(order)
        cyclic = [
            Fault(
                joined(pointer, label),
                "cycle",
                f"The value {label!r} lies on a cycle of parents, or below one.",
                "Parents must lead to the top without coming back.",
            )
            for label in above
            if label not in placed
        ]
        raise InvalidInput(listed(cyclic, pointer))
    several = any(len(given) > 1 for given in above.values())
    covering, warnings = _without_implied_edges(order, above) if several else (above, [])
    codes: dict[str | None, int] = {None: TOP}
    for code, label in enumerate(order, start=1):
        codes[label] = code
    nodes = tuple(tuple(sorted(codes[parent] for parent in covering[label])) for label in order)
    return (top_label, *order), ((), *nodes), tuple(warnings)


def nodes_from_rows(rows: Sequence[Sequence[str]], pointer: str) -> Definition:
    """Labels, parents and warnings of a hierarchy given by a row per value, from it to the most general one.

    Where all rows end alike, that is the top. InvalidInput, with all faults and their pointers below
    ``pointer``: no rows, rows of different lengths, empty labels, a value with two parents.
    """
    if not rows:
        raise InvalidInput.of(pointer, "empty", "The hierarchy has no rows.", "Give one row per value.")
    width = len(rows[0])
    faults = [
        Fault(
            f"{pointer}/{i}",
            "ragged-row",
            f"Row {i + 1} has {len(row)} columns, row 1 has {width}"
            + (f": it lacks level {len(row)}." if len(row) < width else "."),
            "Give every row the same number of columns, one per level from 0 on.",
        )
        for i, row in enumerate(rows)
        if len(row) != width or not width
    ]
    faults += [
        Fault(
            f"{pointer}/{i}",
            "empty-label",
            f"Row {i + 1} has an empty label, at level {list(row).index('')}.",
            "Name every value.",
        )
        for i, row in enumerate(rows)
        if "" in row
    ]
    if faults:
        raise InvalidInput(listed(faults, pointer))
    has_top = width > 1 and len({row[-1] for row in rows}) == 1
    top_label = rows[0][-1] if has_top else TOP_LABEL
    return nodes_of_levels([row[: width - has_top] for row in rows], top_label, pointer)


def nodes_of_levels(
    rows: Sequence[Sequence[str]], top_label: str = TOP_LABEL, pointer: str = ""
) -> Definition:
    """Nodes from rows of equal length (leaf, then its ancestors below ⊥), each (level, label) a node."""
    above, faults = _edges_of_rows(rows, len(rows[0]), pointer)
    if faults:
        raise InvalidInput(listed(faults, pointer))
    children: dict[Node | None, list[Node]] = {}
    for node, parent in above.items():
        children.setdefault(parent, []).append(node)
    labels = [top_label]
    parents: list[tuple[int, ...]] = [()]
    stack = [(node, TOP) for node in reversed(children.get(None, []))]
    while stack:
        node, parent_code = stack.pop()
        code = len(labels)
        labels.append(node[1])
        parents.append((parent_code,))
        stack.extend((child, code) for child in reversed(children.get(node, [])))
    return tuple(labels), tuple(parents), ()


Node = tuple[int, str]


def _edges_of_rows(
    rows: Sequence[Sequence[str]], levels: int, pointer: str
) -> tuple[dict[Node, Node | None], list[Fault]]:
    """Parent of each (level, label), None for ⊥, and a fault for each that has two."""
    above: dict[Node, Node | None] = {}
    faults = []
    for i, row in enumerate(rows):
        for level in range(levels):
            parent = (level + 1, row[level + 1]) if level + 1 < levels else None
            if above.setdefault((level, row[level]), parent) != parent:
                faults.append(
                    Fault(
                        f"{pointer}/{i}",
                        "two-parents",
                        f"Row {i + 1}: the value {row[level]!r} in column {level + 1} has two parents.",
                        "Give a value the same ancestors in all of its rows.",
                    )
                )
    return above, faults


def nodes_of_parts(leaves: Sequence[str], levels: Sequence[Sequence[tuple[str, int, int]]]) -> Definition:
    """Nodes, parts before what is in them, of leaves in an order of which every part holds neighbours.

    ``levels`` are the parts of each level, the finest first: name, place of the first leaf and of the first
    behind it, none empty.
    """
    labels = [TOP_LABEL]
    parents: list[tuple[int, ...]] = [()]
    places = [0] * len(levels)

    def add(level: int, last: int, parent: int, first: int) -> None:
        if level < 0:
            labels.extend(leaves[first:last])
            parents.extend([(parent,)] * (last - first))
            return
        own = levels[level]
        while places[level] < len(own) and own[places[level]][2] <= last:
            name, start, end = own[places[level]]
            places[level] += 1
            labels.append(name)
            parents.append((parent,))
            add(level - 1, end, len(labels) - 1, start)

    add(len(levels) - 1, len(leaves), TOP, 0)
    return tuple(labels), tuple(parents), ()
