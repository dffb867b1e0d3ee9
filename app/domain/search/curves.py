"""The best compromises of every distinct record: the nodes of its lattice that no other dominates."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from app.domain.numbers import tie_margins
from app.domain.search.budget import Halted, HaltedError, never, stop_if
from app.domain.search.choices import Curves
from app.domain.search.record_instance import RecordInstance

Floats = npt.NDArray[np.float64]
Longs = npt.NDArray[np.int64]

UNSOLVED = -1

POINT = np.dtype([("utility", "<f8"), ("risk", "<f8"), ("node", "<i4")])
RECORD = np.dtype([("points", "<i4"), ("reach", "<f8")])


def curves_of_block(
    instance: RecordInstance,
    rows: range,
    floor: float | None,
    tick: Callable[[int], None],
    halted: Halted = never,
) -> bytes:
    """The curves of some distinct records as packed rows, of nodes of at least the utility ``floor``.

    The records that a halt leaves out have :data:`UNSOLVED` points.
    """
    heads = np.zeros(len(rows), dtype=RECORD)
    heads["points"] = UNSOLVED
    points: list[npt.NDArray[np.void]] = []

    def visit() -> None:
        tick(0)
        stop_if(halted)

    try:
        instance.prepare(rows, visit)
    except HaltedError:
        return heads.tobytes()
    step = instance.rows_at_once
    for start in range(rows.start, rows.stop, step):
        if halted():
            break
        these = np.arange(start, min(rows.stop, start + step))
        lattices = instance.evaluate(these)
        risk, utility = lattices.risk, lattices.utility
        beyond = instance.beyond_top(these)
        if beyond is not None:
            risk[beyond] = np.inf
        part = heads[start - rows.start : start - rows.start + len(these)]
        part["reach"] = utility.max(axis=0)
        if floor is not None:
            risk[utility < floor] = np.inf
        curves = _curves(risk, utility)
        part["points"] = [len(curve) for curve in curves]
        points += curves
        tick(start - rows.start + len(these))
    packed = np.concatenate(points) if points else np.empty(0, dtype=POINT)
    return heads.tobytes() + packed.tobytes()


def curves_of(blocks: Mapping[int, bytes], rows: Sequence[int]) -> tuple[Curves, Longs]:
    """The curves of all distinct records from blocks of ``rows`` records each, and the records without one.

    Those are the records of missing blocks and those that a halt has left out; their curves have no points,
    and NaN for their reach.
    """
    heads, points = [], []
    for index, n in enumerate(rows):
        block = blocks.get(index)
        if block is None:
            heads.append(np.array([(UNSOLVED, np.nan)] * n, dtype=RECORD))
            continue
        heads.append(np.frombuffer(block, dtype=RECORD, count=n))
        points.append(np.frombuffer(block, dtype=POINT, offset=n * RECORD.itemsize))
    head, point = np.concatenate(heads), np.concatenate([np.empty(0, dtype=POINT), *points])
    starts = np.zeros(len(head) + 1, dtype=np.int64)
    np.cumsum(np.maximum(head["points"], 0), out=starts[1:])
    curves = Curves(
        starts,
        point["utility"].copy(),
        point["risk"].copy(),
        point["node"].astype(np.int64),
        head["reach"].copy(),
    )
    return curves, np.flatnonzero(head["points"] == UNSOLVED)


def _curves(risk: Floats, utility: Floats) -> list[npt.NDArray[np.void]]:
    """The curve of each column of (nodes, rows); columns of the same utilities are reduced together."""
    kinds: dict[bytes, list[int]] = {}
    for column, values in enumerate(np.ascontiguousarray(utility.T)):
        kinds.setdefault(values.tobytes(), []).append(column)
    found: dict[int, npt.NDArray[np.void]] = {}
    for columns in kinds.values():
        whole = len(columns) == risk.shape[1]
        found.update(
            zip(
                columns,
                _curves_of_kind(risk if whole else risk[:, columns], utility[:, columns[0]]),
                strict=True,
            )
        )
    return [found[column] for column in range(risk.shape[1])]


def _curves_of_kind(risk: Floats, utility: Floats) -> list[npt.NDArray[np.void]]:
    """The curves of columns that share their utilities (nodes,)."""
    order = np.argsort(utility, kind="stable")
    values = utility[order]
    # Sums that were taken in another order differ by rounding: they are one utility.
    first = np.flatnonzero(np.concatenate([[True], values[1:] - values[:-1] > tie_margins(values[:-1])]))
    ordered = risk[order]
    least = np.minimum.reduceat(ordered, first, axis=0)
    sizes = np.diff(np.append(first, len(order)))
    accepted = ordered <= np.repeat(least + tie_margins(least), sizes, axis=0)
    nodes = np.minimum.reduceat(np.where(accepted, order[:, None], len(order)), first, axis=0)
    above = np.full(least.shape, np.inf)
    above[:-1] = np.minimum.accumulate(least[::-1], axis=0)[::-1][1:]
    kept = np.isfinite(least) & (least < above)
    curves = []
    for column in range(risk.shape[1]):
        held = np.flatnonzero(kept[:, column])
        curve = np.empty(len(held), dtype=POINT)
        curve["utility"], curve["risk"] = values[first][held], least[held, column]
        curve["node"] = nodes[held, column]
        curves.append(curve)
    return curves
