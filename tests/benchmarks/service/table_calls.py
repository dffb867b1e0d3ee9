"""What somebody types for a table in memory: ``python -m tests.benchmarks.service.table_calls CALL FOLDER``.

Reads Adult with pandas, makes the call in a process that has done nothing before, then again for another
table, and prints one JSON object: seconds of waiting for each, and the figure that tells whether it is right.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pandas as pd

import privacy_risk as pr

QUASI_IDENTIFIERS: Final = (
    "sex", "age", "race", "marital-status", "education", "native-country", "workclass",
)  # fmt: skip
SENSITIVE: Final = "occupation"
K: Final = 5
L: Final = 3
MAX_SUPPRESSED: Final = 0.02


def read(folder: Path) -> pd.DataFrame:
    """Adult, every cell a text."""
    return pd.read_csv(folder / "adult.csv", sep=";", dtype=str)


def profile(frame: pd.DataFrame, folder: Path) -> float:
    """The profile's *k*."""
    return pr.profile(frame, quasi_identifiers=QUASI_IDENTIFIERS, sensitive=[SENSITIVE])["k"]


def anonymise(frame: pd.DataFrame, folder: Path) -> float:
    """The smallest class of the release, counted by pandas."""
    hierarchies = {name: str(folder / f"adult_hierarchy_{name}.csv") for name in QUASI_IDENTIFIERS}
    release = pr.anonymise(
        frame,
        k=K,
        l={SENSITIVE: L},
        max_suppressed=MAX_SUPPRESSED,
        quasi_identifiers=QUASI_IDENTIFIERS,
        hierarchies=hierarchies,
    )
    released = release.frame
    shown = released[(released[list(QUASI_IDENTIFIERS)] != "*").any(axis=1)]
    return float(shown.groupby(list(QUASI_IDENTIFIERS)).size().min())


CALLS: Final[dict[str, Callable[[pd.DataFrame, Path], float]]] = {"profile": profile, "anonymise": anonymise}


def main(call: str, folder: Path) -> None:
    """The call for the table, then for one that lacks a record."""
    frame, found = read(folder), {}
    for name, table in (("cold", frame), ("warm", frame.iloc[1:])):
        start = time.perf_counter()
        figure = CALLS[call](table, folder)
        found[name] = {"seconds": time.perf_counter() - start, "figure": figure}
    print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
