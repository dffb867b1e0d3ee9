"""The queries of TPC-H and TPC-DS as views beside ten secrets each: read, decided by which path, and how.

Usage: python -m tests.peers.benchmark_views FILE, with what `benchmark_queries` prints. Ends with an error if
a query is refused, or if all pairs together take more than a minute. `tests/peers/run` does both.
"""

from __future__ import annotations

import json
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any, Final

from app.domain.errors import InvalidInput
from app.services.views.reading import WrittenQuery
from app.services.views.view_checks import ViewCheck, checked

SECRETS: Final = {
    "tpch": (
        "SELECT c_acctbal FROM customer WHERE c_custkey = 1",
        "SELECT c_name FROM customer WHERE c_acctbal < 0",
        "SELECT c_name FROM customer WHERE c_mktsegment = 'HOUSEHOLD'",
        "SELECT DISTINCT c_custkey FROM customer JOIN orders ON o_custkey = c_custkey "
        "JOIN lineitem ON l_orderkey = o_orderkey WHERE l_suppkey = 7",
        "SELECT o_comment FROM orders WHERE o_orderkey = 1",
        "SELECT o_custkey FROM orders WHERE o_orderdate >= '1999-01-01'",
        "SELECT s_phone FROM supplier WHERE s_suppkey = 7",
        "SELECT ps_supplycost FROM partsupp WHERE ps_suppkey = 7",
        "SELECT l_orderkey FROM lineitem WHERE l_returnflag = 'R'",
        "SELECT p_retailprice FROM part WHERE p_brand = 'Brand#55'",
    ),
    "tpcds": (
        "SELECT c_birth_day, c_birth_month, c_birth_year FROM customer WHERE c_customer_sk = 1",
        "SELECT c_email_address FROM customer",
        "SELECT ca_street_name FROM customer_address WHERE ca_county = 'Ziebach County'",
        "SELECT cd_demo_sk FROM customer_demographics WHERE cd_gender = 'F' AND cd_marital_status = 'D'",
        "SELECT ss_item_sk FROM store_sales WHERE ss_customer_sk = 1",
        "SELECT DISTINCT c_customer_id FROM customer JOIN web_returns "
        "ON wr_refunded_customer_sk = c_customer_sk WHERE wr_reason_sk = 1",
        "SELECT inv_quantity_on_hand FROM inventory WHERE inv_warehouse_sk = 1",
        "SELECT cc_manager FROM call_center",
        "SELECT p_cost FROM promotion WHERE p_promo_sk = 1",
        "SELECT ib_lower_bound FROM income_band WHERE ib_income_band_sk = 1",
    ),
}
NAMES: Final = {"tpch": "TPC-H", "tpcds": "TPC-DS"}
MOST_SECONDS: Final = 60.0
"""Of a processor, for all pairs of both benchmarks, reading included."""
MAY_FAIL: Final = "expression that may fail"


def pairs_of(name: str, tables: str, number: int, query: str) -> list[dict[str, Any]]:
    """The verdicts on one query as a view, beside every secret."""
    secrets = [WrittenQuery(f"secret-{i}", own) for i, own in enumerate(SECRETS[name])]
    view = WrittenQuery(f"query-{number}", query)
    found: list[dict[str, Any]] = checked(ViewCheck({}, (), secrets, [view], language="sql", tables=tables))[
        "pairs"
    ]
    return found


def cause_of(pair: dict[str, Any]) -> str:
    """Why a pair is undecided, by what of the view is not read exactly."""
    operators = {own["operator"] for own in pair["not_exact"]["view"]}
    return MAY_FAIL if MAY_FAIL in operators else "other operators"


def report(name: str, tables: str, queries: list[tuple[int, str]]) -> bool:
    """Print what is found; whether every query was read."""
    began = time.process_time()
    pairs: list[dict[str, Any]] = []
    refused = []
    for number, query in queries:
        try:
            pairs += pairs_of(name, tables, number, query)
        except InvalidInput as error:
            refused.append((number, error.faults[0].message))
    print(
        f"\n{NAMES[name]}: {len(queries)} queries, {len(refused)} refused, {len(pairs)} pairs, "
        f"{time.process_time() - began:.1f} s of the processor\n"
    )
    for number, message in refused:
        print(f"  query {number} is refused: {message}")
    paths = Counter((own["verdict"], own["reason_code"], own["method"]) for own in pairs)
    print("| verdict | reason | method | pairs |\n|---|---|---|---|")
    for path, times in sorted(paths.items()):
        print(f"| {' | '.join(path)} | {times} |")
    causes = Counter(cause_of(own) for own in pairs if own["verdict"] == "UNKNOWN")
    print("\nUNKNOWN: " + ", ".join(f"{cause} {times}" for cause, times in causes.most_common()))
    return not refused


def main(file: str) -> int:
    """Every benchmark of the file."""
    found = json.loads(Path(file).read_text(encoding="utf-8"))
    began = time.process_time()
    fine = [report(name, own["tables"], own["queries"]) for name, own in found.items()]
    seconds = time.process_time() - began
    print(f"\nAll pairs: {seconds:.1f} s of the processor, of {MOST_SECONDS:.0f} s that they may take")
    return 0 if all(fine) and seconds <= MOST_SECONDS else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
