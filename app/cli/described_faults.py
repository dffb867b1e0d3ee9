"""What a service refuses of a file's description, told by where it stands in the file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from app.cli.tables_file import Json
from app.domain.errors import Fault, InvalidInput
from privacy_risk import ProblemError


@contextmanager
def told_at(places: Mapping[str, str]) -> Iterator[None]:
    """Raise InvalidInput for a problem with what stands at these places: pointer → place in the file."""
    try:
        yield
    except ProblemError as problem:
        errors = problem.document.get("errors") or ()
        found = [(_place(str(own.get("pointer", "")), places), own) for own in errors]
        if not any(place for place, _ in found):
            raise
        raise InvalidInput([_fault(place, own) for place, own in found]) from problem


def _place(pointer: str, places: Mapping[str, str]) -> str | None:
    for start, place in places.items():
        if pointer == start or pointer.startswith(f"{start}/"):
            return place + pointer.removeprefix(start)
    return None


def _fault(place: str | None, error: Json) -> Fault:
    told = {name: str(error.get(name) or "") for name in ("pointer", "code", "message", "remedy")}
    return Fault(place or told["pointer"], told["code"], told["message"], told["remedy"])
