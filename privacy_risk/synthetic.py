"""``judge_synthetic``: a synthetic table judged against the original, by one call."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from privacy_risk.arguments import InvalidArgument
from privacy_risk.notebook_views import view
from privacy_risk.progress import one_line
from privacy_risk.tables import table_of
from privacy_risk.text_tables import text_table
from privacy_risk.values import Json

_TOP: Final = Path(__file__).resolve().parents[1]


@dataclass(frozen=True, repr=False)
class SyntheticJudgement:
    """What was found of a synthetic table; printed, and shown in notebooks, as sentences and some numbers.

    ``headline`` says first what was copied and found, then what was not tried and what is assumed; ``rows``
    are what, value, and what it is compared with. ``document`` has all numbers, as the command's ``--json``;
    ``html`` is the page of the report.
    """

    headline: tuple[str, ...]
    rows: tuple[tuple[str, str, str], ...]
    document: Json
    html: str

    def __str__(self) -> str:
        return "\n".join((*self.headline, "", text_table([("what", "value", "beside"), *self.rows])))

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return view(self.headline[0], "", self.headline[1:], [("what", "value", "beside"), *self.rows], [])


def judge_synthetic(
    original: object,
    synthetic: object,
    holdout: object | None = None,
    *,
    secrets: Sequence[str] = (),
    quasi_identifiers: Sequence[str] = (),
    linkable: tuple[Sequence[str], Sequence[str]] | None = None,
    attacks: int = 500,
    confidence: float = 0.95,
    seed: int | None = None,
    missing_markers: Sequence[str] = (),
    categorical: Sequence[str] = (),
    distances: tuple[str, str, object] | None = None,
) -> SyntheticJudgement:
    """Attack the people of a table by a synthetic one, and compare the two, as docs/synthetic-data.md says.

    Each table is a DataFrame of pandas or polars, a table of pyarrow, or the path of a file (CSV, Parquet,
    Arrow, Excel). ``holdout`` has records of the same population of which the synthetic table was not made.
    ``secrets`` are what an attacker wants to learn of a person, ``linkable`` two sets of columns that two
    other tables have. ``distances`` are two columns of places, such as home and work, and a table of places
    with their longitude and latitude in degrees.
    All is computed on this computer, in a process of its own that ends with the answer.

    Raises InvalidArgument (a ValueError) and WrongType (a TypeError) for what cannot be judged, and why.
    """
    given = {"original": original, "synthetic": synthetic}
    if holdout is not None:
        given["holdout"] = holdout
    if distances is not None:
        given["places"] = distances[2]
    with tempfile.TemporaryDirectory() as folder, one_line() as tell:
        tell("the synthetic table is being judged …")
        paths = {name: _file(own, name, Path(folder)) for name, own in given.items()}
        page = Path(folder) / "report.html"
        command = [sys.executable, "-m", "app", "judge-synthetic", paths["original"], paths["synthetic"]]
        command += ["--json", f"--html={page}", f"--attacks={attacks}", f"--confidence={confidence}"]
        command += [] if holdout is None else [f"--holdout={paths['holdout']}"]
        command += [] if seed is None else [f"--seed={seed}"]
        if not any(isinstance(own, str | os.PathLike) for own in given.values()):
            command += ["--delimiter=,", "--encoding=utf-8"]
        for option, names in (
            ("--secret", secrets),
            ("--quasi-identifiers", quasi_identifiers),
            ("--missing-marker", missing_markers),
            ("--categorical", categorical),
            ("--linkable", [",".join(own) for own in linkable or ()]),
            ("--distances", [] if distances is None else [*distances[:2], paths["places"]]),
        ):
            command += [option, *names] if names else []
        # In this process's environment no other package called ``app`` may come first.
        search = os.pathsep.join(filter(None, (str(_TOP), os.environ.get("PYTHONPATH", ""))))
        done = subprocess.run(  # noqa: S603 - this interpreter, a constant command, names as arguments
            command, capture_output=True, check=False, text=True, encoding="utf-8",
            env={**os.environ, "PYTHONPATH": search, "PYTHONSAFEPATH": "1", "PYTHONUTF8": "1"},
        )  # fmt: skip
        if done.returncode:
            said = done.stderr.strip().removeprefix("privacy-risk: ").replace(f"{folder}{os.sep}", "")
            place, _, fault = said.partition(": ")
            raise InvalidArgument(place, fault, "") if fault else InvalidArgument("synthetic", said, "")
        document: Json = json.loads(done.stdout)
        rows = tuple((str(a), str(b), str(c)) for a, b, c in document["rows"])
        return SyntheticJudgement(tuple(document["headline"]), rows, document, page.read_text("utf-8"))


def _file(given: object, argument: str, folder: Path) -> str:
    """The file that an argument is, or that its table is written to."""
    if isinstance(given, str | os.PathLike):
        return os.fspath(Path(given).absolute())
    path = folder / f"{argument}.csv"
    path.write_bytes(table_of(given, argument).content)
    return str(path)
