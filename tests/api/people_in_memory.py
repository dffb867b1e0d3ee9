"""People in a table of pandas, and what is asked of it."""

from __future__ import annotations

import pandas as pd

N = 240
PEOPLE = pd.DataFrame(
    {
        "patient": [f"P{i:05}" for i in range(N)],
        "zip": [f"{47000 + 7 * (i % 24):05}" for i in range(N)],
        "birth": [pd.Timestamp("1950-01-01") + pd.Timedelta(days=97 * (i % 40)) for i in range(N)],
        "sex": ["f" if i % 3 else "m" for i in range(N)],
        "costs": [float(100 * (i % 17)) for i in range(N)],
        "diagnosis": ["abcde"[i % 5] for i in range(N)],
    }
)
QUASI_IDENTIFIERS = ["zip", "birth", "sex"]
ZIPS = [[text, text[:4], text[:3], "*"] for text in sorted({*PEOPLE["zip"]})]
ASKED = {
    "k": 4,
    "l": {"diagnosis": 3},
    "max_suppressed": 0.1,
    "quasi_identifiers": QUASI_IDENTIFIERS,
    "hierarchies": {"zip": ZIPS},
}


def classes(frame: pd.DataFrame) -> pd.DataFrame:
    """Records and distinct diagnoses per class of those that are not suppressed, counted by pandas."""
    shown = frame[(frame != "*").any(axis=1)]
    return shown.groupby(QUASI_IDENTIFIERS)["diagnosis"].agg(["size", "nunique"])
