"""Arguments that mean the same in several commands, declared once."""

from __future__ import annotations

import argparse
from pathlib import Path


def add_table_argument(parser: argparse.ArgumentParser) -> None:
    """The file of the table that the command is about."""
    parser.add_argument("table", type=Path, help="CSV, gzipped CSV, Parquet or Arrow file")


def add_server_argument(parser: argparse.ArgumentParser) -> None:
    """Which service is asked."""
    parser.add_argument(
        "--server",
        metavar="URL",
        help="ask this service, with the key in PRIVACY_RISK_API_KEY; without it one is started for a while",
    )


def add_json_argument(parser: argparse.ArgumentParser) -> None:
    """Whether a program reads the answer."""
    parser.add_argument("--json", action="store_true", help="print one JSON object and nothing else")
