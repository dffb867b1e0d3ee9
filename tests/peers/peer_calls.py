"""Calls of pycanon and anjana, in their own environment: JSON in, one line of JSON per call out.

Reading the table is not timed; the call alone is, in seconds of the processor. What the tools print goes to
the standard error.
"""

from __future__ import annotations

import contextlib
import json
import sys
import time
import warnings
from importlib.metadata import version

import pandas as pd

REPEATED_BELOW = 1.0


def read(asked: dict[str, object]) -> pd.DataFrame:
    """The table as text, numbers where they are wanted; empty cells are missing."""
    numbers = set(asked["numeric"])
    kinds = {name: str for name in pd.read_csv(asked["csv"], nrows=0).columns if name not in numbers}
    return pd.read_csv(asked["csv"], dtype=kinds, keep_default_na=False, na_values=[""])


def pycanon_call(asked: dict[str, object], frame: pd.DataFrame) -> object:
    """A number, or two, as a function of pycanon gives it."""
    from pycanon import anonymity

    function = getattr(anonymity, asked["function"])
    if asked["function"] == "k_anonymity":
        return function(frame, asked["quasi"])
    return function(frame, asked["quasi"], asked["sensitive"], gen=asked["apart"])


def anjana_call(asked: dict[str, object], frame: pd.DataFrame) -> object:
    """The rows that anjana keeps, from 0, and the levels that it chooses."""
    from anjana.anonymity import k_anonymity

    trees = {}
    for name, path in asked["hierarchies"].items():
        columns = pd.read_csv(path, sep=";", header=None, dtype=str)
        trees[name] = {level: columns[level].to_numpy() for level in columns.columns}
    released = k_anonymity(frame, [], list(asked["quasi"]), asked["k"], asked["percent"], trees)
    return released, trees


def described(asked: dict[str, object], released: pd.DataFrame, trees: dict[str, object]) -> object:
    """What anjana released: levels, and the rows that are left."""
    from anjana.anonymity.utils import get_transformation

    rows = released["index"].tolist() if "index" in released else list(range(len(released)))
    return {"levels": get_transformation(released, list(asked["quasi"]), trees), "rows": rows}


def answer(asked: dict[str, object]) -> dict[str, object]:
    """The value and the seconds of one call, or what it broke with."""
    call = anjana_call if asked["tool"] == "anjana" else pycanon_call
    frame = read(asked)
    seconds = []
    try:
        while not seconds or (len(seconds) < 3 and seconds[0] < REPEATED_BELOW):
            copy = frame.copy()
            start = time.process_time()
            value = call(asked, copy)
            seconds.append(time.process_time() - start)
        if asked["tool"] == "anjana":
            value = described(asked, *value)
    except Exception as error:
        return {"crash": type(error).__name__}
    return {"value": value, "seconds": min(seconds)}


def main() -> None:
    """Answer every call of the standard input."""
    warnings.simplefilter("ignore")
    out = sys.stdout
    print(json.dumps({tool: version(tool) for tool in ("pycanon", "anjana")}), file=out, flush=True)
    for line in sys.stdin:
        with contextlib.redirect_stdout(sys.stderr):
            found = answer(json.loads(line))
        print(json.dumps(found, default=lambda number: number.item()), file=out, flush=True)


if __name__ == "__main__":
    main()
