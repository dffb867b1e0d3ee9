"""What a user of pycanon or anjana types for the same answer, in their own environment.

``python tests/peers/whole_calls.py CALL FOLDER`` reads Adult, makes the call once and prints one JSON object:
seconds of waiting, and the smallest class that the tool tells or leaves.
"""

from __future__ import annotations

import contextlib
import json
import sys
import time
import warnings
from pathlib import Path

import pandas as pd

QUASI_IDENTIFIERS = ["sex", "age", "race", "marital-status", "education", "native-country", "workclass"]
SENSITIVE = "occupation"
K, L, PERCENT_SUPPRESSED = 5, 3, 2


def profile(frame: pd.DataFrame, folder: Path) -> float:
    """All of pycanon's measures."""
    from pycanon.report import base

    return float(base.get_report_values(frame, QUASI_IDENTIFIERS, [SENSITIVE])[0])


def anonymise(frame: pd.DataFrame, folder: Path) -> float:
    """anjana's release with k-anonymity and ℓ-diversity."""
    from anjana.anonymity import l_diversity

    trees = {}
    for name in QUASI_IDENTIFIERS:
        levels = pd.read_csv(folder / f"adult_hierarchy_{name}.csv", sep=";", header=None, dtype=str)
        trees[name] = {level: levels[level].to_numpy() for level in levels.columns}
    released = l_diversity(frame, [], QUASI_IDENTIFIERS, SENSITIVE, K, L, PERCENT_SUPPRESSED, trees)
    return float(released.groupby(QUASI_IDENTIFIERS).size().min())


def main(call: str, folder: Path) -> None:
    """The call, with what the tools print sent to the standard error."""
    warnings.simplefilter("ignore")
    frame = pd.read_csv(folder / "adult.csv", sep=";", dtype=str)
    start = time.perf_counter()
    with contextlib.redirect_stdout(sys.stderr):
        figure = {"profile": profile, "anonymise": anonymise}[call](frame, folder)
    print(json.dumps({"seconds": time.perf_counter() - start, "figure": figure}))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
