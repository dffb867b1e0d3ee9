"""Cells of a grid that were computed before: one small file each, so that an interrupted run goes on.

A cell is found again only by the same question: the experiment and the setting, what the records are (a hash
of them) and by which code it was computed (a hash of it, so that no change keeps an old number). A file that
is damaged, or answers another question than its name says, is computed anew, and that is said.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Final

from app.domain.mechanisms.query_pool import GroupedValues
from app.services.fingerprints import version_of_code

FORMAT: Final = "privacy-risk/experiment-cell/1"
LARGEST: Final = 1 << 16
"""Bytes of a file that is read at all."""
Question = Mapping[str, str | int | float]


@cache
def code_version() -> str:
    """The version, with a hash of all code that a number of an experiment may depend on."""
    return version_of_code(("domain", "experiments"))


def data_hash(table: GroupedValues) -> str:
    """Of the records that a cell is computed from."""
    found = hashlib.sha256(str(table.n_values).encode())
    table.feed(found.update)
    return found.hexdigest()


@dataclass
class Cells:
    """What a folder holds of earlier runs; without a folder nothing is kept.

    Parameters
    ----------
    folder
        Made when the first cell is kept.
    say
        Is told what is odd about a file.
    """

    folder: Path | None = None
    say: Callable[[str], None] = lambda text: None
    found: int = field(default=0, init=False)
    """Cells of earlier runs that were not computed again."""
    _known: dict[str, tuple[float, ...]] = field(default_factory=dict, init=False)

    def of(
        self, question: Question, data: str, length: int, compute: Callable[[], Sequence[float]]
    ) -> tuple[float, ...]:
        """The numbers of a cell, of which there are so many: kept ones, or those that are computed now."""
        asked = {"question": dict(question), "data": data, "code": code_version()}
        name = _hash_of(asked)[:40]
        if name not in self._known:
            self._known[name] = self._found_or_computed(name, asked, length, compute)
        return self._known[name]

    def _found_or_computed(
        self, name: str, asked: Mapping[str, Any], length: int, compute: Callable[[], Sequence[float]]
    ) -> tuple[float, ...]:
        if self.folder is None:
            return tuple(map(float, compute()))
        path = self.folder / f"{name}.json"
        kept = self._kept(path, asked, length)
        if kept is not None:
            self.found += 1
            return kept
        numbers = tuple(map(float, compute()))
        document = {"format": FORMAT, **asked, "numbers": numbers}
        _write(path, json.dumps({**document, "sha256": _hash_of(document)}, indent=1) + "\n")
        return numbers

    def _kept(self, path: Path, asked: Mapping[str, Any], length: int) -> tuple[float, ...] | None:
        try:
            with path.open("rb") as file:
                read = file.read(LARGEST + 1)
        except FileNotFoundError:
            return None
        with contextlib.suppress(ValueError, TypeError, RecursionError):
            document = json.loads(read)
            if isinstance(document, dict):
                told, numbers = document.pop("sha256", None), document.get("numbers")
                whole = {"format": FORMAT, **asked, "numbers": numbers}
                if document == whole and told == _hash_of(whole):
                    return _as_numbers(numbers, length)
        self.say(f"{path} is damaged, or no cell of this run: it is computed anew, and replaced.")
        return None


def _as_numbers(numbers: Any, length: int) -> tuple[float, ...]:  # noqa: ANN401 - whatever a file holds
    """So many numbers; ValueError or TypeError for anything else."""
    found = tuple(map(float, numbers))
    if len(found) != length or any(map(math.isnan, found)):
        raise ValueError("not the numbers of this cell")
    return found


def _hash_of(document: object) -> str:
    """Of a document whose numbers are written as they are read again: a double has one shortest text."""
    return hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()


def _write(path: Path, text: str) -> None:
    """All of it or nothing, whenever the process ends."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=".", suffix=".part", dir=path.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
