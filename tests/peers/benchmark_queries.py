"""The tables and queries of TPC-H and TPC-DS as duckdb's extensions have them, as one JSON object.

Runs in an environment of its own, which has duckdb and the packages of the two extensions.
"""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path

import duckdb

MADE_BY = {"tpch": "CALL dbgen(sf=0)", "tpcds": "CALL dsdgen(sf=0)"}


def of(name: str) -> dict[str, object]:
    """The statements of one benchmark; its tables are made without rows."""
    package = Path(str(importlib.import_module(f"duckdb_extension_{name}").__file__)).parent
    (extension,) = package.rglob("*.duckdb_extension")
    connection = duckdb.connect()
    connection.execute(f"LOAD '{extension}'")
    connection.execute(MADE_BY[name])
    tables = connection.execute("SELECT sql FROM duckdb_tables() ORDER BY table_name").fetchall()
    queries = connection.execute(f"SELECT query_nr, query FROM {name}_queries() ORDER BY query_nr").fetchall()
    return {"tables": "\n".join(sql for (sql,) in tables), "queries": queries}


json.dump({name: of(name) for name in MADE_BY}, sys.stdout)
