"""How fast the views of a warehouse are read in SQL and checked against secrets.

200 views and 20 secrets over six tables: joins, WITH, counts, sums, outer joins, NOT EXISTS, UNION ALL. The
baseline of reading is the parser alone, which finds for every column the table that it is of. All are
processor time, of which the least of five runs is taken.
"""

from __future__ import annotations

import time
from pathlib import Path
from random import Random
from typing import Any, Final

from sqlglot import parse_one
from sqlglot.optimizer.qualify import qualify

from app.services.views.check_work import CheckWork
from app.services.views.query_hashes import query_sha256
from app.services.views.reading import WrittenQuery, read_schema, reader
from app.services.views.view_checks import ViewCheck, checked, read_asked
from tests.benchmarks import view_pairs
from tests.benchmarks.row import Report, Row, timed

VIEWS: Final = 200
SECRETS: Final = 20
REPEATS: Final = 5
MOST_BYTES: Final = 300 * 2**20
TABLES: Final = """
CREATE TABLE customer (customer_id INT PRIMARY KEY, name TEXT NOT NULL, segment TEXT NOT NULL,
  region_id INT NOT NULL, opened DATE NOT NULL);
CREATE TABLE region (region_id INT PRIMARY KEY, region TEXT NOT NULL);
CREATE TABLE product (product_id INT PRIMARY KEY, product TEXT NOT NULL, category TEXT NOT NULL,
  price DECIMAL(10, 2) NOT NULL);
CREATE TABLE orders (order_id INT PRIMARY KEY, customer_id INT NOT NULL, ordered DATE NOT NULL,
  status TEXT NOT NULL);
CREATE TABLE item (order_id INT NOT NULL, line INT NOT NULL, product_id INT NOT NULL, quantity INT NOT NULL,
  discount DECIMAL(4, 2), PRIMARY KEY (order_id, line));
CREATE TABLE complaint (complaint_id INT PRIMARY KEY, order_id INT NOT NULL, reason TEXT NOT NULL,
  settled DATE);
"""
_SALES: Final = (
    "FROM customer AS c JOIN orders AS o ON o.customer_id = c.customer_id JOIN item AS i USING (order_id) "
    "JOIN product AS p ON p.product_id = i.product_id"
)


def rows(_data: Path | None, report: Report) -> None:
    """Reading, checking, and single pairs."""
    view_pairs.rows(report)
    random = Random(1)
    secrets = [WrittenQuery(f"secret-{i}", drawn_secret(i, random)) for i in range(SECRETS)]
    views = [WrittenQuery(f"view-{i}", drawn_view(i, random)) for i in range(VIEWS)]
    report(_reading([*secrets, *views]))
    report(_checking(secrets, views))
    report(_checking_again(secrets, views))


def _reading(queries: list[WrittenQuery]) -> Row:
    schema = read_schema({}, (), TABLES, "postgres")

    def read() -> int:
        own = reader("sql", "postgres", schema)
        return sum(bool(own(query).parts) for query in queries)

    columns: dict[str, object] = {
        name: dict.fromkeys(relation.attributes, "text")
        for name, relation in schema.relational.relations.items()
    }

    def qualified() -> int:
        return sum(
            bool(qualify(parse_one(query.query, read="postgres"), schema=columns, dialect="postgres"))
            for query in queries
        )

    ours, theirs = timed(read, REPEATS), timed(qualified, REPEATS)
    return Row(
        work=f"{len(queries)} queries of a warehouse read in SQL",
        bar="2 s",
        bar_seconds=2.0,
        ours_seconds=ours.least_cpu_seconds,
        baseline="sqlglot: parse and qualify",
        baseline_seconds=theirs.least_cpu_seconds,
        peak_bytes=ours.peak_bytes,
        same_result=ours.answer == theirs.answer,
        detail="Processor time, the least of five runs.",
    )


def _checking(secrets: list[WrittenQuery], views: list[WrittenQuery]) -> Row:
    # Cold: nothing that was read or decided is kept, and the code is loaded by the row before this one.
    ours = timed(lambda: checked(_asked(secrets, views), time.process_time), REPEATS, warm_up=0)
    pairs = ours.answer["pairs"]
    out_of_time = sum(pair["reason_code"] == "BUDGET_EXCEEDED" for pair in pairs)
    return Row(
        work=f"{len(views)} views checked against {len(secrets)} secrets in SQL, reading included",
        bar="20 s and 300 MiB, every pair decided in time",
        bar_seconds=20.0,
        ours_seconds=ours.least_cpu_seconds,
        peak_bytes=ours.peak_bytes,
        counters={"pairs": len(pairs), "out_of_time": out_of_time},
        same_result=out_of_time == 0 and ours.peak_bytes <= MOST_BYTES,
        detail="Processor time, the least of five runs; the limits of the check are counted in it as well.",
    )


def _checking_again(secrets: list[WrittenQuery], views: list[WrittenQuery]) -> Row:
    """What a stored check does that differs from an earlier one in its first view."""
    pairs = checked(_asked(secrets, views), time.process_time)["pairs"]
    known = {number: own for number, own in enumerate(pairs) if number % len(views)}
    changed = WrittenQuery(views[0].id, f"{drawn_view(3, Random(2))} HAVING COUNT(*) > 5")
    asked = _asked(secrets, [changed, *views[1:]])

    def again() -> dict[str, Any] | None:
        read = read_asked(asked, lambda: False)
        # By their hashes the known pairs are found.
        hashes = {query_sha256(name, query) for name, query in (*read.secrets, *read.views)}
        return CheckWork(read, known, time.process_time).result() if len(hashes) > 1 else None

    ours = timed(again, REPEATS)
    found = [] if ours.answer is None else ours.answer["pairs"]
    alone = checked(_asked(secrets, [changed]), time.process_time)["pairs"]
    verdicts = [own["verdict"] for own in found]
    wanted = [own["verdict"] for own in pairs]
    wanted[:: len(views)] = [own["verdict"] for own in alone]
    return Row(
        work=f"{len(views)} views checked against {len(secrets)} secrets in SQL, one view changed since",
        bar="2 s and 300 MiB",
        bar_seconds=2.0,
        ours_seconds=ours.least_cpu_seconds,
        peak_bytes=ours.peak_bytes,
        counters={"pairs": len(found), "decided": len(pairs) - len(known)},
        same_result=verdicts == wanted and ours.peak_bytes <= MOST_BYTES,
        detail="Processor time, the least of five runs. All queries are read again; the other "
        "pairs are those of the check before.",
    )


def _asked(secrets: list[WrittenQuery], views: list[WrittenQuery]) -> ViewCheck:
    return ViewCheck({}, (), secrets, views, language="sql", dialect="postgres", tables=TABLES)


def drawn_secret(number: int, random: Random) -> str:
    """A secret over the tables; by its number one of four kinds."""
    match number % 4:
        case 0:
            return (
                "SELECT DISTINCT c.name FROM customer AS c JOIN orders AS o USING (customer_id) "
                f"JOIN complaint AS x USING (order_id) WHERE x.reason = 'r{number}'"
            )
        case 1:
            return f"SELECT name FROM customer WHERE segment = '{random.choice('abcd')}'"
        case 2:
            day = 1 + number % 9
            return f"SELECT order_id, settled FROM complaint WHERE settled >= DATE '2024-01-0{day}'"
        case _:
            return f"SELECT order_id FROM item WHERE discount > 0.{number} AND quantity = {number}"


def drawn_view(number: int, random: Random) -> str:
    """A view over the tables; by its number one of seven kinds."""
    letter, digit = random.choice("abc"), random.randint(1, 9)
    where = " AND ".join(
        random.sample(
            [
                f"c.segment = '{letter}'",
                "o.status = 'open'",
                f"o.ordered >= DATE '2024-0{digit}-01'",
                f"p.category IN ('x{digit}', 'y')",
                f"i.quantity BETWEEN {digit} AND 9",
            ],
            random.randint(1, 4),
        )
    )
    return (
        f"SELECT c.segment, COUNT(*) AS n {_SALES} WHERE {where} GROUP BY c.segment ORDER BY n DESC",
        f"WITH b AS (SELECT c.name, p.category {_SALES} WHERE {where}) SELECT DISTINCT category FROM b",
        f"SELECT p.category, SUM(i.quantity * p.price) AS revenue {_SALES} WHERE {where} GROUP BY p.category",
        "SELECT r.region, COUNT(DISTINCT c.customer_id) FROM customer AS c JOIN region AS r "
        f"USING (region_id) WHERE c.opened >= '2020-0{digit}-01' GROUP BY r.region",
        "SELECT c.name, o.order_id FROM customer AS c LEFT JOIN orders AS o "
        f"ON o.customer_id = c.customer_id AND o.status = 'open' WHERE c.segment = '{letter}'",
        "SELECT p.product FROM product AS p WHERE NOT EXISTS (SELECT 1 FROM item AS i "
        f"WHERE i.product_id = p.product_id AND i.quantity > {digit})",
        f"SELECT product_id, price FROM product WHERE category = 'x{digit}' "
        f"UNION ALL SELECT product_id, price FROM product WHERE price > {digit}",
    )[number % 7]
