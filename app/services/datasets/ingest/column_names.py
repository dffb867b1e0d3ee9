"""Whether the names of a table's columns are present, and distinct for whoever reads them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from app.domain.errors import Fault, refuse
from app.domain.hierarchies.spellings import appearance, is_invisible
from app.services.datasets.ingest import faults

MOST_CHARACTERS: Final = 200


def with_index(names: Sequence[str]) -> tuple[list[str], str | None]:
    """The names, and what an index is called among them: pandas writes it first, without a name."""
    if len(names) < 2 or names[0].strip() or not all(own.strip() for own in names[1:]):
        return list(names), None
    index = "level_0" if "index" in names else "index"  # as pandas itself calls it
    return [index, *names[1:]], index


def index_note(index: str) -> str:
    """What is said of a column that is an index."""
    return f"The first column has no name, as pandas writes an index: it is called {index} and left out."


def check_columns(names: Sequence[str], max_columns: int) -> None:
    """Raise unless the names are present, readable, distinct and not too many."""
    if len(names) > max_columns:
        raise faults.too_many("columns", max_columns)
    found = [fault for index, name in enumerate(names) for fault in _faults_of(index, name)]
    found += _repeated(names, lambda name: name, _duplicate)
    found += _repeated(names, appearance, _look_alike)
    refuse(found)


def _faults_of(index: int, name: str) -> Iterator[Fault]:
    """What is wrong with one name by itself."""
    place = f"/columns/{index}"
    if not name.strip():
        yield Fault(
            place,
            "empty-column-name",
            f"Column {index + 1} has no name.",
            "Name it, or declare that the file has no header.",
        )
    elif "\0" in name:
        yield Fault(place, "nul-byte", f"The name of column {index + 1} holds a NUL character.", "Rename it.")
    elif len(name) > MOST_CHARACTERS:
        yield Fault(
            place,
            "column-name-too-long",
            f"The name of column {index + 1} is longer than {MOST_CHARACTERS} characters.",
            "Shorten it, or check the delimiter and that the file has a header.",
        )
    elif any(is_invisible(letter) for letter in name):
        yield Fault(
            place,
            "invisible-character",
            f'The name of column {index + 1}, "{_escaped(name)}", holds characters that cannot be seen.',
            "Rename it without the characters that are shown as \\u and a number.",
        )


def _escaped(name: str) -> str:
    return "".join(_escape(letter) if is_invisible(letter) else letter for letter in name)


def _escape(letter: str) -> str:
    code = ord(letter)
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _repeated(
    names: Sequence[str], key: Callable[[str], str], fault: Callable[[Sequence[str], int, int], Fault | None]
) -> Iterator[Fault]:
    first: dict[str, int] = {}
    for index, name in enumerate(names):
        if not name.strip() or len(name) > MOST_CHARACTERS:
            continue  # which is a fault of its own
        before = first.setdefault(key(name), index)
        if before != index and (found := fault(names, before, index)) is not None:
            yield found


def _duplicate(names: Sequence[str], before: int, index: int) -> Fault:
    return Fault(
        f"/columns/{index}",
        "duplicate-column",
        f"Columns {before + 1} and {index + 1} are both called {names[index]!r}.",
        "Rename one of them.",
    )


def _look_alike(names: Sequence[str], before: int, index: int) -> Fault | None:
    if names[before] == names[index]:
        return None
    return Fault(
        f"/columns/{index}",
        "look-alike-column",
        f"Columns {before + 1} and {index + 1}, {names[before]!a} and {names[index]!a}, have names "
        "that readers may take for the same.",
        "Rename one of them, so that they differ in more than case, blanks or the form of letters.",
    )
