"""What a query means, as a hash: white space, comments and the names of variables do not count."""

from __future__ import annotations

import dataclasses
from fractions import Fraction
from typing import Any

from app.domain.views.queries import Constant, Variable
from app.services.fingerprints import sha256_of
from app.services.views.published import PublishedQuery


def query_sha256(name: str, query: PublishedQuery, text: str | None = None) -> str:
    """The hash of a query and of the name that an answer calls it by.

    All that a verdict says of the query enters it: pairs of equal hashes are answered by the same words. So
    does where its parts stand in a text of SQL, but not of Datalog. What is said in the words of the text
    needs ``text`` as well.
    """
    return sha256_of({"name": name, "query": _document(query), "text": text})


def _document(part: object) -> Any:  # noqa: ANN401 - JSON
    """The part in plain types, its variables numbered as they come."""
    numbers: dict[str, int] = {}

    def written(value: Any) -> Any:  # noqa: ANN401
        match value:
            case Variable():
                return ["variable", numbers.setdefault(value.name, len(numbers))]
            case Constant():
                return ["constant", written(value.value)]
            case Fraction():
                return ["fraction", value.numerator, value.denominator]
            case frozenset():
                return sorted(map(written, value), key=str)
            case tuple() | list():
                return [written(own) for own in value]
        if dataclasses.is_dataclass(value):
            meant = (own.name for own in dataclasses.fields(value) if own.compare)
            return {name: written(getattr(value, name)) for name in meant}
        return value

    return written(part)
